"""What came of one case: drive once or twice, judge, and turn every way to misbehave into a status.

decoder raised, exited, changed its input, answered NaN or twice differently   failed
the same before the first round, for what rounds show beside answers           not observable
the same in a later round, where the rounds before it do not fail the check    undecided, but for laws of whole texts
answer of the wrong shape, dtype or convention                                 error
decoder refused the input                                                      not applicable
the decoder has no place for the processors of the case                        not observable
a field that the check needs is not shown                                      not observable
a whole generation passes, and nothing shows that a draft was verified         not observable, but where a tap saw it
the same, and what the target was seen to run contradicts its rounds           not observable
under the tap: target calls do not account for the text                        not observable
under the tap: the decoder broke down                                          not observable, but for SEQUENCE
a judge of ours raised                                                         error, and no word of the decoder
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import PurePath

import msgspec

from tree_oracle.checks.check import Check
from tree_oracle.checks.due import ending
from tree_oracle.checks.handing import NotTaken
from tree_oracle.checks.policy import DeclaredPolicy
from tree_oracle.checks.say import NothingToJudge
from tree_oracle.checks.view import View, is_built_on, tells_rounds, text_of
from tree_oracle.checks.witness import NO_WITNESS, speculated
from tree_oracle.decoder.tap_errors import Unexplained, Unfinished
from tree_oracle.record import (
    AdapterError,
    Case,
    DecoderError,
    Finding,
    Round,
    Status,
    TieRule,
    Truth,
    Unsupported,
    worst,
)
from tree_oracle.trace import NotRecorded
from tree_oracle.verify.law import Declaration


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case, judged."""

    status: Status
    findings: tuple[Finding, ...] = ()
    near_ties: int = 0
    reason: str = ""
    rounds: tuple[Round, ...] = ()


def by_rounds_alone(case: Case, rounds: tuple[Round, ...]) -> str:
    """Why rounds are no witness that speculation ran, where nobody saw the text come about; empty if they are one."""
    return "" if speculated(case, rounds) else NO_WITNESS


def outcome_of(
    check: Check,
    case: Case,
    truth: Truth,
    drive: Callable[[Case], tuple[Round, ...]],
    tie_rule: TieRule = TieRule.SMALLEST,
    tree_policy: DeclaredPolicy | None = None,
    declared_mode: Declaration | None = None,
    unwitnessed: Callable[[Case, tuple[Round, ...]], str] = by_rounds_alone,
    *,
    recovered: bool = False,
) -> Outcome:
    """Drive and judge one case. Never raises for anything that the decoder, its adapter or a judge did.

    ``unwitnessed`` is asked of a right text: why nothing shows that a draft was verified for it; empty where something does.
    ``recovered``: the trees of the rounds are read off the calls of the target.

    Raises:
        NotRecorded: the truth is a trace's, and does not hold what the judge needs.
    """
    view = View(case, (), truth, tie_rule, tree_policy, declared_mode, recovered)
    try:
        rounds = drive(case)
    except DecoderError as error:
        return _broken_down(check, view, error)
    except AdapterError as error:
        return _blamed(Status.ERROR, str(error), "the declared convention")
    except (Unexplained, NotTaken) as hole:
        return Outcome(Status.NOT_OBSERVABLE, reason=str(hole))
    except Unsupported as refusal:
        return Outcome(Status.NOT_APPLICABLE, reason=f"refused: {refusal}")
    missing = _missing(check, rounds)
    if missing:
        return Outcome(Status.NOT_OBSERVABLE, reason=f"rounds do not show {missing}", rounds=rounds)
    outcome = _judged(check, replace(view, rounds=rounds))
    if outcome.reason == NO_WITNESS or (outcome.status is Status.PASSED and _is_generation(case)):
        why = unwitnessed(case, rounds)
        return replace(outcome, status=Status.NOT_OBSERVABLE if why else Status.PASSED, reason=why)
    return outcome


def _broken_down(check: Check, view: View, error: DecoderError) -> Outcome:
    """A decoder that broke down. What the rounds before show is the cause, and comes first; a check that finds nothing wrong
    in them does not blame its own law for the end. That a text has no end is left to the laws of whole texts."""
    rounds = tuple(round_ for round_ in error.rounds if isinstance(round_, Round))
    if isinstance(error, Unfinished) and check.family != "SEQUENCE":
        return Outcome(Status.NOT_OBSERVABLE, reason=f"no text to read the target's calls by: {error}")
    missing = _missing(check, rounds)
    if missing:
        return Outcome(Status.NOT_OBSERVABLE, reason=f"rounds do not show {missing}", rounds=rounds)
    if rounds:
        outcome = _judged(check, replace(view, rounds=rounds))
        if outcome.status is Status.FAILED:
            return outcome
        if not check.reads_texts or _is_over(view.case, rounds):
            return Outcome(Status.UNDECIDED, reason=f"the decoder broke down in round {len(rounds)}: {error}")
    elif check.family in _OF_WHAT_IS_SHOWN:
        return Outcome(Status.NOT_OBSERVABLE, reason=f"the decoder broke down before it showed a round: {error}")
    return _blamed(Status.FAILED, str(error), "an answer on valid input")


# They compare and count what rounds show beside their answers: that there is no answer is no law of theirs.
_OF_WHAT_IS_SHOWN = ("RANK", "METRIC", "WORK")


def _is_over(case: Case, rounds: tuple[Round, ...]) -> bool:
    """Whether a request had come to where its limits end it, without a word of it: then no step may have been due."""
    if case.limits is None:
        return False
    for number in {round_.request for round_ in rounds}:
        own = [round_ for round_ in rounds if round_.request == number]
        if own[-1].end is None and ending(text_of(own), case.limits, len(own[0].prefix or ())):
            return True
    return False


def _judged(check: Check, view: View) -> Outcome:
    findings: list[Finding] = []
    status, reason = Status.PASSED, ""
    try:
        findings.extend(check.judge(view))
    except NothingToJudge as nothing:
        status, reason = nothing.status, str(nothing)
    except AdapterError as error:  # in what the decoder declares
        return _blamed(Status.ERROR, str(error), "a declaration that can be read")
    except NotRecorded:  # of a trace: whoever judges one says what it lacks
        raise
    except Exception as error:  # one broken judge must not cost the report of all others
        return replace(_harness(check, error), rounds=view.rounds)
    notes = [found for found in findings if found.status is Status.PASSED]
    against = tuple(_placed(found, view) for found in findings if found.status is not Status.PASSED)
    if against:
        status, reason = worst(found.status for found in against), against[0].sentence
    return Outcome(status, against, len(notes), reason, view.rounds)


def _placed(found: Finding, view: View) -> Finding:
    """The finding without the number of a round that nobody showed."""
    told = view.case.limits is None or tells_rounds(view.rounds)
    return found if told else msgspec.structs.replace(found, round=None)


def _is_generation(case: Case) -> bool:
    """Whether the decoder ran to the end with drafts of its own, so that nothing handed over shows that there were any."""
    return case.limits is not None and not case.trees and not any(request.trees for request in case.batch)


def _missing(check: Check, rounds: tuple[Round, ...]) -> str:
    """The first field that the check needs and some round does not show; what nothing is built on need not be shown, and
    what was committed before a whole text only once."""
    return next(
        (
            name
            for name in check.needs
            for round_ in (rounds[:1] if check.reads_texts else rounds)
            if getattr(round_, name) is None and (is_built_on(round_) or name not in _FOR_THE_NEXT)
        ),
        "",
    )


_FOR_THE_NEXT = ("cache", "kept")  # what a round leaves to the one after it


def _harness(check: Check, error: Exception) -> Outcome:
    """A judge that raised says nothing of the decoder: the run is in error, and names where."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where, said = f"{PurePath(frame.filename).name}:{frame.lineno}", " ".join(str(error).split())[:300]
    what = f"the judge of {check.id} raised {type(error).__name__}: {said} ({where})"
    return _blamed(Status.ERROR, f"the harness is at fault, not the decoder: {what}", "a judge that comes to an end")


def _blamed(status: Status, sentence: str, expected: str) -> Outcome:
    finding = Finding(status=status, sentence=sentence, expected=expected, seen=sentence)
    return Outcome(status, (finding,), reason=sentence)
