"""``tree-oracle tolerance work`` and ``masks``: what a pass holds, and whether a kernel skips what a mask forbids."""

from __future__ import annotations

from typing import Any

import click

from tree_oracle.cli.common import DECODER, JSON, echo_json, guarded

_SIZE = click.IntRange(min=1)


@click.command()
@DECODER
@click.option("--target", default="tiny:qwen3", show_default=True, metavar="SPEC")
@click.option("--new-tokens", default=16, show_default=True, type=_SIZE)
@JSON
@guarded
def work(decoder: str | None, target: str, new_tokens: int, as_json: bool) -> int:
    """Watch a decoder generate and list what each of its target passes held."""
    from tree_oracle.checks.drive import drive
    from tree_oracle.decoder.seams import Seam
    from tree_oracle.numerics.ledger import shape_of, work_of
    from tree_oracle.record import Case, Limits
    from tree_oracle.report import make_console
    from tree_oracle.report.work import print_work
    from tree_oracle.run import find_decoder, make_subject

    name, made = find_decoder(decoder, None)
    subject = make_subject(made, target, name=name)
    model, case = subject.target.model, Case(prefix=(1, 2, 3), limits=Limits(max_new_tokens=new_tokens))
    found = work_of(drive(subject.decoder, Seam.TAP, case, subject.target.vocab_size, model=model), shape_of(model))
    if as_json:
        echo_json(found)
    else:
        print_work(make_console(), found)
    return 0


@click.command()
@click.option("--kernel", "kernels", multiple=True, default=["eager", "sdpa"], show_default=True)
@click.option("--nodes", "sizes", multiple=True, type=_SIZE, default=[64, 128, 256], show_default=True)
@click.option("--prefix", default=128, show_default=True, type=_SIZE, help="Tokens.")
@click.option("--device", default="cpu", show_default=True)
@click.option("--dtype", default="float32", show_default=True)
@JSON
@guarded
def masks(kernels: tuple[str, ...], sizes: tuple[int, ...], as_json: bool, **place: Any) -> int:
    """Time one attention call under a star, a chain and an all-visible mask of one size."""
    from tree_oracle.numerics.mask_cost import mask_cost
    from tree_oracle.report import make_console
    from tree_oracle.report.work import print_costs
    from tree_oracle.target import one_torch_thread

    with one_torch_thread():
        found = [mask_cost(kernel, nodes=nodes, **place) for kernel in kernels for nodes in sizes]
    if as_json:
        echo_json(found)
    else:
        print_costs(make_console(), found)
    return 0
