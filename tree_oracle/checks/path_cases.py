"""Cases in which the token after a path depends on the path's own history beyond what the target sees of it.

Every processor has a case of its own in which it changes the text, at an extreme value or because the text was asked for first:
what would be emitted without it is banned or has its penalty. Values are whole numbers and powers of two, so that the processed
rows of the exact model are the same bits in every dtype. Trees hold the tokens of the right text down to the goal, and beside
them, where there is a sibling, the token that the target would choose without any processor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from tree_oracle.checks.path_rows import processed
from tree_oracle.checks.scene import Scene, Stage
from tree_oracle.checks.scenes import any_shape, decoys, listed_shapes, note_of, spread_prefix
from tree_oracle.record import Bias, Case, Limits, Processors, TreeData
from tree_oracle.strategies import ScriptedTree, prefixes

_ROUNDS = 2
_LISTED = 15  # every way once, the first ones on a second tree
_LIMITS = Limits(64)
_PAIRS = 20  # pairs of tokens that are tried before one is taken as it is
_SOON = 4  # tokens within which a penalty changes something
_BOUNDED = 6  # tokens of a whole generation
_BELOW_ZERO = -16.0  # brings every logit of the targets below zero
_LEAST = 2  # accepted nodes: a history of its own begins with the second
_WAY = st.integers(0, 127)  # which way, counted round and round
LONGEST = 3  # tokens of a sequence, and of every prompt at least

# States of an automaton over three classes of tokens: two disagree about what may follow, and one allows a single class.
_GRAMMAR = ((1, 2, None), (0, None, 2), (None, 1, None))
_ONE_CLASS = ((None, 0, None),)

Tokens = tuple[int, ...]


class Chosen:
    """The text of plain decoding by processed rows, as far as it is asked for, past everything that would end it."""

    def __init__(self, stage: Stage, prompt: Tokens, limits: Limits, processors: Processors | None) -> None:
        self._stage, self._case = stage, Case(prefix=prompt, limits=limits, processors=processors)
        self._tokens: list[int] = []

    def upto(self, count: int) -> Tokens:
        """The first ``count`` tokens."""
        while len(self._tokens) < count:
            here = (*self._case.prefix, *self._tokens)
            row = processed(self._case, self._stage.truth.rows([here]), [here])[0]
            self._tokens.append(int(row.argmax()))
        return tuple(self._tokens[:count])


def script_paths(
    stage: Stage,
    prompt: Tokens,
    shapes: Sequence[ScriptedTree],
    limits: Limits,
    processors: Processors | None = None,
    note: str = "",
) -> Case:
    """Rounds in which each tree holds the right text down to its goal, and tempts with the target's own choices."""
    text, trees, done = Chosen(stage, prompt, limits, processors), list[TreeData](), 0
    for shape in shapes:
        here = (*prompt, *text.upto(done))
        path = text.upto(done + shape.goal_depth)[done:]
        trees.append(_tempting(stage, here, path, shape))
        done += _accepted(trees[-1], text, done) + 1
    return Case(prefix=prompt, trees=tuple(trees), limits=limits, processors=processors, note=note)


def _tempting(stage: Stage, here: Tokens, path: Tokens, shape: ScriptedTree) -> TreeData:
    data = shape.with_path_tokens(here[-1], path).to_data()
    tokens, parents = list(data.tokens), data.parents
    for depth, node in enumerate(shape.path):
        (plain,) = stage.choices((*here, *path[:depth]), 1)
        siblings = [v for v in range(1, len(tokens)) if parents[v] == parents[node]]
        others = [v for v in siblings if v != node]
        if others and plain not in [tokens[v] for v in siblings]:
            tokens[others[0]] = plain
    return TreeData(tuple(tokens), parents)


def _accepted(tree: TreeData, text: Chosen, done: int) -> int:
    """How many nodes the walk follows."""
    node, depth = 0, 0
    while True:
        token = text.upto(done + depth + 1)[-1]
        below = [v for v in range(1, len(tree.tokens)) if tree.parents[v] == node and tree.tokens[v] == token]
        if not below:
            return depth
        node, depth = below[0], depth + 1


# ------------------------------------------------------------------------------------------------- which processors


def _telling(stage: Stage, prompt: Tokens, **values: Any) -> Processors:
    """Two tokens that nothing else can compete with, and a penalty that decides between them: where it would change nothing so
    soon, two others."""
    (first,) = stage.choices(prompt, 1)
    own = Processors()
    for step in range(_PAIRS):
        pair = [(first + far + step) % stage.vocab_size for far in (7, 12)]
        forced = tuple(Bias((token,), 64.0) for token in pair)
        own, less = Processors(bias=forced, **values), Processors(bias=forced)
        texts = [Chosen(stage, prompt, _LIMITS, one).upto(_SOON) for one in (own, less)]
        if texts[0] != texts[1]:
            break
    return own


def _forced(stage: Stage, prompt: Tokens) -> Processors:
    (first,) = stage.choices(prompt, 1)
    one, other = (first + 7) % stage.vocab_size, (first + 12) % stage.vocab_size
    small = (Bias((one, one), 1.0), Bias((other, one), 1.0))  # whichever ends a round, a sequence goes on behind it
    return Processors(bias=(Bias((one,), 100.0), *small, Bias((one, one, other), 100.0)))


def _forced_after(stage: Stage, prompt: Tokens) -> Processors:
    (first,) = stage.choices(prompt, 1)
    return Processors(bias=(Bias((first, (first + 12) % stage.vocab_size), 100.0), Bias((prompt[-1], first), 1.0)))


def _banned(stage: Stage, prompt: Tokens) -> Processors:
    return Processors(banned=tuple(dict.fromkeys((token,) for token in stage.choices(prompt, 2))))


def _banned_sequences(stage: Stage, prompt: Tokens) -> Processors:
    pair = stage.choices(prompt, 2)
    text = Chosen(stage, prompt, _LIMITS, Processors(banned=(pair,))).upto(4)
    return Processors(banned=(pair, text[1:4]))  # the text once the pair is banned, so that both bans change it


def _everything(stage: Stage, prompt: Tokens) -> Processors:
    (first,) = stage.choices(prompt, 1)
    one, other = (first + 7) % stage.vocab_size, (first + 12) % stage.vocab_size
    return Processors(
        repetition=2.0,
        frequency=1.0,
        presence=-0.5,
        bias=(Bias((one,), 64.0), Bias((other,), 64.0), Bias((one, other), -8.0)),
        banned=((other, other),),
        grammar=_GRAMMAR,
    )


WAYS: tuple[tuple[str, Callable[[Stage, Tokens], Processors]], ...] = (
    ("what was there before is 64 times as likely", lambda stage, prompt: Processors(repetition=1 / 64)),
    ("one token forced, then another after two", _forced),
    ("how often a token was there decides between two", partial(_telling, frequency=2.0)),
    ("whether a token was there decides between two", partial(_telling, presence=2.0)),
    ("a grammar of three states", lambda stage, prompt: Processors(grammar=_GRAMMAR)),
    ("sequences of the text banned", _banned_sequences),
    ("a repetition divides by 4 and decides between two", partial(_telling, repetition=4.0)),
    ("one token forced after another", _forced_after),
    ("the first two tokens banned", _banned),
    ("a grammar that allows every third token", lambda stage, prompt: Processors(grammar=_ONE_CLASS)),
    ("all processors together", _everything),
)


def _listed_paths(stage: Stage) -> list[Case]:
    deep = [pair for pair in listed_shapes() if decoys(stage, *pair).goal_depth >= _LEAST]
    cases = []
    for index in range(_LISTED):
        prompt = spread_prefix(stage, LONGEST + index % 3, 90 + index)
        how, make = WAYS[index % len(WAYS)]
        pairs = [deep[(3 * index + 4 * step) % len(deep)] for step in range(_ROUNDS)]
        shapes = [decoys(stage, *pair) for pair in pairs]
        note = f"{how}; first round: {note_of(*pairs[0])}"
        cases.append(script_paths(stage, prompt, shapes, _LIMITS, make(stage, prompt), note))
    prompt = spread_prefix(stage, LONGEST, 120)
    shapes = [decoys(stage, *deep[index]) for index in (0, 2)]
    found = _with_limits(stage, prompt)
    return [*cases, *(script_paths(stage, prompt, shapes, limits, own, how) for limits, own, how in found)]


def _with_limits(stage: Stage, prompt: Tokens) -> Iterator[tuple[Limits, Processors, str]]:
    """Processors beside a minimum length, and beside a stop sequence whose beginning comes twice running: x x y for x y."""
    penalty = Processors(frequency=2.0)
    first = Chosen(stage, prompt, _LIMITS, penalty).upto(1)
    yield replace(_LIMITS, eos_ids=first, min_new=3), penalty, "a penalty, and an end token that is due too early"
    forced = _forced(stage, prompt)
    text = Chosen(stage, prompt, _LIMITS, forced).upto(3)
    yield replace(_LIMITS, stop=(text[1:],)), forced, "a stop sequence whose beginning comes twice running"
    below = tuple(Bias((token,), _BELOW_ZERO) for token in range(stage.vocab_size))
    yield _LIMITS, Processors(repetition=2.0, bias=below), "a repetition on rows that are below zero"


def _drawn_paths(draw: st.DrawFn, stage: Stage) -> Case:
    prompt = draw(prefixes(vocab_size=stage.vocab_size, min_size=LONGEST))
    shapes = draw(st.lists(any_shape(stage), min_size=1, max_size=2))
    _, make = WAYS[draw(_WAY) % len(WAYS)]
    return script_paths(stage, prompt, shapes, _LIMITS, make(stage, prompt))


def _listed_prompt_paths(stage: Stage) -> list[Case]:
    prompt = spread_prefix(stage, LONGEST, 130)
    plain = [
        Case(prefix=prompt, limits=Limits(_BOUNDED), processors=make(stage, prompt), note=how) for how, make in WAYS
    ]
    found = [(replace(limits, max_new_tokens=_BOUNDED), own, how) for limits, own, how in _with_limits(stage, prompt)]
    return [*plain, *(Case(prefix=prompt, limits=limits, processors=own, note=how) for limits, own, how in found)]


def _drawn_prompt_paths(draw: st.DrawFn, stage: Stage) -> Case:
    prompt = draw(prefixes(vocab_size=stage.vocab_size, min_size=LONGEST))
    _, make = WAYS[draw(_WAY) % len(WAYS)]
    return Case(prefix=prompt, limits=Limits(draw(st.integers(1, _BOUNDED))), processors=make(stage, prompt))


PATHS = Scene(
    "paths",
    _listed_paths,
    st.composite(_drawn_paths),
    trees=range(1, 1_000),
    limited=True,
    processed=True,
    minimum=None,
    heavy=True,
    drawn=_drawn_paths,
)
PROMPT_PATHS = Scene(
    "prompt paths",
    _listed_prompt_paths,
    st.composite(_drawn_prompt_paths),
    trees=range(1),
    limited=True,
    processed=True,
    minimum=None,
    heavy=True,
    drawn=_drawn_prompt_paths,
)
