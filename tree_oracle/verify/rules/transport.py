"""R7, optimal transport: the most that any rule can accept, and a rule that accepts it.

    bound     alpha* = 1 + min over sets H of tokens of [p(H) - Pr(all drafts lie in H)]        (exact, by enumeration of H)
    coupling  maximise sum c(s, t) over drafts s and tokens t in s,  sum_t c(s, t) <= Q(s),  sum_s c(s, t) <= p(t)
    rule      given s accept t with probability c(s, t) / Q(s), else draw from norm(p - sum_s c(s, .))

(SpecTr; Khisti et al.; Hu et al.) The coupling is a linear program, solved in floats by HiGHS, and exact for whatever joint law
it was built for. scipy is imported when the first coupling is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np

from tree_oracle.record import TreeOracleError, UsageError
from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import Law, Number
from tree_oracle.verify.rules.protocol import Siblings, Verdict, accepted, drawn_from

Joint: TypeAlias = Mapping[tuple[int, ...], Number]  # drafts, in order, to their probability
MOST_TOKENS = 16  # 2^16 sets


class NoCoupling(TreeOracleError, RuntimeError):
    """The linear program was not solved."""


class Plan(NamedTuple):
    """A coupling of drafts and target."""

    shares: Mapping[tuple[int, ...], tuple[Number, ...]]  # per draft token, given the drafts; an equal sibling has 0
    residual: Law


def most_accepted(target: Law, joint: Joint) -> Number:
    """The largest probability with which any rule that is exact for ``target`` can accept one of the drafts.

    Raises:
        UsageError: more than 16 tokens.
    """
    if len(target) > MOST_TOKENS:
        raise UsageError(f"the bound looks at every set of tokens; {len(target)} tokens are more than {MOST_TOKENS}")
    within: list[Number] = [Fraction(0)] * 2 ** len(target)
    for drafts, probability in joint.items():
        within[sum(1 << token for token in set(drafts))] += probability
    mass: list[Number] = [Fraction(0)]
    for token, share in enumerate(target.values):
        mass += [known + share for known in mass]
        for members in range(len(within)):  # from "exactly these tokens" to "none but these"
            if members >> token & 1:
                within[members] += within[members ^ 1 << token]
    return 1 + min(have - inside for have, inside in zip(mass, within, strict=True))


@dataclass(frozen=True, slots=True)
class Transport:
    """The rule for drafts from ``joint(draft law, count)``."""

    joint: Callable[[Law, int], Joint]

    def __call__(self, coin: Coin, target: Law, siblings: Siblings) -> Verdict:
        """See the module.

        Raises:
            UsageError: the drafts have probability 0 under the joint law.
            NoCoupling: the linear program was not solved.
        """
        key = ("transport", self.joint, siblings.draft, len(siblings.tokens))
        plan = target.derived(key, lambda: couple(target, self.joint(siblings.draft, len(siblings.tokens))))
        if siblings.tokens not in plan.shares:
            raise UsageError(f"siblings {siblings.tokens} have probability 0 under the joint law of the coupling")
        shares = plan.shares[siblings.tokens]
        child = coin.draw([*shares, max(0.0, 1 - sum(shares))])
        return accepted(child) if child < len(shares) else drawn_from(plan.residual)


def couple(target: Law, joint: Joint) -> Plan:
    """An optimal coupling in floats.

    Raises:
        NoCoupling: the linear program was not solved.
    """
    drafts = [tokens for tokens, probability in joint.items() if probability > 0]
    cells = [(row, token) for row, tokens in enumerate(drafts) for token in dict.fromkeys(tokens)]
    found = _solve(cells, [float(joint[tokens]) for tokens in drafts], [float(p) for p in target.values])
    taken = dict(zip(cells, found, strict=True))
    left = [float(p) for p in target.values]
    for (_, token), amount in taken.items():
        left[token] -= amount
    shares = {
        tokens: tuple(
            taken[row, token] / float(joint[tokens]) if token not in tokens[:place] else 0.0
            for place, token in enumerate(tokens)
        )
        for row, tokens in enumerate(drafts)
    }
    return Plan(shares, Law.normalised([max(0.0, rest) for rest in left], otherwise=target))


def _solve(cells: Sequence[tuple[int, int]], rows: Sequence[float], columns: Sequence[float]) -> list[float]:
    from scipy.optimize import linprog  # type: ignore[import-untyped, unused-ignore]
    from scipy.sparse import coo_array  # type: ignore[import-untyped, unused-ignore]

    count = len(cells)
    places = [row for row, _ in cells] + [len(rows) + token for _, token in cells]
    limits = coo_array((np.ones(2 * count), (places, [*range(count)] * 2)), shape=(len(rows) + len(columns), count))
    answer = linprog(-np.ones(count), A_ub=limits, b_ub=[*rows, *columns], method="highs")
    if not answer.success:
        raise NoCoupling(
            f"HiGHS did not solve the coupling of {len(rows)} drafts and {len(columns)} tokens: {answer.message}"
        )
    return [max(0.0, float(amount)) for amount in answer.x]
