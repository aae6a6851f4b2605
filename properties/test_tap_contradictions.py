"""Mask and positions that contradict each other: the tap blames the one that is wrong, as far as the text can tell which it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from grounds import ground, result_of, statuses, with_methods
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Bool

from tree_oracle.checks import CHECKS, View, choose
from tree_oracle.checks.doubt import doubts_in
from tree_oracle.checks.scenes import PROMPTS
from tree_oracle.checks.view import text_of
from tree_oracle.decoder import Parts, ReferenceDecoder
from tree_oracle.decoder.tap_tree import mask_of, paths, possible_links, settled
from tree_oracle.record import Array, Case, Limits, Report, Round, Status
from tree_oracle.run import Budget, run_battery
from tree_oracle.strategies import candidate_trees
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree, Layout, lay_out

QUICK = Budget(cases=0, shrink_runs=0, diagnose=False)
Mask = Bool[np.ndarray, "n n"]


def goes(links: Mask, path: tuple[int, ...]) -> bool:
    """Whether the text can have gone down this path."""
    return all(bool(links[above, node]) for above, node in zip((0, *path), path, strict=False))


def read(visible: Mask, positions: list[int], path: tuple[int, ...]) -> tuple[int, ...] | None:
    """The parents as the tap takes them for a call whose text went down ``path``; None if no reading holds that."""
    for second in (False, True):
        links = possible_links(visible, positions, second=second)
        if goes(links, path):
            return settled(links, visible, path)
    return None


def laws_held(parents: tuple[int, ...], visible: Mask, positions: list[int]) -> tuple[bool, bool]:
    """Whether, on that tree, VISIBLE and POSITION are held. Depths are counted along the parents."""
    depths = [0]
    for parent in parents[1:]:
        depths.append(depths[parent] + 1)
    return bool((mask_of(parents) == visible).all()), positions == depths


@given(tree=candidate_trees(vocab_size=61, min_nodes=2, max_nodes=6), data=st.data())
def test_an_edge_that_the_text_took_decides_between_mask_and_positions(
    tree: CandidateTree, data: st.DataObject
) -> None:
    """Where the text goes to the very node whose mask or position is wrong, the wrong one of the two is blamed, and it alone."""
    node = data.draw(st.integers(1, len(tree) - 1))
    path, parents = tuple(int(v) for v in tree.path(node))[1:], tuple(tree.parents.tolist())
    visible, positions = mask_of(parents), tree.depths.tolist()
    above = [0, *path][:-1]
    hidden = data.draw(st.sampled_from([*above, None]))
    if hidden is None:
        positions[node] += data.draw(st.sampled_from([-1, 1, 2]))
    else:
        visible[node, hidden] = False
    found = read(visible, positions, path)
    assert found is not None
    assert laws_held(found, visible, positions) == ((True, False) if hidden is None else (False, True))


@given(tree=candidate_trees(vocab_size=61, min_nodes=1, max_nodes=6), data=st.data())
def test_where_nothing_is_wrong_there_is_one_reading(tree: CandidateTree, data: st.DataObject) -> None:
    """A right call is read as its own tree, first and second time."""
    visible, positions = mask_of(tuple(tree.parents.tolist())), tree.depths.tolist()
    first, second = (possible_links(visible, positions, second=second) for second in (False, True))
    assert (first == second).all()
    assert settled(first, visible, ()) == tuple(tree.parents.tolist())


@given(tree=candidate_trees(vocab_size=5, min_nodes=2, max_nodes=6), data=st.data())
def test_there_is_doubt_where_both_trees_hold_the_text(tree: CandidateTree, data: st.DataObject) -> None:
    """A judge doubts a call whose mask and positions are of different trees if and only if each of the two holds what was emitted."""
    parents, tokens = tuple(tree.parents.tolist()), tuple(tree.tokens.tolist())
    visible, positions = mask_of(parents), tree.depths.tolist()
    for _ in range(data.draw(st.integers(1, 2))):
        node = data.draw(st.integers(1, len(tree) - 1))
        above = [int(v) for v in tree.path(node)][:-1]
        hidden = data.draw(st.sampled_from([*above, None]))
        if hidden is None:
            positions[node] += data.draw(st.sampled_from([-1, 1, 2]))
        else:
            visible[node, hidden] = False
    text = [tokens[v] for v in tree.path(data.draw(st.integers(0, len(tree) - 1)))][1:]
    first, second = (possible_links(visible, positions, second=second) for second in (False, True))
    both = all(len(paths(links, tokens, text)) == len(text) + 1 for links in (first, second))
    shown = Round(
        emitted=(*text, 9),
        prefix=(tokens[0],),
        tokens=tokens,
        parents=parents,
        positions=tuple(positions),
        visible=Array.of(visible),
    )
    found = doubts_in([shown])
    assert bool(found) == (both and bool((first != second).any()))
    assert not any(doubt.by_mask == doubt.by_position for doubt in found.values())


def doubtful(emitted: tuple[int, ...]) -> Round:
    """A node that sees its parent and sits where a sibling of it sits."""
    visible = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=bool)
    tree: dict[str, Any] = {"tokens": (6, 1, 2), "parents": (-1, 0, 0), "positions": (1, 2, 2)}
    return Round(
        emitted=emitted,
        prefix=(5, 6),
        visible=Array.of(np.pad(visible, ((0, 0), (1, 0)), constant_values=True)),
        **tree,
    )


@pytest.mark.parametrize("check", ["POSITION-01", "VISIBLE-02", "VISIBLE-03"])
def test_neither_law_is_called_broken_where_nothing_tells_which_is(check: str) -> None:
    """Both laws say the same and are undecided; where the trees are known, or another round tells, the one that is broken fails."""
    case, judge = Case(prefix=(5, 6), limits=Limits(9)), CHECKS[check].judge
    view = View(case, (doubtful((1, 9)),), ground().truth, recovered=True)
    (found,) = judge(view)
    assert (found.status, found.node) == (Status.UNDECIDED, 2)
    assert found.sentence.startswith(
        "mask and positions contradict each other at node 2, which has depth 2 by what it sees, depth 1 by where it sits"
    )
    failing = {"POSITION-01": False, "VISIBLE-02": False, "VISIBLE-03": True}[check]
    for known in (replace(view, recovered=False), replace(view, rounds=(doubtful((1, 9)), doubtful((2, 9))))):
        assert [one.status for one in judge(known)] == [Status.FAILED] * failing


def capped_positions(tree: CandidateTree, prefix_len: int) -> Layout:
    """Positions do not grow beyond the first level."""
    right = lay_out(tree, prefix_len)
    return replace(right, positions=np.minimum(right.positions, prefix_len))


def parents_hidden(tree: CandidateTree, prefix_len: int) -> Layout:
    """A node below the first level does not see its parent."""
    right = lay_out(tree, prefix_len)
    visible = right.visible.copy()
    for node in range(1, len(tree)):
        if tree.parents[node] > 0:
            visible[node, prefix_len - 1 + int(tree.parents[node])] = False
    return replace(right, visible=visible)


def all_before(tree: CandidateTree, prefix_len: int) -> Layout:
    """A node sees all that are stored before it."""
    right = lay_out(tree, prefix_len)
    visible = right.visible.copy()
    visible[:, -len(tree) :] = np.tri(len(tree), dtype=bool)
    return replace(right, visible=visible)


def by_slot(tree: CandidateTree, prefix_len: int) -> Layout:
    """A node sits where it is stored."""
    return replace(lay_out(tree, prefix_len), positions=np.arange(prefix_len - 1, prefix_len - 1 + len(tree)))


def tokens_only(made: Callable[..., Layout]) -> Callable[[Target], Any]:
    def make(target: Target) -> Any:
        right = ReferenceDecoder(target, Parts(lay_out=made))
        return with_methods(generate=lambda prompts, limits: [text_of(t) for t in right.generate(prompts, limits)])

    return make


def report_on(made: Callable[[Target], Any], long: bool) -> Report:
    """By the shorter texts, and, if so, by one of 130 tokens."""
    found = ground()
    cases = found.stock.of(PROMPTS)
    few = [*cases[:12], *(cases[23:24] if long else [])]
    return run_battery(found.subject(made), choose(ids=LAWS), QUICK, cases=few, stock=found.stock)


LAWS = ("POSITION-01", "VISIBLE-02", "VISIBLE-03")


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("made", "law"),
    [
        (capped_positions, "POSITION-01"),
        (by_slot, "POSITION-01"),
        (parents_hidden, "VISIBLE-02"),
        (all_before, "VISIBLE-03"),
    ],
    ids=["positions", "slots", "mask", "causal mask"],
)
def test_the_law_that_is_broken_fails_alone(made: Callable[..., Layout], law: str) -> None:
    """Of a decoder that shows its text alone the law that it breaks fails through the tap, and no other one of mask and positions,
    though each call may be read twice and many a text does not go where the two contradict each other."""
    found = statuses(report_on(tokens_only(made), made is all_before))
    assert {name for name in LAWS if found[name] is Status.FAILED} == {law}
    assert Status.UNDECIDED in found.values()


def chains_of_two(target: Target) -> Any:
    """Drafts two tokens that are never right, one behind the other, and hides the first from the second."""

    def draft(prefix: Sequence[int]) -> CandidateTree:
        with torch.no_grad():
            worst = int(target.model(torch.tensor([list(prefix)])).logits[0, -1].argmin())
        return CandidateTree([prefix[-1], worst, worst], [-1, 0, 1])

    right = ReferenceDecoder(target, Parts(lay_out=parents_hidden), draft=draft)
    return with_methods(generate=lambda prompts, limits: [text_of(t) for t in right.generate(prompts, limits)])


def test_no_cause_is_certain_where_no_text_decides() -> None:
    """Two siblings that sit by slot make the same calls as a chain whose parent is hidden: rows fail, and neither is called certain."""
    found = ground()
    few, asked = found.stock.of(PROMPTS)[:6], choose(ids=[*LAWS, "HISTORY-01"])
    report = run_battery(
        found.subject(chains_of_two), asked, Budget(cases=0, shrink_runs=0), cases=few, stock=found.stock
    )
    assert {statuses(report)[law] for law in LAWS} == {Status.UNDECIDED}
    (finding,) = result_of(report, "HISTORY-01").findings
    assert any(cause.startswith("position-by-slot:") for cause in finding.causes)
    assert not finding.certain
    assert finding.seen.endswith("either may be what is wrong")
    assert report.exit_code == 1
