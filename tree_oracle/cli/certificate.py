"""``tree-oracle certificate``: what may be said after a run, and whether somebody else's certificate is whole."""

from __future__ import annotations

from pathlib import Path

import click

from tree_oracle.cli.common import EXIT_FAILED, JSON, echo_json, guarded


@click.group()
def certificate() -> None:
    """What a saved report allows to say: make, verify."""


@certificate.command()
@click.argument("report")
@click.option(
    "--state", "stated", multiple=True, metavar="NAME=TEXT", help="State a fact, such as commit=...; it is not checked."
)
@click.option("--output", metavar="FILE", help="Also save the certificate, for `certificate verify FILE`.")
@JSON
@guarded
def make(report: str, stated: tuple[str, ...], output: str | None, as_json: bool) -> int:
    """Print the certificate of a report. REPORT is what `check --output FILE` wrote."""
    from tree_oracle.record import UsageError, read_report, to_json, write_file
    from tree_oracle.report import make_console
    from tree_oracle.report.certificate import make_certificate, print_certificate, verify_certificate
    from tree_oracle.report.outputs import refuse_foreign, write_or_say

    path = None if output is None else Path(output)
    if path is not None:
        refuse_foreign(path, "certificate", (b'"tree-oracle-certificate"',))
    made = make_certificate(read_report(Path(report)), dict(map(_stated, stated)))
    for wrong in verify_certificate(made):
        raise UsageError(f"{report}: {wrong.name} is {wrong.stated}: {wrong.found}; nothing is certified of it")
    if as_json:
        click.echo(to_json(made).decode(), nl=False)
    else:
        print_certificate(make_console(), made)
    if path is not None:
        write_or_say(path, write_file, made)
    return 0


@certificate.command()
@click.argument("file")
@JSON
@guarded
def verify(file: str, as_json: bool) -> int:
    """Make a certificate anew from the report inside it, and name what differs."""
    from tree_oracle.report import make_console
    from tree_oracle.report.certificate import print_verification, read_certificate, verify_certificate

    found = read_certificate(Path(file))
    differences = verify_certificate(found)
    if as_json:
        echo_json({"sentence": found.sentence, "verified": not differences, "differences": differences})
    else:
        print_verification(make_console(), found, differences)
    return EXIT_FAILED if differences else 0


def _stated(text: str) -> tuple[str, str]:
    from tree_oracle.record import UsageError

    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise UsageError(f"--state {text!r} states nothing; expected NAME=TEXT, such as commit=0123abc")
    return name, value
