"""What a recorded request gives each check to judge: the same cases that a driven decoder gives, answered from the trace.

    texts     the whole text with its limits: every check that needs nothing but tokens, such as SEQUENCE and STOP
    pairs     a round and the one before it: COMMIT-03
    ranks     the whole text with what the other ranks did in each round: RANK (``trace_ranks``)
    beside    a round that verified a draft, with the control rounds that stand after its nodes' tokens: NUMERIC-02
    trees     one round that shows a tree, be it a root alone, without its arrays: CONSTRUCT-01
    rounds    one round that verified a draft: every other check that reads rounds

A round without a draft says nothing about trees, and a check that would pass on anything there is not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import msgspec
import numpy as np

from tree_oracle.checks import Check
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Array, Case, Grade, Limits, Round, Truth
from tree_oracle.trace import History, NotRecorded, Recorded, RecordedTruth, Replay, Request, completed

PAIRS = ("COMMIT-03",)
BESIDE = ("NUMERIC-02",)
TREES = ("CONSTRUCT-01",)
GREEDY_LAWS = ("GATHER-01", "GATHER-03", "GREEDY", "SEQUENCE", "CHAIN-01", "CHAIN-02", "STOP-06")
TRUTH_OF_THE_TARGET = ("HISTORY-01", "NUMERIC-01", "COMMIT-01", "COMMIT-03")

ANY_TOKEN = 2**31  # tokens lie below this where nothing tells how many there are

_UNBOUNDED = Limits(max_new_tokens=1 << 30)
_ROUNDS = frozenset({Seam.SESSION, Seam.GENERATE, Seam.TAP})


@dataclass(frozen=True, slots=True)
class Recounted:
    """One case with the rounds that the trace answers it with, and the truth to hold them against."""

    case: Case
    replay: Replay
    truth: Truth
    lines: tuple[int, ...]  # of the trace, one for each round
    controls: tuple[Round, ...] = ()  # without any tree, after the tokens of one of its nodes
    parted: tuple[int, tuple[int, ...]] | None = (
        None  # the round before which another rank's text parts, and what is committed there
    )
    text: bool = False  # judged by its tokens alone, so that no round shows what was committed before it but the first


def reads_rounds(check: Check) -> bool:
    """Whether the check judges rounds that a decoder ran by itself, of one request."""
    return check.id in BESIDE or any(
        s.seam in _ROUNDS and not (s.scene.batched or s.scene.chancy) for s in check.sources
    )


def needs_greedy(check: Check) -> bool:
    """Whether its law holds for greedy decoding only."""
    return check.id in GREEDY_LAWS or check.family in GREEDY_LAWS


@dataclass(frozen=True, slots=True)
class Reader:
    """Makes the cases of requests.

    Args:
        truth: sequential runs of the target; None leaves what came with the trace.
        control: rows of control rounds by history, where there is no target.
        alone: whole rows of control rounds by history.
    """

    truth: Truth | None
    control: RecordedTruth | None = None
    alone: Mapping[History, np.ndarray] = field(default_factory=dict)

    def texts(self, request: Request) -> Iterator[Recounted]:
        """The whole text. Where it has no end yet, or nobody said where it must end, only its tokens can be judged."""
        rounds = tuple(one.tokens_only for one in request.rounds)
        limits = request.limits if ended(request) and request.limits is not None else Limits(len(request.emitted))
        truth = self.truth or RecordedTruth(Grade.RECORDED, ANY_TOKEN)
        case = Case(prefix=request.prompt, limits=limits)
        lines = tuple(one.line for one in request.rounds)
        yield Recounted(case, Replay(request.prompt, rounds), truth, lines, text=True)

    def rounds(self, request: Request) -> Iterator[Recounted]:
        """Every round that shows a draft; the last of a text may be cut, and nothing is built on the cache it leaves."""
        for one in request.rounds:
            if drafted(one):
                found = self._alone(request.prefix(one), one)
                last = request.done and one is request.rounds[-1]
                yield _without_remains(found) if last else found

    def trees(self, request: Request) -> Iterator[Recounted]:
        """Every round that shows a tree."""
        truth = self.truth or RecordedTruth(Grade.RECORDED, ANY_TOKEN)
        for one in filter(shows_tree, request.rounds):
            prefix, bare = request.prefix(one), msgspec.structs.replace(one.tokens_only, kept=None)
            yield Recounted(Case(prefix=prefix, limits=_UNBOUNDED), Replay(prefix, (bare,)), truth, (one.line,))

    def pairs(self, request: Request) -> Iterator[Recounted]:
        """Every round that shows a draft, after the one before it."""
        for before, one in pairwise(request.rounds):
            if drafted(one):
                first, second = (self._alone(request.prefix(each), each) for each in (before, one))
                prompt = first.replay.prompt
                replay = Replay(prompt, (*first.replay.rounds, *second.replay.rounds))
                yield Recounted(Case(prefix=prompt, limits=_UNBOUNDED), replay, second.truth, (before.line, one.line))

    def beside(self, request: Request) -> Iterator[Recounted]:
        """Every round that shows a draft and whole rows, with the control rounds after the tokens of its nodes."""
        for one in request.rounds if self.alone else ():
            if not drafted(one) or one.summary is not None or (one.round.rows is None and "rows" not in one.beside):
                continue
            prefix = request.prefix(one)
            found = self._alone(prefix, one)
            (round_,) = found.replay.rounds
            texts = _texts(prefix, round_) or ()
            controls = tuple(_control(text, self.alone[text]) for text in dict.fromkeys(texts) if text in self.alone)
            if controls:
                yield replace(found, truth=self.truth or self.control or found.truth, controls=controls)

    def chosen(self, request: Request) -> Iterator[Recounted]:
        """Every round as a text of its own, as far as a control row stands for each token; without control rows by its own."""
        for one in request.rounds:
            prefix = request.prefix(one)
            alone = self._alone(prefix, one)
            (round_,) = alone.replay.rounds
            truth = self.control or own_rows(prefix, round_)
            known = _known(truth, prefix, round_.emitted)
            if known:
                cut = msgspec.structs.replace(round_, emitted=round_.emitted[:known], rows=None, end=None)
                yield replace(
                    alone, case=Case(prefix=prefix, limits=Limits(known)), replay=Replay(prefix, (cut,)), truth=truth
                )

    def _alone(self, prefix: tuple[int, ...], one: Recorded) -> Recounted:
        round_ = one.whole()
        if one.summary is not None:
            fits = self.truth is not None and self.truth.vocab_size == one.summary.vocab
            true = _true_rows(self.truth, prefix, round_) if fits else None
            exact = self.truth is not None and self.truth.exact
            round_ = msgspec.structs.replace(round_, rows=completed(one.summary, true, exact=exact))
        rows = round_.rows if self.truth is None and _are_laws(round_.rows) else None
        truth = self.truth or RecordedTruth(Grade.RECORDED, _width(round_))
        case = Case(prefix=prefix, limits=_UNBOUNDED, rows=rows)
        return Recounted(case, Replay(prefix, (round_,)), truth, (one.line,))


def _without_remains(found: Recounted) -> Recounted:
    bare = tuple(msgspec.structs.replace(round_, kept=None, cache=None) for round_ in found.replay.rounds)
    limits = Limits(max(sum(len(round_.emitted) for round_ in bare), 1))  # where it ends, whatever ended it
    case = msgspec.structs.replace(found.case, limits=limits)
    return replace(found, case=case, replay=Replay(found.replay.prompt, bare))


def shows_tree(one: Recorded) -> bool:
    """Whether the round shows a tree, of which a plain run has none; an empty one is none."""
    return not one.round.control and bool(one.round.tokens)


def drafted(one: Recorded) -> bool:
    """Whether the round shows a draft that was verified."""
    return shows_tree(one) and len(one.round.tokens or ()) > 1


def ended(request: Request) -> bool:
    """Whether nothing of the text is still to come."""
    return request.done or (bool(request.rounds) and request.rounds[-1].round.end is not None)


def own_rows(prefix: tuple[int, ...], round_: Round) -> RecordedTruth:
    """The rows of the root and of the accepted nodes, after the tokens that they stand for."""
    truth = RecordedTruth(Grade.RECORDED, _width(round_))
    if round_.rows is None or not _are_laws(round_.rows) or round_.tokens is None or round_.accepted is None:
        return truth
    rows, here = np.asarray(round_.rows.numpy(), dtype=np.float64), prefix
    for node in (0, *round_.accepted):
        if not 0 <= node < min(len(rows), len(round_.tokens)):
            break
        here = here if node == 0 else (*here, round_.tokens[node])
        truth.known[here] = rows[node]
    return truth


def _width(round_: Round) -> int:
    """Entries in a row; tokens lie below it, as far as rows are shown."""
    return round_.rows.shape[1] if round_.rows is not None and len(round_.rows.shape) == 2 else ANY_TOKEN


def _are_laws(rows: Array | None) -> bool:
    """Whether something can be chosen by each of the rows; a row of NaN or of infinities alone is no law."""
    if rows is None or len(rows.shape) != 2 or 0 in rows.shape:
        return False
    return bool(np.isfinite(np.asarray(rows.numpy(), dtype=np.float64).max(axis=1)).all())


def _known(truth: RecordedTruth, prefix: tuple[int, ...], emitted: tuple[int, ...]) -> int:
    """How many tokens have a row, the first that has none excluded."""
    if not truth.known:
        return 0
    texts = ((*prefix, *emitted[:place]) for place in range(len(emitted)))
    return next((place for place, text in enumerate(texts) if text not in truth.known), len(emitted))


def _true_rows(truth: Truth | None, prefix: tuple[int, ...], round_: Round) -> np.ndarray | None:
    """Sequential rows after every node; None where there is no target, or no tree to follow."""
    texts = _texts(prefix, round_)
    if truth is None or texts is None:
        return None
    if any(not 0 <= token < truth.vocab_size for text in texts for token in text):
        return None
    try:
        return truth.rows(texts)
    except NotRecorded:
        return None


def _texts(prefix: tuple[int, ...], round_: Round) -> list[tuple[int, ...]] | None:
    """The tokens up to each node; None where there is no tree to follow."""
    tokens, parents = round_.tokens, round_.parents
    if tokens is None or parents is None or len(parents) != len(tokens):
        return None
    texts = [prefix]
    for node in range(1, len(tokens)):
        if not 0 <= parents[node] < node:
            return None
        texts.append((*texts[parents[node]], tokens[node]))
    return texts


def _control(text: tuple[int, ...], row: np.ndarray) -> Round:
    """The row after a text, as a round over its last token alone."""
    return Round(emitted=(), prefix=text, tokens=text[-1:], parents=(-1,), rows=Array.of(row[None]), control=True)


Cases = Callable[[Request], Iterator[Recounted]]


def one_row(round_: Round) -> np.ndarray | None:
    """A control round's row; None if it shows none, or one that is no law."""
    if round_.rows is None or not _are_laws(round_.rows) or len(round_.rows.numpy()) != 1:
        return None
    (row,) = np.asarray(round_.rows.numpy(), dtype=np.float64)
    return np.asarray(row)
