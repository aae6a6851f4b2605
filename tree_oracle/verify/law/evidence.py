"""A test that may be stopped at any time: evidence against a law, drawn token by drawn token.

Null hypothesis: after every history h the next token follows p(. | h). A bettor who starts with 1 and stakes all of it, at
fair odds 1 / p(x | h), on predictions r(. | h) that were made before x was seen, holds prod r(x_i | h_i) / p(x_i | h_i). Under
the null that is a nonnegative martingale of mean 1, whatever r is; so is any average of such bettors, and any product over
histories of which one grows at a time. Hence, for the E below, P(sup_n E_n >= 1 / alpha) <= alpha (Ville 1939): one looks as
often as one likes and stops when E is large enough. All histories, nodes and rounds share E, so alpha is the rate of false
alarm of the whole run, and needs no correction for their number.

    E     = prod_h ( 7/8 + 1/8 * mean_k E_{h,k} )       most histories may be right: a right one costs little
    E_h,k = prod_i r_k(x_i | h) / p(x_i | h)            r_k(x | h) = (n_x + k K p(x | h)) / (n + k K)

The predictions are what has been seen after the same history, begun with k K imagined tokens that follow p, K being the number
of possible ones (a Dirichlet mixture centred at the null), for k = 1, 16, 256: from gross differences to small ones. A token
of probability 0 refutes the null at once: E is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tree_oracle.record import UsageError
from tree_oracle.verify.probabilities import Law, total_variation
from tree_oracle.verify.rules.drawn_tree import Context

FALSE_ALARM = 1e-6
IMAGINED = (1, 16, 256)
_WRONG = 1 / 8  # staked on each history; the rest is kept


@dataclass(frozen=True, slots=True)
class Farthest:
    """One history: what was seen after it, and what was due."""

    history: Context
    tokens: int
    seen: tuple[float, ...]
    due: tuple[float, ...]
    total_variation: float


class _History:
    """The bets on the tokens after one history."""

    def __init__(self, law: Law) -> None:
        self.null = tuple(map(float, law.values))
        self.counts, self.total = [0] * len(self.null), 0
        self.possible = sum(share > 0 for share in self.null)
        self._logs = [0.0] * len(IMAGINED)

    @property
    def log_e(self) -> float:
        """log(7/8 + 1/8 * mean of exp(logs)), without overflow."""
        largest = max(0.0, *self._logs)
        if largest == math.inf:
            return math.inf
        mean = math.fsum(math.exp(log - largest) for log in self._logs) / len(self._logs)
        return largest + math.log((1 - _WRONG) * math.exp(-largest) + _WRONG * mean)

    def see(self, token: int) -> None:
        """Pay the bets, then learn."""
        share = self.null[token]
        for place, weight in enumerate(IMAGINED):
            imagined = weight * self.possible
            if share > 0:
                predicted = (self.counts[token] + imagined * share) / (self.total + imagined)
                self._logs[place] += math.log(predicted / share)
            else:
                self._logs[place] = math.inf
        self.counts[token] += 1
        self.total += 1

    def farthest(self, history: Context) -> Farthest:
        """How what was seen differs from what was due."""
        shares = tuple(count / self.total for count in self.counts)
        return Farthest(history, self.total, shares, self.null, float(total_variation(shares, self.null)))


@dataclass(slots=True)
class Evidence:
    """The bettors' fortune, and what was seen.

    Raises:
        UsageError: the rate of false alarm is not between 0 and 1.
    """

    false_alarm: float = FALSE_ALARM
    tokens: int = 0
    log_e: float = 0.0  # natural logarithm of E
    stopped_at: int | None = None  # tokens seen when E reached 1 / false_alarm
    _seen: dict[Context, _History] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.false_alarm < 1:
            raise UsageError(f"the rate of false alarm is {self.false_alarm}; expected a number between 0 and 1")

    @property
    def refuted(self) -> bool:
        """True from the moment on at which E has reached 1 / false_alarm, whatever comes later."""
        return self.stopped_at is not None

    def see(self, history: Context, token: int, law: Law) -> None:
        """One more token, after ``history``, where ``law`` was due: the same law whenever the history comes.

        Raises:
            UsageError: a token that the law does not speak of.
        """
        if not 0 <= token < len(law):
            raise UsageError(f"token {token} was seen; expected one of the {len(law)} that the law speaks of")
        bets = self._seen.setdefault(history, _History(law))
        before = bets.log_e
        bets.see(token)
        self.log_e = math.inf if math.inf in (self.log_e, bets.log_e) else self.log_e + bets.log_e - before
        self.tokens += 1
        if self.stopped_at is None and self.log_e >= -math.log(self.false_alarm):
            self.stopped_at = self.tokens

    def see_text(self, text: Sequence[int], laws: Sequence[Law]) -> None:
        """The tokens of one text, with the law that was due for each."""
        for place, (token, law) in enumerate(zip(text, laws, strict=True)):
            self.see(tuple(text[:place]), token, law)

    def farthest(self) -> Farthest | None:
        """Where what was seen differs most from the law, weighed against how often the history came; None if nothing was."""
        found = [bets.farthest(history) for history, bets in self._seen.items()]
        return max(found, key=lambda one: one.total_variation * math.sqrt(one.tokens), default=None)

    def detectable(self) -> tuple[int, float]:
        """Of the history that came most often: how often, and the distance that the evidence is expected to find there."""
        often = max(self._seen.values(), key=lambda bets: bets.total, default=None)
        if often is None:
            return 0, 1.0
        return often.total, detectable(often.total, often.possible, len(self._seen), self.false_alarm)


def detectable(tokens: int, possible: int, histories: int = 1, false_alarm: float = FALSE_ALARM) -> float:
    """The total variation after one history from which on the evidence is *expected* to suffice; 1 if nothing does.

    ``tokens`` draws at distance d bring 2 d^2 each on average (Pinsker). They must pay for 1 / ``false_alarm``, for the choice
    of this history and of k, for what is kept back on each of the other ``histories``, and for learning the probabilities of
    the ``possible`` tokens, (possible - 1) / 2 * log(1 + tokens / (k possible)), with the k that suits d. An expectation is
    no promise: ``reports/law_power.py`` measures power.
    """
    fixed = -math.log(false_alarm) + math.log(len(IMAGINED) / _WRONG) - (histories - 1) * math.log(1 - _WRONG)

    def enough(distance: float) -> bool:
        return any(_gain(tokens, possible, k, distance) >= fixed for k in IMAGINED)

    if not enough(1.0):
        return 1.0
    low, high = 0.0, 1.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _gain(tokens: int, possible: int, k: int, distance: float) -> float:
    """Expected gain of one bettor: it sees through k K imagined tokens only the part of the distance that n outweighs."""
    imagined = k * possible
    seen = tokens / (tokens + imagined)
    return 2 * tokens * distance**2 * seen - (possible - 1) / 2 * math.log1p(tokens / imagined)
