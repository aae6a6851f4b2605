"""Which trees TreeSpark's rule allows when scores tie: the list, and the decision for one tree, against trying every way."""

from __future__ import annotations

from itertools import combinations

import pytest
import treespark_oracle as oracle
from hypothesis import assume, given
from hypothesis import strategies as st

from tree_oracle.construct import TableDraft, TreeSpark, admissible, paths_of
from tree_oracle.record import DraftData, UsageError
from tree_oracle.strategies import draft_tables, topological_orders
from tree_oracle.tree import CandidateTree

Path = tuple[int, ...]
small = st.builds(
    TreeSpark,
    branching=st.integers(1, 2),
    frontier=st.integers(1, 2),
    budget=st.integers(1, 5),
    depth=st.integers(1, 3),
)
tables = draft_tables(max_vocab=3)


def listed(data: DraftData, policy: TreeSpark) -> frozenset[frozenset[Path]]:
    bounds = policy.branching, policy.frontier, policy.budget, policy.depth
    return frozenset(oracle.all_trees(data, 0, *bounds))


def tree_of(paths: frozenset[Path] | set[Path], root: int = 0) -> CandidateTree:
    """A tree with exactly these paths."""
    ordered = [(), *sorted(paths, key=lambda path: (len(path), path))]
    slots = {path: slot for slot, path in enumerate(ordered)}
    return CandidateTree([root, *(path[-1] for path in ordered[1:])], [-1, *(slots[path[:-1]] for path in ordered[1:])])


@st.composite
def close_to(draw: st.DrawFn, trees: frozenset[frozenset[Path]], vocab: int) -> set[Path]:
    """One of the trees with a leaf taken away, a child added, or both: what a fault at a tie makes of it."""
    paths = set(draw(st.sampled_from(sorted(trees, key=sorted))))
    leaves = sorted(path for path in paths if not any(other[:-1] == path for other in paths))
    if draw(st.booleans()) and leaves:
        paths.discard(draw(st.sampled_from(leaves)))
    if draw(st.booleans()):
        paths.add((*draw(st.sampled_from(sorted(paths | {()}))), draw(st.integers(0, vocab - 1))))
    return paths


@given(data=tables, policy=small)
def test_the_list_is_what_every_way_through_all_ties_gives(data: DraftData, policy: TreeSpark) -> None:
    """The admissible trees are exactly those that come out when each tie is resolved in each way, by exact fractions."""
    assert admissible(policy, TableDraft.of(data), 0, most=100_000) == listed(data, policy)


@given(data=tables, policy=small, drawn=st.data())
def test_a_tree_is_admitted_exactly_when_it_is_listed(data: DraftData, policy: TreeSpark, drawn: st.DataObject) -> None:
    """The decision without a list agrees with the list: on every listed tree, and on trees that are a node or two away."""
    trees, draft = listed(data, policy), TableDraft.of(data)
    assert all(policy.admits(tree_of(paths), draft, 0) for paths in trees)
    paths = drawn.draw(close_to(trees, data.vocab_size))
    assert policy.admits(tree_of(paths), draft, 0) == (frozenset(paths) in trees)


@given(data=draft_tables(max_vocab=2, max_depth=2), policy=small)
def test_of_all_small_trees_only_the_listed_are_admitted(data: DraftData, policy: TreeSpark) -> None:
    """Over two tokens and two levels every single tree is decided right."""
    policy = TreeSpark(policy.branching, policy.frontier, policy.budget, min(policy.depth, 2))
    trees, draft = listed(data, policy), TableDraft.of(data)
    nodes = [(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
    for size in range(len(nodes) + 1):
        for some in combinations(nodes, size):
            if all(len(path) == 1 or path[:-1] in some for path in some):
                assert policy.admits(tree_of(set(some)), draft, 0) == (frozenset(some) in trees)


@given(data=draft_tables(), root=st.integers(0, 1), drawn=st.data())
def test_the_reference_is_admitted_in_any_storage_order(data: DraftData, root: int, drawn: st.DataObject) -> None:
    """With the published bounds the policy's own tree is admissible, however its nodes are numbered."""
    policy, draft = TreeSpark(), TableDraft.of(data)
    tree = policy.build(draft, root).tree
    again = CandidateTree(*tree.stored(drawn.draw(topological_orders(tree))))
    assert policy.admits(again, draft, root)
    assert paths_of(again) == paths_of(tree)


@given(data=draft_tables(), token=st.integers(0, 7), drawn=st.data())
def test_a_wrong_root_or_equal_siblings_are_not_admitted(data: DraftData, token: int, drawn: st.DataObject) -> None:
    """A tree below another root, one with a node twice, or one with a token that the draft does not have is refused."""
    policy, draft = TreeSpark(), TableDraft.of(data)
    tree = policy.build(draft, 0).tree
    tokens, parents = tree.tokens.tolist(), tree.parents.tolist()
    assert not policy.admits(CandidateTree([1, *tokens[1:]], parents), draft, 0)
    node = drawn.draw(st.integers(1, len(tree) - 1))
    leaf = [v for v in range(1, len(tree)) if not tree.children(v)][-1]
    assume(leaf != node)
    tokens[leaf], parents[leaf] = tokens[node], parents[node]
    if parents[leaf] < leaf:
        assert not policy.admits(CandidateTree(tokens, parents), draft, 0)
    foreign = [*tree.tokens.tolist()[:-1], data.vocab_size + token]
    assert not policy.admits(CandidateTree(foreign, tree.parents), draft, 0)


def test_without_ties_one_tree_is_admissible() -> None:
    """Where no scores are equal the set holds the reference alone; where all are, as many trees as there are choices."""
    alone = TableDraft.of(DraftData((("123-3",), ("1---1",))))
    policy = TreeSpark(branching=1, frontier=1, budget=2, depth=1)
    assert admissible(policy, alone, 0) == {frozenset({(0,)})}
    uniform = TableDraft.of(DraftData((("2222",),)))
    # Two of four tokens, one of these two to go on from, and one of its four tokens for the last place.
    assert len(admissible(TreeSpark(branching=2, frontier=1, budget=3, depth=2), uniform, 0)) == 6 * 2 * 4


def test_too_many_ways_are_refused() -> None:
    """A draft of nothing but ties is not enumerated for ever."""
    with pytest.raises(UsageError, match="in more than 1000 ways; expected a smaller case"):
        admissible(TreeSpark(), TableDraft.of(DraftData((("33333333",),))), 0)


def table(*depths: tuple[str, ...]) -> TableDraft:
    return TableDraft.of(DraftData(depths))


def test_equal_siblings_are_no_two_of_equally_likely_tokens() -> None:
    """Where every token is as likely, two nodes of one token still are not two of the choices."""
    policy, uniform = TreeSpark(branching=2, frontier=1, budget=2, depth=1), table(("2222",))
    assert policy.admits(CandidateTree([0, 3, 1], [-1, 0, 0]), uniform, 0)
    assert not policy.admits(CandidateTree([0, 3, 3], [-1, 0, 0]), uniform, 0)


def test_a_node_with_children_may_not_lack_a_better_one() -> None:
    """A branch is not excused for a missing child because a tie would have let it stay without any."""
    policy, draft = TreeSpark(branching=2, frontier=1, budget=3, depth=2), table(("11--",), ("122-", "2222"))
    assert policy.admits(tree_of({(0,), (1,), (0, 0)}), draft, 0)
    assert policy.admits(tree_of({(0,), (1,), (1, 3)}), draft, 0)
    assert not policy.admits(tree_of({(0,), (1,), (0, 1)}), draft, 0)
