"""The sentences that every way out has in common."""

from __future__ import annotations

from itertools import zip_longest

from msgspec import UnsetType

from tree_oracle.record import Catch, Finding, Planted, Report, counted
from tree_oracle.report.again_trace import is_of_trace
from tree_oracle.report.ladder import GRADES

# An outcome that came about fewer times than this is said to be hardly seen: a fault that shows in every second one of them
# passes five of them unseen in one run of 32, below one in twenty.
ENOUGH = 5
_STAND_ON_A_COMMIT = ("COMMIT", "SEQUENCE")
MARK = "<!-- tree-oracle report -->"  # with which pages and summaries begin: such a file may be written over
_WHATEVER_IS_DRAFTED = "SEQUENCE-02"
_WHOLE_ROUNDS = {"open", "generate", "tap", "trace"}


def witnessed(report: Report) -> bool:
    """Whether anything shows that speculation ran: rounds over a root alone, or a text in one lump, do not."""
    return bool(report.witness.drafted or report.witness.accepted)


def witness_words(report: Report) -> str:
    """What shows that speculation ran."""
    seen = report.witness
    if witnessed(report):
        shown = f"{counted(seen.rounds, 'verify round')}, {seen.drafted} drafted, {counted(seen.accepted, 'accepted token')}"
        return "; ".join(filter(None, (shown, report.environment.get("witness"))))
    rounds = 0 if report.extent is None else report.extent.rounds
    if rounds or any(set(result.seams) & _WHOLE_ROUNDS for result in report.results):
        return "none: nothing shows that speculation ran"
    return "not needed: single steps were driven, no rounds"


def acceptance_words(report: Report) -> str:
    """What a run that holds something has not shown, or hardly, of what follows an acceptance; else empty.

    Either no drafted token was accepted, or the decoder's own drafts brought the outcome that a commit is judged by about fewer
    than ``ENOUGH`` times, and no trees were handed over to bring it about. What would have them handed over is named.
    """
    if report.held is None:
        return ""
    for seen, whose in ((report.witness, ""), (report.own, "the decoder's own ")):
        if seen.drafted and not seen.accepted:
            drafted = f"none of {whose}{seen.drafted} drafted tokens was accepted"
            told = f"{drafted}: what follows an acceptance was never seen{' on them' if whose else ''}"
            return told + _to_implement(report)
    return _hardly_words(report)


def _hardly_words(report: Report) -> str:
    seen = report.own.handed_on
    standing = [result for result in report.results if result.check.startswith(_STAND_ON_A_COMMIT)]
    handed = any(result.check.startswith("COMMIT") and "open" in result.seams for result in standing)
    if isinstance(seen, UnsetType) or not report.own.drafted or not standing or handed:
        return ""
    what, count = ("node outside the next slot", seen.displacing) if seen.branching else ("node", seen.accepting)
    if count >= ENOUGH:
        return ""
    often, looked = (f"only {counted(count, 'time')}", "hardly") if count else ("never", "not")
    return (
        f"on the decoder's own drafts an accepted {what}, with a round after it, came about {often} in "
        f"{counted(report.own.rounds, 'round')}: what a commit leaves was {looked} looked at{_to_implement(report)}"
    )


def _to_implement(report: Report) -> str:
    """What an adapter would have to offer so that drafts are tried that are accepted where it matters; empty if it does."""
    took = {seam for result in report.results for seam in result.seams}
    drafted = any(result.check == _WHATEVER_IS_DRAFTED and result.seams for result in report.results)
    if "open" in took or drafted:
        return ""
    return "; take a parameter draft in generate, or offer open, and the oracle's own drafts are tried"


def by_position(report: Report) -> list[tuple[int, int]]:
    """Of the rounds of the decoder's own drafts, by position: how many accept so many tokens, and how many propose them."""
    return list(zip_longest(report.own.reached, report.own.proposed, fillvalue=0))


def length_words(report: Report) -> str:
    """Acceptance of the decoder's own drafts: the trees that the oracle hands over say nothing about a drafter."""
    own = report.own
    if not own.rounds:
        return ""
    rates = [f"{over}/{under}" for over, under in by_position(report)]
    told = f"; by position {' '.join(rates)}" if rates else ""
    return f"{own.emitted / own.rounds:.2f} tokens committed per round on its own drafts{told}"


def ending_words(report: Report) -> str:
    """Why the rounds of the decoder's own drafts ended, the most frequent reason first."""
    ended = sorted(report.own.ended, key=lambda one: (-one.rounds, one.why)) if report.own.rounds else []
    return ", ".join(f"{one.rounds} {one.why}" for one in ended)


def coverage_words(report: Report) -> str:
    """How far what was drafted, and what was packed of it, held what came."""
    own = report.own
    if not own.rounds:
        return ""
    if not own.known:
        return "not shown: no round shows the pool that its tree was packed from"
    pool, packed = (
        " ".join(f"{over}/{under}" for over, under in zip(part, own.known, strict=False))
        for part in (own.pooled, own.packed)
    )
    return f"by depth, the text was drafted {pool}, and packed {packed}"


def power_words(report: Report) -> str:
    """Whether wrong answers that were planted behind the adapter were noticed through it."""
    if report.power is None:
        return "not measured"
    caught, missed, not_planted = ([planted for planted in report.power if planted.catch is catch] for catch in Catch)
    if not caught and not missed:
        return "not measured: no wrong answer could be planted behind this adapter"
    share = f"{len(caught)} of {len(caught) + len(missed)} planted wrong answers"
    parts = [f"{share} were caught through this adapter, and their twins passed"]
    parts += [f"NOT noticed: {', '.join(map(_planted_name, missed))}"] if missed else []
    parts += [f"{len(not_planted)} could not be planted"] if not_planted else []
    return "; ".join(parts)


def _planted_name(planted: Planted) -> str:
    return f"{planted.wrong} in {planted.seam} by {planted.check}"


def planted_words(planted: Planted) -> str:
    """What became of one of them."""
    told = {
        Catch.CAUGHT: f"caught by {planted.check}, its twin passed",
        Catch.MISSED: f"NOT noticed by {planted.check}",
        Catch.NOT_PLANTED: f"not planted: {planted.reason}",
    }
    return f"{planted.seam}: {planted.wrong}: {told[planted.catch]}"


def truth_words(report: Report) -> str:
    """What the results were compared with, and what that cannot see."""
    return f"grade {report.grade}: {GRADES.get(report.grade, 'a grade that this release does not know')}"


def cause_words(finding: Finding) -> str:
    """What would show the same, how far it was told apart, and what certainty lacks; nothing is called certain that was not."""
    count = len(finding.causes) + len(finding.ruled_out)
    tried = f"{counted(count, 'suspect')}, tried on {counted(finding.diagnosed_on, 'case')}"
    if not finding.causes:
        return f"unknown: none of {tried}, shows the same"
    if finding.certain:
        return f"{finding.causes[0]} (alone of {tried})"
    lacks = f": {finding.uncertain}" if finding.uncertain else ""  # older reports do not say
    if len(finding.causes) == 1:
        return f"{finding.causes[0]} (alone of {tried}; not certain{lacks})"
    return f"not certain, the same is shown by {'; or '.join(finding.causes)} (of {tried}{lacks})"


def cases_words(report: Report) -> str:
    """Which cases were judged."""
    if is_of_trace(report):
        return f"those of the trace, digest {report.digest}"
    fresh = "the same every time" if report.seed is None else f"fresh, again with --seed {report.seed}"
    return f"{fresh}, digest {report.digest}"


def capital(sentence: str) -> str:
    """The sentence with a capital letter in front, unless it begins with the name of a method."""
    first = sentence.partition(" ")[0]
    return sentence if "_" in first else sentence[:1].upper() + sentence[1:]
