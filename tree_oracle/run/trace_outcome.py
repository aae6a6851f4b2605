"""One case of a trace, driven and judged like that of any other decoder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import msgspec

from tree_oracle.checks import Check
from tree_oracle.checks.drive import drive, drive_text
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Case, Round, Status, TieRule, TreeOracleError
from tree_oracle.run.outcome import Outcome, outcome_of
from tree_oracle.run.trace_cases import Recounted
from tree_oracle.trace import NotRecorded, RecordedTruth

Answer = Callable[[Case], tuple[Round, ...]]


def answer_of(recounted: Recounted) -> Answer:
    """Drive the replay once, through the seam of whole generations, as any other decoder."""
    replay, case, vocab_size = recounted.replay, recounted.case, recounted.truth.vocab_size
    try:
        rounds = (
            drive_text(replay, case, vocab_size) if recounted.text else drive(replay, Seam.GENERATE, case, vocab_size)
        )
    except TreeOracleError as error:
        refusal = error

        def refuse(case: Case) -> tuple[Round, ...]:
            raise refusal.with_traceback(None)

        return refuse
    if recounted.parted is not None:
        place, prefix = recounted.parted
        rounds = (*rounds[:place], msgspec.structs.replace(rounds[place], prefix=prefix), *rounds[place + 1 :])
    return lambda case: (*rounds, *recounted.controls)


def judged_by(check: Check, recounted: Recounted, answer: Answer, tie_rule: TieRule) -> Outcome:
    """Judge what the trace answered."""
    try:
        outcome = outcome_of(check, recounted.case, recounted.truth, answer, tie_rule)
    except NotRecorded as nothing:
        return Outcome(Status.NOT_OBSERVABLE, reason=str(nothing))
    if outcome.status is Status.FAILED and isinstance(recounted.truth, RecordedTruth) and recounted.truth.blind:
        said = "no control row is repeated, so nobody knows how far rows differ without a fault"
        return replace(outcome, status=Status.UNDECIDED, findings=(), reason=f"{outcome.reason}; {said}")
    return outcome
