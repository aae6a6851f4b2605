"""Trees that are drafted by a coin, and the models whose laws they hold.

Children are drawn when a rule first asks for them. That changes no law, as long as nothing outside looks at a token before it
is asked for: whether a node exists depends on its parent's path alone. Builders that do look are whole programs of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tree_oracle.record import Unsupported
from tree_oracle.tree.values import whole_number
from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import InvalidLaw, Law, Number
from tree_oracle.verify.rules.proposals import Proposal, checked_siblings
from tree_oracle.verify.rules.protocol import ROOT

# Widths may be any function: what never comes to 0 is refused instead of followed.
MOST_LEVELS = 1_000
MOST_NODES = 100_000

Context: TypeAlias = tuple[int, ...]  # every token so far
Source: TypeAlias = Callable[[Context], Sequence[Number]]
Widths: TypeAlias = Callable[[Context], int]  # children wanted below a path of this round


class Laws:
    """One law per context, asked for once and checked. Contexts of equal laws share one ``Law``."""

    def __init__(self, source: Source, name: str) -> None:
        self._source, self._name = source, name
        self._known: dict[Context, Law] = {}
        self._by_value: dict[tuple[tuple[Number, ...], tuple[type, ...]], Law] = {}

    def __call__(self, context: Context) -> Law:
        """The law of the token after ``context``.

        Raises:
            InvalidLaw: the source gave no law; the message names the model and the context.
        """
        if context not in self._known:
            self._known[context] = self._shared(tuple(self._source(context)), context)
        return self._known[context]

    def _shared(self, values: tuple[Number, ...], context: Context) -> Law:
        """The law of these values, checked the first time; equal values of another type (1, 1.0, True) are others."""
        try:
            key = (values, tuple(map(type, values)))
            if key not in self._by_value:
                self._by_value[key] = Law(values, self._row(context))
            return self._by_value[key]
        except TypeError:  # something that has no hash is no number, and is refused as such
            return Law(values, self._row(context))

    def _row(self, context: Context) -> str:
        return f"the {self._name} law after {context}"


@dataclass(frozen=True, slots=True)
class Models:
    """A target and the draft that proposes for it. The target is the *processed* law, which the output must follow."""

    target: Laws
    draft: Laws

    @classmethod
    def of(cls, target: Source, draft: Source) -> Models:
        """Models from any two functions of the context."""
        return cls(Laws(target, "target"), Laws(draft, "draft"))

    def at(self, context: Context) -> tuple[Law, Law]:
        """The laws of the token after ``context``, target first.

        Raises:
            InvalidLaw: a source gave no law, or the two are over unlike numbers of tokens.
        """
        target, draft = self.target(context), self.draft(context)
        if len(target) != len(draft):
            raise InvalidLaw(
                f"the draft law after {context}", f"has {len(draft)} tokens; expected {len(target)}, as the target's"
            )
        return target, draft

    @classmethod
    def constant(cls, target: Sequence[Number], draft: Sequence[Number]) -> Models:
        """Models that do not look at the context."""
        return cls.of(lambda _: target, lambda _: draft)


@dataclass(frozen=True, slots=True)
class ByDepth:
    """As many children as is written for the depth, none below."""

    counts: tuple[int, ...]

    def __call__(self, path: Context) -> int:
        """See ``Widths``."""
        return self.counts[len(path)] if len(path) < len(self.counts) else 0


def wanted_below(widths: Widths, path: Context) -> int:
    """How many children are wanted below a path.

    Raises:
        UsageError: no integer of at least 0.
        Unsupported: the path is so long that ``widths`` may have no end.
    """
    if len(path) > MOST_LEVELS:
        raise Unsupported(f"a tree has more than {MOST_LEVELS} levels; expected widths that come to 0")
    return whole_number(f"the number of children below {path}", widths(path), at_least=0)


class DrawnTree:
    """See ``DraftTree``: the tree of one round after ``context``."""

    def __init__(self, coin: Coin, models: Models, context: Context, proposal: Proposal, widths: Widths) -> None:
        self._coin, self._models, self._context = coin, models, context
        self._proposal, self._widths = proposal, widths
        self._paths: list[Context] = [()]
        self._children: dict[int, tuple[int, ...]] = {}

    def children(self, node: int) -> tuple[int, ...]:
        """See ``DraftTree``.

        Raises:
            InvalidLaw: the laws are over unlike numbers of tokens.
            UsageError: a negative number of children is wanted, or the proposal gave no such siblings.
            Unsupported: the tree has too many levels or nodes.
        """
        if node not in self._children:
            tokens, first = self._drawn(self._paths[node]), len(self._paths)
            if first > MOST_NODES:
                raise Unsupported(f"a tree has more than {MOST_NODES} nodes; take fewer levels or children")
            self._paths += [(*self._paths[node], token) for token in tokens]
            self._children[node] = tuple(range(first, len(self._paths)))
        return self._children[node]

    def _drawn(self, path: Context) -> tuple[int, ...]:
        wanted = wanted_below(self._widths, path)
        if not wanted:
            return ()
        _, draft = self._models.at(self._context + path)
        return checked_siblings(self._proposal(self._coin, draft, wanted), draft, wanted)

    def path(self, node: int) -> Context:
        """The tokens from the root, which is excluded, to ``node``."""
        return self._paths[node]

    def token(self, node: int) -> int:
        """See ``DraftTree``."""
        return self._paths[node][-1]

    def target(self, node: int) -> Law:
        """See ``DraftTree``."""
        return self._models.target(self._context + self._paths[node])

    def draft(self, node: int) -> Law:
        """See ``DraftTree``."""
        return self._models.draft(self._context + self._paths[node])

    def grow(self) -> list[int]:
        """Draw the whole tree at once; its nodes, parents first."""
        nodes = [ROOT]
        for node in nodes:
            nodes += self.children(node)
        return nodes
