"""The seams: the places where a decoder under test can be driven with *our* input.

An adapter subclasses nothing. It is an object with any of these methods, and what it has decides which checks run.
Answers may be lists, numpy arrays or torch tensors; ``tree_oracle.checks.answers`` reads them strictly. A decoder must not
change what it is given and must give the same answer to the same question.

Conventions of every answer: node 0 is the root, the last token of the prefix; a layout has ``len(prefix) - 1 + n`` columns,
first the cached prefix without the root, then the nodes by slot; True means visible; ``accepted`` lists nodes in path
order without the root; ``emitted`` ends with the bonus when it was emitted, and with the end token when one was reached.

Processors (penalties, biases, banned sequences, a grammar) are handed to ``open`` and ``generate`` by the keyword
``processors``, where those have a parameter of that name; without one the cases that need it are not observable. What it
does not have of them, a decoder refuses. It is a ``tree_oracle.record.Processors``, for all prompts of the call alike.

A drafter is handed to ``generate`` in the same way, by the keyword ``draft``: ``draft(prefix)`` answers the tree for the next
round, a ``CandidateTree`` whose root is the last token of ``prefix``, which is the prompt and everything committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from tree_oracle.construct import Draft
from tree_oracle.decoder.attention import AttentionLayout
from tree_oracle.decoder.caches import BlockTable, Pool
from tree_oracle.record import Limits, Round
from tree_oracle.tree import CandidateTree

Answer = Any  # whatever the adapter hands back: read at the border, never trusted


class Seam(StrEnum):
    """The name of a driven method, in the order in which a report lists them; last, ``generate`` seen from the target."""

    BUILD = "build_tree"
    LAY_OUT = "lay_out"
    TREE_LOGITS = "tree_logits"
    ACCEPT = "accept"
    ACCEPT_SAMPLED = "accept_sampled"
    MOVE = "move"
    ATTEND = "attend"
    SESSION = "open"
    SAMPLED_SESSION = "open_sampled"
    GENERATE = "generate"
    TAP = "tap"

    @property
    def method(self) -> str:
        """What a decoder must have for it. The tap runs ``generate`` and watches the target's model."""
        return Seam.GENERATE.value if self is Seam.TAP else self.value


class BuildsTrees(Protocol):
    """Turns a draft into a candidate tree. It may also have ``tree_policy``, the name of a published policy or another form of
    ``tree_oracle.construct.declared``: without it only laws that hold for every tree are judged."""

    def build_tree(self, draft: Draft, root: int) -> Answer:
        """A ``CandidateTree``, ``(tokens, parents)``, or an object or mapping with ``tokens`` and ``parents``: n integers each,
        node 0 the root with token ``root`` and parent -1. Or a tree in an encoding: see ``tree_oracle.decoder.encoded``.

        ``draft.log_probs(depth, parent_token)`` has a vocabulary of its own, which has nothing to do with the target's.
        """
        ...


class LaysOut(Protocol):
    """Turns a tree into positions and a mask."""

    def lay_out(self, tree: CandidateTree, prefix_len: int) -> Answer:
        """An object or mapping with ``positions`` (n integers) and one of ``visible`` (bool, True = attends), ``hidden``
        (bool, True = does not attend) or ``additive`` (float, 0 = attends, hugely negative = does not). Or the buffers of a
        published encoding: see ``tree_oracle.decoder.encoded``."""
        ...


class ScoresTrees(Protocol):
    """Runs the target once over all nodes of a tree."""

    def tree_logits(self, prefix: Sequence[int], tree: CandidateTree) -> Answer:
        """Rows, n x vocabulary: row v is the law of the token after node v."""
        ...


class Accepts(Protocol):
    """Decides which nodes are accepted, from rows that the oracle makes up."""

    def accept(self, tree: CandidateTree, rows: Any) -> Answer:
        """``(accepted, bonus)``: the nodes followed, root excluded, and the token emitted where the path ends."""
        ...


class AcceptsSampled(Protocol):
    """Decides by chance. It may also have ``declared_mode``, a ``tree_oracle.verify.law.Declaration`` of how siblings are
    proposed and which rule verifies them: without it nothing can be said of this seam, as no law is known to hold."""

    def accept_sampled(self, tree: CandidateTree, target: Any, draft: Any, coins: Iterator[float]) -> Answer:
        """``(accepted, bonus)`` as ``accept``, by chance alone from ``coins``.

        ``target`` and ``draft`` hold probabilities, float64, n x vocabulary: row v is the law of the token after node v, and
        the law that the children of v were proposed from; children stand in the order in which they were proposed. Every
        test and every draw takes the next coin u of [0, 1), as ``tree_oracle.verify.coin`` has it: a test accepts iff
        u < p, a draw gives the first token whose cumulative weight exceeds u times the sum. There is no end of coins.
        """
        ...


class Moves(Protocol):
    """Keeps the rows of the accepted path in pools that several requests share. Needs no model."""

    def move(
        self, accepted: Sequence[int], slots: Sequence[int], block_table: BlockTable, pools: Sequence[Pool]
    ) -> Answer:
        """Make the rows of the root and of ``accepted`` the next rows of the request, in every pool.

        Node v was written to the pool row ``slots[v]``. The pools hold made-up integers and are there to be changed in place;
        a move that works on copies, on a device for instance, answers ``pools``, in the same order. The answer is the number
        of rows that the request then holds, or an object or mapping with any of ``length``, ``pages`` (its block table, where
        that has changed) and ``pools``; None tells nothing.
        """
        ...


class Attends(Protocol):
    """An attention operator with its own form of the mask. Needs no model. It may also have ``attend_dtype``, the dtype that it
    computes in (float64, float32, bfloat16, float16); without it that is float32."""

    def attend(self, q: Any, k: Any, v: Any, tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Answer:
        """Attention of every node over the keys that it may see, scores divided by the square root of the width.

        Args:
            q: float32, heads x n x width; node v is row v.
            k: float32, groups x columns x width, columns = prefix_len - 1 + n: first the cached prefix without the root, then
                the nodes by slot. Query head h reads group h // (heads / groups).
            v: float32, as ``k``.
            tree, prefix_len: what a mask is made from.
            layout: the same made: positions, the window if there is one, and which columns a row sees.

        All numbers are small multiples of 1/4, which every dtype in use holds exactly. The answer is heads x n x width.
        """
        ...


class Session(Protocol):
    """Several rounds over the same requests with a kept cache.

    The requests of a session are counted in the order of admission; one whose round names an end has left before the next
    step. A request without a draft is given its root alone.
    """

    def step(self, trees: Sequence[CandidateTree]) -> Sequence[Round | Mapping[str, Any]]:
        """One round per request: a ``Round``, or a mapping with the same names and plain values."""
        ...


class Admits(Protocol):
    """A session that requests can join and leave between its steps. Cases that need it are not applicable without it."""

    def admit(self, prompts: Sequence[Sequence[int]]) -> None:
        """Further requests, which come after all that are there."""
        ...

    def drop(self, places: Sequence[int]) -> None:
        """The requests at these places leave although they have not ended; what has ended is not counted any more."""
        ...


class ShowsCache(Protocol):
    """A session that can show what its cache holds."""

    def cache(self) -> Answer:
        """Per request of the last step, per layer ``(keys, values)``, each heads x rows x width; None or anything where it
        has ended."""
        ...


class Opens(Protocol):
    """Starts a session on prompts."""

    def open(self, prompts: Sequence[Sequence[int]], limits: Limits) -> Session: ...


class SampledSession(Protocol):
    """One text, round after round, by an object that lives as long as the text."""

    def step(self, coins: Iterator[float]) -> Round | Mapping[str, Any]:
        """One whole round: drafted, verified, emitted. ``emitted`` is needed; ``tokens`` and ``parents`` of the whole tree
        that was verified, siblings in the order of the draw, show more. Coins that are not taken are not missed: a decoder
        with chance of its own leaves them all."""
        ...


class OpensSampled(Protocol):
    """Starts a text that is sampled. It may also have ``declared_mode``, whose ``processing`` the text must follow."""

    def open_sampled(
        self, target: Callable[[Sequence[int]], Any], draft: Callable[[Sequence[int]], Any]
    ) -> SampledSession:
        """``target`` and ``draft`` give the law of the next token, float64, after the tokens emitted so far and those of a
        path below them. Both are raw: temperature and truncation are the decoder's to apply and to declare."""
        ...


class Generates(Protocol):
    """Decodes to the end with its own drafts."""

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> Answer:
        """Per prompt either the emitted tokens, or the rounds (``Round`` or mapping) that emitted them."""
        ...


def seams_of(decoder: object) -> frozenset[Seam]:
    """The seams that a decoder offers, by the methods that it has. Whether it can be tapped, its target decides."""
    return frozenset(seam for seam in Seam if seam is not Seam.TAP and _offers(decoder, seam.value))


def _offers(decoder: object, method: str) -> bool:
    try:
        return callable(getattr(decoder, method, None))
    except Exception:  # it has something there, and driving it will say what it raises
        return True
