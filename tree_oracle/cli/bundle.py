"""``tree-oracle bundle``: the same numbers on several machines."""

from __future__ import annotations

from pathlib import Path

import click

from tree_oracle.cli.common import EXIT_FAILED, JSON, echo_json, guarded

_SIZE = click.IntRange(min=1)


@click.group()
def bundle() -> None:
    """Freeze inputs, weights and golden rows; run them anywhere; compare: make, run, compare."""


@bundle.command()
@click.argument("folder")
@click.option("--target", default="tiny:qwen3", show_default=True, metavar="SPEC", help="A Llama or Qwen3 model.")
@click.option("--trees", default=4, show_default=True, type=_SIZE)
@click.option("--prefix", default=64, show_default=True, type=_SIZE, help="Tokens.")
@click.option("--width", default=33, show_default=True, type=_SIZE, help="Rows of a tree.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@guarded
def make(folder: str, target: str, trees: int, prefix: int, width: int, seed: int) -> int:
    """Make a bundle in FOLDER. On the other machine: python FOLDER/run.py --help, which needs only torch."""
    from tree_oracle.numerics.bundle import make_bundle
    from tree_oracle.record import counted

    head = make_bundle(Path(folder), target, count=trees, prefix=prefix, width=width, seed=seed)
    click.echo(
        f"{folder}: {counted(head.instances, 'tree')}; run.py agrees with the golden rows to {head.agreement:.2g} logits"
    )
    return 0


@bundle.command()
@click.argument("folder")
@click.argument("site")
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda, npu.")
@click.option("--dtype", default="float32", show_default=True)
@click.option("--kernel", default="sdpa", show_default=True, help="eager or sdpa.")
@guarded
def run(folder: str, site: str, device: str, dtype: str, kernel: str) -> int:
    """Run the bundle in FOLDER here and write the rows into SITE, as its own run.py does."""
    from tree_oracle.numerics.bundle import standalone
    from tree_oracle.numerics.bundle.head import read_bundle
    from tree_oracle.target import one_torch_thread
    from tree_oracle.target.backends import backend_for
    from tree_oracle.target.spec import choose

    choose("dtype", dtype, standalone.DTYPES)
    choose("kernel", kernel, standalone.KERNELS)
    backend_for(device)
    read_bundle(Path(folder))
    with one_torch_thread():
        standalone.run(Path(folder), device, dtype, kernel, Path(site))
    return 0


@bundle.command()
@click.argument("folder")
@click.argument("sites", nargs=-1, required=True)
@click.option("--markdown", metavar="FILE", help="Also write the sheet as Markdown.")
@JSON
@guarded
def compare(folder: str, sites: tuple[str, ...], markdown: str | None, as_json: bool) -> int:
    """Join the SITES of the bundle in FOLDER and print the sign-off sheet.

    Exit code 1: on some site the tree pass is farther off than twice the plain pass, or rows are not finite.
    """
    from tree_oracle.numerics.bundle import compare_sites
    from tree_oracle.record.files import write_bytes
    from tree_oracle.report.outputs import refuse_foreign
    from tree_oracle.report.signoff import MARK, signoff_page

    if markdown is not None:
        refuse_foreign(Path(markdown), "sign-off sheet", (MARK.encode(),))
    sheet = compare_sites(Path(folder), [Path(site) for site in sites])
    if as_json:
        echo_json(sheet)
    else:
        click.echo(signoff_page(sheet), nl=False)
    if markdown is not None:
        write_bytes(Path(markdown), signoff_page(sheet).encode())
    return EXIT_FAILED if any(one.lost or not one.holds for one in sheet.sites) else 0
