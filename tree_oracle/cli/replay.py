"""``tree-oracle replay`` and ``tree-oracle report``: seeing again what was kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from tree_oracle.cli.common import (
    DECODER,
    FAULT,
    JSON,
    PYTHON,
    TARGET,
    caps_abroad,
    caps_of,
    guarded,
    kept,
    limited,
    listener,
    name_of,
    quiet,
    replay_command,
    show,
)

if TYPE_CHECKING:
    from tree_oracle.record import CheckResult


@click.command()
@click.argument("case")
@DECODER
@FAULT
@TARGET
@limited
@PYTHON
@JSON
@guarded
def replay(
    case: str,
    decoder: str | None,
    fault: str | None,
    target: str | None,
    python: str | None,
    as_json: bool,
    **limits: Any,
) -> int:
    """Judge one kept case again. CASE is a case file or the id that a failure printed.

    Earlier requests without which a new decoder did not fail on it come first. Where none were found that bring the failure
    back, a case that does not fail now decides nothing: exit code 4.
    """
    from tree_oracle.record import UsageError
    from tree_oracle.report.kept import kept_words
    from tree_oracle.run import Budget, Plan, carry_out, load_case, seen_again

    named = name_of(decoder, fault) if decoder is not None or fault is not None else None
    file = load_case(case, decoder=named, target=target)
    plan = Plan(
        decoder=named or _built_in(file.decoder),
        target=target or file.target,
        checks=(file.check,),
        budget=Budget(cases=0, shrink_runs=0),
        earlier=file.earlier,
    )
    heard = quiet if as_json else listener()

    def on_result(result: CheckResult) -> None:
        heard(seen_again(result, file))

    if python is not None:
        if file.earlier:
            raise UsageError(
                "the case was seen to fail after earlier requests, which no other Python is asked; replay it without --python"
            )
        from tree_oracle.run.foreign import run_abroad

        report = run_abroad(
            plan, python, caps=caps_abroad(decoder, fault, **limits), cases=[file.case], on_result=on_result
        )
    else:
        report = carry_out(plan, caps=caps_of(decoder, **limits), cases=[file.case], on_result=on_result)
    report = msgspec.structs.replace(report, results=tuple(seen_again(result, file) for result in report.results))
    show(report, as_json, replay_command(decoder, fault, target, python), first=False)
    if not as_json and (words := kept_words(report, file)):
        click.echo(words)
    return report.exit_code


@click.command()
@click.argument("file")
@kept
@JSON
@guarded
def report(file: str, as_json: bool, **outputs: str | None) -> int:
    """Print a saved report again. FILE is what `check --output FILE` wrote."""
    from tree_oracle.record import read_report
    from tree_oracle.report.again import replay_command as again
    from tree_oracle.report.outputs import Outputs

    places = Outputs(outputs)
    found = read_report(Path(file))
    places.save(found)
    if not as_json:
        for result in found.results:
            listener()(result)
    show(found, as_json, again(found))
    return found.exit_code


def _built_in(name: str) -> str:
    """The decoder that a case file names, if it is one of ours; a file never makes us import anything."""
    from tree_oracle.record import UsageError

    if name == "reference" or name.startswith("fault:"):
        return name
    raise UsageError(
        f"the case was kept for decoder {name!r}; name it with --decoder: no file is trusted to say what is imported"
    )
