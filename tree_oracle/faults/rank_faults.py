"""Planted faults of a simulated group of ranks: what rank 0 decides is not passed on. Rank 0 itself is right."""

from __future__ import annotations

from tree_oracle.decoder import Parts
from tree_oracle.decoder.parts import Decision, Walker
from tree_oracle.decoder.ranks import RankParts, Rows, own_rows
from tree_oracle.faults.fault import Fault
from tree_oracle.tree import CandidateTree


def siblings_redrawn(tree: CandidateTree, rank: int) -> CandidateTree:
    """Fault: the tokens of the last siblings are drafted by the rank itself, and come in another order."""
    tokens, parents = tree.tokens.tolist(), tree.parents.tolist()
    last = [node for node in range(1, len(tree)) if parents[node] == max(parents)]
    for node, token in zip(last, [tokens[v] for v in reversed(last)], strict=True):
        tokens[node] = token
    return CandidateTree(tokens, parents)


def redrawn_and_received(tree: CandidateTree, rank: int) -> CandidateTree:
    """Twin: the rank drafts, and takes the tree of rank 0 all the same."""
    siblings_redrawn(tree, rank)
    return tree


def own_decision(walk: Walker, tree: CandidateTree, rows: Rows, decision: Decision) -> Decision:
    """Fault: the rank decides by its own rows."""
    return walk(tree, own_rows(rows))


def own_and_received_decision(walk: Walker, tree: CandidateTree, rows: Rows, decision: Decision) -> Decision:
    """Twin: the rank decides by its own rows, and takes the decision of rank 0 all the same."""
    own_decision(walk, tree, rows, decision)
    return decision


def count_not_passed_on(count: int) -> int:
    """Fault: the rank goes on by the bonus alone, as after plain decoding."""
    return min(count, 1)


def count_by_one(count: int) -> int:
    """Twin: the accepted tokens are counted one by one."""
    return sum(1 for _ in range(count))


RANK_FAULTS = (
    Fault(
        "draft-sampled-per-rank",
        "RANK",
        "RANK-01",
        "every rank drafts the last siblings for itself",
        "two siblings on the deepest level of a branch",
        "drafts whose random state or whose ties differ by rank",
        Parts(ranks=RankParts(draft=siblings_redrawn)),
        "every rank drafts for itself and takes the tree of rank 0 all the same",
        Parts(ranks=RankParts(draft=redrawn_and_received)),
    ),
    Fault(
        "decision-not-broadcast",
        "RANK",
        "RANK-02",
        "every rank decides by its own logits",
        "a near tie on the path",
        "tensor-parallel ranks whose logits differ in the last bit",
        Parts(ranks=RankParts(decide=own_decision)),
        "every rank decides by its own logits and takes the decision of rank 0 all the same",
        Parts(ranks=RankParts(decide=own_and_received_decision)),
    ),
    Fault(
        "accept-count-not-passed-on",
        "RANK",
        "RANK-03",
        "the other ranks keep the root's row alone, whatever was accepted",
        "one accepted draft",
        "accept counts that only the rank that verifies knows",
        Parts(ranks=RankParts(count=count_not_passed_on)),
        "the accepted tokens are counted one by one",
        Parts(ranks=RankParts(count=count_by_one)),
    ),
)
