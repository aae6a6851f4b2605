"""What is no encoding of a tree is refused with a typed error that names the entry at fault, however hostile the numbers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest
from format_oracle import READERS, grown, visible
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.record import Unsupported, UsageError
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.formats import (
    FORMATS,
    ChildMaps,
    Choices,
    InvalidEncoding,
    LinkIndex,
    Listing,
    PathTable,
    RootParent,
    SglangLayout,
    Successors,
    decode_child_maps,
    decode_choices,
    decode_intervals,
    decode_links,
    decode_parents,
    decode_paths,
    decode_pool,
    decode_row_words,
    decode_segments,
    decode_sequences,
    decode_sglang_mask,
    decode_successors,
    encode_intervals,
    encode_links,
    encode_parents,
    encode_pool,
    encode_row_words,
    encode_segments,
    encode_sequences,
    encode_sglang_mask,
    from_json,
    to_json,
)

HOSTILE = [-(2**63), -2, -1, 0, 1, 2, 3, 4, 5, 7, 31, 2**31, 2**63 - 1]
HOSTILE_CHOICE: list[Any] = [(10**400, "x")]
STRANGE: list[Any] = [10**400, -(10**400), 2**63, True, None, 2.0, float("nan"), "1", b"1", [], (1,), {}]
#            0
#          /   \
#         1     2
#        / \     \
#       3   4     5
TREE = CandidateTree([9, 1, 2, 3, 4, 3], [-1, 0, 0, 1, 1, 2])


def other_value(old: Any, draw: st.DrawFn) -> Any:
    """Another entry of the same dtype, as hostile as it can be."""
    if isinstance(old, np.bool_):
        return not old
    if isinstance(old, np.floating):
        return draw(st.sampled_from([0.0, 1.0, 0.5, -1e4, -np.inf, np.inf, np.nan, np.finfo(old.dtype).min]))
    if isinstance(old, np.unsignedinteger):
        return int(old) ^ (1 << draw(st.integers(0, 8 * old.dtype.itemsize - 1)))
    if isinstance(old, np.signedinteger):
        info = np.iinfo(old.dtype)
        return min(max(draw(st.sampled_from(HOSTILE)), int(info.min)), int(info.max))
    return draw(st.sampled_from([*HOSTILE, *STRANGE]))


def spoiled(value: Any, draw: st.DrawFn) -> Any:
    """A copy of a field with one entry changed."""
    if isinstance(value, np.ndarray) and value.size:
        changed = value.copy()
        index = np.unravel_index(draw(st.integers(0, value.size - 1)), value.shape)
        changed[index] = other_value(value[index], draw)
        return changed
    if isinstance(value, tuple | list) and len(value):
        place = draw(st.integers(0, len(value) - 1))
        return (*value[:place], spoiled(value[place], draw), *value[place + 1 :])
    if isinstance(value, dict) and value:
        token = draw(st.sampled_from(sorted(value)))
        return {**value, token: other_value(value[token], draw)}
    return other_value(value, draw)


def reshaped(value: Any, draw: st.DrawFn) -> Any:
    """A field of another shape, dtype or type altogether."""
    others: list[Any] = [None, "text", 3, {}, [[1], [1, 2]], np.zeros(0), np.zeros((0, 0, 0)), np.array(3)]
    if isinstance(value, np.ndarray):
        others += [value[:-1], value[None], value.astype(np.float64), value.astype(object), value.tolist()]
        others += [np.concatenate([value, value])]
    if isinstance(value, tuple):
        others += [value[:-1], (*value, *value), [value]]
    return draw(st.sampled_from(others))


@st.composite
def broken(draw: st.DrawFn, name: str) -> tuple[tuple[Any, ...], list[int]]:
    """Documents of two requests with one field changed, and their prefix lengths."""
    n = draw(st.sampled_from([1, 2, 5, 9]))
    trees, lens = [grown(n, 0), grown(n, 1)], [draw(st.integers(1, 4)), draw(st.integers(1, 4))]
    documents = list(FORMATS[name].encode(trees, lens))
    which = draw(st.integers(0, len(documents) - 1))
    document = documents[which]
    if is_dataclass(document) and not isinstance(document, type):
        field = draw(st.sampled_from([field.name for field in fields(document)]))
        change = draw(st.sampled_from([spoiled, spoiled, spoiled, reshaped]))
        documents[which] = replace(document, **{field: change(getattr(document, field), draw)})
    else:
        place = draw(st.integers(0, len(document) - 1))
        documents[which] = (
            document[:place] + draw(st.sampled_from(["", "-", "9", "]", '"', "null", "1e999"])) + document[place + 1 :]
        )
    return tuple(documents), lens


def check_index(error: InvalidEncoding, documents: Sequence[Any]) -> None:
    """The index that an error names exists in a field of that name."""
    values = [getattr(one, error.field) for one in documents if hasattr(one, error.field)]
    if error.index is None or not values:
        return
    assert any(reachable(value, error.index) for value in values), (error, values)


def reachable(value: Any, index: tuple[int, ...]) -> bool:
    for place in index:
        try:
            if not 0 <= place < len(value):
                return False
        except TypeError:
            return False
        value = list(value.values())[place] if isinstance(value, dict) else value[place]
    return True


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
def test_a_changed_entry_is_refused_or_read_for_what_it_says(name: str, data: st.DataObject) -> None:
    """One field with hostile contents: a typed error that names an entry that exists, or the tree that it now describes."""
    documents, lens = data.draw(broken(name))
    before = copy.deepcopy(documents)
    try:
        trees = FORMATS[name].decode(documents, lens)
    except InvalidEncoding as error:
        check_index(error, documents)
    except (UsageError, Unsupported) as error:
        assert "prefix lengths for" in str(error) or "do not fit" in str(error)
    else:
        for b, tree in enumerate(trees):
            n = len(tree)
            sees = READERS[name](documents, b, [length - 1 for length in lens], list(map(len, trees)))
            assert [[sees(v, u) for u in range(n)] for v in range(n)] == visible(tree.parents.tolist())
    assert repr(documents) == repr(before)


def changed(document: Any, field: str, index: tuple[int, ...], value: Any) -> Any:
    values = np.array(getattr(document, field))
    values[index] = value
    return replace(document, **{field: values})


def parents_with(root: RootParent, node: int, parent: int) -> Callable[[], Any]:
    return lambda: decode_parents(changed(encode_parents(TREE, root), "parents", (node,), parent), root)


LOCAL = LinkIndex.LOCAL
WRONG: list[tuple[Callable[[], Any], str, tuple[int, ...] | None, str]] = [
    # parent lists: a cycle, two roots, a parent that is none, each in the list's own words
    (parents_with(RootParent.MINUS_ONE, 1, 3), "parents", (1,), "is 3; expected an earlier node, or -1 for the root, node 0"),
    (parents_with(RootParent.MINUS_ONE, 2, -1), "parents", (2,), "is -1; expected an earlier node"),
    (parents_with(RootParent.MINUS_ONE, 5, 2**62), "parents", (5,), "is 4611686018427387904; expected an earlier node"),
    (parents_with(RootParent.ITSELF, 0, -1), "parents", (0,), "is -1; expected an earlier node, or 0 for the root"),
    (parents_with(RootParent.UNLISTED_MINUS_ONE, 0, 0), "parents", (0,), "is 0; expected an earlier node, or -1 below"),
    (parents_with(RootParent.UNLISTED_ITSELF, 1, 2), "parents", (1,), "is 2; expected an earlier node, or its own index"),
    # links: the sibling of the root, two ways to one node, a circle, a node that nothing leads to
    (lambda: decode_links(changed(encode_links([TREE], LOCAL), "next_sibling", (0, 0), 1), LOCAL), "next_sibling", (0, 0), "as the root has no siblings"),
    (lambda: decode_links(changed(encode_links([TREE], LOCAL), "next_token", (0, 2), 3), LOCAL), "next_token", (0, 2), "is 3; expected a node that no other link leads to"),
    (lambda: decode_links(changed(encode_links([TREE], LOCAL), "next_token", (0, 5), 2), LOCAL), "next_token", (0, 5), "is 2; expected a later node, below 6, or -1"),
    (lambda: decode_links(changed(encode_links([TREE], LOCAL), "next_sibling", (0, 3), -1), LOCAL), "next_token", (0,), "never leads to node 4"),
    (lambda: decode_links(encode_links([TREE, TREE], LOCAL), LinkIndex.GLOBAL), "retrieve_index", (1, 0), "is 0; expected 6"),
    # pools: an orphan, an order that goes back, an expansion of a node that comes later
    (lambda: decode_pool(changed(encode_pool(TREE, top_k=3), "parent_list", (1,), 2), top_k=3), "selected", (2,), "is below pool index 2, which is not selected: an orphan"),
    (lambda: decode_pool(changed(encode_pool(TREE, top_k=3), "selected", (1,), 0), top_k=3), "selected", (1,), "is 0; expected more than the one before it"),
    (lambda: decode_pool(changed(encode_pool(TREE, top_k=3), "parent_list", (2,), 8), top_k=3), "parent_list", (2,), "is 8; expected the pool index of a candidate from an earlier expansion"),
    # paths: a hole, two parents, a second root, an inner end
    (lambda: decode_paths(PathTable([1, 2, 3], [[0, -1, 2], [0, 1, -1]])), "rows", (0, 2), "is 2; expected -1, as the row has ended"),
    (lambda: decode_paths(PathTable([1, 2, 3, 4], [[0, 1, 3], [0, 2, 3]])), "rows", (0, 2), "is 3, below 1; expected a later node that is below 1 in every row"),
    (lambda: decode_paths(PathTable([1, 2, 3], [[0, 1], [1, 2]])), "rows", (1, 0), "is 1; expected 0, the root"),
    (lambda: decode_paths(PathTable([1, 2, 3], [[0, 1, -1], [0, 1, 2]])), "rows", (0,), "ends at a node with children; expected a leaf"),
    (lambda: decode_paths(PathTable([1, 2, 3], [[0, 1], [0, 1]])), "rows", None, "never reaches node 2"),
    # choices: twice, without its beginning, levels apart
    (lambda: decode_choices(Choices([1, 2, 3], [(0,), (0,)]), Listing.SORTED), "choices", (1,), "is (0,); expected each choice once"),
    (lambda: decode_choices(Choices([1, 2, 3], [(0,), (1, 0)]), Listing.SORTED), "choices", (1,), "is (1, 0); expected its beginning (1,) in the list"),
    (lambda: decode_choices(Choices([1, 2, 3, 4], [(0,), (0, 0), (1,)]), Listing.AS_LISTED), "choices", (2,), "is (1,); expected 2 ranks or more"),
    (lambda: decode_choices(Choices([1, 2], HOSTILE_CHOICE), Listing.SORTED), "choices", (0, 1), "is no rank; expected an integer from 0 on"),
    # child maps and successors: reached twice, out of range, lost
    (lambda: decode_child_maps(ChildMaps(1, [{5: 1}, {5: 1}])), "maps", (1,), "leads to 1; expected a node from 2 to 1"),
    (lambda: decode_child_maps(ChildMaps(1, [{5: 1, 6: 1}, {}])), "maps", (0,), "leads to 1, which node 0 leads to already"),
    (lambda: decode_successors(Successors([1, 2, 3], [[1], [], []])), "successors", None, "never leads to node 2"),
    # intervals: crossing, twice the same number, an end before its beginning
    (lambda: decode_intervals(changed(encode_intervals(TREE), "leave", (3,), 5)), "leave", (3,), "is 5; expected 4 at most, where node 1 around it ends"),
    (lambda: decode_intervals(changed(encode_intervals(TREE), "enter", (3,), 0)), "enter", (3,), "is 0; expected each number once"),
    (lambda: decode_intervals(changed(encode_intervals(TREE), "leave", (3,), 2)), "leave", (3,), "is 2; expected more than enter"),
    # sequences: a gap, two nodes in one place, a node in none
    (lambda: decode_sequences(changed(encode_sequences(TREE, 4), "positions", (5,), 9)), "ids", (8,), "with a gap before this node's position"),
    (lambda: decode_sequences(changed(encode_sequences(TREE, 4), "positions", (5,), 4)), "ids", (8,), "with two nodes at one position"),
    (lambda: decode_sequences(changed(encode_sequences(TREE, 4), "starts", (1,), 0)), "starts", (1,), "every node is in a sequence"),
    # packed bits beyond the last node, and a leak inside a word
    (lambda: decode_row_words(changed(encode_row_words([TREE]), "mask", (0, 2, 0), 1 << 6)), "mask", (0, 2, 0), "has bit 6 set; expected 0 from bit 6 of the row on"),
    (lambda: decode_row_words(changed(encode_row_words([TREE], rows=8), "mask", (0, 7, 0), 1)), "mask", (0, 7, 0), "expected a padding row, as there are 6 nodes"),
    (lambda: decode_row_words(changed(encode_row_words([TREE], words=2), "mask", (0, 3, 0), 0b001111)), "mask", (0, 3, 0), "is visible; expected hidden"),
    (lambda: decode_sglang_mask(changed(encode_sglang_mask([TREE, TREE], [1, 1], SglangLayout.BITPACKING), "mask", (9,), 0b001111), [1, 1], SglangLayout.BITPACKING), "mask", (9,), "is visible; expected hidden"),
    (lambda: decode_sglang_mask(changed(encode_sglang_mask([TREE, TREE], [3, 2], SglangLayout.FULL), "mask", (48,), False), [3, 2], SglangLayout.FULL), "mask", (48,), "is False; expected True for a cached token"),
    (lambda: decode_segments(changed(encode_segments([TREE, TREE], [2, 3]), "packed", (6,), 0), [2, 3]), "packed", (6,), "hides cached token 0 from node 0"),
    (lambda: decode_segments(changed(encode_segments([TREE, TREE], [2, 3]), "indptr", (1,), 5), [2, 3]), "indptr", (1,), "is 5; expected 6"),
    # JSON
    (lambda: from_json('{"format": "tree", "version": 1, "tokens": [1], "tokens": [2], "parents": [-1]}'), "document", None, "member 'tokens' is given twice"),
    (lambda: from_json("[" * 100_000), "document", None, "is nested too deeply"),
    (lambda: from_json(to_json(TREE).replace('"version": 1', '"version": 2')), "version", None, "is not what this reads; expected 1"),
    (lambda: from_json(to_json(TREE).replace("[9,", "[NaN,")), "document", None, "NaN is no JSON number"),
    (lambda: from_json(to_json(TREE).replace("[9,", "[" + "9" * 300 + ",")), "tokens", (0,), "is an integer of 997 bits; expected a 64-bit integer"),
    (lambda: from_json(to_json(TREE)[:-9]), "document", None, "is no JSON"),
    (lambda: from_json(to_json(TREE).replace("[9,", "[-9,")), "tokens", (0,), "node 0 has token -9; expected 0 or more"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_each_malformation_is_named_at_its_entry(case: int) -> None:
    """One planted fault each: the field, the index and the sentence say what is wrong and what was expected."""
    wrong, field, index, sentence = WRONG[case]
    with pytest.raises(InvalidEncoding) as caught:
        wrong()
    assert sentence in str(caught.value)
    assert (caught.value.field, caught.value.index) == (field, index)


@given(
    st.sampled_from(["parents", "intervals", "successors", "choices"]),
    st.sampled_from(
        [None, 3, "12", b"12", {1: 2}, [True], [1.0], [[1], [2, 3]], [None], np.array(1), np.zeros((2, 2))]
    ),
)
def test_what_is_no_list_of_integers_is_refused(name: str, tokens: Any) -> None:
    """Tokens of any other kind are refused as such, not converted."""
    (document,) = FORMATS[name].encode([TREE], [1])
    with pytest.raises(InvalidEncoding) as caught:
        FORMATS[name].decode((replace(document, tokens=tokens),), [1])
    assert caught.value.field == "tokens"


def test_a_refusal_travels() -> None:
    """An error keeps its encoding, field, index and text when it is pickled, as it is between processes."""
    import pickle

    error = InvalidEncoding("links", "next_token", (2, 5), "is 9; expected less")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.encoding, again.field, again.index) == (str(error), "links", "next_token", (2, 5))
    assert str(error) == "links: next_token[2, 5] is 9; expected less"
