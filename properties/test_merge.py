"""Merged drafts stand for the same histories, rows and probabilities as the drafts apart; merges that do not are found."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float

from tree_oracle.record import AdapterError, UsageError
from tree_oracle.strategies import candidate_trees
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.merge import draws, merge
from tree_oracle.tree.merge_judge import Draft, MergeClaim, MergeFault, judge_merge
from tree_oracle.tree.merge_rules import MergeRule

VOCAB = 4
CORRECTED_ALIKE = {0: 0, 1: 1, 2: 1, 3: 3}  # tokens 1 and 2 have equal corrections
History = tuple[int, ...]


def history(tree: CandidateTree, node: int) -> History:
    """The tokens from the root to a node, by following parents."""
    parent = int(tree.parents[node])
    return (*(history(tree, parent) if parent >= 0 else ()), int(tree.tokens[node]))


def row_after(path: History) -> Float[np.ndarray, " vocab"]:
    """A target that depends on the whole history."""
    return np.random.default_rng([7, *path]).integers(0, 2**30, VOCAB).astype(np.float64)


def rows_of(tree: CandidateTree) -> Float[np.ndarray, "n vocab"]:
    return np.stack([row_after(history(tree, node)) for node in range(len(tree))])


def draft_of(tree: CandidateTree, seed: int) -> Draft:
    """A draft with a law of its own; its q depends on the draft, so that two drafts never agree by accident."""
    chance = np.random.default_rng([seed, len(tree)])
    edges = np.concatenate([[0.0], -chance.random(len(tree) - 1) - 0.01])
    with_edges = CandidateTree(tree.tokens, tree.parents, edges)
    return Draft(with_edges, rows_of(tree), np.array([CORRECTED_ALIKE[int(token)] for token in tree.tokens]))


@st.composite
def several_drafts(draw: st.DrawFn) -> list[Draft]:
    trees = draw(st.lists(candidate_trees(vocab_size=VOCAB, max_nodes=8), min_size=1, max_size=3))
    root = int(trees[0].tokens[0])
    return [draft_of(CandidateTree([root, *tree.tokens[1:].tolist()], tree.parents), s) for s, tree in enumerate(trees)]


# A decoder's merge, written as one would: a table from keys to nodes of the merged tree. Only the key is right or wrong.
Keys = Callable[[CandidateTree, int], Hashable]
PLANTED: dict[MergeRule, Keys] = {
    MergeRule.TOKEN: lambda tree, node: int(tree.tokens[node]),
    MergeRule.TOKEN_AND_DEPTH: lambda tree, node: int(tree.tokens[node]) * 10000 + len(history(tree, node)),
    MergeRule.CORRECTION: lambda tree, node: (CORRECTED_ALIKE[int(tree.tokens[node])], len(history(tree, node))),
}


def decoder_merge(drafts: Sequence[Draft], key: Keys) -> MergeClaim:
    table: dict[Hashable, int] = {}
    tokens, parents, places = [int(drafts[0].tree.tokens[0])], [-1], []
    for draft in drafts:
        place = {0: 0}
        for node in range(1, len(draft.tree)):
            name = key(draft.tree, node)
            if name not in table:
                table[name] = len(tokens)
                tokens.append(int(draft.tree.tokens[node]))
                parents.append(place[int(draft.tree.parents[node])])
            place[node] = table[name]
        places.append(np.array([place[node] for node in range(len(draft.tree))]))
    tree = CandidateTree(tokens, parents)
    edges = tuple(draft.tree.edge_log_probs for draft in drafts if draft.tree.edge_log_probs is not None)
    return MergeClaim(tree, tuple(places), edges, rows_of(tree))


def histories(tree: CandidateTree) -> set[History]:
    return {history(tree, node) for node in range(len(tree))}


@given(several_drafts())
def test_the_merged_tree_is_the_union_of_histories(drafts: list[Draft]) -> None:
    """One node for each history that any draft has, no other, and every drafted node stands at its own."""
    trees = [draft.tree for draft in drafts]
    merged = merge(trees)
    assert sorted(history(merged.tree, node) for node in range(len(merged.tree))) == sorted(
        set().union(*map(histories, trees))
    )
    for tree, nodes in zip(trees, merged.node_of, strict=True):
        assert [history(merged.tree, node) for node in nodes] == [history(tree, node) for node in range(len(tree))]


@given(several_drafts())
def test_every_draw_keeps_its_own_probability(drafts: list[Draft]) -> None:
    """Below each merged node stand all draws of all drafts, draft by draft in their order, with the q they were drawn from."""
    trees = [draft.tree for draft in drafts]
    merged = merge(trees)
    for parent in range(len(merged.tree)):
        path = history(merged.tree, parent)
        wanted = [
            (index, node, float(tree.edge_log_probs[node]) if tree.edge_log_probs is not None else None)
            for index, tree in enumerate(trees)
            for node in range(1, len(tree))
            if history(tree, int(tree.parents[node])) == path
        ]
        found = draws(merged, trees, parent)
        assert [(draw.draft, draw.node, draw.edge_log_prob) for draw in found] == wanted
        assert all(history(merged.tree, draw.merged) == history(trees[draw.draft], draw.node) for draw in found)


@given(several_drafts())
def test_a_right_merge_passes(drafts: list[Draft]) -> None:
    """The reference merge, and a decoder that keys its table by whole histories, have no finding, however much they show."""
    merged = merge([draft.tree for draft in drafts])
    twin = decoder_merge(drafts, history)
    assert twin.tree == merged.tree
    for claim in (twin, replace(twin, node_of=None), replace(twin, edge_log_probs=None), MergeClaim(merged.tree)):
        assert judge_merge(drafts, claim) == ()


@pytest.mark.parametrize("rule", MergeRule)
@given(drafts=several_drafts())
def test_a_wrong_rule_is_found_exactly_where_it_shows(rule: MergeRule, drafts: list[Draft]) -> None:
    """A merge by a wrong key fails if and only if it lost or invented a history, and the rule is among those named."""
    claim = decoder_merge(drafts, PLANTED[rule])
    wrong = histories(claim.tree) != set().union(*(histories(draft.tree) for draft in drafts))
    found = judge_merge(drafts, claim)
    assert bool(found) == wrong
    for finding in found:
        assert rule in finding.rules
        assert f"merging {' or '.join(finding.rules)} makes this tree" in str(finding)
    if wrong:  # without any table from drafts to merged nodes, the tree alone gives it away
        assert {one.fault for one in judge_merge(drafts, MergeClaim(claim.tree))} & {
            MergeFault.LOST,
            MergeFault.INVENTED,
        }


#       7                7
#      / \              / \
#     1   2            1   3
#     |   |            |   |
#     3   3            0   3
#     |   |
#     0   2
FIRST = draft_of(CandidateTree([7 % VOCAB, 1, 2, 3, 3, 0, 2], [-1, 0, 0, 1, 2, 3, 4]), 0)
SECOND = draft_of(CandidateTree([7 % VOCAB, 1, 3, 0, 3], [-1, 0, 0, 1, 2]), 1)
BOTH = [FIRST, SECOND]


@pytest.mark.parametrize(
    ("rule", "fault", "sentence"),
    [
        (MergeRule.TOKEN, MergeFault.LOST, "lost history: node 4 of draft 0 (3 2 3) is on no merged path"),
        (
            MergeRule.TOKEN_AND_DEPTH,
            MergeFault.INVENTED,
            "invented history: merged node 5 (3 1 3 2) was drafted by nobody",
        ),
        (MergeRule.CORRECTION, MergeFault.LOST, "lost history: node 2 of draft 0 (3 2) is on no merged path"),
    ],
)
def test_each_wrong_merge_is_told_apart(rule: MergeRule, fault: MergeFault, sentence: str) -> None:
    """On one pair of drafts each rule makes another tree, and only that rule is named."""
    found = {finding.fault: finding for finding in judge_merge(BOTH, decoder_merge(BOTH, PLANTED[rule]))}
    assert str(found[fault]) == f"{sentence}; merging {rule} makes this tree"
    assert {finding.rules for finding in found.values()} == {(rule,)}
    assert MergeFault.MISPLACED in found


def test_corrections_that_are_not_shown_are_not_blamed() -> None:
    """Without the drafts' corrections a merge by them is found all the same, and no rule is named for it."""
    blind = [replace(draft, corrections=None) for draft in BOTH]
    found = judge_merge(blind, decoder_merge(BOTH, PLANTED[MergeRule.CORRECTION]))
    assert found[0].fault is MergeFault.LOST
    assert found[0].rules == ()
    assert "merging" not in str(found[0])


def test_a_probability_of_another_draft_is_found() -> None:
    """One q for every draft, the first's, is wrong for the second's node at the same history; its own is right."""
    right = decoder_merge(BOTH, history)
    merged = merge([draft.tree for draft in BOTH])
    edges = np.zeros(len(merged.tree))
    for draft, nodes in zip(reversed(BOTH), reversed(merged.node_of), strict=True):
        assert draft.tree.edge_log_probs is not None
        edges[nodes] = draft.tree.edge_log_probs
    shared = MergeClaim(CandidateTree(merged.tree.tokens, merged.tree.parents, edges))
    (finding,) = judge_merge(BOTH, shared)
    assert SECOND.tree.edge_log_probs is not None
    assert (finding.fault, finding.draft, finding.node) == (MergeFault.PROBABILITY, 1, 1)
    assert str(finding) == (
        f"wrong probability: node 1 of draft 1 (3 1) is tried with log q = {edges[1]};"
        f" expected {SECOND.tree.edge_log_probs[1]}, its own draft's"
    )
    assert judge_merge(BOTH, replace(shared, edge_log_probs=right.edge_log_probs)) == ()


def test_a_row_of_another_history_is_found() -> None:
    """A merged node with the row of another path is named with the path whose row it has; within the noise it is right."""
    right = decoder_merge(BOTH, history)
    assert right.rows is not None
    rows = right.rows.copy()
    rows[4] = rows[3]  # the row after 3 1 3 at 3 2 3
    (finding,) = judge_merge(BOTH, replace(right, rows=rows))
    assert str(finding) == (
        "wrong row: merged node 4 has another row than node 4 of draft 0 (3 2 3): that of node 3 of draft 0 (3 1 3)"
    )
    near = right.rows + 0.25
    assert judge_merge(BOTH, replace(right, rows=near), noise=0.25) == ()
    assert judge_merge(BOTH, replace(right, rows=near), noise=0.125)[0].fault is MergeFault.ROW
    assert judge_merge(BOTH, replace(right, rows=near * np.nan), noise=1.0)[0].fault is MergeFault.ROW


def test_minus_infinity_agrees_with_itself() -> None:
    """Rows and log-probabilities of minus infinity are equal to their like and to nothing else."""
    tree = CandidateTree([0, 1], [-1, 0], [0.0, -np.inf])
    rows = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    draft = Draft(tree, rows)
    edges = (np.array([0.0, -np.inf]),)
    assert judge_merge([draft], MergeClaim(tree, None, edges, rows), noise=1.0) == ()
    assert judge_merge([draft], MergeClaim(tree, None, edges, rows[::-1]), noise=1.0)[0].fault is MergeFault.ROW


ONE, OTHER = CandidateTree([0, 1], [-1, 0]), CandidateTree([1, 1], [-1, 0])


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: merge([]), UsageError, "0 drafts with roots []; expected at least one, all with the same root"),
        (lambda: merge([ONE, OTHER]), UsageError, "2 drafts with roots [0, 1]; expected at least one"),
        (lambda: draws(merge([ONE]), [ONE, ONE], 0), UsageError, "drafts of [2, 2] nodes; expected [2]"),
        (lambda: draws(merge([ONE]), [ONE], 2), UsageError, "node 2 does not exist; expected a slot from 0 to 1"),
        (lambda: judge_merge([Draft(ONE), Draft(OTHER)], MergeClaim(ONE)), UsageError, "2 drafts with roots [0, 1]"),
        (lambda: judge_merge([Draft(ONE, np.zeros((3, 2)))], MergeClaim(ONE)), UsageError, "rows of draft 0 have 3 entries; expected 2"),
        (lambda: judge_merge([Draft(ONE)], MergeClaim(ONE, (np.array([0, 2]),))), AdapterError, "node_of[0][1] is 2; expected merged nodes from 0 to 1"),
        (lambda: judge_merge([Draft(ONE)], MergeClaim(ONE, (np.array([0.0, 1.0]),))), AdapterError, "node_of[0] is float64; expected merged nodes"),
        (lambda: judge_merge([Draft(ONE)], MergeClaim(ONE, (np.array([0]),))), AdapterError, "node_of has [1] entries; expected [2]"),
        (lambda: judge_merge([Draft(ONE, np.zeros((2, 2)))], MergeClaim(ONE, rows=np.zeros((2, 3)))), AdapterError, "rows of shape (2, 3); expected one for each of 2 nodes"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(wrong: Callable[[], object], error: type[Exception], message: str) -> None:
    """Drafts that share no root are the caller's fault, claims that do not fit them the adapter's: both named."""
    with pytest.raises(error) as caught:
        wrong()
    assert message in str(caught.value)
