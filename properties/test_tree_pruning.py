"""Cutting a tree changes nothing for the nodes that stay: same token, same depth, same history."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tree_oracle.strategies import candidate_trees
from tree_oracle.tree import CandidateTree, InvalidTree, TreeFault, lay_out

trees = candidate_trees(vocab_size=5)


def above(tree: CandidateTree, node: int) -> set[int]:
    """A node and all its ancestors, by following parents."""
    return {node} if node == 0 else {node} | above(tree, int(tree.parents[node]))


def some_nodes(tree: CandidateTree) -> st.SearchStrategy[set[int]]:
    return st.sets(st.integers(0, len(tree) - 1))


@given(st.data())
def test_pruning_removes_a_node_and_all_below_it(data: st.DataObject) -> None:
    """What is gone after pruning at v is exactly the nodes that have v on their path."""
    tree = data.draw(trees.filter(lambda tree: len(tree) > 1))
    top = data.draw(st.integers(1, len(tree) - 1))
    _, kept = tree.prune(top)
    assert kept.tolist() == [node for node in range(len(tree)) if top not in above(tree, node)]
    assert set(tree.subtree(top)) == set(range(len(tree))) - set(kept)


@given(st.data())
def test_the_nodes_that_stay_are_as_before(data: st.DataObject) -> None:
    """Token, log-probability, depth, position and visible set of every kept node are what they were."""
    drawn = data.draw(trees)
    tree = CandidateTree(drawn.tokens, drawn.parents, [0.0, *(-float(node) for node in range(1, len(drawn)))])
    part, kept = tree.keep({0} | {u for node in data.draw(some_nodes(tree)) for u in above(tree, node)})
    before, after = lay_out(tree, 2), lay_out(part, 2)
    for node, was in enumerate(kept):
        assert part.tokens[node] == tree.tokens[was]
        assert part.edge_log_probs is not None
        assert part.edge_log_probs[node] == -float(was)
        assert after.positions[node] == before.positions[was]
        assert set(kept[np.flatnonzero(after.visible[node, 1:])]) == above(tree, int(was))


@given(st.data())
def test_pruning_is_keeping_the_rest(data: st.DataObject) -> None:
    """Pruning at a node and keeping all others give the same tree and the same map."""
    tree = data.draw(trees.filter(lambda tree: len(tree) > 1))
    top = data.draw(st.integers(1, len(tree) - 1))
    pruned, kept = tree.prune(top)
    same, also_kept = tree.keep(node for node in range(len(tree)) if top not in above(tree, node))
    assert pruned == same
    assert np.array_equal(kept, also_kept)
    assert not kept.flags.writeable


@given(st.data())
def test_closure_is_every_node_above(data: st.DataObject) -> None:
    """The closure of a set is the union of the paths to its nodes, in slot order, and is closed."""
    tree = data.draw(trees)
    nodes = data.draw(some_nodes(tree))
    closure = tree.closure(nodes)
    assert list(closure) == sorted({u for node in nodes for u in above(tree, node)})
    assert tree.is_prefix_closed(closure)


@given(st.data())
def test_a_set_is_prefix_closed_when_it_is_its_own_closure(data: st.DataObject) -> None:
    """``is_prefix_closed`` says whether every node's ancestors are in the set, and ``keep`` takes such sets alone."""
    tree = data.draw(trees)
    nodes = data.draw(some_nodes(tree))
    closed = all(above(tree, node) <= nodes for node in nodes)
    assert tree.is_prefix_closed(nodes) == closed
    assume(nodes)
    if closed:
        assert len(tree.keep(nodes)[0]) == len(nodes)
    else:
        with pytest.raises(InvalidTree) as caught:
            tree.keep(nodes)
        assert caught.value.kind is TreeFault.ORPHAN
        assert caught.value.node in nodes


def test_a_kept_orphan_is_named_with_its_parent() -> None:
    """Keeping a node without its parent, or nothing at all, is refused with a sentence."""
    tree = CandidateTree([0, 1, 2], [-1, 0, 1])
    with pytest.raises(InvalidTree, match=r"^orphan: node 2 is kept without its parent 1$"):
        tree.keep([0, 2])
    with pytest.raises(InvalidTree, match=r"^no root: no node is kept; expected at least the root$"):
        tree.keep([])
