"""Cases in which an end token would come before the minimum length, is due right after it, or never gets that far.

Of the tokens t0 t1 ... that greedy decoding emits, one is declared an end token. Where the minimum lies behind it, it is ruled
out and the text goes on as another one, u0 u1 ...; a token of that text is declared a second end token, at which it ends:

    ruled out       the end token stands where the minimum is not reached: another is emitted
    just reached    the end token is the first that may be chosen: it ends the text
    in one round    ruled out, then a second one right where the minimum is reached, within the same round
    later           the second one stands some tokens behind the minimum
    cap             the cap comes before the minimum, or with it
    stop sequence   complete before the minimum: it ends the text
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hypothesis import strategies as st
from msgspec.structs import replace

from tree_oracle.checks.path_cases import Chosen, script_paths
from tree_oracle.checks.scene import Scene, Stage
from tree_oracle.checks.scenes import any_shape, decoys, listed_shapes, note_of, spread_prefix
from tree_oracle.record import Case, Limits
from tree_oracle.strategies import prefixes

_PLENTY = 64
_BOUNDED = 6  # tokens of a whole generation
_LEAST = 2  # accepted nodes of a round
_ROUNDS = 2
_APART = 3  # kinds of ways between the two that a tree is tried with
_PLACE = st.integers(0, 3)
_WAY = st.integers(0, 127)  # which way, counted round and round

Tokens = tuple[int, ...]


def ways(stage: Stage, prompt: Tokens, place: int) -> Iterator[tuple[Limits, str]]:
    """Every way around the end token that token ``place`` of a text is, or the first equal one is."""
    plain = Chosen(stage, prompt, Limits(_PLENTY), None).upto(place + 1)
    token, place = plain[place], plain.index(plain[place])
    yield Limits(_PLENTY, (token,), min_new=max(place, 1)), f"end token {place} is due when the minimum is reached"
    for least in (place + 1, place + 3):
        limits = Limits(_PLENTY, (token,), min_new=least)
        yield limits, f"end token {place} is ruled out by a minimum of {least}"
        ends = (_unused(plain, stage.vocab_size), token)
        yield Limits(_PLENTY, ends, min_new=least), f"so it is, as the second of two: token {place}"
        yield Limits(least, (token,), min_new=least), f"so it is, and the cap is {least} too"
        text = Chosen(stage, prompt, limits, None).upto(least + 3)
        for second in (least, least + 2):
            if text[second] not in text[:second]:
                yield Limits(_PLENTY, (token, text[second]), min_new=least), f"and end token {second} ends the text"
        if place:
            stop = (text[place - 1 : place + 1],)
            yield Limits(_PLENTY, (token,), None, stop, least), "and a stop sequence is complete before the minimum"
    yield Limits(place + 1, (token,), min_new=place + 5), f"end token {place} is ruled out, and the cap comes first"


def _unused(tokens: Tokens, vocab_size: int) -> int:
    return next(token for token in range(vocab_size) if token not in tokens)


def _kinds(stage: Stage, prompt: Tokens, place: int, which: int) -> list[tuple[Limits, str]]:
    """One way of each kind, of those that differ in their numbers alone the one numbered ``which``."""
    kinds: dict[str, list[tuple[Limits, str]]] = {}
    for limits, how in ways(stage, prompt, place):
        kinds.setdefault(re.sub(r"\d+", "", how), []).append((limits, how))
    return [kind[which % len(kind)] for kind in kinds.values()]


def _listed_minimums(stage: Stage) -> list[Case]:
    cases, deep = [], [pair for pair in listed_shapes() if decoys(stage, *pair).goal_depth >= _LEAST]
    for index, (shape, goal) in enumerate(deep):
        script = decoys(stage, shape, goal)
        prompt = spread_prefix(stage, 1 + index % 3, 170 + index)
        kinds = _kinds(stage, prompt, index % (script.goal_depth + 1), index)
        for limits, how in (kinds[index % len(kinds)], kinds[(index + _APART) % len(kinds)]):
            note = f"{how}; {note_of(shape, goal)}"
            cases.append(script_paths(stage, prompt, [script] * _ROUNDS, limits, note=note))
    return cases


def _drawn_minimums(draw: st.DrawFn, stage: Stage) -> Case:
    prompt = draw(prefixes(vocab_size=stage.vocab_size))
    shapes = draw(st.lists(any_shape(stage), min_size=1, max_size=_ROUNDS))
    every = list(ways(stage, prompt, draw(_PLACE) % (1 + shapes[0].goal_depth)))
    limits, _ = every[draw(_WAY) % len(every)]
    return script_paths(stage, prompt, shapes, limits)


def _listed_prompt_minimums(stage: Stage) -> list[Case]:
    cases = []
    for salt in range(2):
        prompt = spread_prefix(stage, 1 + 2 * salt, 190 + salt)
        found = _kinds(stage, prompt, 2 * salt, salt)
        cases += [Case(prefix=prompt, limits=_bounded(limits), note=how) for limits, how in found]
    return cases


def _drawn_prompt_minimums(draw: st.DrawFn, stage: Stage) -> Case:
    prompt = draw(prefixes(vocab_size=stage.vocab_size))
    every = list(ways(stage, prompt, draw(_PLACE)))
    limits, _ = every[draw(_WAY) % len(every)]
    return Case(prefix=prompt, limits=_bounded(limits))


def _bounded(limits: Limits) -> Limits:
    return replace(limits, max_new_tokens=min(limits.max_new_tokens, _BOUNDED))


MINIMUMS = Scene(
    "minimums",
    _listed_minimums,
    st.composite(_drawn_minimums),
    trees=range(1, 1_000),
    limited=True,
    minimum=True,
    heavy=True,
    drawn=_drawn_minimums,
)
PROMPT_MINIMUMS = Scene(
    "prompt minimums",
    _listed_prompt_minimums,
    st.composite(_drawn_prompt_minimums),
    trees=range(1),
    limited=True,
    minimum=True,
    heavy=True,
    drawn=_drawn_prompt_minimums,
)
