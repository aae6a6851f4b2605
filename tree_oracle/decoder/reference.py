"""The reference decoder: every seam, out of swappable parts.

It is what a right answer looks like, what a planted fault is planted in, and what the oracle is tried on first. It is not
ground truth: that is the sequential run of ``tree_oracle.target``, which shares nothing with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from msgspec.structs import replace

from tree_oracle import construct
from tree_oracle.decoder.attention import AttentionLayout, Heads
from tree_oracle.decoder.batch_session import BatchSession
from tree_oracle.decoder.caches import BlockTable, Moved, Pool
from tree_oracle.decoder.draft import HalfRightDraft
from tree_oracle.decoder.parts import Parts, Rows
from tree_oracle.decoder.sampled import NextLaw, SampledDecoder, SampledText
from tree_oracle.decoder.seams import Answer
from tree_oracle.decoder.session import ReferenceSession, Request
from tree_oracle.record import Limits, Processors, Round
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree, Layout
from tree_oracle.verify.law import Declaration

Draft = Callable[[Sequence[int]], CandidateTree]


@dataclass(frozen=True, slots=True)
class ReferenceDecoder:
    """A tree decoder over a Hugging Face target.

    Args:
        target: the target model.
        parts: what it is put together from.
        draft: makes the tree for the next round of ``generate`` (default: right about half of the time).
        tree_policy: what ``build_tree`` builds by, in any of the forms of ``tree_oracle.construct.declared``.
        sampling: how it samples.
    """

    target: Target
    parts: Parts = field(default_factory=Parts)
    draft: Draft | None = None
    tree_policy: construct.Declared = field(default_factory=construct.TreeSpark)
    sampling: SampledDecoder = field(default_factory=SampledDecoder)
    _own_draft: HalfRightDraft = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_own_draft", HalfRightDraft(self.target))

    def build_tree(self, draft: construct.Draft, root: int) -> Answer:
        """The tree that the policy makes of a draft."""
        return self.parts.build(construct.declared(self.tree_policy).policy, draft, root)

    def lay_out(self, tree: CandidateTree, prefix_len: int) -> Layout:
        """Positions and visibility of every node above a prefix of ``prefix_len`` tokens, the root included."""
        return (self.parts.encode or self.parts.lay_out)(tree, prefix_len)

    def tree_logits(self, prefix: Sequence[int], tree: CandidateTree) -> Rows:
        """Logits at every node: row v is the law of the token after node v."""
        cache = self.parts.prefill(self.target.model, prefix[:-1])
        return self.parts.target_pass(self.target.model, cache, tree, self.parts.lay_out(tree, len(prefix)))

    def accept(self, tree: CandidateTree, rows: Float[np.ndarray, "n vocab"]) -> tuple[tuple[int, ...], int]:
        """The nodes followed and the bonus token."""
        decision = self.parts.walk(tree, np.asarray(rows))
        return decision.accepted, decision.bonus

    @property
    def declared_mode(self) -> Declaration:
        """What it says of how it samples."""
        return self.sampling.declared_mode

    def accept_sampled(
        self,
        tree: CandidateTree,
        target: Float[np.ndarray, "n vocab"],
        draft: Float[np.ndarray, "n vocab"],
        coins: Iterator[float],
    ) -> tuple[tuple[int, ...], int]:
        """The nodes followed and the bonus token, by chance from ``coins``."""
        return self.sampling.accept_sampled(tree, target, draft, coins)

    def open_sampled(self, target: NextLaw, draft: NextLaw) -> SampledText:
        """Start a text that is sampled from laws that are handed over."""
        return self.sampling.open_sampled(target, draft)

    def move(
        self, accepted: Sequence[int], slots: Sequence[int], block_table: BlockTable, pools: Sequence[Pool]
    ) -> Moved:
        """The commit of one round in shared pools, which are changed in place."""
        return self.parts.move(accepted, slots, block_table, pools)

    @property
    def attend_dtype(self) -> str:
        """What the attention operator says that it computes in."""
        return str(getattr(self.parts.attend, "dtype", "float32"))

    def attend(
        self, q: Heads, k: Heads, v: Heads, tree: CandidateTree, prefix_len: int, layout: AttentionLayout
    ) -> Heads:
        """Masked attention over made-up queries, keys and values."""
        return self.parts.attend(q, k, v, tree, prefix_len, layout)

    def open(
        self, prompts: Sequence[Sequence[int]], limits: Limits, processors: Processors | None = None
    ) -> ReferenceSession | BatchSession:
        """Start a session: of one request with a cache of its own, of several in one padded batch."""
        session = BatchSession if len(prompts) > 1 else ReferenceSession
        return session(self.target, self.parts, prompts, limits, processors)

    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        limits: Limits,
        processors: Processors | None = None,
        draft: Draft | None = None,
    ) -> list[list[Round]]:
        """Decode every prompt to its end, round by round, on the trees of ``draft`` if one is handed over."""
        return [self._generate(prompt, limits, processors, draft or self.draft) for prompt in prompts]

    def _generate(
        self, prompt: Sequence[int], limits: Limits, processors: Processors | None, draft: Draft | None
    ) -> list[Round]:
        request = Request(self.target, self.parts, prompt, limits, processors)
        rounds: list[Round] = []
        while request.ended is None:
            rounds.append(self._round(request, draft))
        return rounds

    def _round(self, request: Request, draft: Draft | None) -> Round:
        """A round over a tree of its own, with the pool where that is known."""
        if draft is not None:
            return request.step(draft(tuple(request.committed)))
        tree, pool = self._own_draft.drafted(request.committed)
        return replace(request.step(tree), pool=pool.to_data())
