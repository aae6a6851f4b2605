"""``tree-oracle kit``: checkpoints for engines that bring their own modelling code, made, written as GGUF and verified."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tree_oracle.cli.common import EXIT_FAILED, JSON, echo_json, guarded

_FOLDER = click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))


@click.group()
def kit() -> None:
    """Small trained checkpoints with quiet and tied prompts: make, gguf, verify."""


@kit.command()
@_FOLDER
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Another language and weights.")
@click.option("--steps", type=click.IntRange(min=1), help="Of training. Default: 600.")
@click.option("--prompts", type=click.IntRange(min=1), help="In each of the two sets. Default: 32.")
@click.option("--length", type=click.IntRange(min=1), help="Tokens of each greedy text. Default: 24.")
@click.option("--architecture", default="llama", show_default=True, help="llama or qwen3.")
@click.option(
    "--dtype", help="Coarsest number format that the margins must be far above. Default: bfloat16; of a qwen3 float32."
)
@JSON
@guarded
def make(folder: Path, as_json: bool, **options: Any) -> int:
    """Train a target and a drafter into DIR, which must be new or empty. Takes about a minute."""
    from tree_oracle.kit import make_kit
    from tree_oracle.report import make_console
    from tree_oracle.report.kit import print_kit

    given = {name: value for name, value in options.items() if value is not None}
    made = make_kit(folder, say=(lambda line: None) if as_json else click.echo, **given)
    if as_json:
        echo_json(made)
    else:
        print_kit(make_console(), made)
    return 0


@kit.command()
@_FOLDER
@JSON
@guarded
def gguf(folder: Path, as_json: bool) -> int:
    """Add a model.gguf, the format of llama.cpp, to each checkpoint of the kit in DIR. Needs the extra `gguf`."""
    from tree_oracle.kit import write_gguf

    written = [str(file) for file in write_gguf(folder)]
    if as_json:
        echo_json({"written": written})
    else:
        click.echo("\n".join(f"{'written':<12}{file}" for file in written))
    return 0


@kit.command()
@_FOLDER
@JSON
@guarded
def verify(folder: Path, as_json: bool) -> int:
    """Measure the kit in DIR again, and name what is not as its record says; exit code 1 if anything is not."""
    from tree_oracle.kit import read_kit, verify_kit
    from tree_oracle.report import make_console
    from tree_oracle.report.kit import print_kit

    found = verify_kit(folder)
    if as_json:
        echo_json({"verified": not found, "differences": found})
        return EXIT_FAILED if found else 0
    for one in found:
        click.echo(f"{one.what}\n  recorded  {one.recorded}\n  found     {one.found}")
    if not found:
        print_kit(make_console(), read_kit(folder))
        click.echo("verified    every file and figure, on this machine")
    return EXIT_FAILED if found else 0
