"""Whether a failure is the decoder's answer to its case, or to what it was asked before.

Rule: a new decoder of the same factory, on a copy of the target that no decoder has had, is handed the case alone. Where it
does not fail there, it is handed the last 1, 2, 4, ... requests that came before as well; the first of these lists that brings
the failure back is made shorter, part by part. Such a list counts only if the case is right a second time alone, and wrong a
second time after the list; else nothing tells earlier requests from chance.

A decoder that was handed over ready, or whose weights are many, has no second one, and nothing is said of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tree_oracle.checks.witness import NO_WITNESS
from tree_oracle.record import Earlier, Recurs, Status, TreeOracleError, counted
from tree_oracle.run.outcome import Outcome

_MOST_DECODERS = 40  # made to find a list, and again to make it shorter

NewDecoder = Callable[[], tuple[Any, Any]]
Retry = Callable[[Any, Any, Sequence[Earlier]], Outcome]


@dataclass(frozen=True, slots=True)
class Recurrence:
    """Whether a failure was seen again, and after what."""

    recurs: Recurs
    earlier: tuple[Earlier, ...] = ()
    tried: int = 0  # requests after which it was looked for
    all_tried: bool = False  # there were no more of them

    @property
    def words(self) -> str:
        """What is added to the sentence of the finding; empty where the case is enough."""
        if self.recurs is Recurs.ALONE:
            return ""
        alone = "alone, on a new decoder, this case does not fail"
        if self.recurs is Recurs.AFTER_OTHERS:
            again = counted(len(self.earlier), "earlier request")
            return f"{alone}: the failure depends on earlier requests, and comes back after {again}"
        nor = f", nor after the last {counted(self.tried, 'request')} before it" if self.tried else ""
        if self.all_tried:
            return f"{alone}{nor}: the failure depends on chance, or on what outlives a decoder"
        return f"{alone}{nor}: the failure depends on earlier requests, or on chance"


def recurrence(make: NewDecoder, retry: Retry, history: Sequence[Earlier], runs: int) -> Recurrence | None:
    """Whether a new decoder fails as well.

    Args:
        make: makes a decoder and its model.
        retry: drives a decoder with earlier requests, then with the case, and judges that.
        history: what the failing decoder was asked before the case, in order.
        runs: how many earlier requests may be driven to find a list, and again to make it shorter.

    Returns:
        None where no second decoder could be made, or it shows nothing that can be judged.
    """
    trials = _Trials(make, retry, runs)
    try:
        alone = trials.outcome(())
    except TreeOracleError:
        return None
    if alone.status in (Status.FAILED, Status.ERROR):
        return Recurrence(Recurs.ALONE)
    if alone.status not in (Status.PASSED, Status.UNDECIDED) and alone.reason != NO_WITNESS:
        return None
    tried = 0
    for length in _lengths(len(history)):
        earlier = tuple(history[-length:])
        if not trials.affords(earlier):
            break
        if trials.fails(earlier):
            trials = _Trials(make, retry, runs)
            shortest = _shorter(earlier, trials)
            told_apart = trials.fails(shortest) and not trials.fails(())
            return Recurrence(Recurs.AFTER_OTHERS, shortest) if told_apart else Recurrence(Recurs.NOT_SEEN, tried=tried)
        tried = length
    return Recurrence(Recurs.NOT_SEEN, tried=tried, all_tried=tried == len(history))


class _Trials:
    """New decoders, as long as the budget lasts."""

    def __init__(self, make: NewDecoder, retry: Retry, runs: int) -> None:
        self._make, self._retry, self._runs, self._decoders = make, retry, runs, _MOST_DECODERS

    def affords(self, earlier: Sequence[Earlier]) -> bool:
        """Whether these requests may still be driven."""
        return len(earlier) < self._runs and self._decoders > 0

    def outcome(self, earlier: Sequence[Earlier]) -> Outcome:
        self._runs -= len(earlier) + 1
        self._decoders -= 1
        return self._retry(*self._make(), earlier)

    def fails(self, earlier: Sequence[Earlier]) -> bool:
        """Whether a new decoder fails after these requests; one that cannot be made does not."""
        try:
            return self.outcome(earlier).status in (Status.FAILED, Status.ERROR)
        except TreeOracleError:
            return False


def _lengths(most: int) -> Iterator[int]:
    """1, 2, 4, ... up to ``most``."""
    length = 1
    while length < most:
        yield length
        length *= 2
    if most:
        yield most


def _shorter(found: tuple[Earlier, ...], trials: _Trials) -> tuple[Earlier, ...]:
    """The list without the parts that it fails without, from halves down to single requests."""
    size = len(found) // 2
    while size and len(found) > 1:
        start = 0
        while start < len(found):
            less = found[:start] + found[start + size :]
            if less and trials.affords(less) and trials.fails(less):
                found = less
            else:
                start += size
        size //= 2
    return found
