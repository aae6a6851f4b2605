"""The sentences that every way out has in common."""

from __future__ import annotations

from itertools import zip_longest

from tree_oracle.record import Finding, Report
from tree_oracle.report.ladder import GRADES

_WHOLE_ROUNDS = {"open", "generate", "tap", "trace"}


def witness_words(report: Report) -> str:
    """Whether anything shows that speculation ran."""
    seen = report.witness
    if seen.rounds:
        return f"{seen.rounds} verify rounds, {seen.drafted} drafted, {seen.accepted} accepted tokens"
    if any(set(result.seams) & _WHOLE_ROUNDS for result in report.results):
        return "none: nothing shows that speculation ran"
    return "not needed: single steps were driven, no rounds"


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


def truth_words(report: Report) -> str:
    """What the results were compared with, and what that cannot see."""
    return f"grade {report.grade}: {GRADES.get(report.grade, 'a grade that this release does not know')}"


def cause_words(finding: Finding) -> str:
    """What would show the same, and how far it was told apart; nothing is called certain that was not."""
    tried = f"{len(finding.causes) + len(finding.ruled_out)} suspects, tried on {finding.diagnosed_on} cases"
    if not finding.causes:
        return f"unknown: none of {tried}, shows the same"
    if finding.certain:
        return f"{finding.causes[0]} (alone of {tried})"
    return f"not certain, the same is shown by {'; or '.join(finding.causes)} (of {tried})"


def cases_words(report: Report) -> str:
    """Which cases were judged."""
    fresh = "the same every time" if report.seed is None else f"fresh, again with --seed {report.seed}"
    return f"{fresh}, digest {report.digest}"


def capital(sentence: str) -> str:
    """The sentence with a capital letter in front."""
    return sentence[:1].upper() + sentence[1:]
