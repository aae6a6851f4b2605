"""Whether a trace can be judged by a target at all: that it was recorded with another one is said before any check.

Compared are the names of both, where both are built in (a folder or a name of somebody's own may stand for anything), and the
vocabulary: every token of a request and the width of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_oracle.record import UsageError
from tree_oracle.trace import Recorded, Request


def refuse_another_target(recorded: str, named: str) -> None:
    """Return unless both names are built-in targets', and not the same one's.

    Raises:
        UsageError: they are.
    """
    from tree_oracle.target.spec import same_target  # resolved here, since it loads torch

    if recorded and named and same_target(recorded, named) is False:
        raise UsageError(f"the trace was recorded with target {recorded!r}; it cannot be judged by target {named!r}")


def refuse_foreign(request: Request, vocab_size: int) -> None:
    """Return if the request holds nothing that a target of so many tokens does not have.

    Raises:
        UsageError: a token lies outside, or a row has another width.
    """
    for what, line, tokens in _tokens(request):
        wrong = next((token for token in tokens if not 0 <= token < vocab_size), None)
        if wrong is not None:
            raise UsageError(
                f"{what} of request {request.number} (line {line}) holds token {wrong}; expected 0 to {vocab_size - 1}, "
                "the vocabulary of the target that was named"
            )
    one = next(filter(_shows_rows, request.rounds), None)
    width = None if one is None else _width(one)
    if one is not None and width is not None and width != vocab_size:
        raise UsageError(
            f"rows of request {request.number} (line {one.line}) have {width} entries; expected {vocab_size}, the vocabulary "
            "of the target that was named"
        )


def _tokens(request: Request) -> Iterator[tuple[str, int, tuple[int, ...]]]:
    yield "prompt", request.line, request.prompt
    for one in request.rounds:
        bonus = () if one.round.bonus is None else (one.round.bonus,)
        yield "a round", one.line, (*one.round.emitted, *(one.round.tokens or ()), *bonus)


def _shows_rows(one: Recorded) -> bool:
    return one.summary is not None or one.round.rows is not None or "rows" in one.beside


def _width(one: Recorded) -> int | None:
    """Entries in a row of the round; None where what it shows is no table, which is judged like any other answer."""
    if one.summary is not None:
        return one.summary.vocab
    rows = one.whole().rows
    return rows.shape[1] if rows is not None and len(rows.shape) == 2 else None
