"""``tree-oracle vectors``: the corpus, and running it against any program."""

from __future__ import annotations

from typing import Any

import click

from tree_oracle.cli.common import EXIT_ADAPTER, JSON, echo_json, guarded

_GROUP = click.option("--group", "groups", metavar="NAME", multiple=True, help="Only this group. May be given again.")
_FLAG = click.option("--flag", "flags", metavar="NAME", multiple=True, help="Only vectors with one of these flags.")


@click.group()
def vectors() -> None:
    """Test vectors for programs in any language: list, show, run, verify."""


@vectors.command("list")
@_GROUP
@_FLAG
@JSON
@guarded
def list_vectors(groups: tuple[str, ...], flags: tuple[str, ...], as_json: bool) -> int:
    """List the groups, or the vectors that --group and --flag choose."""
    from tree_oracle.report import make_console
    from tree_oracle.report.vectors import print_groups, print_vectors
    from tree_oracle.vectors import load_all

    chosen = [vector for _, vector in _chosen(groups, flags)]
    if as_json:
        echo_json([{"id": one.id, "comment": one.comment, "flags": one.flags} for one in chosen])
    elif groups or flags:
        print_vectors(make_console(), chosen)
    else:
        print_groups(make_console(), load_all())
    return 0


@vectors.command()
@click.argument("vector_id", metavar="ID")
@JSON
@guarded
def show(vector_id: str, as_json: bool) -> int:
    """Show one vector and what its flags stand for."""
    from tree_oracle.report import make_console
    from tree_oracle.report.vectors import print_flag
    from tree_oracle.vectors import find

    group, vector = find(vector_id)
    echo_json(vector)
    for name in () if as_json else vector.flags:
        print_flag(make_console(), name, group.flags[name])
    return 0


@vectors.command()
@click.argument("adapter")
@_GROUP
@_FLAG
@click.option("--id", "ids", metavar="ID", multiple=True, help="Only this vector. May be given again.")
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="For one answer.",
)
@click.option(
    "--start",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="For its greeting.",
)
@click.option(
    "--within",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=600.0,
    show_default=True,
    help="For the whole run.",
)
@JSON
@guarded
def run(
    adapter: str,
    groups: tuple[str, ...],
    flags: tuple[str, ...],
    ids: tuple[str, ...],
    timeout: float,
    start: float,
    within: float,
    as_json: bool,
) -> int:
    """Run the vectors against ADAPTER, a command line such as "perl adapter.pl"."""
    import shlex

    from tree_oracle.record import UsageError
    from tree_oracle.report import make_console
    from tree_oracle.report.vectors import print_vector_report
    from tree_oracle.vectors.runner import Patience, run_vectors

    try:
        command = shlex.split(adapter)
    except ValueError as error:
        raise UsageError(f"{adapter!r} is no command line: {error}") from error
    report = run_vectors(command, _chosen(groups, flags, ids), Patience(start, timeout, within))
    if as_json:
        echo_json(report)
    else:
        print_vector_report(make_console(), report)
    return report.exit_code


@vectors.command()
@JSON
@guarded
def verify(as_json: bool) -> int:
    """Make the corpus anew from the reference and compare it with the installed one, byte for byte."""
    from tree_oracle.vectors import digest, load_all
    from tree_oracle.vectors.generate import differing

    wrong = differing()
    if as_json:
        echo_json({"digest": digest(), "vectors": sum(len(group.vectors) for group in load_all()), "differing": wrong})
        return EXIT_ADAPTER if wrong else 0
    for name in wrong:
        click.echo(f"{name} is not what this installation's reference makes")
    total = sum(len(group.vectors) for group in load_all())
    click.echo(f"{total} vectors, digest {digest()}: {'NOT ' if wrong else ''}as the reference makes them")
    return EXIT_ADAPTER if wrong else 0


def _chosen(groups: tuple[str, ...], flags: tuple[str, ...], ids: tuple[str, ...] = ()) -> list[tuple[str, Any]]:
    """Operation and vector of each that is asked for.

    Raises:
        UsageError: a group, a flag or an id that does not exist.
    """
    from tree_oracle.record import UsageError
    from tree_oracle.vectors import FLAGS, GROUPS, find, load

    unknown = sorted(set(flags) - FLAGS.keys())
    if unknown:
        raise UsageError(f"no flag {unknown[0]!r}; expected one of {', '.join(FLAGS)}")
    if ids:
        return [(group.operation, vector) for group, vector in map(find, ids)]
    loaded = [load(name) for name in groups or GROUPS]
    return [
        (group.operation, vector)
        for group in loaded
        for vector in group.vectors
        if not flags or set(flags) & set(vector.flags)
    ]
