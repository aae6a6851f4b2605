"""Acceptance length under every published convention.

With R rounds, e emitted and m matched tokens of a round (see ``counts``), sums over all rounds of all requests:

    committed per round       sum e / R                      TreeSpark, DSpark, Sequoia, JetSpec
    mean of responses         mean over requests of sum e / R  DFlash
    matched plus one          sum (m + 1) / R                Medusa, EAGLE: the bonus counts even where a limit withholds it
    without the last bonus    sum (e - [bonus of a round that ends]) / R
    per draft                 1 + sum m / (rounds with a draft)   vLLM
    drafts only               sum m / R                      counters of SGLang and TensorRT-LLM kernels
    share of levels           sum m / sum levels             llama.cpp, as a percentage

The root is never counted. Sources: the papers and programs that the lines name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tree_oracle.metrics.counts import MetricError, RoundCounts, count_round
from tree_oracle.record import Round
from tree_oracle.record.names import by_name

Requests = Sequence[Sequence[RoundCounts]]


@dataclass(frozen=True, slots=True)
class LengthConvention:
    """One way to state how long rounds are."""

    name: str
    formula: str
    used_by: tuple[str, ...]
    of: Callable[[Requests], Fraction]


def acceptance_length(requests: Sequence[Sequence[Round]], convention: str = "committed per round") -> Fraction:
    """The acceptance length of these requests, each a sequence of its rounds, by one of ``LENGTHS``.

    Raises:
        MetricError: an unknown convention, a request without rounds, a round that does not show what is counted, or
            nothing to divide by.
    """
    if convention not in LENGTHS:
        raise MetricError(f"no convention {convention!r} for the acceptance length; there are {', '.join(LENGTHS)}")
    counted = [[count_round(round_) for round_ in rounds] for rounds in requests]
    if not counted or not all(counted):
        raise MetricError("a request without rounds has no acceptance length")
    return LENGTHS[convention].of(counted)


def _flat(requests: Requests) -> list[RoundCounts]:
    return [round_ for rounds in requests for round_ in rounds]


def _per_round(weight: Callable[[RoundCounts], int]) -> Callable[[Requests], Fraction]:
    def of(requests: Requests) -> Fraction:
        rounds = _flat(requests)
        return Fraction(sum(map(weight, rounds)), len(rounds))

    return of


def _mean_of_responses(requests: Requests) -> Fraction:
    return sum((LENGTHS["committed per round"].of([rounds]) for rounds in requests), Fraction()) / len(requests)


def _per_draft(requests: Requests) -> Fraction:
    rounds = _flat(requests)
    return 1 + _ratio(sum(r.matched for r in rounds), sum(r.drafted > 0 for r in rounds), "no round has a draft")


def _share_of_levels(requests: Requests) -> Fraction:
    rounds = _flat(requests)
    return _ratio(sum(r.matched for r in rounds), sum(r.levels for r in rounds), "no round has a level")


def _ratio(above: int, below: int, otherwise: str) -> Fraction:
    if not below:
        raise MetricError(otherwise)
    return Fraction(above, below)


LENGTHS: dict[str, LengthConvention] = by_name(
    (
        LengthConvention(
            "committed per round",
            "sum e / R",
            ("TreeSpark", "DSpark", "Sequoia", "JetSpec"),
            _per_round(lambda r: r.emitted),
        ),
        LengthConvention("mean of responses", "mean of (sum e / R)", ("DFlash",), _mean_of_responses),
        LengthConvention(
            "matched plus one", "sum (m + 1) / R", ("Medusa", "EAGLE"), _per_round(lambda r: r.matched + 1)
        ),
        LengthConvention(
            "without the last bonus",
            "sum (e - [bonus of a round that ends]) / R",
            (),
            _per_round(lambda r: r.emitted - (r.ended and r.bonus)),
        ),
        LengthConvention("per draft", "1 + sum m / (rounds with a draft)", ("vLLM",), _per_draft),
        LengthConvention("drafts only", "sum m / R", ("SGLang", "TensorRT-LLM"), _per_round(lambda r: r.matched)),
        LengthConvention("share of levels", "sum m / sum levels", ("llama.cpp",), _share_of_levels),
    )
)
