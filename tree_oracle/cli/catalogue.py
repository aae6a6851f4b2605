"""``tree-oracle list``, ``explain`` and ``faults``: what there is, and the proof that it works."""

from __future__ import annotations

from difflib import get_close_matches

import click

from tree_oracle.cli.common import JSON, echo_json, guarded


@click.command("list")
@JSON
@guarded
def list_checks(as_json: bool) -> int:
    """List the checks."""
    from tree_oracle.checks import choose
    from tree_oracle.report import make_console, print_checks
    from tree_oracle.report.catalogue import check_data

    if as_json:
        echo_json([check_data(found) for found in choose()])
    else:
        print_checks(make_console(), choose())
    return 0


@click.command()
@click.argument("name")
@guarded
def explain(name: str) -> int:
    """Explain one check or one planted fault."""
    from tree_oracle.checks import CHECKS
    from tree_oracle.faults import PLANTED
    from tree_oracle.record import UsageError
    from tree_oracle.report import make_console, print_check, print_fault

    if name in PLANTED:
        print_fault(make_console(), PLANTED[name])
        return 0
    if name.upper() not in CHECKS:
        raise UsageError(_nothing_named(name, [*CHECKS, *PLANTED]))
    print_check(make_console(), CHECKS[name.upper()], PLANTED.values())
    return 0


def _nothing_named(name: str, known: list[str]) -> str:
    by_letters = {one.lower(): one for one in known}
    near = [by_letters[one] for one in get_close_matches(name.lower(), by_letters, n=3)]
    hint = f"the nearest: {', '.join(near)}" if near else "`tree-oracle list` and `tree-oracle faults` have them all"
    return f"no check and no planted fault {name!r}; {hint}"


@click.command()
@click.option("--prove", "proving", is_flag=True, help="Show that every fault is caught and every twin passes.")
@click.option("--matrix", "crossing", is_flag=True, help="Show which seams see each fault, and how its cause is named.")
@click.option("--fault", "names", multiple=True, metavar="NAME", help="Only this fault (with --prove or --matrix).")
@click.option("--exact", default=1000, show_default=True, type=click.IntRange(min=0), help="Cases on the exact model.")
@click.option("--tiny", default=200, show_default=True, type=click.IntRange(min=0), help="Cases on tiny:qwen3.")
@JSON
@guarded
def faults(proving: bool, crossing: bool, names: tuple[str, ...], exact: int, tiny: int, as_json: bool) -> int:
    """List the planted faults, or prove that the checks catch them."""
    from tree_oracle.faults import PLANTED
    from tree_oracle.report import make_console, print_faults
    from tree_oracle.report.catalogue import fault_data

    if (proving and crossing) or (names and not (proving or crossing)):
        raise click.UsageError("one of --prove and --matrix; --fault is for either")
    if proving:
        return _prove(exact, tiny, names, as_json)
    if crossing:
        return _cross(names, as_json)
    if as_json:
        echo_json([fault_data(found) for found in PLANTED.values()])
    else:
        print_faults(make_console(), PLANTED.values())
    return 0


def _cross(names: tuple[str, ...], as_json: bool) -> int:
    from tree_oracle.report import make_console, print_cell, print_matrix
    from tree_oracle.run import matrix

    console, cells = make_console(), []
    for cell in matrix(names):
        cells.append(cell)
        if not as_json:
            print_cell(console, cell)
    if as_json:
        echo_json(cells)
    else:
        print_matrix(console, cells)
    return 0 if all(cell.good for cell in cells) else 1


def _prove(exact: int, tiny: int, names: tuple[str, ...], as_json: bool) -> int:
    from tree_oracle.report import make_console, print_proof
    from tree_oracle.run import prove

    console, proofs = make_console(), []
    for proof in prove(cases=(("exact", exact), ("tiny:qwen3", tiny)), names=names):
        proofs.append(proof)
        if not as_json:
            print_proof(console, proof)
    if as_json:
        echo_json(proofs)
    good = all(proof.good for proof in proofs)
    if not as_json:
        caught = [proof.caught_at for proof in proofs if proof.caught_at is not None]
        most = f"; faults caught within {max(caught)} cases" if caught else ""
        console.print(f"\n{'everything as it should be' if good else 'NOT as it should be'}{most}")
    return 0 if good else 1
