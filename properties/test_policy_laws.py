"""What holds for every published policy: closure, order, bounds, one answer, whatever ties and extremes the draft holds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import policy_oracle as oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tree_oracle.construct import (
    EAGLE_25,
    HALVING,
    POLICIES,
    CaDDTree,
    CalibratedTreeSpark,
    Chain,
    DDTree,
    Eagle2,
    InvalidDraft,
    JetSpec,
    MarginalDraft,
    OptTree,
    RankTree,
    ReferencePolicy,
    Sequoia,
    TableDraft,
    Taps,
    TreeSpark,
    WithoutReplacement,
    build_batch,
    expansion,
    expected_accepted,
    find_policy,
)
from tree_oracle.construct.scorers import bfloat16
from tree_oracle.construct.top import top
from tree_oracle.record import DraftLaw, UsageError
from tree_oracle.strategies import candidate_trees, topological_orders
from tree_oracle.tree import CandidateTree

History = tuple[int, ...]
SMALL: dict[str, ReferencePolicy] = {
    "treespark": TreeSpark(2, 2, 6, 3),
    "calibrated": CalibratedTreeSpark(6, 3, 3, threshold=0.01),
    "rank tree": RankTree(EAGLE_25),
    "drawn rank tree": RankTree(EAGLE_25, WithoutReplacement(1)),
    "eagle": Eagle2(3, 7, 3),
    "opt-tree": OptTree(6, 3, 0.05),
    "sequoia": Sequoia((0.5, 0.25, 0.125), 8, 3),
    "specinfer": expansion(2, 1, 2),
    "ddtree": DDTree(8, 3),
    "caddtree": CaDDTree(12, 3),
    "taps": Taps(budget=6, pool=12, branching=3, depth=3, cost=lambda depth: 4.0 - depth),
    "jetspec": JetSpec(3, 7, 3),
    "chain": Chain(3),
    "drawn chain": Chain(3, WithoutReplacement(2)),
}
policies = pytest.mark.parametrize("policy", SMALL.values(), ids=SMALL)

# Certain tokens and ties, sums that absorb their last term, products that underflow in either precision, and never.
extreme = st.sampled_from([0.0, -0.0, -HALVING, -2 * HALVING, -1e-17, -1e-8, -120.0, -745.5, -1e30, -np.inf])
halves = arrays(np.float32, (2, 4, 4), elements=st.floats(-4, 0, width=32)).map(bfloat16)
hostile = arrays(np.float64, (2, 4, 4), elements=extreme) | halves


def assert_bounds(policy: ReferencePolicy, tree: CandidateTree) -> None:
    """Nodes, levels, children of a node and parents of a level are no more than the policy says, where it says."""
    counts = [len(tree.children(node)) for node in range(len(tree))]
    parents = [depth for depth, count in zip(tree.depths.tolist(), counts, strict=True) if count]
    measured = {
        "budget": len(tree) - 1,
        "depth": tree.max_depth,
        "branching": max(counts),
        "frontier": max(map(parents.count, parents), default=0),
    }
    bounds: dict[str, Any] = {name: getattr(policy, name, None) for name in measured}
    assert all(bounds[name] is None or measured[name] <= bounds[name] for name in measured)


@policies
@given(laws=hostile, root=st.integers(0, 3), drawn=st.data())
def test_ties_and_extremes_break_neither_closure_nor_order(
    policy: ReferencePolicy, laws: np.ndarray, root: int, drawn: st.DataObject
) -> None:
    """Parents come first, siblings are distinct and possible, no node scores above its parent, and the policy admits it.

    It is admitted in any storage order, keeps every bound that the policy has, and building once more gives every bit again.
    """
    draft = TableDraft(laws)
    built = policy.build(draft, root)
    tree = CandidateTree(
        built.tree.tokens, built.tree.parents, built.tree.edge_log_probs, vocab_size=4, distinct_siblings=True
    )
    assert tree.tokens[0] == root
    assert tree.edge_log_probs is not None
    assert (tree.edge_log_probs > -np.inf).all()
    assert built.scores[0] == 0
    assert (built.scores[1:] <= built.scores[tree.parents[1:]]).all()
    assert policy.admits(CandidateTree(*tree.stored(drawn.draw(topological_orders(tree)))), draft, root)
    assert_bounds(policy, tree)
    assert len(tree) - 1 <= built.pool_size
    again = policy.build(draft, root)
    assert (again.tree, again.scores.tobytes()) == (built.tree, built.scores.tobytes())


@given(laws=hostile, root=st.integers(0, 3), budget=st.integers(1, 12))
def test_best_first_order_is_by_descending_score(laws: np.ndarray, root: int, budget: int) -> None:
    """What is taken later never scores better, so any initial segment is a tree of a smaller budget."""
    built = DDTree(budget, 3).build(TableDraft(laws), root)
    assert (np.diff(built.scores) <= 0).all()
    for less in range(1, len(built.tree)):
        smaller = DDTree(less, 3).build(TableDraft(laws), root)
        assert smaller.tree == built.tree.keep(range(less + 1))[0]


class Told:
    """A path draft that answers from a function of the history."""

    def __init__(self, law: Callable[[History], np.ndarray]) -> None:
        self._law = law

    def log_probs_after(self, history: History) -> np.ndarray:
        return self._law(history)


def whole_path(history: History) -> np.ndarray:
    """A law that depends on every token of the history."""
    weights = np.random.default_rng([len(history), *history]).integers(1, 100, 4)
    return np.asarray(np.log(weights / weights.sum()))


@given(policy=st.sampled_from(list(SMALL.values())), laws=hostile, root=st.integers(0, 3))
def test_the_kinds_of_draft_are_cases_of_one_another(policy: ReferencePolicy, laws: np.ndarray, root: int) -> None:
    """A table asked by depth and parent or by the whole path, and marginals as either: the same tree with the same bits."""
    table = TableDraft(laws)
    by_path = Told(lambda history: table.log_probs(len(history), history[-1]))
    assert policy.build(by_path, root).tree == policy.build(table, root).tree
    marginal = laws[[0, 1, 1, 1, 1], 0]
    spread = TableDraft(np.repeat(marginal[:, None], 4, axis=1))
    assert policy.build(MarginalDraft(marginal), root).tree == policy.build(spread, root).tree


def test_an_autoregressive_draft_is_asked_by_the_whole_path() -> None:
    """Over a draft of whole histories DDTree, EAGLE with a wide beam and OPT-Tree hold the best paths by their own products."""
    scores = {
        path: sum(float(whole_path((2, *path[:end]))[path[end]]) for end in range(len(path)))
        for length in (1, 2, 3)
        for path in product(range(4), repeat=length)
    }
    for budget in (1, 5, 20, 60):
        best = sorted(scores, key=lambda path: -scores[path])[:budget]
        for policy in (DDTree(budget, 3), Eagle2(16, budget, 3), OptTree(budget, 3, 0.0)):
            assert set(oracle.paths_in_order(policy.build(Told(whole_path), 2).tree)) == set(best)


@given(
    tree=candidate_trees(vocab_size=3, max_nodes=9, max_depth=3, distinct_siblings=True),
    weights=st.lists(st.integers(0, 6), min_size=27, max_size=27),
)
def test_the_expected_accepted_length_is_the_sum_of_path_probabilities(tree: CandidateTree, weights: list[int]) -> None:
    """Prefix coverage: over every continuation of three tokens the depth that the tree follows it to averages to the sum."""

    def law(history: History, token: int) -> Fraction:
        place = sum(3**at * before for at, before in enumerate(history[-2:])) % 9
        row = [1 + weight for weight in weights[3 * place : 3 * place + 3]]
        return Fraction(row[token], sum(row))

    root = int(tree.tokens[0])
    paths = set(oracle.paths_in_order(tree))
    average = Fraction(0)
    for sequence in product(range(3), repeat=3):
        chance = Fraction(1)
        for end, token in enumerate(sequence):
            chance *= law((root, *sequence[:end]), token)
        average += chance * sum(sequence[:length] in paths for length in (1, 2, 3))
    assert expected_accepted(tree, law) == average


batches = st.lists(st.tuples(hostile, st.integers(0, 3)), min_size=1, max_size=4)


@given(requests=batches, policy=st.builds(TreeSpark, *[st.integers(1, 4)] * 2, st.integers(1, 12), st.integers(1, 4)))
def test_trees_built_in_a_batch_are_those_built_one_by_one(
    requests: list[tuple[np.ndarray, int]], policy: TreeSpark
) -> None:
    """Tree, scores and pool of each request are the same bits, whoever else is in the batch."""
    drafts, roots = [TableDraft(laws) for laws, _ in requests], [root for _, root in requests]
    for built, draft, root in zip(build_batch(policy, drafts, roots), drafts, roots, strict=True):
        alone = policy.build(draft, root)
        assert built.tree == alone.tree
        assert built.scores.tobytes() == alone.scores.tobytes()
        assert built.pool_size == alone.pool_size


def test_requests_of_a_batch_may_differ_in_vocabulary_and_in_what_is_possible() -> None:
    """A wide draft, one of three tokens and one of a single certain token share a batch without touching one another."""
    laws = [np.log(np.random.default_rng(size).dirichlet(np.ones(size), (2, size))) for size in (50, 3)]
    drafts = [*map(TableDraft, laws), TableDraft(np.zeros((1, 1, 1)))]
    policy = TreeSpark()
    trees = [built.tree for built in build_batch(policy, drafts, [7, 2, 0])]
    assert trees == [policy.build(draft, root).tree for draft, root in zip(drafts, [7, 2, 0], strict=True)]
    assert [len(tree) for tree in trees] == [33, 33, 8]
    with pytest.raises(UsageError, match="3 drafts and 1 roots; expected one root for each draft"):
        build_batch(policy, drafts, [7])


VOCAB, MANY = 151_936, 1024


def test_a_thousand_nodes_over_a_large_vocabulary_are_the_best_of_all_pairs() -> None:
    """DDTree's and OPT-Tree's 1,024 nodes over 151,936 tokens are the largest of a million sums and the singles."""
    laws = np.random.default_rng(3).normal(size=(2, VOCAB)) * 3
    laws -= np.log(np.exp(laws).sum(axis=1, keepdims=True))
    best = [np.sort(law)[::-1][:MANY] for law in laws]
    sums = np.concatenate([best[0], (best[0][:, None] + best[1]).ravel()])
    expected = np.sort(sums)[::-1][:MANY]
    draft = MarginalDraft(laws)
    for policy in (DDTree(MANY, 2), OptTree(MANY, 2, 0.0)):
        built = policy.build(draft, 5)
        assert np.sort(built.scores[1:])[::-1].tolist() == expected.tolist()
        assert set(built.tree.tokens[list(built.tree.children(0))].tolist()) <= set(top(laws[0], MANY).tolist())


def test_every_policy_on_record_builds_by_its_defaults_and_admits_what_it_builds() -> None:
    """Each entry says all that it must, makes a policy without arguments, and its law is what its builder does."""
    assert len(POLICIES) == 17
    draft = MarginalDraft(np.log(np.random.default_rng(0).dirichlet(np.ones(40), size=15)))
    for name, entry in POLICIES.items():
        assert entry.name == name
        assert all([entry.title, entry.source, entry.budget, entry.scope])
        policy = entry.make()
        built = policy.build(draft, 3)
        assert policy.admits(built.tree, draft, 3)
        drawn = getattr(policy, "draw", None) is not None
        assert drawn == (entry.law is not DraftLaw.DETERMINISTIC)


def test_only_the_rules_that_rank_by_score_alone_may_orphan() -> None:
    """EAGLE and OPT-Tree, and what builds their trees, do not promise closure under every order of equals; all others do."""
    assert {name for name, entry in POLICIES.items() if not entry.closed_under_ties} == {"eagle2", "opt-tree"}


def test_policies_are_found_by_name_and_by_alias() -> None:
    """HASS builds EAGLE's tree and Online Speculative Decoding a draft model's chain; an unknown name lists the known ones."""
    assert find_policy("hass") is find_policy("eagle3") is POLICIES["eagle2"]
    assert find_policy("online-speculative-decoding") is POLICIES["draft-model-chain"]
    names = [name for entry in POLICIES.values() for name in (entry.name, *entry.aliases)]
    assert len(set(names)) == len(names)
    with pytest.raises(UsageError, match="no policy 'eagle9'; expected one of blockwise, caddtree, .*treespark"):
        find_policy("eagle9")


def test_marginals_and_paths_are_checked_at_the_border() -> None:
    """A marginal table of the wrong shape, a depth that it does not have, and a path law that is none are refused by name."""
    with pytest.raises(InvalidDraft, match=r"laws have shape \(2,\); expected \(depths, vocab\)"):
        MarginalDraft(np.zeros(2))
    with pytest.raises(UsageError, match="depth is 3; expected 1 to 2"):
        DDTree(4, 3).build(MarginalDraft(np.zeros((2, 1))), 0)
    with pytest.raises(InvalidDraft, match="the law at depth 1 after token 2 gives token 0 log-probability 0.5"):
        DDTree().build(Told(lambda history: np.array([0.5])), 2)
