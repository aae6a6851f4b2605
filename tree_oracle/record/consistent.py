"""Whether a report can have come of a run: a file that somebody changed must not be quoted as one.

Rule: nothing is asked that some run could break, however wrong its decoder. So a decoder may accept more than it says that it
drafts, and a failure need not say at which case; but a pass has judged something and holds no finding, what is a part of
something is no larger, and what is counted by depth does not grow with it. That counts are at least 0 is the schema's to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import UnsetType

from tree_oracle.record.counted import counted
from tree_oracle.record.power import Catch, Planted
from tree_oracle.record.report import CheckResult, Report, Witness
from tree_oracle.record.status import Status

_SILENT = (Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE)


def contradiction(report: Report) -> str:
    """The first thing in the report that no run comes to, in words; empty if there is none."""
    return next(_contradictions(report), "")


def _contradictions(report: Report) -> Iterator[str]:
    for check, count in Counter(result.check for result in report.results).items():
        if count > 1:
            yield f"{check} has {counted(count, 'result')}; expected one"
    for result in report.results:
        yield from (f"{result.check} is {result.status.value} {said}" for said in _of_result(result))
    for name, witness in (("witness", report.witness), ("own", report.own)):
        yield from (f"{name}.{said}" for said in _of_witness(witness))
    for name in ("rounds", "drafted", "accepted", "emitted"):
        own, every = getattr(report.own, name), getattr(report.witness, name)
        if own > every:
            yield f"own.{name} is {own}; expected at most {every}, that of the whole witness"
    yield from _of_power(report.power)
    both = sorted(set(report.ledger.reached) & set(report.ledger.missed))
    if both:
        yield f"the ledger says of {both[0]!r} that it came about, and that it did not"


def _of_result(result: CheckResult) -> Iterator[str]:
    """What is wrong with one result, behind its status."""
    findings = counted(len(result.findings), "finding")
    if result.undecided > result.cases:
        yield f"with {result.undecided} of {counted(result.cases, 'case')} undecided"
    if result.status is Status.PASSED and (not result.cases or result.undecided):
        yield f"on {counted(result.cases, 'case')}, {result.undecided} of them undecided; expected one or more that passed"
    if result.status in _SILENT and result.cases:
        yield f"on {counted(result.cases, 'case')}; expected none that was judged"
    if result.status in (Status.PASSED, *_SILENT) and (result.findings or result.failed_at is not None):
        yield f"with {findings} and first failing case {result.failed_at}; expected neither"
    if result.known is not None and result.status is not Status.FAILED:
        yield "and a known failure; expected a failed one"


def _of_power(power: tuple[Planted, ...] | None) -> Iterator[str]:
    if power is not None and not power:
        yield "power holds no planted answer; expected one or more, or that nothing was measured"
    for (seam, wrong), count in Counter((planted.seam, planted.wrong) for planted in power or ()).items():
        if count > 1:
            yield f"power has {counted(count, 'entry')} for {wrong!r} through {seam}; expected one"
    for planted in power or ():
        if (planted.catch is Catch.NOT_PLANTED) != bool(planted.reason):
            yield f"power says that {planted.wrong!r} was {planted.catch.value}, with the reason {planted.reason!r}"


def _of_witness(witness: Witness) -> Iterator[str]:
    for part, whole in (("reached", "proposed"), ("pooled", "known"), ("packed", "known")):
        parts, wholes = getattr(witness, part), getattr(witness, whole)
        if len(parts) != len(wholes) or any(one > every for one, every in zip(parts, wholes, strict=True)):
            yield f"{part} is {list(parts)}; expected as many counts as {whole}, {list(wholes)}, and none larger"
    for name in ("reached", "proposed", "known", "pooled", "packed"):
        if _grows(getattr(witness, name)):
            yield f"{name} is {list(getattr(witness, name))}; expected counts that do not grow with depth"
    if max(witness.proposed, default=0) > witness.rounds:
        yield f"proposed is {list(witness.proposed)}; expected at most {counted(witness.rounds, 'round')}"
    handed = witness.handed_on
    if not isinstance(handed, UnsetType) and handed.displacing > handed.accepting:
        yield f"handed_on.displacing is {handed.displacing}; expected at most the {handed.accepting} that are accepting"


def _grows(counts: Sequence[int]) -> bool:
    return any(below > above for above, below in pairwise(counts))
