"""The exact law of what a scheme emits, over one round or several, and how far it is from the target's.

Rounds follow each other until ``rounds`` are over; the first ``tokens`` tokens of the text are judged, and a text that is still
shorter is continued by the target itself. So a scheme is exact over these rounds iff the law of the first T tokens is

    P(t_1 .. t_T) = prod_i p(t_i | t_1 .. t_{i-1})

and what a wrong one does is shown at the context where its next-token law is farthest from the target's. Equal texts (with
equal memory) are merged after every round, so the work grows with the number of texts and not with that of histories.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from tree_oracle.record import Unsupported, UsageError
from tree_oracle.verify.law.schemes import Memory, NodeScheme, Scheme
from tree_oracle.verify.law.steps import Steps, steps_of
from tree_oracle.verify.probabilities import InvalidLaw, Number, total_variation
from tree_oracle.verify.rules.drawn_tree import Context, Laws, Models
from tree_oracle.verify.rules.proposals import joint_of
from tree_oracle.verify.rules.transport import MOST_TOKENS, most_accepted

MOST_TEXTS = 200_000  # that are told apart: some seconds
ROUNDED = 1e-12  # how far a law in floats may be from what it would be in rationals


@dataclass(frozen=True, slots=True)
class WorstContext:
    """Where the law of the next token is farthest from the target's."""

    context: Context  # emitted tokens
    reached: Number  # probability that the text begins with them
    total_variation: Number
    emitted: tuple[Number, ...]
    target: tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class ExactLaw:
    """The law of the first tokens and what follows from it. Everything is rational if the models are and the rule is."""

    law: Mapping[Context, Number]  # texts of probability 0 are left out
    total_variation: Number  # of that law to the target's
    worst: WorstContext
    acceptance: Number  # probability that the first round accepts at least one node
    expected_length: Number  # accepted nodes of the first round, on average; the bonus is not counted
    # The most that any exact rule accepts with the same siblings below the root; None if not node-wise, or past 16 tokens.
    bound: Number | None

    @property
    def exact(self) -> bool:
        """True if nothing was rounded."""
        numbers = (*self.law.values(), self.total_variation, self.acceptance, self.expected_length)
        return not any(isinstance(number, float) for number in numbers)

    @property
    def meets_bound(self) -> bool | None:
        """True if no exact rule accepts more; None where there is no bound."""
        if self.bound is None:
            return None
        return self.acceptance >= self.bound - (0 if self.exact else ROUNDED)


def exact_law(
    scheme: Scheme,
    models: Models,
    *,
    tokens: int = 4,
    rounds: int = 2,
    context: Context = (),
    truth: Laws | None = None,
) -> ExactLaw:
    """The law of the first ``tokens`` tokens after ``context``, ``rounds`` rounds by ``scheme`` and the rest by the target.

    ``truth`` is the law that the text must follow, where it is not the target that the scheme is given.

    Raises:
        UsageError: ``tokens`` or ``rounds`` is below 1; a rule, a proposal or widths that answer what they must not.
        InvalidLaw: a model gave no law for a context that was reached, or one over another number of tokens than the rest.
        Unsupported: a node, a round or the text has too many outcomes, or the tree has no end.
    """
    if tokens < 1 or rounds < 1:
        raise UsageError(f"{tokens} tokens over {rounds} rounds; expected at least one of each")
    judge = _Judge(truth or models.target, context, tokens)
    expected = judge.expected()  # first, as it is refused soon where there are too many texts
    first = steps_of(scheme, models, context, None, None)
    texts = _after(first, (), Fraction(1), tokens)
    for _ in range(rounds - 1):
        texts = _another_round(scheme, models, context, texts, tokens)
    law = judge.completed(texts)
    return ExactLaw(
        law,
        _distance(law, expected),
        judge.worst(law),
        sum((share for step, share in first.items() if step.accepted), Fraction(0)),
        sum((share * step.accepted for step, share in first.items()), Fraction(0)),
        _bound(scheme, models, context, judge.truth),
    )


_Texts = dict[tuple[Context, Memory], Number]


def _after(steps: Steps, text: Context, reached: Number, tokens: int) -> _Texts:
    texts: _Texts = defaultdict(Fraction)
    for step, share in steps.items():
        longer = (text + step.tokens)[:tokens]
        texts[longer, step.memory if len(longer) < tokens else None] += reached * share
    return texts


def _another_round(scheme: Scheme, models: Models, context: Context, texts: _Texts, tokens: int) -> _Texts:
    merged: _Texts = defaultdict(Fraction)
    for (text, memory), reached in texts.items():
        room = tokens - len(text)
        if not room:
            merged[text, None] += reached
            continue
        steps = steps_of(scheme, models, context + text, memory, room)
        for key, share in _after(steps, text, reached, tokens).items():
            merged[key] += share
        _few(len(merged))
    return merged


def _few(texts: int) -> None:
    if texts > MOST_TEXTS:
        raise Unsupported(f"there are more than {MOST_TEXTS} texts; take fewer tokens of text or of vocabulary")


def _distance(law: Mapping[Context, Number], expected: Mapping[Context, Number]) -> Number:
    texts = list({**expected, **law})
    return total_variation([law.get(text, 0) for text in texts], [expected.get(text, 0) for text in texts])


@dataclass(frozen=True, slots=True)
class _Judge:
    truth: Laws
    context: Context
    tokens: int

    def completed(self, texts: _Texts) -> dict[Context, Number]:
        by_length: list[dict[Context, Number]] = [defaultdict(Fraction) for _ in range(self.tokens + 1)]
        for (text, _), reached in texts.items():
            by_length[len(text)][text] += reached
        for shorter, longer in pairwise(by_length):
            for text, share in self._longer(shorter).items():
                longer[text] += share
        return dict(by_length[self.tokens])

    def expected(self) -> dict[Context, Number]:
        texts: dict[Context, Number] = {(): Fraction(1)}
        for _ in range(self.tokens):
            texts = self._longer(texts)
        return texts

    def worst(self, law: Mapping[Context, Number]) -> WorstContext:
        contexts, longer = list[WorstContext](), dict(law)
        for length in reversed(range(self.tokens)):
            shorter: dict[Context, dict[int, Number]] = defaultdict(dict)
            for text, share in longer.items():
                shorter[text[:length]][text[length]] = share
            longer = {text: sum(by_token.values()) for text, by_token in shorter.items()}
            contexts += [self._at(text, longer[text], shorter[text]) for text in sorted(shorter)]
        return max(reversed(contexts), key=lambda one: one.total_variation)  # among equals the shortest text

    def _longer(self, texts: Mapping[Context, Number]) -> dict[Context, Number]:
        longer: dict[Context, Number] = {}
        for text, reached in texts.items():
            law = self.truth(self.context + text)
            longer |= {(*text, token): reached * p for token, p in enumerate(law.values) if p}
            _few(len(longer))
        return longer

    def _at(self, text: Context, reached: Number, by_token: Mapping[int, Number]) -> WorstContext:
        target = self.truth(self.context + text)
        if max(by_token) >= len(target):
            raise InvalidLaw(
                f"the truth after {self.context + text}",
                f"has {len(target)} tokens; the text holds token {max(by_token)}",
            )
        emitted = tuple(by_token.get(token, Fraction(0)) / reached for token in range(len(target)))
        return WorstContext(text, reached, total_variation(emitted, target.values), emitted, target.values)


def _bound(scheme: Scheme, models: Models, context: Context, truth: Laws) -> Number | None:
    if not isinstance(scheme, NodeScheme) or not (count := scheme.widths(())):
        return None
    target = truth(context)
    if len(target) > MOST_TOKENS:
        return None
    return most_accepted(target, joint_of(scheme.proposal, models.draft(context), count))
