"""Judging a recorded trace with the checks that its content allows, one request at a time, so that its length costs no memory.

Truth, by grade: sequential runs of a target that is named (A on the exact model; B where another engine was recorded and its
control rounds tell its floor; otherwise C); control rows of the same engine (C); the rows that came with the record (D). A
check stops at its first failure. What the trace does not show is *not observable*.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from tree_oracle.checks import Check, witness_of
from tree_oracle.record import (
    Case,
    CheckResult,
    Grade,
    Report,
    Round,
    TieRule,
    Truth,
    Witness,
)
from tree_oracle.run.tally import FLOOR, floor_words
from tree_oracle.run.trace_border import refuse_another_target, refuse_foreign
from tree_oracle.run.trace_cases import (
    BESIDE,
    PAIRS,
    TREES,
    Cases,
    Reader,
    Recounted,
)
from tree_oracle.run.trace_context import WithinContext
from tree_oracle.run.trace_finding import placed
from tree_oracle.run.trace_floor import Controls, controls_of, floor_without_target, rows_shown, with_floor
from tree_oracle.run.trace_identity import RequestsDigest, identity, told_of
from tree_oracle.run.trace_ledger import Ledger
from tree_oracle.run.trace_outcome import Answer, answer_of, judged_by
from tree_oracle.run.trace_ranks import Ranks, of_all_ranks, without_files
from tree_oracle.run.trace_unasked import nothing_there, unasked
from tree_oracle.trace import (
    Head,
    Request,
    Requests,
    TraceReader,
    by_rank,
    together,
)


def judge_trace(
    path: Path,
    checks: Sequence[Check],
    *,
    truth: Truth | None = None,
    target: str = "",
    partial: bool = False,
    most: int | None = None,
    tie_rule: TieRule = TieRule.SMALLEST,
    required: int | None = None,
    cases: Sequence[Case] = (),
    place: Mapping[str, str] | None = None,
    others: Sequence[Path] = (),
    kept: bool = True,
    on_result: Callable[[CheckResult], None] = lambda result: None,
) -> Report:
    """Judge what was recorded.

    Args:
        path: the trace. It is read twice: first for its control rounds, and to know that it is whole.
        checks: the checks, in the order to report them.
        truth: sequential runs of the target; None judges by what came with the trace.
        target: what the target is called.
        partial: judge a recording that broke off as far as it goes.
        most: judge this many requests at most.
        tie_rule: which of bit-equal maxima is right.
        required: the rung that must be held for exit code 0.
        cases: what the first requests were made for, in their order, so that a finding names its case; others are passed over.
        place: versions, and where the target ran; the report then says which file was judged. None: nobody is to find it again.
        others: traces of other ranks of the same run. The lowest rank is judged, and RANK judges the others beside it.
        kept: whether the file is there afterwards; else findings name no line of it.
        on_result: called with each result.

    Raises:
        TraceError: the trace cannot be read.
        UsageError: it was recorded with another target, or holds tokens or rows that this one does not have; or traces of ranks
            are not of one run.
    """
    paths = by_rank([path, *others])
    first, *rest = ranks = [Requests(TraceReader(one, partial=partial)) for one in paths]
    with np.errstate(all="ignore"):  # a trace may hold any number, and what it comes to is judged
        controls = controls_of(first)
        deque(chain.from_iterable(rest), maxlen=0)  # to know that they are whole
        assert first.head is not None
        if truth is not None:
            refuse_another_target(first.head.target, target)
        heads = [one.head for one in ranks if one.head is not None]
        judging = _Judging(checks, truth, controls, heads, tie_rule, cases, kept=kept)
        for request, peers in together([Requests(TraceReader(one, partial=partial)) for one in paths]):
            if judging.requests == most:
                break
            if not request.control and not (cases and request.number >= len(cases)):
                judging.take(request, peers)
    results = tuple(ledger.result(judging.grade) for ledger in judging.ledgers)
    for result in results:
        on_result(result)
    return Report(
        decoder=first.head.decoder or paths[0].name,
        target=target or first.head.target or "none",
        grade=judging.grade.value,
        results=results,
        witness=judging.witness,
        own=judging.witness,
        environment=told_of(first, judging.requests)
        | {FLOOR: floor_words(controls.count, judging.rows) if controls.count else "no control rows in the trace"}
        | ({} if place is None else {**place, **identity([one.reader for one in ranks], most, tie_rule)}),
        required=required,
        digest=judging.digest.hex,
    )


class _Judging:
    """Requests of one trace, judged in turn."""

    def __init__(
        self,
        checks: Sequence[Check],
        truth: Truth | None,
        controls: Controls,
        heads: Sequence[Head],
        tie_rule: TieRule,
        cases: Sequence[Case],
        *,
        kept: bool,
    ) -> None:
        self._kept = kept
        self.rows, self.digest, self._without = 0, RequestsDigest(), without_files(heads)
        self.requests, self.witness, self._tie_rule, self._made_for = 0, Witness(), tie_rule, cases
        self.ledgers = [Ledger(check) for check in checks]
        self._truth = None if truth is None else with_floor(WithinContext(truth), controls, heads[0].engine)
        width = next((len(row) for row in controls.rows.values()), 0)
        self._control = floor_without_target(controls, width) if truth is None else None
        self._alone = controls.whole
        self.grade = Grade.RECORDED if self._truth is None else self._truth.grade

    def take(self, request: Request, others: Sequence[Request]) -> None:
        self.requests += 1
        self.digest.take(request)
        if self._truth is not None:
            for one in (request, *others):
                refuse_foreign(one, self._truth.vocab_size)
        self.rows += sum(map(rows_shown, request.rounds))
        self.witness += witness_of([one.tokens_only for one in request.rounds if not one.round.control])
        reader = Reader(self._truth, self._control, self._alone)
        ranks = Ranks(reader, others)
        asked: dict[Cases, list[Ledger]] = {}  # by what they judge, so that each case is read once
        for ledger in self.ledgers:
            reason = unasked(ledger.check, request, targeted=self._truth is not None, ranked=bool(others))
            if reason:
                ledger.skip(reason)
            elif not ledger.over:
                asked.setdefault(self._cases(ledger.check, reader, ranks), []).append(ledger)
        for cases, ledgers in asked.items():
            self._judge(ledgers, cases, request)

    def _cases(self, check: Check, reader: Reader, ranks: Ranks) -> Cases:
        if check.id == "SEQUENCE-01" and self._truth is None:
            return reader.chosen
        if check.reads_texts:
            return reader.texts
        if check.family == "RANK":
            return ranks.texts
        if check.id in BESIDE:
            return reader.beside
        if check.id in TREES:
            return reader.trees
        return reader.pairs if check.id in PAIRS else reader.rounds

    def _judge(self, ledgers: list[Ledger], cases: Cases, request: Request) -> None:
        for recounted in cases(request):
            answer = answer_of(recounted)
            for ledger in ledgers:
                if not ledger.over:
                    self._judge_one(ledger, recounted, answer, request)
            if all(ledger.over for ledger in ledgers):
                return
        for ledger in ledgers:
            ledger.skip(nothing_there(ledger.check, targeted=self._truth is not None))

    def _judge_one(self, ledger: Ledger, recounted: Recounted, answer: Answer, request: Request) -> None:
        if ledger.check.id == "CHAIN-01" and not _is_chain(recounted.replay.rounds[-1]):
            ledger.skip("no round verifies a chain")
            return
        outcome = judged_by(ledger.check, recounted, answer, self._tie_rule)
        if ledger.check.family == "RANK":
            outcome = of_all_ranks(outcome, self._without)
        ledger.add(outcome, recounted.truth.grade)
        if ledger.over:
            known = request.number < len(self._made_for)
            whole = self._made_for[request.number] if known else None
            ledger.finding = placed(ledger.check, outcome, recounted, request, whole, kept=self._kept)


def _is_chain(round_: Round) -> bool:
    return round_.parents == tuple(range(-1, len(round_.parents or ()) - 1))
