"""The picture of a tree is the tree of its drawing, laid out without overlaps, with what a node may see marked on it."""

from __future__ import annotations

from typing import cast

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_grounds import CASE, LEAK, anything

from tree_oracle.checks import CHECKS
from tree_oracle.checks.view import View
from tree_oracle.record import Array, Finding, Round, Status, Truth
from tree_oracle.report.drawn import HEIGHT, Picture, picture
from tree_oracle.strategies import candidate_trees
from tree_oracle.tree import CandidateTree


def drawn(drawing: str, seen: str = "") -> Picture | None:
    return picture(Finding(status=Status.FAILED, sentence="s", drawing=drawing, seen=seen))


@given(tree=candidate_trees(vocab_size=61), data=st.data())
def test_the_picture_is_the_tree(tree: CandidateTree, data: st.DataObject) -> None:
    """Slots, tokens and parents are those of the tree that was drawn, and the marked node is the failing one."""
    node = data.draw(st.integers(0, len(tree) - 1))
    shown = drawn(tree.draw(mark=[node]))
    assert shown is not None
    assert {n.slot: (n.token, n.parent) for n in shown.nodes} == {
        v: (tree.tokens[v], tree.parents[v]) for v in range(len(tree))
    }
    assert shown.failing is not None
    assert shown.failing.slot == node
    assert {n.slot for n in shown.nodes if n.allowed} == set(tree.path(node))


@given(tree=candidate_trees(vocab_size=61))
def test_no_two_boxes_overlap(tree: CandidateTree) -> None:
    """Every box lies inside the picture, right of its parent, and touches no other."""
    shown = drawn(tree.draw())
    assert shown is not None
    width, height = shown.size
    places = sorted((node.x, node.y) for node in shown.nodes)
    for (x, y), (other_x, other_y) in zip(places, places[1:], strict=False):
        assert x + shown.width < other_x or y + HEIGHT < other_y
    for node in shown.nodes:
        assert node.x > 0
        assert node.x + shown.width < width
        assert HEIGHT / 2 < node.y < height - HEIGHT / 2
        assert node.parent == -1 or shown.by_slot[node.parent].x + shown.width < node.x


def test_what_is_seen_wrongly_is_marked() -> None:
    """A node that is seen and must not be, and one that is not seen and must be, are told apart; the words say so too."""
    extra = picture(LEAK)
    assert extra is not None
    assert {node.slot: node.wrong for node in extra.nodes} == {0: "", 1: "extra", 2: ""}
    assert extra.words == "A tree of 3 nodes; node 2 fails; it may see nodes 0, 2; seen and must not be: node 1"
    missing = picture(msgspec.structs.replace(LEAK, seen="sees nodes [2]"))
    assert missing is not None
    assert {node.slot: node.wrong for node in missing.nodes} == {0: "missing", 1: "", 2: ""}


@pytest.mark.parametrize(("check", "row", "wrong"), [
    ("VISIBLE-03", [True, True, True], {0: "", 1: "extra", 2: ""}),
    ("VISIBLE-02", [False, False, True], {0: "missing", 1: "", 2: ""}),
])  # fmt: skip
def test_the_words_of_the_checks_are_understood(check: str, row: list[bool], wrong: dict[int, str]) -> None:
    """What VISIBLE itself says of a wrong mask is read back from its finding."""
    mask = np.array([[True, False, False], [True, True, False], row])
    round_ = Round(emitted=(), prefix=(0,), tokens=(0, 0, 1), parents=(-1, 0, 0), visible=Array.of(mask))
    (finding,) = CHECKS[check].judge(View(CASE, (round_,), cast("Truth", None)))
    shown = picture(msgspec.structs.replace(finding, drawing=LEAK.drawing))
    assert shown is not None
    assert {node.slot: node.wrong for node in shown.nodes} == wrong


@pytest.mark.parametrize("seen", ["argmax 3", "sees nodes [0, 1, ... 3 more]", "also sees nodes [1]", ""])
def test_other_words_mark_nothing(seen: str) -> None:
    """Only the exact words of VISIBLE are read as a set of nodes; nothing is guessed from others."""
    shown = picture(msgspec.structs.replace(LEAK, seen=seen))
    assert shown is not None
    assert not any(node.wrong for node in shown.nodes)


def test_a_drawing_that_was_cut_says_so() -> None:
    """Children and nodes that are left out are kept as numbers, and the last line is told."""
    shown = drawn("[0] 7\n|-- [1] 4  (+1 child)\n`-- [2] 11  (+3 children)  <--\n... 4 more nodes")
    assert shown is not None
    assert [node.more for node in shown.nodes] == [0, 1, 3]
    assert shown.rest == "... 4 more nodes"


@given(text=anything)
def test_a_text_that_is_no_drawing_has_no_picture(text: str) -> None:
    """Whatever else stands in place of a drawing is no picture, and never an exception."""
    assert drawn(text) is None


@pytest.mark.parametrize("text", [
    "[0] 1\n[1] 2",
    "|-- [0] 1",
    "[0] 1\n|   |-- [1] 2",
    "[0] 1\n|-- [0] 2",
    "[0] 1\n|   [1] 2",
    "[0] 1\n|-- [1] 2 <b>",
    "[0] " + "9" * 30,
    "... 4 more nodes",
    "[0] 0\n" + "\n".join(f"|-- [{n}] 0" for n in range(1, 400)),
], ids=["two roots", "no root", "a gap", "a slot twice", "no branch", "markup", "huge token", "only a rest", "too many"])  # fmt: skip
def test_a_drawing_with_a_flaw_has_no_picture(text: str) -> None:
    """A text that is nearly a drawing is shown as text, not as another tree."""
    assert drawn(text) is None
