"""What a judge sees of one case, and its own way of reading a tree.

Histories come from the parent walk below, not from ``CandidateTree``: a judge shares no tree code with what it judges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tree_oracle.checks.along import Along
from tree_oracle.checks.policy import DeclaredPolicy
from tree_oracle.record import Case, Round, TieRule, Truth
from tree_oracle.verify.law import Declaration


@dataclass(frozen=True, slots=True)
class View:
    """One case, the rounds that came of it, and the truth to hold them against."""

    case: Case
    rounds: tuple[Round, ...]
    truth: Truth
    tie_rule: TieRule = TieRule.SMALLEST
    tree_policy: DeclaredPolicy | None = None
    declared_mode: Declaration | None = None
    recovered: bool = False  # the trees of the rounds were read off the calls of the target


def branch(parents: Sequence[int], node: int) -> list[int]:
    """The nodes from the root down to ``node``, by following parents."""
    found = [node]
    while parents[found[-1]] >= 0:
        found.append(parents[found[-1]])
    return found[::-1]


def shown(round_: Round) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Prefix, tokens and parents of a round whose check needs all three."""
    assert round_.prefix is not None and round_.tokens is not None and round_.parents is not None
    return round_.prefix, round_.tokens, round_.parents


def text_of(rounds: Iterable[Round]) -> tuple[int, ...]:
    """Everything that these rounds emit, in order."""
    return tuple(token for round_ in rounds for token in round_.emitted)


def round_of(view: View, place: int) -> int:
    """The number of the round that emitted token ``place`` of the text; the last round if the text is shorter."""
    for index, round_ in enumerate(view.rounds):
        place -= len(round_.emitted)
        if place < 0:
            return index
    return max(len(view.rounds) - 1, 0)


def by_request(rounds: Sequence[Round]) -> Iterator[list[Round]]:
    """The rounds of each request, by its number."""
    for number in sorted({round_.request for round_ in rounds}):
        yield [round_ for round_ in rounds if round_.request == number]


def branches(round_: Round) -> bool:
    """Whether it shows a tree in which a node has two children."""
    parents = round_.parents or ()
    return len(set(parents)) < len(parents)


def tells_rounds(rounds: Iterable[Round]) -> bool:
    """Whether there are rounds to be numbered: a text that was handed over as one lump of tokens has none."""
    shown = list(rounds)
    if any(round_.tokens is not None or round_.accepted is not None for round_ in shown):
        return True
    return len({round_.request for round_ in shown}) < len(shown)


def is_built_on(round_: Round) -> bool:
    """Whether another round may start from what this one leaves: a request that has ended owes nothing of its cache."""
    return round_.end is None


def history(round_: Round, node: int) -> Along:
    """Every token up to and including ``node``: the prefix (root last), then the branch below the root."""
    prefix, tokens, parents = shown(round_)
    return Along(prefix, tuple(tokens[v] for v in branch(parents, node)[1:]))


def true_rows(view: View, round_: Round) -> Float[np.ndarray, "n vocab"]:
    """The right row of every node: those handed to the decoder if the case holds some, otherwise sequential runs."""
    if view.case.rows is not None:
        return np.asarray(view.case.rows.numpy(), dtype=np.float64)
    _, tokens, _ = shown(round_)
    return view.truth.rows([history(round_, v) for v in range(len(tokens))])


def relation(parents: Sequence[int], node: int, other: int) -> str:
    """What ``other`` is to ``node``, in a word: the kind of leak matters more than the slot numbers."""
    mine, theirs = branch(parents, node), branch(parents, other)
    if other == node:
        return "itself"
    if other in mine:
        return "its parent" if parents[node] == other else "its ancestor"
    if node in theirs:
        return "its descendant"
    return "its sibling" if parents[node] == parents[other] else "a node on another branch"
