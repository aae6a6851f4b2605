"""A certificate as a page of text, and what verifying it found."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from tree_oracle.record import counted
from tree_oracle.report.certificate.model import Certificate
from tree_oracle.report.certificate.verify import Difference
from tree_oracle.report.plain import on_one_line

_MOST = 40  # differences that are told one by one


def print_certificate(console: Console, certificate: Certificate) -> None:
    """The page: the sentence, what stands behind it, and what must not be read into it."""
    console.print(Text(on_one_line(certificate.sentence), style="bold"), soft_wrap=True)
    console.print()
    for name, value in _fields(certificate):
        console.print(Text(f"{name:<13}{on_one_line(value)}"), soft_wrap=True)
    for name, lines in (
        ("not covered", certificate.not_covered),
        ("may say", certificate.may_say),
        ("may not say", certificate.may_not_say),
    ):
        for number, line in enumerate(lines or ("nothing",)):
            console.print(Text(f"{'' if number else name:<13}{on_one_line(line)}"), soft_wrap=True)
    for name, value in _evidence(certificate):
        console.print(Text(f"{name:<13}{on_one_line(value)}"), soft_wrap=True)


def _fields(made: Certificate) -> list[tuple[str, str]]:
    result, truth, seen = made.result, made.truth, made.witness
    stated = "; ".join(f"{name} {value}" for name, value in sorted(made.subject.stated.items()))
    outcomes = len(seen.reached) + len(seen.not_reached)
    near = counted(result.near_ties, "near tie") if result.near_ties else "no near tie"
    return [
        ("subject", f"{made.subject.decoder} on {made.subject.target}"),
        *([("stated", f"{stated} (by whoever made this; not checked)")] if stated else []),
        ("place", ", ".join(f"{name} {value}" for name, value in sorted(made.place.items()) if "files" not in name)),
        ("truth", f"grade {truth.grade}: {truth.is_}; cannot see {truth.cannot_see}"),
        ("witness", f"{seen.words}; {len(seen.reached)} of {outcomes} outcomes came about"),
        ("held", f"{result.held}; weakest broken: {result.broken} (exit code {result.exit_code})"),
        ("checks", ", ".join(f"{count} {name}" for name, count in result.counts.items())),
        ("judged", f"{counted(result.judgements, 'judgement')}, {result.undecided} undecided, {near}"),
        ("floor", result.floor),
        ("rates", result.rates),
        ("power", made.power),
    ]


def _evidence(made: Certificate) -> list[tuple[str, str]]:
    digests, again = made.digests, made.again
    return [
        ("again", again.command or "the decoder was given as an object, so no command names it"),
        *([("fresh", again.fresh)] if again.fresh else []),
        ("cases", f"digest {digests.cases or 'none'}"),
        ("report", f"digest {digests.report}"),
        ("judged by", f"tree-oracle {digests.judged_by.version}, files {digests.judged_by.files}"),
        ("made by", f"tree-oracle {digests.made_by.version}, files {digests.made_by.files}"),
        ("certificate", f"digest {made.digest}; not signed"),
    ]


def print_verification(console: Console, certificate: Certificate, differences: Sequence[Difference]) -> None:
    """What differs by name, or the sentence that was verified and what that means."""
    for difference in differences[:_MOST]:
        line = f"{difference.name}: {difference.stated} in the certificate, {difference.found} made anew"
        console.print(Text(on_one_line(line)), soft_wrap=True)
    if len(differences) > _MOST:
        console.print(f"... and {len(differences) - _MOST} more differences; --json has them all")
    if any(difference.name.startswith("digests.made_by") for difference in differences):
        console.print("another installation of tree-oracle made it; only that one can make it anew word for word")
    if differences:
        console.print(Text("NOT verified: the certificate is not what its report makes it", style="bold red"))
        return
    console.print(Text(on_one_line(certificate.sentence)), soft_wrap=True)
    said = "verified: whole, and claims what its report shows. It is not signed, and the decoder was not run again"
    console.print(Text(said, style="bold green"), soft_wrap=True)
