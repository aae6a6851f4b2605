"""Trees of 4,096 nodes: a chain, a star and a random one. Nothing recurses, and all of it is right."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from tree_oracle.tree import CandidateTree, InvalidTree, TreeFault, additive, lay_out, permuted
from tree_oracle.verify import walk

N = 4096
VOCAB = 61
SHAPES = ["chain", "star", "random"]


def parents_of(shape: str) -> np.ndarray:
    if shape == "chain":
        return np.arange(-1, N - 1)
    if shape == "star":
        return np.where(np.arange(N) == 0, -1, 0)
    rng = np.random.default_rng(7)
    return np.array([-1, *(rng.integers(max(0, v - 40), v) for v in range(1, N))])


def tokens_of(parents: np.ndarray) -> np.ndarray:
    """Tokens that differ between neighbouring slots; over 61 ids siblings are often equal."""
    return np.arange(len(parents)) * 7 % VOCAB


@pytest.fixture(params=SHAPES, scope="module")
def tree(request: pytest.FixtureRequest) -> CandidateTree:
    parents = parents_of(request.param)
    return CandidateTree(tokens_of(parents), parents, vocab_size=VOCAB)


def walk_up(tree: CandidateTree, node: int) -> list[int]:
    path = []
    while node >= 0:
        path.append(node)
        node = int(tree.parents[node])
    return path[::-1]


SOME_NODES = [0, 1, 2, 63, 64, 65, N // 2, N - 2, N - 1]


def test_the_layout_is_right(tree: CandidateTree) -> None:
    """Row by row, a node sees what its parent sees and itself; positions count the edges above it."""
    layout = lay_out(tree, 4)
    own = np.eye(N, dtype=bool)
    inherited = np.vstack([np.zeros((1, N), dtype=bool), layout.visible[tree.parents[1:], 3:]])
    assert np.array_equal(layout.visible[:, 3:], inherited | own)
    assert layout.visible[:, :3].all()
    assert np.array_equal(layout.positions, layout.visible.sum(axis=1) - 1)
    assert np.array_equal(layout.score_rows, tree.parents)


def test_a_permuted_layout_is_right(tree: CandidateTree) -> None:
    """Reversing the slots reverses rows and node columns, and the judging rows are those of the reversed parents."""
    layout = lay_out(tree, 3)
    turned = permuted(layout, range(N - 1, -1, -1))
    assert np.array_equal(turned.visible[:, 2:], layout.visible[::-1, :1:-1])
    assert np.array_equal(turned.positions, layout.positions[::-1])
    assert np.array_equal(turned.score_rows[::-1], np.where(tree.parents < 0, -1, N - 1 - tree.parents))
    assert np.array_equal(additive(turned.visible, np.float32) == 0, turned.visible)


def test_paths_and_leaves_are_right(tree: CandidateTree) -> None:
    """Paths, leaves and depths of nodes at both ends and in the middle follow from the parents."""
    for node in SOME_NODES:
        path = walk_up(tree, node)
        assert list(tree.path(node)) == path
        assert tree.depths[node] == len(path) - 1
        assert list(tree.closure([node])) == path
        assert tree.is_prefix_closed(path)
    assert set(tree.leaves) == set(range(N)) - set(tree.parents.tolist())
    assert len(tree.paths) == len(tree.leaves)


def test_a_reversed_tree_is_normalised(tree: CandidateTree) -> None:
    """Stored last slot first, the tree comes back the same up to numbering, and not the same with one token changed."""
    tokens, parents, _ = tree.stored(range(N - 1, -1, -1))
    again, order = CandidateTree.normalised(tokens, parents)
    assert again.same_up_to_numbering(tree)
    assert np.array_equal(again.tokens, tokens[order])
    changed = tokens.copy()
    changed[0] += 1
    assert not CandidateTree.normalised(changed, parents)[0].same_up_to_numbering(tree)


def test_pruning_is_right(tree: CandidateTree) -> None:
    """Pruning in the middle removes the nodes that see the pruned one, and the visible sets of the rest stay."""
    top = N // 2
    part, kept = tree.prune(top)
    below = tree.ancestors[:, top].copy()
    below[top] = True
    assert np.array_equal(kept, np.flatnonzero(~below))
    assert np.array_equal(part.ancestors, tree.ancestors[np.ix_(kept, kept)])


def test_the_walk_follows_any_path(tree: CandidateTree) -> None:
    """With rows that choose the tokens of the path to a node, the walk emits them, be it thousands of nodes deep."""
    for node in SOME_NODES:
        path = walk_up(tree, node)
        rows = np.zeros((N, VOCAB))
        rows[path[:-1], tree.tokens[path[1:]]] = 1
        outcome = walk(tree, rows)
        assert outcome.longest >= len(path) - 1
        first = outcome.emitted(tree)[: len(path) - 1]
        assert list(first) == tree.tokens[path[1 : len(first) + 1]].tolist()


def test_a_drawing_stays_small(tree: CandidateTree) -> None:
    """64 lines at most, whatever is marked, and the marked node is named."""
    for node in SOME_NODES:
        drawing = tree.draw(mark=node)
        assert len(drawing.splitlines()) == 64
        assert f"[{node}] {tree.tokens[node]}" in drawing or f"marked among them: {node}" in drawing


def test_copies_are_equal(tree: CandidateTree) -> None:
    """A pickled tree comes back equal, with the same hash, and its record builds it again."""
    copy = pickle.loads(pickle.dumps(tree))
    assert (copy, hash(copy)) == (tree, hash(tree))
    assert CandidateTree.from_data(tree.to_data()) == tree


@pytest.mark.parametrize("length", [2, 3, N - 1])
def test_a_cycle_is_found_at_any_length(length: int) -> None:
    """In a chain whose last nodes go round in a circle the first node of the circle is named."""
    parents = np.arange(-1, N - 1)
    parents[N - length] = N - 1
    with pytest.raises(InvalidTree) as caught:
        CandidateTree(np.zeros(N, dtype=int), parents)
    assert (caught.value.kind, caught.value.node) == (TreeFault.CYCLE, N - length)


def test_equal_siblings_are_found_among_thousands() -> None:
    """A star whose last child repeats the first one's token is refused at the last child."""
    tokens = np.arange(N)
    tokens[-1] = 1
    with pytest.raises(InvalidTree) as caught:
        CandidateTree(tokens, parents_of("star"), distinct_siblings=True)
    assert (caught.value.kind, caught.value.node) == (TreeFault.DUPLICATE_SIBLINGS, N - 1)
