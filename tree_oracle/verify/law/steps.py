"""The law of one round: every emission with its probability.

A node rule is enumerated once for each pair of laws and number of children, whatever the context; the round is then put
together from the root down. Any other program is enumerated as it stands, and equal emissions are merged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import NamedTuple, TypeAlias, TypeVar

from tree_oracle.record import Unsupported
from tree_oracle.verify.coin_enumeration import bounded, outcomes
from tree_oracle.verify.law.schemes import Memory, NodeScheme, Played, Scheme
from tree_oracle.verify.probabilities import Law, Number, total
from tree_oracle.verify.rules.drawn_tree import Context, Models, wanted_below
from tree_oracle.verify.rules.proposals import Proposal, joint_of
from tree_oracle.verify.rules.protocol import Bonus, NodeRule, Siblings, Verdict, check_verdict

T = TypeVar("T")
MOST_OUTCOMES = 1_000_000  # of one enumerated round: about a minute


class Step(NamedTuple):
    """What one round emitted."""

    tokens: Context  # accepted ones, then the bonus
    accepted: int
    memory: Memory


Steps: TypeAlias = Mapping[Step, Number]


class NodeLaw(NamedTuple):
    """What happens at one node: for each token the probability that it is accepted, and that it is the bonus."""

    accepted: Mapping[int, Number]
    bonus: Mapping[int, Number]

    @property
    def emitted(self) -> Mapping[int, Number]:
        """The law of the next token."""
        return {
            token: self.accepted.get(token, 0) + self.bonus.get(token, 0) for token in {*self.accepted, *self.bonus}
        }


def node_law(rule: NodeRule, proposal: Proposal, target: Law, draft: Law, count: int) -> NodeLaw:
    """The law of ``rule`` at one node with ``count`` proposed children, exact if the laws are.

    Raises:
        UsageError: the rule decided nothing, or the proposal gave no siblings.
        Unsupported: there are too many outcomes.
    """
    accepted: dict[int, list[Number]] = defaultdict(list)
    bonuses: dict[Bonus, list[Number]] = defaultdict(list)
    found = _verdicts(rule, target, draft, joint_of(proposal, draft, count))
    for siblings, verdict, probability in bounded(found, MOST_OUTCOMES, "one node"):
        if verdict.child is not None:
            accepted[siblings.tokens[verdict.child]].append(probability)
        elif verdict.bonus is not None:
            bonuses[verdict.bonus].append(probability)
    return NodeLaw(_totals(accepted), _spread(_totals(bonuses)))


def _verdicts(
    rule: NodeRule, target: Law, draft: Law, joint: Mapping[tuple[int, ...], Number]
) -> Iterator[tuple[Siblings, Verdict, Number]]:
    for tokens, weight in joint.items():
        siblings = Siblings(tokens, draft)
        for verdict, probability in outcomes(partial(rule, target=target, siblings=siblings), weight):
            check_verdict(verdict, siblings)
            yield siblings, verdict, probability


def steps_of(scheme: Scheme, models: Models, context: Context, memory: Memory, room: int | None) -> Steps:
    """The law of one round after ``context``. Past ``room`` tokens, if given, it may be cut short.

    Raises:
        InvalidLaw: a model gave no law for a context that was reached, or target and draft are over unlike vocabularies.
        UsageError: a rule, a proposal or widths that answer what they must not.
        Unsupported: there are too many outcomes, or the tree has no end.
    """
    if isinstance(scheme, NodeScheme):
        return _by_node(scheme, models, context, room)
    played: dict[Played, Number] = defaultdict(Fraction)
    found = outcomes(lambda coin: scheme.play(coin, models, context, memory))
    for one, probability in bounded(found, MOST_OUTCOMES, "one round"):
        played[one] += probability
    steps: dict[Step, Number] = defaultdict(Fraction)
    for one, probability in played.items():
        for token, share in _spread({one.bonus: probability}).items():
            steps[Step((*one.accepted, token), len(one.accepted), one.memory)] += share
    return steps


def _by_node(scheme: NodeScheme, models: Models, context: Context, room: int | None) -> Steps:
    steps: dict[Step, Number] = {}
    paths: dict[Context, Number] = {(): Fraction(1)}
    while paths:
        if len(steps) > MOST_OUTCOMES:
            raise Unsupported(
                f"one round has more than {MOST_OUTCOMES} outcomes; take fewer tokens, levels or children"
            )
        path, reached = paths.popitem()
        if room is not None and len(path) >= room:
            steps[Step(path, len(path), None)] = reached
            continue
        node = _node(scheme, models, context, path)
        for token, probability in node.accepted.items():
            paths[*path, token] = reached * probability
        for token, probability in node.bonus.items():
            steps[Step((*path, token), len(path), None)] = reached * probability
    return steps


def _node(scheme: NodeScheme, models: Models, context: Context, path: Context) -> NodeLaw:
    count = wanted_below(scheme.widths, path)
    if not count:
        return NodeLaw({}, _spread({models.target(context + path): Fraction(1)}))
    target, draft = models.at(context + path)
    key = (scheme.rule, scheme.proposal, draft, count)
    return target.derived(key, lambda: node_law(scheme.rule, scheme.proposal, target, draft, count))


def _spread(bonuses: Mapping[Bonus, Number]) -> dict[int, Number]:
    spread: dict[int, list[Number]] = defaultdict(list)
    for bonus, weight in bonuses.items():
        for token, probability in enumerate(bonus.values) if isinstance(bonus, Law) else ((bonus, 1),):
            if probability:
                spread[token].append(weight * probability)
    return _totals(spread)


def _totals(shares: Mapping[T, list[Number]]) -> dict[T, Number]:
    return {key: total(numbers) for key, numbers in shares.items()}
