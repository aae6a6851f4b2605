"""A tree as JSON text: exact there and back, log-probabilities included, and readable by anything that reads JSON."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.strategies import candidate_trees
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.formats import InvalidEncoding, from_json, to_json

edges = st.floats(max_value=0.0, allow_nan=False)


@given(candidate_trees(vocab_size=2**62), st.data())
def test_every_bit_comes_back(tree: CandidateTree, data: st.DataObject) -> None:
    """Tokens of 62 bits and log-probabilities down to the last bit and minus infinity are the same after reading."""
    drawn = data.draw(st.lists(edges, min_size=len(tree) - 1, max_size=len(tree) - 1))
    whole = CandidateTree(tree.tokens, tree.parents, [0.0, *drawn])
    assert from_json(to_json(whole)) == whole
    assert from_json(to_json(tree)) == tree


def test_the_text_is_plain_json() -> None:
    """The members are those that the documentation shows, and null stands for minus infinity."""
    text = to_json(CandidateTree([7, 4, 2], [-1, 0, 0], [0.0, -0.5, -math.inf]))
    assert json.loads(text) == {
        "format": "tree",
        "version": 1,
        "tokens": [7, 4, 2],
        "parents": [-1, 0, 0],
        "edge_log_probs": [0.0, -0.5, None],
    }


@pytest.mark.parametrize(
    ("edges", "index", "sentence"),
    [
        ("3", None, "is a int; expected a list"),
        ("[0, 0.5]", (1,), "node 1 has log-probability 0.5; expected at most 0.0"),
        ("[0]", None, "edge_log_probs has 1 entries for 2 tokens; expected 2"),
        ('[0, "x"]', (1,), "edge_log_probs[1] is 'x'; expected a real number"),
        ("[0, true]", (1,), "edge_log_probs[1] is True; expected a real number"),
        ("[0, 1e999]", (1,), "node 1 has log-probability inf; expected at most 0.0"),
        (f"[0, -{'9' * 400}]", None, "does not fit"),
        ("[0, NaN]", None, "NaN is no JSON number"),
    ],
)
def test_wrong_log_probabilities_are_refused(edges: str, index: tuple[int, ...] | None, sentence: str) -> None:
    """Above 0, too few, no numbers, out of the range of floats: refused with the entry where there is one."""
    with pytest.raises(InvalidEncoding) as caught:
        from_json(
            f'{{"format": "tree", "version": 1, "tokens": [1, 2], "parents": [-1, 0], "edge_log_probs": {edges}}}'
        )
    assert sentence in str(caught.value)
    assert caught.value.index == index


@pytest.mark.parametrize(
    "text", ["", "[]", "3", "null", "{}", '{"format": "tree"}', '{"tokens": [1], "parents": [-1]}']
)
def test_other_documents_are_refused(text: str) -> None:
    """Nothing, other values and objects that lack a member are no trees."""
    with pytest.raises(InvalidEncoding, match="tree JSON: document"):
        from_json(text)


def test_unknown_members_are_refused() -> None:
    """A member that this version does not know may mean anything, so it is not skipped."""
    with pytest.raises(InvalidEncoding, match=r"has unknown \['depths'\]"):
        from_json('{"format": "tree", "version": 1, "tokens": [1], "parents": [-1], "depths": [0]}')
