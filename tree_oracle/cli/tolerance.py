"""``tree-oracle tolerance``: how far a tree pass may differ from a sequential one, here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tree_oracle.cli.common import EXIT_FAILED, EXIT_INTERRUPTED, JSON, echo_json, guarded
from tree_oracle.cli.tolerance_work import masks, work

_SIZE = click.IntRange(min=1)


@click.group()
def tolerance() -> None:
    """Measure how far rows may differ on this device, dtype and kernel: measure, report; and work, masks."""


tolerance.add_command(work)
tolerance.add_command(masks)


@tolerance.command()
@click.argument("file")
@click.option("--target", "targets", multiple=True, default=["tiny:qwen3"], show_default=True, metavar="SPEC")
@click.option("--dtype", "dtypes", multiple=True, default=["float32", "bfloat16"], show_default=True)
@click.option("--kernel", "kernels", multiple=True, default=["eager", "sdpa"], show_default=True)
@click.option("--width", "widths", multiple=True, type=_SIZE, default=[33], show_default=True, help="Rows of a tree.")
@click.option("--batch", "batches", multiple=True, type=_SIZE, default=[1], show_default=True, help="Trees in a pass.")
@click.option("--prefix", "prefixes", multiple=True, type=_SIZE, default=[128], show_default=True, help="Tokens.")
@click.option(
    "--cache", default="dynamic", show_default=True, help="That rows are held in: dynamic, or fp8, eight bits."
)
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda, cuda:1, npu.")
@click.option("--rows", type=_SIZE, default=264, show_default=True, help="Tree rows to judge in each cell, at least.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the inputs.")
@click.option("--fault", default="", metavar="NAME", help="Plant this numerical fault, to see that it is noticed.")
@click.option("--resume", is_flag=True, help="Go on with an interrupted sweep in FILE.")
@JSON
@guarded
def measure(
    file: str, resume: bool, as_json: bool, device: str, rows: int, seed: int, fault: str, cache: str, **lists: Any
) -> int:
    """Measure every combination and write FILE after each cell; options of lists may be repeated.

    Exit code 1: in some cell a pass differs by more than rounding explains.
    """
    from tree_oracle.numerics import Sweep, run_sweep
    from tree_oracle.numerics.document import FORMAT
    from tree_oracle.report import make_console
    from tree_oracle.report.outputs import refuse_foreign
    from tree_oracle.report.tolerance import cell_line
    from tree_oracle.run.environment import place
    from tree_oracle.target import refuse_target

    path, console = Path(file), make_console()
    refuse_foreign(path, "tolerance report", (f'"{FORMAT}"'.encode(),))
    options = {name: tuple(one) for name, one in lists.items()}
    for target in options["targets"]:
        refuse_target(target)
    sweep = Sweep(device=device, rows=rows, seed=seed, fault=fault, cache=cache, **options)
    try:
        report = run_sweep(
            sweep,
            path,
            place(device),
            resume=resume,
            on_cell=lambda found: None if as_json else console.print(cell_line(found), soft_wrap=True, markup=False),
        )
    except KeyboardInterrupt:
        click.echo(f"tree-oracle: interrupted; the finished cells are in {path}, --resume goes on with it", err=True)
        return EXIT_INTERRUPTED
    if as_json:
        echo_json(report)
    return _exit_code(report)


@tolerance.command()
@click.argument("file")
@click.option("--html", metavar="FILE", help="Also write one HTML page with plots; needs no network.")
@click.option("--markdown", metavar="FILE", help="Also write the tables as Markdown.")
@JSON
@guarded
def report(file: str, html: str | None, markdown: str | None, as_json: bool) -> int:
    """Show a measured sweep, and write pages from it."""
    from tree_oracle.numerics import read_tolerance
    from tree_oracle.report import make_console
    from tree_oracle.report.outputs import refuse_foreign
    from tree_oracle.report.tolerance import MARK, cell_line, counted, markdown_page
    from tree_oracle.report.tolerance_html import write_tolerance_html

    path = Path(file)
    found = read_tolerance(path)
    for given in filter(None, (html, markdown)):
        refuse_foreign(Path(given), "tolerance page", (MARK.encode(),))
    if as_json:
        echo_json(found)
    else:
        console = make_console()
        for one in found.cells:
            console.print(cell_line(one), soft_wrap=True, markup=False)
        console.print(counted(found))
    if markdown is not None:
        from tree_oracle.record.files import write_bytes

        write_bytes(Path(markdown), markdown_page(found).encode())
    if html is not None:
        write_tolerance_html(Path(html), found, path)
    return _exit_code(found)


def _exit_code(report: Any) -> int:
    from tree_oracle.numerics import Verdict

    unlike = any(found.verdict is Verdict.EXCEEDED or found.signs for found in report.cells)
    return EXIT_FAILED if unlike else 0
