"""Which scores float64 cannot tell apart: those that are no sums of the draft's own log-probabilities.

A policy that weighs edges by something else (an estimate, a scorer's chance over a cost) adds up logarithms that were rounded
when they were taken. Products that are equal then come out a few units in the last place apart, and another program, right as
well, gets other last bits. So that no verdict hangs on them:

    s and t are equal    <=>    |s - t| <= slack,    slack = 2 c levels eps (size + max(|s|, |t|)),    eps = 2^-52

where an edge's weight is off by at most c eps (size + |weight|), and adding up ``levels`` of them, each sum rounded once, by no
more than that again. The factor 2: both scores are off.
"""

from __future__ import annotations

import math

EPSILON = 2.0**-52


def slack(levels: int, size: float, *scores: float, ulps: int = 2) -> float:
    """How far scores of this size may be apart and still stand for equal ones; 0 beside a score of minus infinity.

    ``ulps`` is c, for the weight of one edge; ``size`` what stands beside the weight itself in its error.
    """
    largest = max(map(abs, scores))
    return 2 * (ulps + 1) * levels * EPSILON * (size + largest) if math.isfinite(largest) else 0.0
