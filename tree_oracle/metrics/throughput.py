"""Throughput from timestamps, under named conventions, and gains over a baseline.

    single        one request alone: tokens / (its last end - its first start)
    system        tokens of all requests / (the longest worker's last end - first start of all), workers being ranks
    per request   (tokens - those of the first round) / (last end - end of the first round): time to the first token is left out

Repeats of one benchmark are averaged first; benchmarks are then weighted alike. A gain over several benchmarks is the mean of
their gains or the ratio of their mean rates, which are different numbers and are never mixed. One repeat has no spread: then
the uncertainty is said to be not quantified.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tree_oracle.metrics.counts import MetricError
from tree_oracle.record import Round

_NS = 10**9
Rate = Fraction  # tokens per second


@dataclass(frozen=True, slots=True)
class Gain:
    """How much faster than a baseline, as a fraction of the baseline: 0.16 is 16% more tokens per second."""

    mean_of_gains: float
    ratio_of_means: float
    uncertainty: (
        float | None
    )  # standard error of the mean of gains over repeats; None: not quantified, for want of repeats


def single_rate(rounds: Sequence[Round]) -> Rate:
    """Tokens per second of one request alone.

    Raises:
        MetricError: no rounds, a timestamp is missing, or no time passes.
    """
    times = _times(rounds)
    return _per_second(sum(len(r.emitted) for r in rounds), times[-1][1] - times[0][0])


def per_request_rate(rounds: Sequence[Round]) -> Rate:
    """Tokens per second of one request, time to the first token left out.

    Raises:
        MetricError: as for ``single_rate``, or fewer than two rounds.
    """
    times = _times(rounds)
    if len(rounds) < 2:
        raise MetricError("one round has no tokens after the first emission; expected two rounds or more")
    return _per_second(sum(len(r.emitted) for r in rounds[1:]), times[-1][1] - times[0][1])


def system_rate(requests: Sequence[Sequence[Round]]) -> Rate:
    """Tokens per second of everything, over the time of the worker (rank) that took longest.

    Raises:
        MetricError: as for ``single_rate``.
    """
    workers: dict[int, list[Round]] = {}
    for round_ in (round_ for rounds in requests for round_ in rounds):
        workers.setdefault(round_.rank, []).append(round_)
    spans = [_span(rounds) for rounds in workers.values()]
    tokens = sum(len(round_.emitted) for rounds in requests for round_ in rounds)
    return _per_second(tokens, max(spans, default=0))


def gain(baseline: Sequence[Sequence[float]], measured: Sequence[Sequence[float]]) -> Gain:
    """The gain over a baseline: rates by benchmark, then by repeat.

    Raises:
        MetricError: not the same benchmarks, a benchmark without repeats, a rate that is not positive and finite, or rates
            so far apart that floats cannot hold their gain.
    """
    if len(baseline) != len(measured) or not baseline:
        raise MetricError(f"{len(measured)} benchmarks against {len(baseline)}; expected the same ones, at least one")
    for rates in (*baseline, *measured):
        if not rates or not all(0 < rate < math.inf for rate in rates):
            raise MetricError(f"rates {list(rates)} of one benchmark; expected positive, finite numbers, at least one")
    try:
        found = _gain(baseline, measured)
    except (OverflowError, ZeroDivisionError):
        found = None
    if found is None or not all(
        map(math.isfinite, (found.mean_of_gains, found.ratio_of_means, found.uncertainty or 0))
    ):
        raise MetricError(f"the gain of {measured} over {baseline} is no float; expected rates that are comparable")
    return found


def _gain(baseline: Sequence[Sequence[float]], measured: Sequence[Sequence[float]]) -> Gain:
    before, after = ([statistics.fmean(rates) for rates in side] for side in (baseline, measured))
    gains = [new / old - 1 for old, new in zip(before, after, strict=True)]
    return Gain(
        statistics.fmean(gains), statistics.fmean(after) / statistics.fmean(before) - 1, _spread(baseline, measured)
    )


def _spread(baseline: Sequence[Sequence[float]], measured: Sequence[Sequence[float]]) -> float | None:
    """Standard error of the mean of gains, to first order in the relative errors of both means."""
    if any(len(rates) < 2 for rates in (*baseline, *measured)):
        return None
    errors = [
        (statistics.fmean(new) / statistics.fmean(old)) ** 2 * (_relative(new) + _relative(old))
        for old, new in zip(baseline, measured, strict=True)
    ]
    return math.sqrt(sum(errors)) / len(errors)


def _relative(rates: Sequence[float]) -> float:
    """The squared standard error of the mean, relative to the mean."""
    return statistics.variance(rates) / len(rates) / statistics.fmean(rates) ** 2


def _times(rounds: Sequence[Round]) -> list[tuple[int, int]]:
    if not rounds:
        raise MetricError("no rounds, so no throughput")
    found = []
    for index, round_ in enumerate(rounds):
        if round_.started_ns is None or round_.ended_ns is None:
            raise MetricError(f"round {index} has no timestamps; throughput needs started_ns and ended_ns")
        if round_.ended_ns < round_.started_ns:
            raise MetricError(f"round {index} ends at {round_.ended_ns} ns, before it starts at {round_.started_ns} ns")
        found.append((round_.started_ns, round_.ended_ns))
    return found


def _span(rounds: Sequence[Round]) -> int:
    times = _times(rounds)
    return max(end for _, end in times) - min(start for start, _ in times)


def _per_second(tokens: int, nanoseconds: int) -> Rate:
    if nanoseconds <= 0:
        raise MetricError(f"{tokens} tokens in {nanoseconds} ns; expected some time to pass")
    return Fraction(tokens * _NS, nanoseconds)
