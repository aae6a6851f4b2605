"""``tree-oracle doctor``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tree_oracle.cli.common import (
    DECODER,
    EXIT_ADAPTER,
    EXIT_UNDECIDED,
    FAULT,
    JSON,
    PYTHON,
    TARGET,
    caps_abroad,
    echo_json,
    guarded,
    target_of,
)

if TYPE_CHECKING:
    from tree_oracle.run import Examined


@click.command()
@DECODER
@FAULT
@TARGET
@PYTHON
@JSON
@guarded
def doctor(decoder: str | None, fault: str | None, target: str | None, python: str | None, as_json: bool) -> int:
    """Examine the adapter, before the decoder is judged through it."""
    from tree_oracle.report import make_console, print_examined

    console, lines = make_console(), []
    for line in _examined(decoder, fault, target, python):
        lines.append(line)
        if not as_json:
            print_examined(console, line)
    if as_json:
        echo_json(lines)
    if any(line.good is False for line in lines):
        return EXIT_ADAPTER
    return 0 if any(line.good for line in lines) else EXIT_UNDECIDED


def _examined(decoder: str | None, fault: str | None, target: str | None, python: str | None) -> Iterator[Examined]:
    if python is not None:
        from tree_oracle.run.foreign_doctor import examine_abroad

        caps = caps_abroad(decoder, fault, None, None, None)
        yield from examine_abroad(str(decoder), target, python, caps)
        return
    from tree_oracle.run import examine, find_decoder, make_subject

    name, found = find_decoder(decoder, fault)
    yield from examine(make_subject(found, target_of(target, fault), name=name))
