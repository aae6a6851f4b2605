"""Chains: one-branch trees, as most drafters make them.

At every depth one token is proposed below the last: the most probable one, equal ones by the smallest id, or with a ``draw``
one drawn from the law. With a ``confidence`` the chain ends before the first token that it gives less than the threshold.

The cut must not anticipate: whether a token is proposed may depend on nothing that its own draw decides, or what is committed
no longer has the target's law (DSpark, appendix A, where such a cut turns (0.7, 0.3) into (0.85, 0.15)). So the confidence is
asked for with the history *above* the token, before the token exists.

| name | draft | levels |
| --- | --- | --- |
| DFlash | marginals of one block pass, argmax even for sampled targets | a block of b gives b - 1 |
| DSpark | Markov, drawn | a block of B gives B; confidence cut optional |
| blockwise parallel decoding | marginals of k heads, argmax | k |
| draft-model chain (Leviathan; Chen), Online Speculative Decoding | autoregressive, drawn | gamma |
| SpecDec | marginals of a block drafter, argmax; its acceptance is approximate | the block |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeAlias

from tree_oracle.construct.admissible import paths_of
from tree_oracle.construct.draws import SEED_0, Draw, draw_children
from tree_oracle.construct.laws import AnyDraft, History, Laws, Sight, histories_of
from tree_oracle.construct.policy import Built
from tree_oracle.construct.published import Published
from tree_oracle.construct.sapling import Sapling
from tree_oracle.record import DraftLaw, UsageError
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.values import whole_number

Confidence: TypeAlias = Callable[[History], float]  # the chance that the next token below this node is accepted


@dataclass(frozen=True, slots=True)
class Chain:
    """The policy.

    Raises:
        UsageError: the depth is no integer of at least 1, or the threshold no probability.
    """

    depth: int
    draw: Draw | None = None  # None: the most probable token
    confidence: Confidence | None = None  # None: no cut
    threshold: float = 0.5

    branching: ClassVar[int] = 1

    def __post_init__(self) -> None:
        whole_number("depth", self.depth, at_least=1)
        if not 0 <= self.threshold <= 1:
            raise UsageError(f"threshold is {self.threshold}; expected a probability")

    @classmethod
    def dflash(cls, block: int = 16) -> Chain:
        """DFlash's chain: the block's first position is the anchor.

        Raises:
            UsageError: ``block`` is below 2.
        """
        return cls(whole_number("block", block, at_least=2) - 1)

    @property
    def budget(self) -> int:
        return self.depth

    def build(self, draft: AnyDraft, root: int) -> Built:
        """The chain. It ends early where the confidence says so, or where no token is possible.

        Raises:
            InvalidDraft: a law of the draft is none.
            UsageError: the confidence is no probability.
        """
        laws, growing = Laws(draft), Sapling(root)
        while len(growing) <= self.depth and self._goes_on(growing.history(len(growing) - 1)):
            last = len(growing) - 1
            if not self._extend(laws, growing, last):
                break
        return growing.built()

    def admits(self, tree: CandidateTree, draft: AnyDraft, root: int) -> bool:
        """Whether some choice among equally probable tokens gives this chain; for a drawn one, whether it is the one drawn."""
        if tree.tokens[0] != root or tree.max_depth != len(tree) - 1 or len(tree) - 1 > self.depth:
            return False
        if self.draw is not None:
            return paths_of(tree) == paths_of(self.build(draft, root).tree)
        return self._may_be(histories_of(tree)[-1], Laws(draft))

    def _may_be(self, tokens: History, laws: Laws) -> bool:
        """Whether each token is a most probable one, and the chain ends where it must."""
        for length in range(1, len(tokens)):
            above, token = tokens[:length], tokens[length]
            law = laws.after(above)
            if not self._goes_on(above) or token >= len(law) or not -float("inf") < law[token] == law.max():
                return False
        full = len(tokens) - 1 == self.depth
        return full or not self._goes_on(tokens) or not len(laws.top(tokens, 1).tokens)

    def _goes_on(self, history: History) -> bool:
        if self.confidence is None:
            return True
        chance = self.confidence(history)
        if not 0 <= chance <= 1:
            raise UsageError(f"the confidence after {history} is {chance}; expected a probability")
        return chance >= self.threshold

    def _extend(self, laws: Laws, growing: Sapling, last: int) -> bool:
        """Add one token, and say whether there was one."""
        if self.draw is None:
            return len(growing.branch(last, laws, 1)) == 1
        law = laws.after(growing.history(last))
        tokens = draw_children(self.draw, law, 1, growing.history(last)).tolist()
        return bool(tokens) and growing.add(last, tokens[0], float(law[tokens[0]])) > last


PUBLISHED = (
    Published(
        name="dflash",
        title="DFlash: a block of marginals",
        source="arXiv 2602.06036; z-lab/dflash, dflash/model.py",
        budget="a block of b counts the anchor: b - 1 levels",
        law=DraftLaw.DETERMINISTIC,
        sees=Sight.DEPTH,
        scope="blocks of 16; greedy and sampled targets by sample matching",
        closed_under_ties=True,
        make=Chain.dflash,
    ),
    Published(
        name="dspark",
        title="DSpark: a Markov chain over a block",
        source="arXiv 2607.05147; deepseek-ai/DeepSpec, eval/dspark/draft_ops.py",
        budget="a block of B gives B levels",
        law=DraftLaw.INDEPENDENT,
        sees=Sight.PARENT,
        scope="blocks of 7, greedy and sampled targets by the ratio test, with and without a confidence cut",
        closed_under_ties=True,
        make=partial(Chain, depth=7, draw=SEED_0),
        own=("draw",),
    ),
    Published(
        name="blockwise",
        title="Blockwise parallel decoding",
        source="Stern et al. 2018; no program was read",
        budget="k heads give k levels, the first of which is the target's own head",
        law=DraftLaw.DETERMINISTIC,
        sees=Sight.DEPTH,
        scope="greedy targets; the relaxed acceptances are approximate",
        closed_under_ties=True,
        make=partial(Chain, depth=8),
    ),
    Published(
        name="draft-model-chain",
        title="Speculative decoding and sampling with a draft model",
        source="Leviathan et al. 2023; Chen et al. 2023",
        budget="gamma counts drafted tokens",
        law=DraftLaw.INDEPENDENT,
        sees=Sight.PATH,
        scope="autoregressive draft models; greedy and sampled targets by the ratio test",
        closed_under_ties=True,
        make=partial(Chain, depth=5, draw=SEED_0),
        aliases=("online-speculative-decoding", "distillspec"),
        own=("draw",),
    ),
    Published(
        name="specdec",
        title="SpecDec: a non-autoregressive block drafter",
        source="Xia et al. 2023; hemingkx/SpecDec, inference.py",
        budget="the block counts drafted tokens",
        law=DraftLaw.DETERMINISTIC,
        sees=Sight.DEPTH,
        scope="sequence-to-sequence models; acceptance by rank and margin, exact for greedy targets with beta = 1 alone",
        closed_under_ties=True,
        make=partial(Chain, depth=8),
    ),
)
