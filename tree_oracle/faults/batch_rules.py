"""Wrong ways to let requests of a batch leave, and to decode each by what was asked of it, and detours to the right ones."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tree_oracle.decoder.batch_parts import Rows, process, stay
from tree_oracle.decoder.session import Text
from tree_oracle.record import Limits, Processors
from tree_oracle.tree import CandidateTree

# ------------------------------------------------------------------------------------------------------- who leaves


def places_that_move(places: Sequence[int], count: int) -> list[int]:
    """Fault: requests leave one after another, and the places of those that still have to are not counted anew."""
    left = list(range(count))
    for place in sorted(places):
        del left[min(place, len(left) - 1)]
    return left


def first_place_only(places: Sequence[int], count: int) -> list[int]:
    """Fault: of several requests that leave together only the first does."""
    return stay(places[:1], count)


def last_place_first(places: Sequence[int], count: int) -> list[int]:
    """Twin: requests leave one after another, the last first, so that no place moves."""
    left = list(range(count))
    for place in sorted(places, reverse=True):
        del left[place]
    return left


# ------------------------------------------------------------------------------------- what of a request's rules is kept

Rules = tuple[Limits, Processors | None]


def without_processors(limits: Limits, processors: Processors | None) -> Rules:
    """Fault: a batch is decoded without the processors that were asked for."""
    return limits, None


def without_stops(limits: Limits, processors: Processors | None) -> Rules:
    """Fault: a batch knows no stop sequences."""
    return replace(limits, stop=()), processors


def without_minimum(limits: Limits, processors: Processors | None) -> Rules:
    """Fault: a batch knows no minimum length."""
    return replace(limits, min_new=0), processors


def without_context(limits: Limits, processors: Processors | None) -> Rules:
    """Fault: a batch does not look at the room in the context."""
    return replace(limits, max_length=None), processors


def ends_in_any_order(limits: Limits, processors: Processors | None) -> Rules:
    """Twin: end tokens and stop sequences come in the opposite order."""
    return replace(limits, eos_ids=limits.eos_ids[::-1], stop=limits.stop[::-1]), processors


def history_of_first(texts: Sequence[Text], trees: Sequence[CandidateTree], rows: Sequence[Rows]) -> list[Rows | None]:
    """Fault: the rows of every request are processed with the history of the first one."""
    process(texts, trees, rows)  # so that each knows the states of its own tree when it commits
    found = [texts[0].processed(tree, own) for tree, own in zip(trees[::-1], rows[::-1], strict=True)]
    return found[::-1]  # its own tree came last, for the same reason


def processed_from_last(
    texts: Sequence[Text], trees: Sequence[CandidateTree], rows: Sequence[Rows]
) -> list[Rows | None]:
    """Twin: the requests are processed from the last to the first."""
    return process(texts[::-1], trees[::-1], rows[::-1])[::-1]
