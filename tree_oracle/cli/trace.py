"""``tree-oracle trace``: recorded rounds, looked at, compared and judged; and the recorder that writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tree_oracle.cli.common import JSON, echo_json, guarded, listener, quiet, show

_FILE = click.argument("file", type=click.Path(path_type=Path))
_PARTIAL = click.option("--partial", is_flag=True, help="Take a recording that broke off for what it is.")


@click.group()
def trace() -> None:
    """Recorded traces: check, show, diff; `recorder` prints the file that writes them."""


@trace.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--target", metavar="SPEC", help="Judge by sequential runs of this target: exact, tiny:NAME or dir:PATH.")
@click.option("--check", "checks", multiple=True, metavar="ID", help="Run this check only; may be repeated.")
@click.option("--family", "families", multiple=True, metavar="NAME", help="Run this family only; may be repeated.")
@click.option("--requests", "most", type=click.IntRange(min=1), help="Judge this many requests at most.")
@click.option(
    "--ties", type=click.Choice(["smallest id", "largest id"]), default="smallest id", show_default=True,
    help="Which of equal maxima is right.",
)  # fmt: skip
@click.option(
    "--require", type=click.IntRange(0, 5), help="Rung that must be held. Default: the highest that can be seen."
)
@click.option("--device", default="cpu", show_default=True, help="Where the target runs.")
@click.option("--dtype", default="float32", show_default=True, help="Its number format.")
@click.option("--attention", default="sdpa", show_default=True, help="Its attention implementation.")
@click.option("--output", metavar="FILE", help="Also save the report, for `tree-oracle report FILE`.")
@_PARTIAL
@JSON
@guarded
def check(files: tuple[Path, ...], target: str | None, as_json: bool, **options: Any) -> int:
    """Judge FILE with the checks that its content allows. Several files are those of several ranks of one run."""
    from tree_oracle.checks import choose
    from tree_oracle.record import TieRule
    from tree_oracle.report.outputs import Outputs
    from tree_oracle.run.trace_judge import judge_trace

    outputs = Outputs({"output": options["output"]})
    truth, place = _truth(target, options["device"], options["dtype"], options["attention"])
    report = judge_trace(
        files[0],
        choose(options["checks"], options["families"]),
        truth=truth,
        target=target or "",
        partial=options["partial"],
        most=options["most"],
        tie_rule=TieRule(options["ties"]),
        required=options["require"],
        place=place,
        others=files[1:],
        on_result=quiet if as_json else listener(),
    )
    show(report, as_json, "tree-oracle trace check")
    outputs.save(report)
    return report.exit_code


@trace.command("show")
@_FILE
@click.option("--request", "number", type=click.IntRange(min=0), help="Show the rounds of this request.")
@_PARTIAL
@JSON
@guarded
def show_trace(file: Path, number: int | None, partial: bool, as_json: bool) -> int:
    """Say what FILE holds, or show the rounds of one request."""
    from tree_oracle.report import make_console
    from tree_oracle.report.trace import print_contents, print_request
    from tree_oracle.trace import TraceReader, contents_of, find_request

    if number is not None:
        request = find_request(TraceReader(file, partial=partial), number)
        if as_json:
            echo_json([one.tokens_only for one in request.rounds])
        else:
            print_request(make_console(), request)
        return 0
    found = contents_of(TraceReader(file, partial=partial))
    if as_json:
        echo_json(found)
    else:
        print_contents(make_console(), found)
    return 0


@trace.command()
@click.argument("one", type=click.Path(path_type=Path))
@click.argument("other", type=click.Path(path_type=Path))
@_PARTIAL
@JSON
@guarded
def diff(one: Path, other: Path, partial: bool, as_json: bool) -> int:
    """Show where two traces part, such as those of two ranks; exit code 1 if they do."""
    from tree_oracle.trace import compare_traces

    found = compare_traces(one, other, partial=partial)
    if as_json:
        echo_json(found)
        return 1 if found else 0
    for part in found:
        click.echo(f"line {part.lines[0]} | line {part.lines[1]}: {part.what}: {part.field}")
        click.echo(f"  {part.values[0]}\n  {part.values[1]}")
    click.echo("the traces part" if found else "the traces agree in all that both show")
    return 1 if found else 0


@trace.command()
@guarded
def recorder() -> int:
    """Print tree_oracle_record.py, to be copied into the project that is to be recorded."""
    from importlib.resources import files

    click.echo((files("tree_oracle.trace") / "tree_oracle_record.py").read_text(encoding="utf-8"), nl=False)
    return 0


def _truth(target: str | None, device: str, dtype: str, attention: str) -> tuple[Any, dict[str, str]]:
    """The truth of the target, and versions and place of its runs."""
    from tree_oracle.run.environment import environment, versions
    from tree_oracle.run.kernels_seen import kernels_seen

    if target is None:
        return None, versions()
    from tree_oracle.target import SequentialTruth, load_target

    found = load_target(target, device=device, dtype=dtype, attention=attention)
    return SequentialTruth(found), environment(found) | kernels_seen(found)
