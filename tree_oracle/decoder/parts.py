"""The parts that the reference decoder is put together from. A planted fault replaces exactly one of them.

Each part is a plain function, so that a fault shows through every seam that uses the part: a wrong layout spoils
``lay_out``, ``tree_logits``, a session and whole generations alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from transformers import DynamicCache, PreTrainedModel

from tree_oracle.construct import Draft, TreePolicy
from tree_oracle.decoder.attention import Attend, attend
from tree_oracle.decoder.batch_parts import BatchParts
from tree_oracle.decoder.caches import BlockTable, Moved, Pool, move
from tree_oracle.decoder.commit import keep_path
from tree_oracle.decoder.path_parts import PathParts
from tree_oracle.decoder.ranks import RankParts
from tree_oracle.decoder.scores import path_scores
from tree_oracle.decoder.stop import Ending, Tokens, cut
from tree_oracle.masked import tree_pass
from tree_oracle.record import Limits, Work
from tree_oracle.target import prefill
from tree_oracle.tree import CandidateTree, Layout, lay_out
from tree_oracle.verify import walk

Rows = Float[np.ndarray, "n vocab"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What verification decided: nodes followed (root excluded) and the token emitted where the path ends."""

    accepted: tuple[int, ...]
    bonus: int


# The policy, the draft and the root's token: an answer of ``build_tree``. A wrong build may make arrays that are no tree, and
# may know how one policy drafts.
Build = Callable[[Any, Draft, int], Any]
LayOut = Callable[[CandidateTree, int], Layout]
TargetPass = Callable[[PreTrainedModel, DynamicCache, CandidateTree, Layout], Rows]
Walker = Callable[[CandidateTree, Rows], Decision]
Scorer = Callable[[CandidateTree, Rows], Float[np.ndarray, " n"]]
Kept = Int[np.ndarray, " kept"]
# (tree, decision, number of emitted tokens): the nodes whose cache rows stay, in cache order.
Keep = Callable[[CandidateTree, Decision, int], Kept]
# (model, committed tokens without the newest): a cache of them.
Prefill = Callable[[PreTrainedModel, Sequence[int]], Any]
# (model, cache or None for a new text, committed tokens without the newest, prefill): the cache that a round starts from.
Hold = Callable[[PreTrainedModel, Any, Tokens, Prefill], Any]
# (cache, cached rows before the round, nodes to keep): afterwards the cache holds those rows and no others.
Commit = Callable[[DynamicCache, int, Kept], None]
# (accepted nodes, pool row per node, block table, pools): afterwards the pools hold the path behind the request's rows.
Move = Callable[[Sequence[int], Sequence[int], BlockTable, Sequence[Pool]], Moved]
# (number of prompt tokens, tokens emitted so far, tokens of this round, limits): what is emitted, and whether it ends.
Stop = Callable[[int, Tokens, Tokens, Limits], Ending]


def build_tree(policy: TreePolicy, draft: Draft, root: int) -> CandidateTree:
    """The policy's own tree."""
    return policy.build(draft, root).tree


def hold(model: PreTrainedModel, cache: Any, tokens: Tokens, fresh: Prefill) -> Any:
    """The cache that is there; a new one for a new text."""
    return fresh(model, tokens) if cache is None else cache


def run_target(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """The tree-masked pass of the whole tree."""
    return tree_pass(model, cache, tree.tokens, layout.positions, layout.visible)


def greedy(tree: CandidateTree, rows: Rows) -> Decision:
    """The greedy walk of ``tree_oracle.verify``."""
    walked = walk(tree, rows)
    return Decision(walked.accepted, walked.bonus)


def path_to_keep(tree: CandidateTree, decision: Decision, emitted: int) -> Kept:
    """The root and the accepted path, without the newest committed token."""
    return np.array([0, *decision.accepted][:emitted], dtype=np.int64)


def work_of(tree: CandidateTree) -> Work:
    """What a round over this tree costs: one pass of the target, candidates by depth, and what counters gain by it."""
    packed = tuple(np.bincount(tree.depths)[1:].tolist())
    return Work(target_passes=1, packed=packed, rounds=int(len(tree) > 1), drafted=len(tree) - 1)


@dataclass(frozen=True, slots=True)
class Parts:
    """One decoder, part by part."""

    build: Build = field(default=build_tree)
    lay_out: LayOut = field(default=lay_out)
    encode: LayOut | None = None  # what ``lay_out`` answers instead: buffers that the pass does not read
    prefill: Prefill = field(default=prefill)  # the kind of cache of a request that is decoded alone
    hold: Hold = field(default=hold)
    target_pass: TargetPass = field(default=run_target)
    walk: Walker = field(default=greedy)
    score: Scorer = field(default=path_scores)
    keep: Keep = field(default=path_to_keep)
    commit: Commit = field(default=keep_path)
    move: Move = field(default=move)
    attend: Attend = field(default=attend)
    stop: Stop = field(default=cut)
    work: Callable[[CandidateTree], Work] = field(default=work_of)
    batch: BatchParts = field(default=BatchParts())  # of it, too, a planted fault replaces one part
    ranks: RankParts = field(default=RankParts())  # and of this
    path: PathParts = field(default=PathParts())  # and of it
