"""From the end of a child to a result: who had the process in hand, what ended it, and the last that was heard."""

from __future__ import annotations

import signal

import msgspec

from tree_oracle.checks import Check
from tree_oracle.record import CheckResult, Finding, Status
from tree_oracle.run.child_process import Cause, End
from tree_oracle.run.child_visit import Caps, Visit
from tree_oracle.run.explain import explained
from tree_oracle.run.last_words import last_words
from tree_oracle.run.tally import bare_result

_LIMITS = (Cause.TIMEOUT, Cause.MEMORY)


def death_sentence(visit: Visit, end: End) -> str:
    """What ended, where, and how."""
    return how_it_ended(end, _where(visit), _seconds(visit), visit.caps.memory)


def how_it_ended(end: End, where: str, seconds: float, memory: int | None) -> str:
    """The same of any process that ran a decoder: ``where`` it was, and the limits that held there."""
    match end.cause:
        case Cause.SIGNAL:
            return f"the decoder's process ended {where} by {_signal(end.code)}"
        case Cause.EXIT:
            return f"the decoder's process ended {where} with exit code {end.code}"
        case Cause.TIMEOUT:
            return f"the decoder was still at work {where} after {seconds:g} s"
        case Cause.MEMORY:
            return f"the decoder took more memory {where} than the {memory} MiB that are allowed"
        case Cause.NONSENSE:
            return f"the decoder wrote {where} to the pipe that is the oracle's"


def dead_result(check: Check, visit: Visit, end: End) -> CheckResult:
    """The result of the check that the process was lost in."""
    sentence = death_sentence(visit, end)
    if visit.failing is not None:
        return msgspec.structs.replace(visit.failing, reason=f"not made smaller: {sentence}")
    if visit.ready and visit.case is None and end.cause in _LIMITS:
        why = f"{_limit(visit.caps, end.cause)} was reached in the oracle's own work, not in the decoder's"
        return bare_result(check, Status.UNDECIDED, cases=len(visit.cases), reason=why)
    return bare_result(
        check,
        Status.FAILED,
        cases=len(visit.cases),
        failed_at=len(visit.cases) if visit.case is not None else None,
        seams=(visit.driving.seam,) if visit.driving is not None else (),
        reason=sentence,
        findings=(_finding(sentence, visit, end),),
    )


def _finding(sentence: str, visit: Visit, end: End) -> Finding:
    finding = Finding(
        status=Status.FAILED,
        sentence=sentence,
        expected="an answer on valid input, and a process that goes on",
        seen=last_words(end.output) or "no output",
    )
    return finding if visit.case is None else explained(finding, visit.case, ())


def _where(visit: Visit) -> str:
    if not visit.ready:
        return "in its set-up"
    return f"in {visit.driving.seam}" if visit.driving is not None else "between two cases"


def _seconds(visit: Visit) -> float:
    return visit.caps.timeout if visit.ready else visit.caps.setup


def _limit(caps: Caps, cause: Cause) -> str:
    return f"the limit of {caps.timeout:g} s" if cause is Cause.TIMEOUT else f"the limit of {caps.memory} MiB"


def _signal(number: int) -> str:
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    why = "the kernel sends it where memory runs out" if name == "SIGKILL" else signal.strsignal(number)
    return f"{name} ({why})" if why else name
