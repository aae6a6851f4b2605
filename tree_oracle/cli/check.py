"""``tree-oracle check``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tree_oracle.cli.common import (
    DECODER,
    EXIT_INTERRUPTED,
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
    target_of,
)

if TYPE_CHECKING:
    from tree_oracle.run import KnownFailures

_HERE = "."  # --resume without a file


@click.command()
@DECODER
@FAULT
@TARGET
@click.option("--check", "checks", multiple=True, metavar="ID", help="Run this check only; may be repeated.")
@click.option("--family", "families", multiple=True, metavar="NAME", help="Run this family only; may be repeated.")
@click.option(
    "--profile", type=click.Choice(["ci", "deep"]), help="ci: frozen cases. deep: many more, from a fresh seed."
)
@click.option("--cases", type=click.IntRange(min=0), help="Generated cases per check. Default: 25; deep: 250.")
@click.option("--seed", type=int, help="Explore other cases; without it the cases are always the same.")
@click.option(
    "--require", type=click.IntRange(0, 5), help="Rung that must be held. Default: the highest that can be seen."
)
@click.option("--device", default="cpu", show_default=True, help="Where a target given by SPEC runs.")
@click.option("--dtype", default="float32", show_default=True, help="Its number format.")
@click.option("--attention", default="sdpa", show_default=True, help="Its attention: eager, sdpa or flex_attention.")
@click.option(
    "--tolerance",
    metavar="FILE",
    help="Take the noise floor from this report of `tree-oracle tolerance measure`. Default: measured on the spot.",
)
@click.option(
    "--power", is_flag=True, help="Also plant wrong answers behind the adapter, and see whether they are noticed."
)
@limited
@PYTHON
@click.option("--trace", metavar="FILE", help="With --python: keep what was recorded.")
@click.option(
    "--known",
    metavar="FILE",
    help="Known failures: TOML with a [[known]] entry for each, of check, reason, tracker and perhaps decoder (the only one "
    "that it is about). Default with --decoder: tree-oracle.toml, if there is one.",
)
@click.option(
    "--resume",
    metavar="[FILE]",
    is_flag=False,
    flag_value=_HERE,
    help="Go on with an interrupted run of the same kind.",
)
@click.option("--output", metavar="FILE", help="Also save the report, for `tree-oracle report FILE`.")
@kept
@JSON
@guarded
def check(decoder: str | None, fault: str | None, target: str | None, as_json: bool, **options: Any) -> int:
    """Run the checks against a decoder and explain what fails."""
    from tree_oracle.checks import choose
    from tree_oracle.report.outputs import KINDS, Outputs
    from tree_oracle.run import Interrupted, Plan, carry_out, profile_budget, save_cases
    from tree_oracle.run.arguments import refuse_no_report

    refuse_no_report(options["tolerance"])
    outputs = Outputs({kind: options[kind] for kind in KINDS})
    chosen = choose(options["checks"], options["families"])
    plan = Plan(
        decoder=name_of(decoder, fault),
        target=target_of(target, fault),
        device=options["device"],
        dtype=options["dtype"],
        attention=options["attention"],
        tolerance=options["tolerance"],
        checks=tuple(found.id for found in chosen),
        budget=profile_budget(options["profile"], cases=options["cases"], seed=options["seed"]),
        power=options["power"],
    )
    shared = {
        "known": _known(options["known"], decoder, plan.decoder),
        "required": options["require"],
        "on_result": quiet if as_json else listener(),
    }
    limits = options["isolate"], options["timeout"], options["memory"]
    interrupted = False
    try:
        if _abroad(options):
            from tree_oracle.run.foreign import run_abroad

            trace = None if options["trace"] is None else Path(options["trace"])
            report = run_abroad(
                plan, options["python"], caps=caps_abroad(decoder, fault, *limits), trace=trace, **shared
            )
        else:
            report = carry_out(
                plan,
                caps=caps_of(decoder, *limits),
                journal=_journal(options["resume"]),
                resume=options["resume"] is not None,
                **shared,
            )
    except Interrupted as stop:
        click.echo("tree-oracle: interrupted; what was finished is kept, --resume goes on with it", err=True)
        if stop.report is None:
            return EXIT_INTERRUPTED
        report, interrupted = stop.report, True
    save_cases(report)
    again = replay_command(decoder, fault, target, options["python"])
    show(report, as_json, again)  # first: what took long is not lost to a full disk
    outputs.save(report)
    return EXIT_INTERRUPTED if interrupted else report.exit_code


def _abroad(options: dict[str, Any]) -> bool:
    """Whether the decoder runs under another interpreter."""
    from tree_oracle.record import UsageError

    if options["python"] is None and options["trace"] is not None:
        raise UsageError("--trace keeps what --python records; without it there is no recording")
    if options["python"] is not None and options["power"]:
        raise UsageError(
            "--power plants answers in this interpreter; with --python the doctor plants one in the recording"
        )
    if options["python"] is not None and options["resume"] is not None:
        raise UsageError("--resume goes on with checks of this interpreter; with --python a run is begun anew")
    return options["python"] is not None


def _journal(resume: str | None) -> Path | None:
    from tree_oracle.run.journal import DEFAULT_FILE

    if resume is not None and resume != _HERE:
        return Path(resume)
    return DEFAULT_FILE if resume is not None or os.access(Path.cwd(), os.W_OK) else None


def _known(given: str | None, decoder: str | None, name: str) -> KnownFailures | None:
    from tree_oracle.run import read_known
    from tree_oracle.run.known import DEFAULT_FILE

    if given is not None:
        return read_known(Path(given), name)
    return read_known(DEFAULT_FILE, name) if decoder is not None and DEFAULT_FILE.exists() else None
