"""COMMIT: what is kept after a round.

Law: after a round the cache holds the rows of ``committed[:-1]``: the old prefix, the root, and the accepted path without
the newest committed token, which is the next root and has not been run. It equals the cache of a cold run over those
tokens, every layer, keys and values. Four of ten real faults live here, and none shows in the round that makes it. Nothing
follows a round that names an end, so what it keeps is not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import msgspec
import numpy as np

from tree_oracle.checks.check import Source, check
from tree_oracle.checks.displaced import followed, need_displaced
from tree_oracle.checks.history import first_wrong_row
from tree_oracle.checks.say import NothingToJudge, fail, listing
from tree_oracle.checks.scenes import PROMPTS, ROUNDS
from tree_oracle.checks.view import View, is_built_on, shown
from tree_oracle.checks.whose_row import whose_row
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Finding, LayerRows, Round, Status, counted

_SOURCES = (Source(Seam.SESSION, ROUNDS), Source(Seam.GENERATE, PROMPTS))
_CLASSES = "fault classes KV-COMMIT, KV-MOVE and ROLLBACK"


def held_after(round_: Round) -> tuple[int, ...]:
    """The committed tokens without the newest, whose rows a cache holds after the round."""
    return (*(round_.prefix or ()), *round_.emitted)[:-1]


def _built_on(view: View) -> Iterator[tuple[int, Round]]:
    """The rounds after which the text goes on, with their numbers.

    Raises:
        NothingToJudge: there is none.
    """
    found = [(index, round_) for index, round_ in enumerate(view.rounds) if is_built_on(round_)]
    if view.rounds and not found:
        raise NothingToJudge(
            Status.NOT_APPLICABLE, "the text ends with its first round, and nothing is built on its cache"
        )
    yield from found


@check("COMMIT-01", rung=2, needs=("prefix", "cache"), sources=_SOURCES, source=_CLASSES)
def cache_equals_a_cold_run(view: View) -> Iterator[Finding]:
    """After every round that another may follow the cache holds all committed tokens but the newest, as a cold run makes them.

    A layer with a window may show its newest rows alone, if it shows all that the next token sees. Woken by accepted slots that
    are scattered, one of them equal to a later rank. Where a row is wrong, the layer, keys or values, and the token it should
    belong to are named, and on the exact model the node whose row was kept in its place, if it is one's.
    """
    for index, round_ in _built_on(view):
        assert round_.cache is not None
        held = held_after(round_)
        cold = view.truth.cache(held)
        for found in _wrong_cache(view, round_, cold, held, index):
            yield found
            return
    need_displaced(view, [round_ for round_ in view.rounds if is_built_on(round_)])


def _wrong_cache(
    view: View, round_: Round, cold: tuple[LayerRows, ...], held: tuple[int, ...], index: int
) -> Iterator[Finding]:
    seen = round_.cache or ()
    if len(seen) != len(cold):
        yield fail("the cache has the wrong number of layers", expected=len(cold), seen=len(seen), round=index)
        return
    reaches = view.truth.reaches()
    for layer, (mine, theirs) in enumerate(zip(seen, cold, strict=True)):
        for part, ours, true in (("keys", mine.keys, theirs.keys), ("values", mine.values, theirs.values)):
            found, whole = np.asarray(ours.numpy()), np.asarray(true.numpy())
            due = _newest(whole, found.shape[-2], reaches[layer]) if layer < len(reaches) else whole
            whose = partial(whose_row, view, round_, layer, part)
            yield from _wrong_part(view, found, due, held, f"layer {layer} {part}", index, whose)


def _newest(cold: np.ndarray, shown: int, reach: int | None) -> np.ndarray:
    """What ``shown`` rows of a layer are held against: as many of the newest, but no fewer than its window reaches."""
    rows = cold.shape[-2]
    return cold if reach is None else cold[..., rows - min(rows, max(shown, reach)) :, :]


def _wrong_part(
    view: View,
    seen: np.ndarray,
    cold: np.ndarray,
    held: tuple[int, ...],
    where: str,
    index: int,
    whose: Callable[[int], str],
) -> Iterator[Finding]:
    if seen.shape != cold.shape:
        rows, due = seen.shape[-2], cold.shape[-2]
        which = "the committed tokens without the newest" if due == len(held) else "all that the next token sees"
        newest = ": the newest committed token, the next root, is already among them" if rows == due + 1 else ""
        yield fail(
            f"the cache holds {counted(rows, 'row')}{newest}" if rows != due else f"{where} has the wrong shape",
            expected=f"{counted(due, 'row')}, {which} ({where} {cold.shape})",
            seen=f"{counted(rows, 'row')} ({where} {seen.shape})",
            round=index,
        )
        return
    gaps = np.abs(seen.astype(np.float64) - cold).max(axis=(0, 2), initial=0.0)
    room = 0.0 if view.truth.exact else view.truth.noise().cache
    if not view.truth.exact and not (gaps <= room).all():
        room = max(room, view.truth.cache_room(held))  # the floor is that of a sample, and errors have long tails
    wrong = np.flatnonzero(~(gaps <= room)).tolist()
    if wrong:
        first = len(held) - len(gaps)  # of a window the newest rows are shown
        known = whose(wrong[0])
        yield fail(
            f"cache row {first + wrong[0]} is not what a cold run puts there ({where}){known and f': {known}'}",
            expected=f"the row of committed token {first + wrong[0]}, off by at most {room:.3g}",
            seen=f"rows {listing(first + row for row in wrong)} differ, the first by {gaps[wrong[0]]:.3g}",
            round=index,
        )


@check("COMMIT-02", rung=2, needs=("prefix", "tokens", "parents", "kept"), sources=_SOURCES, source=_CLASSES)
def kept_nodes_are_the_accepted_path(view: View) -> Iterator[Finding]:
    """The nodes whose rows are kept for a next round are the root and the accepted path, without the newest committed token.

    Judged on the slots that the decoder says it keeps, so it needs no access to the cache, and blames the choice of rows
    rather than their move.
    """
    for index, round_ in _built_on(view):
        _, tokens, parents = shown(round_)
        kept = round_.kept or ()
        due = (tokens[0], *round_.emitted)[: len(round_.emitted)]
        linked = all(parents[below] == above for above, below in zip((-1, *kept), kept, strict=False))
        if tuple(tokens[v] for v in kept) != due or not linked:
            yield fail(
                f"nodes {listing(kept)} are kept; they are not the root and the path that was committed",
                expected=f"one branch from the root holding tokens {listing(due)}",
                seen=f"tokens {listing(tokens[v] for v in kept)}, parents {listing(parents[v] for v in kept)}",
                round=index,
            )
            return
    need_displaced(view, [round_ for round_ in view.rounds if is_built_on(round_)])


@check(
    "COMMIT-03",
    rung=2,
    needs=("prefix", "tokens", "parents", "rows"),
    sources=(Source(Seam.SESSION, ROUNDS), Source(Seam.TAP, PROMPTS), Source(Seam.GENERATE, PROMPTS)),
    source=_CLASSES,
)
def the_next_round_sees_the_right_past(view: View) -> Iterator[Finding]:
    """From the second round on, every row still equals an ordinary run over the node's own history.

    The first round starts from a cache that was filled in the ordinary way; every later one from what a commit left. A decoder
    that drafts by itself has to accept a node outside the next slot before a further round: else no row had to be moved.
    """
    if len(view.rounds) < 2:
        raise NothingToJudge(Status.NOT_APPLICABLE, "only one round was run")
    wrong = False
    for found in first_wrong_row(view, start=1):
        wrong = True
        yield msgspec.structs.replace(found, sentence=f"after a commit, {found.sentence}")
    if not wrong:
        need_displaced(view, list(followed(view.rounds)), after=" with a round after it")
