"""Mask and positions that contradict each other: the tap blames the one that is wrong, as far as the text can tell which it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from grounds import ground, statuses, with_methods
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Bool

from tree_oracle.checks.view import text_of
from tree_oracle.decoder import Parts, ReferenceDecoder
from tree_oracle.decoder.tap_tree import mask_of, possible_links, settled
from tree_oracle.record import Status
from tree_oracle.run import Budget
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


def tokens_only(made: Callable[..., Layout]) -> Callable[[Target], Any]:
    def make(target: Target) -> Any:
        right = ReferenceDecoder(target, Parts(lay_out=made))
        return with_methods(generate=lambda prompts, limits: [text_of(t) for t in right.generate(prompts, limits)])

    return make


@pytest.mark.parametrize(
    ("made", "law"), [(capped_positions, "POSITION-01"), (parents_hidden, "VISIBLE-02")], ids=["positions", "mask"]
)
def test_the_law_that_is_broken_fails(made: Callable[..., Layout], law: str) -> None:
    """Of a decoder that shows its text alone the law that it breaks fails through the tap, though each call may be read twice.

    (Where no text of a case goes through the nodes that are wrong, the other law may fail too: nothing tells them apart there.)
    """
    report = ground().report(tokens_only(made), law, budget=QUICK)
    assert statuses(report)[law] is Status.FAILED
