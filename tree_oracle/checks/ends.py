"""Cases in which a text ends: at every token of a round in turn, by end tokens, by caps, and by both at once.

An end is hard to hunt for in prompts and easy to declare: whatever token greedy decoding emits at a place is declared an end
token there.
"""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import strategies as st
from msgspec.structs import replace

from tree_oracle.checks.scene import Scene, Stage
from tree_oracle.checks.scenes import any_shape, decoys, listed_shapes, note_of, script_rounds, spread_prefix
from tree_oracle.record import Case, Limits
from tree_oracle.strategies import prefixes

_DEEP = 2  # an end inside the accepted path needs at least two accepted nodes
_PLENTY = 64
_WAY = st.integers(0, 127)  # which way to end, counted round and round: how many there are depends on the target


def _limits(tokens: tuple[int, ...], prefix: int, other: int) -> Iterator[tuple[Limits, str]]:
    """Every way to end at or around each of the tokens that one round proposes."""
    for place, token in enumerate(tokens):
        if token in tokens[:place]:
            continue  # it would end the text earlier
        yield Limits(_PLENTY, (token,)), f"token {place} is an end token"
        yield Limits(_PLENTY, (other, token)), f"token {place} is the second of two end tokens"
        yield Limits(place + 1, (token,)), f"token {place} is an end token and the last that the cap allows"
        yield Limits(max(place, 1), (token,)), f"token {place} is an end token, just behind the cap"
    for room in range(1, len(tokens) + 2):
        yield Limits(room), f"at most {room} tokens"
        yield Limits(_PLENTY, (), prefix + room), f"room for {room} tokens in the context"


def _beside(tokens: tuple[int, ...], prefix: int, vocab_size: int) -> Iterator[tuple[Limits, str]]:
    """An end token in every place of a list of them, and beside the other ways to end, of which the first to come counts."""
    unused = [token for token in range(vocab_size) if token not in tokens][:2]
    place = len(tokens) - 1 if tokens[-1] not in tokens[:-1] else 0
    token = tokens[place]
    yield Limits(_PLENTY, (token, unused[0])), f"token {place} is the first of two end tokens"
    yield Limits(_PLENTY, (*unused, token)), f"token {place} is the third of three end tokens"
    yield Limits(_PLENTY, (unused[0],), prefix + 1), "an end token never comes, and the context has room for one token"
    yield (
        Limits(_PLENTY, (token,), None, ((unused[0], token),)),
        f"end token {place} comes, and a stop sequence never does",
    )
    yield Limits(_PLENTY, (token,), prefix + place + 3), f"end token {place} comes before the context is full"


def _unused(tokens: tuple[int, ...], vocab_size: int) -> int:
    return next(token for token in range(vocab_size) if token not in tokens)


def _listed_ends(stage: Stage) -> list[Case]:
    cases = []
    for index, (shape, goal) in enumerate(listed_shapes()):
        script = decoys(stage, shape, goal)
        if script.goal_depth < _DEEP:
            continue
        prefix = spread_prefix(stage, 1 + index % 3, index)
        plain = script_rounds(stage, prefix, [script, script], Limits(_PLENTY), "")
        tokens = stage.after(prefix, plain.trees[0])[len(prefix) :]
        for limits, how in _limits(tokens, len(prefix), _unused(tokens, stage.vocab_size)):
            note = f"{how}; {note_of(shape, goal)}"
            cases.append(Case(prefix=prefix, trees=plain.trees, limits=limits, note=note))
    return [*_listed_beside(stage), *cases[:: max(1, len(cases) // 80)]]


def _listed_beside(stage: Stage) -> list[Case]:
    (shape, goal), prefix = listed_shapes()[4], spread_prefix(stage, 4, 47)
    script = decoys(stage, shape, goal)
    plain = script_rounds(stage, prefix, [script, script], Limits(_PLENTY), "")
    tokens = stage.after(prefix, plain.trees[0])[len(prefix) :]
    found = _beside(tokens[:_DEEP], len(prefix), stage.vocab_size)
    notes = ((limits, f"{how}; {note_of(shape, goal)}") for limits, how in found)
    return [Case(prefix=prefix, trees=plain.trees, limits=limits, note=note) for limits, note in notes]


def _drawn_ends(draw: st.DrawFn, stage: Stage) -> Case:
    prefix = draw(prefixes(vocab_size=stage.vocab_size))
    shapes = draw(st.lists(any_shape(stage), min_size=1, max_size=2))
    plain = script_rounds(stage, prefix, shapes, Limits(_PLENTY), "")
    tokens = stage.after(prefix, plain.trees[0])[len(prefix) :]
    ways = [limits for limits, _ in _limits(tokens, len(prefix), _unused(tokens, stage.vocab_size))]
    return Case(prefix=prefix, trees=plain.trees, limits=ways[draw(_WAY) % len(ways)])


def _listed_prompt_ends(stage: Stage) -> list[Case]:
    cases = []
    for salt, count in enumerate((1, 2, 4)):
        prefix = spread_prefix(stage, 1 + 2 * salt, 50 + salt)
        tokens = stage.choices(prefix, count)
        for limits, how in _limits(tokens, len(prefix), _unused(tokens, stage.vocab_size)):
            cases.append(Case(prefix=prefix, limits=_bounded(limits), note=how))
        cases.append(Case(prefix=prefix, limits=Limits(0), note="nothing may be emitted"))
        full = Limits(12, max_length=len(prefix))
        cases.append(Case(prefix=prefix, limits=full, note="the context is full already"))
    prefix = spread_prefix(stage, 4, 53)
    found = _beside(stage.choices(prefix, _DEEP), len(prefix), stage.vocab_size)
    return [*cases, *(Case(prefix=prefix, limits=_bounded(limits), note=how) for limits, how in found)]


def _bounded(limits: Limits) -> Limits:
    return replace(limits, max_new_tokens=min(limits.max_new_tokens, 12))


def _drawn_prompt_ends(draw: st.DrawFn, stage: Stage) -> Case:
    prefix = draw(prefixes(vocab_size=stage.vocab_size))
    tokens = stage.choices(prefix, draw(st.integers(1, 8)))
    ways = [limits for limits, _ in _limits(tokens, len(prefix), _unused(tokens, stage.vocab_size))]
    limits = ways[draw(_WAY) % len(ways)]
    return Case(prefix=prefix, limits=Limits(min(limits.max_new_tokens, 12), limits.eos_ids, limits.max_length))


ENDS = Scene("ends", _listed_ends, st.composite(_drawn_ends), trees=range(1, 1_000), limited=True, drawn=_drawn_ends)
PROMPT_ENDS = Scene(
    "prompt ends",
    _listed_prompt_ends,
    st.composite(_drawn_prompt_ends),
    trees=range(1),
    limited=True,
    heavy=True,
    drawn=_drawn_prompt_ends,
)
