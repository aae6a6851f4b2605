"""A drawing shows every node under its parent, the same way every time, and a large tree in bounded space."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.strategies import candidate_trees
from tree_oracle.tree import CandidateTree

TREE = CandidateTree([7, 4, 11, 2, 4, 9], [-1, 0, 0, 1, 1, 2])


def text(*lines: str) -> str:
    return "\n".join(lines)


def test_a_tree_is_drawn_branch_by_branch() -> None:
    """Siblings stand in slot order under their parent, and no line ends in a blank."""
    assert TREE.draw() == text(
        "[0] 7",
        "|-- [1] 4",
        "|   |-- [3] 2",
        "|   `-- [4] 4",
        "`-- [2] 11",
        "    `-- [5] 9",
    )


def test_nodes_are_marked_and_labelled() -> None:
    """A label stands after the token, an arrow at every marked node; an empty label leaves no trace."""
    assert TREE.draw(mark=[4, 2], label=lambda node: f"p={node / 10}" if node else "") == text(
        "[0] 7",
        "|-- [1] 4  p=0.1",
        "|   |-- [3] 2  p=0.3",
        "|   `-- [4] 4  p=0.4  <--",
        "`-- [2] 11  p=0.2  <--",
        "    `-- [5] 9  p=0.5",
    )
    assert TREE.draw(mark=0).splitlines()[0] == "[0] 7  <--"


def test_a_single_node_is_a_tree() -> None:
    """The root alone is one line."""
    assert CandidateTree([3], [-1]).draw() == "[0] 3"


def test_a_tree_that_is_too_large_is_cut_at_its_highest_slots() -> None:
    """Nodes at the edge say how many children are missing, and the last line how many nodes."""
    assert TREE.draw(max_lines=5) == text(
        "[0] 7",
        "|-- [1] 4  (+1 child)",
        "|   `-- [3] 2",
        "`-- [2] 11  (+1 child)",
        "... 2 more nodes",
    )
    assert CandidateTree([0, 1, 2, 3, 4], [-1, 0, 0, 0, 0]).draw(max_lines=2) == text(
        "[0] 0  (+4 children)",
        "... 4 more nodes",
    )


def test_the_path_to_a_marked_node_is_shown_first() -> None:
    """A node that would be cut away is shown when it is marked, under its whole path."""
    assert TREE.draw(mark=5, max_lines=5) == text(
        "[0] 7",
        "|-- [1] 4  (+2 children)",
        "`-- [2] 11",
        "    `-- [5] 9  <--",
        "... 2 more nodes",
    )


def test_a_marked_node_beyond_reach_is_named() -> None:
    """A marked node whose path alone does not fit is named in the last line."""
    chain = CandidateTree([0] * 6, range(-1, 5))
    assert chain.draw(mark=5, max_lines=3) == text(
        "[0] 0",
        "`-- [1] 0  (+1 child)",
        "... 4 more nodes, marked among them: 5",
    )
    assert chain.draw(mark=[5, 3], max_lines=3).endswith("... 4 more nodes, marked among them: 3 and others")


@given(candidate_trees(vocab_size=61))
def test_a_drawing_can_be_read_back(tree: CandidateTree) -> None:
    """Slots, tokens and the indentation determine the tree, so nothing is lost or misplaced."""
    tokens, parents = {}, {}
    path: list[int] = []
    for line in tree.draw().splitlines():
        found = re.fullmatch(r"((?:\|   |    )*(?:\|-- |`-- )?)\[(\d+)\] (\d+)", line)
        assert found is not None
        depth, node = len(found[1]) // 4, int(found[2])
        del path[depth:]
        parents[node] = path[-1] if path else -1
        path.append(node)
        tokens[node] = int(found[3])
    nodes = range(len(tree))
    assert CandidateTree([tokens[node] for node in nodes], [parents[node] for node in nodes]) == tree


@given(st.data())
def test_a_drawing_keeps_to_its_bound(data: st.DataObject) -> None:
    """No drawing has more lines than allowed, and shown and missing nodes add up to the tree."""
    tree = data.draw(candidate_trees(vocab_size=5))
    marked = data.draw(st.sets(st.integers(0, len(tree) - 1)))
    max_lines = data.draw(st.integers(2, 13))
    lines = tree.draw(mark=marked, max_lines=max_lines).splitlines()
    assert len(lines) == min(len(tree), max_lines)
    cut = re.match(r"\.\.\. (\d+) more nodes?", lines[-1])
    assert len(lines) == len(tree) if cut is None else len(lines) - 1 + int(cut[1]) == len(tree)
