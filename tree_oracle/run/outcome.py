"""What came of one case: drive once or twice, judge, and turn every way to misbehave into a status.

decoder raised, exited, changed its input, answered NaN or twice differently   failed
the same before the first round, for what rounds show beside answers           not observable
the same while it generates a text, for laws of trees                          not observable
the same in a later round, where the rounds before it do not fail the check    undecided, but for laws of whole texts
answer of the wrong shape, dtype or convention                                 error
decoder refused the input                                                      not applicable
the decoder has no place for the processors of the case                        not observable
a field that the check needs is not shown                                      not observable
some rounds that are told with a text show it, others do not                   those that do are judged
a whole generation passes, and nothing shows that a draft was verified         not observable, but where a tap saw it
the same, and what the target was seen to run contradicts its rounds           not observable
under the tap: target calls do not account for the text                        not observable
under the tap: the decoder broke down                                          not observable, but for SEQUENCE
a judge of ours raised                                                         error, and no word of the decoder
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
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
from tree_oracle.decoder.seams import Seam
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
from tree_oracle.run.reasons import REFUSED
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
    told_by_text: bool = False,
    offered: frozenset[Seam] = frozenset(),
) -> Outcome:
    """Drive and judge one case. Never raises for anything that the decoder, its adapter or a judge did.

    ``unwitnessed`` is asked of a right text: why nothing shows that a draft was verified for it; empty where something does.
    ``recovered``: the trees of the rounds are read off the calls of the target.
    ``told_by_text``: the rounds are those that a decoder tells with a text of its own. That there is no text is a matter for
    the laws of whole texts, and what it does not tell another method may show, unless the decoder has ``offered`` it.

    Raises:
        NotRecorded: the truth is a trace's, and does not hold what the judge needs.
    """
    view = View(case, (), truth, tie_rule, tree_policy, declared_mode, recovered)
    try:
        rounds = drive(case)
    except DecoderError as error:
        return _broken_down(check, view, error, told_by_text=told_by_text)
    except AdapterError as error:
        return _blamed(Status.ERROR, str(error), "the declared convention")
    except (Unexplained, NotTaken) as hole:
        return Outcome(Status.NOT_OBSERVABLE, reason=str(hole))
    except Unsupported as refusal:
        return Outcome(Status.NOT_APPLICABLE, reason=f"{REFUSED}{refusal}")
    told = _told(check, rounds) if told_by_text else range(len(rounds))
    judged = tuple(rounds[index] for index in told)
    missing = _missing(check, judged)
    if missing:
        return _hidden(missing, rounds, _elsewhere(check, offered) if told_by_text else "")
    outcome = _numbered(_judged(check, replace(view, rounds=judged)), told, rounds)
    if outcome.reason == NO_WITNESS or (outcome.status is Status.PASSED and _is_generation(case)):
        why = unwitnessed(case, rounds)
        return replace(outcome, status=Status.NOT_OBSERVABLE if why else Status.PASSED, reason=why)
    return outcome


def _broken_down(check: Check, view: View, error: DecoderError, *, told_by_text: bool) -> Outcome:
    """A decoder that broke down. What the rounds before show is the cause, and comes first; a check that finds nothing wrong
    in them does not blame its own law for the end. That a text has no end is left to the laws of whole texts."""
    rounds = tuple(round_ for round_ in error.rounds if isinstance(round_, Round))
    if isinstance(error, Unfinished) and check.family != "SEQUENCE":
        return Outcome(Status.NOT_OBSERVABLE, reason=f"no text to read the target's calls by: {error}")
    missing = _missing(check, rounds)
    if missing:
        return _hidden(missing, rounds)
    if rounds:
        outcome = _judged(check, replace(view, rounds=rounds))
        if outcome.status is Status.FAILED:
            return outcome
        if not check.reads_texts or _is_over(view.case, rounds):
            return Outcome(Status.UNDECIDED, reason=f"the decoder broke down in round {len(rounds)}: {error}")
    elif check.family in _OF_WHAT_IS_SHOWN or (told_by_text and check.reads_rounds):
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


def _told(check: Check, rounds: tuple[Round, ...]) -> Sequence[int]:
    """The numbers of the rounds of a text that are judged: those that show what the check needs, or all if none does. The
    first token may come from the prompt's own pass, a round without a draft has no tree, and one that a limit cuts no bonus."""
    whole: Sequence[int] = range(len(rounds))
    if not check.reads_rounds:
        return whole
    if "tokens" in check.needs:
        whole = [index for index in whole if rounds[index].tokens is not None] or whole
    if not any(all(getattr(rounds[index], name) is not None for name in check.needs) for index in whole):
        return whole
    return [index for index in whole if not _missing(check, (rounds[index],))]


def _numbered(outcome: Outcome, told: Sequence[int], rounds: tuple[Round, ...]) -> Outcome:
    """The outcome with its rounds counted over the whole text."""
    findings = tuple(
        found if found.round is None else msgspec.structs.replace(found, round=told[found.round])
        for found in outcome.findings
    )
    return replace(outcome, findings=findings, rounds=rounds)


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


def _hidden(missing: str, rounds: tuple[Round, ...], elsewhere: str = "") -> Outcome:
    """Nothing to be said without this field; the tokens of a round are those of its tree."""
    reason = "no round shows the tree that it verified" if missing == "tokens" else f"rounds do not show {missing}"
    return Outcome(Status.NOT_OBSERVABLE, reason=reason + elsewhere, rounds=rounds)


def _elsewhere(check: Check, offered: frozenset[Seam]) -> str:
    """Which other methods may show what a text does not tell, in words; none that the decoder has."""
    had = {Seam.GENERATE.method, *(seam.method for seam in offered)}
    methods = sorted({source.seam.method for source in check.sources} - had)
    return f"; needs that, or the method {' or '.join(methods)}" if methods else ""


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
