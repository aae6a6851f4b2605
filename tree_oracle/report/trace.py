"""A recorded trace on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from tree_oracle.record import TreeData
from tree_oracle.report.plain import visible
from tree_oracle.trace import Recorded, Request
from tree_oracle.trace.contents import Contents
from tree_oracle.tree import CandidateTree, InvalidTree

_MOST = 16  # tokens on one line


def print_contents(console: Console, found: Contents) -> None:
    """What was recorded, where, and how much of it."""
    head = found.head
    lines = [
        f"decoder    {_plain(head.decoder) or 'not said'}",
        f"target     {_plain(head.target) or 'not said'}{f', run by {_plain(head.engine)}' if head.engine else ''}",
        f"rank       {head.rank} of {head.ranks}",
        f"whole      {'yes' if found.complete else 'no, it broke off'}, {found.lines} lines",
        f"requests   {found.requests}, {found.done} of them done",
        f"rounds     {found.rounds}, {found.control} of them control rounds without a tree",
        f"tokens     {found.emitted} emitted",
        f"trees      {found.drafted} nodes below their roots, {found.accepted} of them accepted",
    ]
    lines += [f"shown      {_plain(name)}: {count} rounds" for name, count in sorted(found.shown.items())]
    lines += [f"place      {_plain(name)}: {_plain(value)}" for name, value in sorted(head.environment.items())]
    for line in lines:
        console.print(line, soft_wrap=True, markup=False)


def _plain(text: str) -> str:
    """Somebody else's text on one line, with nothing in it that acts on a terminal."""
    return visible(text).replace("\n", "\\n")


def print_request(console: Console, request: Request) -> None:
    """The prompt, then every round with its tree; accepted nodes are marked."""
    console.print(f"prompt {_tokens(request.prompt)}", soft_wrap=True, markup=False)
    for number, one in enumerate(request.rounds):
        control = ", control" if one.round.control else ""
        end = f", end: {one.round.end}" if one.round.end is not None else ""
        text = f"round {number} (line {one.line}{control}): emitted {_tokens(one.round.emitted)}{end}"
        console.print(text, soft_wrap=True, markup=False)
        for line in _drawing(one):
            console.print(f"  {line}", soft_wrap=True, markup=False)


def _tokens(tokens: Sequence[int]) -> str:
    rest = len(tokens) - _MOST
    return " ".join(map(str, tokens[:_MOST])) + (f" ... {rest} more" if rest > 0 else "")


def _drawing(one: Recorded) -> list[str]:
    round_ = one.round
    if round_.tokens is None or round_.parents is None:
        return []
    marked = tuple(node for node in round_.accepted or () if 0 <= node < len(round_.tokens))
    try:
        return CandidateTree.from_data(TreeData(round_.tokens, round_.parents)).draw(mark=marked).splitlines()
    except InvalidTree as error:
        return [f"no tree: {error}"]
