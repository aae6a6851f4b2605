"""``tree-oracle tolerance work`` and ``masks``: what a pass holds, and whether a kernel skips what a mask forbids."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import click

from tree_oracle.cli.common import DECODER, JSON, echo_json, guarded

if TYPE_CHECKING:
    from tree_oracle.numerics.profile import SizeWork
    from tree_oracle.run import Subject

_SIZE = click.IntRange(min=1)


@click.command()
@DECODER
@click.option("--target", default="tiny:qwen3", show_default=True, metavar="SPEC")
@click.option("--new-tokens", default=16, show_default=True, type=_SIZE)
@click.option("--nodes", "sizes", multiple=True, type=_SIZE, help="Profile: step it over a tree of this size instead.")
@click.option("--depth", "depths", multiple=True, type=_SIZE, help="Of these trees; default: 4.")
@click.option("--prefix", default=16, show_default=True, type=_SIZE, help="Of these trees, tokens.")
@JSON
@guarded
def work(
    decoder: str | None,
    target: str,
    new_tokens: int,
    sizes: tuple[int, ...],
    depths: tuple[int, ...],
    prefix: int,
    as_json: bool,
) -> int:
    """Watch a decoder generate and list what each of its target passes held.

    With --nodes and --depth, each of which may be repeated: one pass over a tree of every size, handed over in a session.
    """
    from tree_oracle.checks.drive import drive
    from tree_oracle.decoder.seams import Seam
    from tree_oracle.numerics.ledger import shape_of, work_of
    from tree_oracle.record import Case, Limits, UsageError
    from tree_oracle.report import make_console
    from tree_oracle.report.work import print_profile, print_work
    from tree_oracle.run import find_decoder, make_subject

    if depths and not sizes:
        raise UsageError("--depth is about trees of --nodes; name a size too")
    name, made = find_decoder(decoder, None)
    subject = make_subject(made, target, name=name)
    if sizes:
        profile = _profile(subject, sizes, depths or (4,), prefix)
        if as_json:
            echo_json(profile)
        else:
            print_profile(make_console(), profile)
        return 0
    model, case = subject.target.model, Case(prefix=(1, 2, 3), limits=Limits(max_new_tokens=new_tokens))
    found = work_of(drive(subject.decoder, Seam.TAP, case, subject.target.vocab_size, model=model), shape_of(model))
    if as_json:
        echo_json(found)
    else:
        print_work(make_console(), found)
    return 0


def _profile(subject: Subject, sizes: tuple[int, ...], depths: tuple[int, ...], prefix: int) -> list[SizeWork]:
    """Depth by depth, so that a line follows the next smaller tree of its depth."""
    from tree_oracle.checks.drive import drive
    from tree_oracle.decoder.seams import Seam
    from tree_oracle.numerics.ledger import shape_of, work_of
    from tree_oracle.numerics.profile import SizeWork, sized_case
    from tree_oracle.record import UsageError

    if Seam.SESSION not in subject.seams:
        raise UsageError(f"{subject.name} has no method open, so no tree can be handed to it; take --nodes away")
    model, vocab, found = subject.target.model, subject.target.vocab_size, []
    for depth, nodes in product(sorted(set(depths)), sorted(set(sizes))):
        case = sized_case(nodes, depth, prefix, vocab)
        if prefix + nodes > subject.target.context_length:
            raise UsageError(f"{nodes} nodes behind {prefix} tokens; the context is {subject.target.context_length}")
        (work,) = work_of(drive(subject.decoder, Seam.SESSION, case, vocab, model=model), shape_of(model))
        found.append(SizeWork(nodes, depth, work))
    return found


@click.command()
@click.option("--kernel", "kernels", multiple=True, default=["eager", "sdpa"], show_default=True)
@click.option("--nodes", "sizes", multiple=True, type=_SIZE, default=[64, 128, 256], show_default=True)
@click.option("--depth", "depths", multiple=True, type=_SIZE, help="Also time trees of this depth, to compare depths.")
@click.option("--prefix", default=128, show_default=True, type=_SIZE, help="Tokens.")
@click.option("--device", default="cpu", show_default=True)
@click.option("--dtype", default="float32", show_default=True)
@JSON
@guarded
def masks(kernels: tuple[str, ...], sizes: tuple[int, ...], as_json: bool, **place: Any) -> int:
    """Time one attention call under a star, a chain and an all-visible mask of one size."""
    from tree_oracle.numerics.mask_cost import mask_cost
    from tree_oracle.report import make_console
    from tree_oracle.report.work import print_costs, print_depths
    from tree_oracle.target import one_torch_thread

    with one_torch_thread():
        found = [mask_cost(kernel, nodes=nodes, **place) for kernel in kernels for nodes in sizes]
    if as_json:
        echo_json(found)
    else:
        print_costs(make_console(), found)
        if place["depths"]:
            print_depths(make_console(), found)
    return 0
