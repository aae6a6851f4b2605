"""``tree-oracle compare``."""

from __future__ import annotations

from pathlib import Path

import click

from tree_oracle.cli.common import JSON, echo_json, guarded


@click.command()
@click.argument("before")
@click.argument("after")
@JSON
@guarded
def compare(before: str, after: str, as_json: bool) -> int:
    """Compare two saved reports: what was fixed, what broke, what is no longer seen."""
    from tree_oracle.record import read_report
    from tree_oracle.report import compare as compared
    from tree_oracle.report import make_console, print_comparison

    found = compared(read_report(Path(before)), read_report(Path(after)))
    if as_json:
        echo_json(found)
    else:
        print_comparison(make_console(), found)
    return found.exit_code
