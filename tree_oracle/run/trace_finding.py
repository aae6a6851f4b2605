"""Where in a trace a finding stands."""

from __future__ import annotations

import msgspec

from tree_oracle.checks import Check
from tree_oracle.record import Case, Finding, case_id
from tree_oracle.run.explain import explained
from tree_oracle.run.outcome import Outcome
from tree_oracle.run.trace_cases import Recounted
from tree_oracle.run.trace_conventions import recorded_otherwise
from tree_oracle.trace import Request


def placed(
    check: Check, outcome: Outcome, recounted: Recounted, request: Request, whole: Case | None, *, kept: bool
) -> Finding:
    """The finding with its place in the trace, its round counted over the request whatever the check was shown of it.

    A request that was made for no case can be seen again in the trace alone. Of a trace that is not ``kept`` nobody can look up
    a line or a request: the case shows the text again, and the place is a round of it.
    """
    found = explained(outcome.findings[0], recounted.case, outcome.rounds)
    place, number = "", found.round
    if recounted.lines:
        line = recounted.lines[min(found.round or 0, len(recounted.lines) - 1)]
        number = [one.line for one in request.rounds].index(line)
        where = f"line {line}, request {request.number}, round {number}: "
        place = where if kept else f"round {number}: " if len(request.rounds) > 1 else ""
    replay = "" if whole is None else case_id(whole)
    sentence = f"{place}{found.sentence}{recorded_otherwise(check, outcome.rounds, recounted.truth, request)}"
    return msgspec.structs.replace(found, sentence=sentence, round=number, case=whole, replay=replay)
