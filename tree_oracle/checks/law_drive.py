"""Driving the two seams by chance: trees with scripted coins, and whole texts with scripted or seeded ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from jaxtyping import Float

from tree_oracle.checks import answers
from tree_oracle.checks.guard import call, protect
from tree_oracle.checks.law_plan import UNIT, Script, laws_at, models_of, plan
from tree_oracle.checks.mode import mode_of
from tree_oracle.record import AdapterError, Case, DecoderError, LawData, Round, TreeData, UsageError
from tree_oracle.tree import CandidateTree
from tree_oracle.verify.probabilities import Law
from tree_oracle.verify.rules import Laws

_BLOCK = 64  # coins that are drawn at a time

NextLaw = Callable[[Sequence[int]], Float[np.ndarray, " vocab"]]


class Coins(Iterator[float]):
    """Scripted coins, then others without an end; it notes which were taken."""

    def __init__(self, script: Script, rest: Iterator[int]) -> None:
        self._coins, self.taken = chain(script, rest), list[float]()

    def __next__(self) -> float:
        self.taken.append(next(self._coins) / UNIT)
        return self.taken[-1]


def seeded(seed: int) -> Iterator[int]:
    """Coins of a generator, without an end."""
    chance = np.random.default_rng(seed)
    while True:
        yield from chance.integers(UNIT, size=_BLOCK).tolist()


def law_of(case: Case, what: str) -> LawData:
    """The laws of a case.

    Raises:
        UsageError: it has none, or weights that are no laws over the same tokens.
    """
    if case.law is None:
        raise UsageError(f"a case for {what} holds no laws")
    for name, weights in (("target", case.law.target), ("draft", case.law.draft)):
        if len(weights) != len(case.law.target) or min(weights, default=0) < 0 or not any(weights):
            raise UsageError(
                f"the {name} weights are {weights}; expected {len(case.law.target)} that are not negative, one positive"
            )
    return case.law


def accept_sampled(decoder: Any, case: Case, vocab_size: int) -> tuple[Round, ...]:
    """One round per scripted way of chance and tree; one with coins of the generator alone where no mode is declared."""
    return tuple(decided(decoder, case))


def decided(decoder: Any, case: Case) -> Iterator[Round]:
    """The same, each round when it is asked for."""
    data, mode = law_of(case, "accept_sampled"), mode_of(decoder)
    return (
        _decided(decoder, data, tree, script, laws)
        for tree in case.trees
        for laws in [_rows(data, tree)]
        for script in ([()] if mode is None else [one for way in plan(mode, data, tree) for one in way.scripts])
    )


def _rows(data: LawData, tree: TreeData) -> list[Float[np.ndarray, "n vocab"]]:
    return [np.array([_floats(law) for law in laws]) for laws in laws_at(data, tree)]


def _decided(decoder: Any, data: LawData, tree: TreeData, script: Script, laws: Sequence[np.ndarray]) -> Round:
    coins = Coins(script, seeded(data.seed))
    given = [CandidateTree.from_data(tree), *(rows.copy() for rows in laws), coins]
    answer = call("accept_sampled", lambda *them: decoder.accept_sampled(*them), *given)
    accepted, bonus = protect("accept_sampled", lambda: answers.decision(answer, len(tree.tokens), len(data.target)))
    emitted = (*(tree.tokens[v] for v in accepted), bonus)
    return Round(
        emitted=emitted,
        prefix=(tree.tokens[0],),
        tokens=tree.tokens,
        parents=tree.parents,
        accepted=accepted,
        bonus=bonus,
        coins=tuple(coins.taken),
    )


def open_sampled(decoder: Any, case: Case, vocab_size: int) -> tuple[Round, ...]:
    """The rounds of every session, one session after the other; the first round of each has an empty prefix."""
    return tuple(round_ for session in sessions(decoder, law_of(case, "open_sampled")) for round_ in session)


def sessions(decoder: Any, data: LawData) -> Iterator[tuple[Round, ...]]:
    """The scripted sessions, then the sampled ones, each when it is asked for.

    Raises:
        AdapterError, DecoderError, Unsupported: as ``drive``.
    """
    models, rest = models_of(data), seeded(data.seed)
    laws = _next_law(models.target), _next_law(models.draft)
    scripts: Iterable[tuple[Script, ...]] = (*data.scripts, *[()] * data.sessions)
    for script in scripts:
        yield tuple(_session(decoder, data, script, laws, rest))


def _session(
    decoder: Any, data: LawData, script: tuple[Script, ...], laws: tuple[NextLaw, NextLaw], rest: Iterator[int]
) -> Iterator[Round]:
    session = call("open_sampled", lambda *given: decoder.open_sampled(*given), *laws)
    if not protect("open_sampled", lambda: callable(getattr(session, "step", None))):
        raise AdapterError(f"open_sampled answered {type(session).__name__}; expected an object with a method step")
    text: tuple[int, ...] = ()
    for number in range(data.rounds):
        coins = Coins(script[number] if number < len(script) else (), rest)
        answer = call("step", lambda given: session.step(given), coins)
        round_ = protect("step", lambda: _read(answer, text, len(data.target), coins))  # noqa: B023  (called at once)
        text += round_.emitted
        yield round_


def _read(answer: Any, text: tuple[int, ...], vocab_size: int, coins: Coins) -> Round:
    emitted = answers.field(answer, "emitted")
    if emitted is None:
        raise AdapterError("a round without emitted tokens; they are the one field that every round must have")
    found = answers.tokens(emitted, "emitted", vocab_size)
    if not found:
        raise DecoderError("step emitted nothing; expected at least one token")
    taken = tuple(coins.taken)
    if answers.field(answer, "tokens") is None or answers.field(answer, "parents") is None:
        return Round(emitted=found, prefix=text, coins=taken)
    tokens, parents = answers.tree(answer)
    return Round(emitted=found, prefix=text, coins=taken, tokens=tokens, parents=parents)


def _next_law(laws: Laws) -> NextLaw:
    def law(history: Sequence[int]) -> Float[np.ndarray, " vocab"]:
        found = laws(tuple(map(int, history)))
        return np.array(found.derived("floats", lambda: _floats(found)))

    return law


def _floats(law: Law) -> list[float]:
    return [float(value) for value in law.values]
