"""Running a plan in child processes: whatever the decoder does to its process becomes a result.

Rule: a child that dies, or a check that takes longer than its time limit, ends that check as ``failed`` with the case at hand,
and the other checks go on in a new child. So there is one child per check at most, and one for the power of the adapter, of
which nothing is said where that child dies. A limit that is reached while the oracle itself works, and not the decoder, decides
nothing: ``undecided``. A case that ended a process is not driven again by later checks; they are told what it did.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tree_oracle.record import Case, TreeOracleError, case_id
from tree_oracle.run.child_death import dead_result, death_sentence
from tree_oracle.run.child_messages import Deadly, Request, encode
from tree_oracle.run.child_process import Cause, ChildProcess, End
from tree_oracle.run.child_visit import Caps, Visit
from tree_oracle.run.last_words import last_words
from tree_oracle.run.plan import Plan
from tree_oracle.run.tally import Finished, Tally

# Without the current directory in front (it comes with the parent's own path), and with its output unbuffered, since a
# process that is killed writes no buffer.
_COMMAND = (sys.executable, "-P", "-u", "-m", "tree_oracle.run.child")


def run_isolated(plan: Plan, tally: Tally, caps: Caps, *, cases: Sequence[Case] | None = None) -> None:
    """Do what the tally misses.

    Args:
        plan: what is asked.
        tally: gets the head and every finished check.
        caps: what a child may take.
        cases: judged instead of the checks' own, where they fit.

    Raises:
        UsageError: the decoder cannot be found, does not fit its target, or this system cannot isolate.
        AdapterError, DecoderError: the factory does not take a target, or raised.
        TreeOracleError: the target could not be loaded in a child.
    """
    deadly: list[Deadly] = []
    given = None if cases is None else tuple(cases)
    while True:
        visit = Visit(tally, caps)
        missing = tuple(check.id for check in tally.missing)
        request = Request(plan, missing, caps.words, tuple(deadly), given, tally.broken)
        with ChildProcess(_COMMAND, encode(request), memory=caps.memory) as child:
            end = visit.follow(child)
        if end is None:
            return
        died_behind_the_checks = not tally.missing
        deadly += _bury(visit, end)
        if died_behind_the_checks:
            from tree_oracle.run.power import unmeasured  # resolved here: it loads torch

            tally.power = unmeasured("the decoder ended its process while power was measured")
        if not tally.missing and (died_behind_the_checks or not plan.power):
            return


def _bury(visit: Visit, end: End) -> list[Deadly]:
    """Make a result of the child's end; the case that is not to be driven again."""
    if not visit.opened:
        said = last_words(end.output) or "it printed nothing"
        raise TreeOracleError(f"no child process came as far as the decoder ({end.cause} {end.code}): {said}")
    missing = visit.tally.missing
    lost = ([visit.check] if visit.check is not None else missing[:1]) if visit.ready else missing
    for check in lost:
        visit.tally.add(Finished(dead_result(check, visit, end), scenes=visit.scenes))
    if visit.driving is None or (end.cause is Cause.TIMEOUT and not visit.hung):
        return []
    return [Deadly(visit.driving.seam, case_id(visit.driving.case), death_sentence(visit, end))]
