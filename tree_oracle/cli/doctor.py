"""``tree-oracle doctor``."""

from __future__ import annotations

import click

from tree_oracle.cli.common import (
    DECODER,
    EXIT_ADAPTER,
    EXIT_UNDECIDED,
    FAULT,
    JSON,
    TARGET,
    echo_json,
    guarded,
    target_of,
)


@click.command()
@DECODER
@FAULT
@TARGET
@JSON
@guarded
def doctor(decoder: str | None, fault: str | None, target: str | None, as_json: bool) -> int:
    """Examine the adapter, before the decoder is judged through it."""
    from tree_oracle.report import make_console, print_examined
    from tree_oracle.run import examine, find_decoder, make_subject

    name, found = find_decoder(decoder, fault)
    console, lines = make_console(), []
    for line in examine(make_subject(found, target_of(target, fault), name=name)):
        lines.append(line)
        if not as_json:
            print_examined(console, line)
    if as_json:
        echo_json(lines)
    if any(line.good is False for line in lines):
        return EXIT_ADAPTER
    return 0 if any(line.good for line in lines) else EXIT_UNDECIDED
