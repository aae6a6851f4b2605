"""Cases in which a text ends with a stop sequence, or nearly does.

As with end tokens nothing is hunted for: whatever greedy decoding emits is declared a stop sequence. Of the tokens
t0 t1 ... that the rounds emit, the sequences are

    inside      two or three tokens within the first round
    across      the last token of the first round and the first of the second, or all of the second and one of the third
    prompt      the last token of the prompt and the first emitted one: nothing ends
    one token   like an end token, but told as STOP
    broken      t0 t2, which do not stand side by side: nothing ends
    nested      one that ends inside another, longer one: the shorter ends the text
    at the cap  complete with the last token that the cap allows: the sequence is the reason
    restart     t0 t0 t1 where t0 t1 was emitted: a beginning that the text never repeats
"""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import strategies as st

from tree_oracle.checks.scene import Scene, Stage
from tree_oracle.checks.scenes import any_shape, decoys, listed_shapes, note_of, script_rounds, spread_prefix
from tree_oracle.record import Case, Limits
from tree_oracle.strategies import prefixes

_PLENTY = 64
_BOUNDED = 12  # tokens of a whole generation
_WAY = st.integers(0, 127)  # which way, counted round and round: how many there are depends on the target
_LEAST = 2  # accepted nodes of the first round, so that a sequence can lie inside it

Tokens = tuple[int, ...]


def _ways(prefix: Tokens, text: Tokens, first: int, second: int = 0) -> Iterator[tuple[Limits, str]]:
    """Every way to stop in or around ``first`` tokens of the first round; ``text`` goes on beyond them, and beyond the
    ``second`` tokens of the next round if there are any."""
    for start in range(max(first - 2, 1)):
        for size in (1, 2, 3):
            sequence = text[start : start + size]
            if start + size <= first and len(sequence) == size:
                yield Limits(_PLENTY, stop=(sequence,)), f"tokens {start} to {start + size - 1} are a stop sequence"
    if len(text) > first > 0:
        crossing = text[first - 1 : first + 1]
        yield Limits(_PLENTY, stop=(crossing,)), "a stop sequence crosses into the second round"
        yield Limits(first + 1, stop=(crossing,)), "it does, and is complete where the cap is"
        yield Limits(first, stop=(crossing,)), "it would, but the cap comes before its end"
    if len(text) > first + second and first and second:
        yield (
            Limits(_PLENTY, stop=(text[first - 1 : first + second + 1],)),
            "a stop sequence crosses into the third round",
        )
    yield Limits(_PLENTY, stop=((prefix[-1], text[0]),)), "a stop sequence begins in the prompt"
    if len(text) > 2:
        yield Limits(_PLENTY, stop=((text[0], text[2]),)), "tokens of a stop sequence do not stand side by side"
        yield Limits(_PLENTY, stop=(text[:3], text[1:2])), "one stop sequence ends inside another"
        yield Limits(_PLENTY, (text[1],), None, (text[:2],)), "a stop sequence ends with an end token"
    yield Limits(_PLENTY, stop=((text[0], *text[:2]),)), "a stop sequence repeats its own beginning, the text does not"


def _listed_stops(stage: Stage) -> list[Case]:
    cases = []
    for index, (shape, goal) in enumerate(listed_shapes()):
        script = decoys(stage, shape, goal)
        if script.goal_depth < _LEAST:
            continue
        prefix = spread_prefix(stage, 1 + index % 3, 11 + index)
        plain = script_rounds(stage, prefix, [script] * 3, Limits(_PLENTY), "")
        cases += [
            Case(prefix=prefix, trees=plain.trees, limits=limits, note=f"{how}; {note_of(shape, goal)}")
            for limits, how in _ways(prefix, *_texts(stage, plain))
        ]
    return _thinned(cases)


def _thinned(cases: list[Case]) -> list[Case]:
    """Some 60 of the cases, and one of each way in any case: a step that divides the number of ways would skip some."""
    firsts = {case.note.partition(";")[0]: place for place, case in reversed([*enumerate(cases)])}
    kept = {*firsts.values(), *range(0, len(cases), max(1, len(cases) // 60))}
    return [cases[place] for place in sorted(kept)]


def _drawn_stops(draw: st.DrawFn, stage: Stage) -> Case:
    prefix = draw(prefixes(vocab_size=stage.vocab_size))
    shapes = draw(st.lists(any_shape(stage), min_size=1, max_size=3))
    plain = script_rounds(stage, prefix, shapes, Limits(_PLENTY), "")
    ways = [limits for limits, _ in _ways(prefix, *_texts(stage, plain))]
    return Case(prefix=prefix, trees=plain.trees, limits=ways[draw(_WAY) % len(ways)])


def _texts(stage: Stage, case: Case) -> tuple[Tokens, int, int]:
    """What all rounds of a case emit, and how many of these tokens come from the first round and from the second."""
    here, ends = case.prefix, [0, 0]
    for tree in case.trees:
        here = stage.after(here, tree)
        ends.append(len(here) - len(case.prefix))
    first, second = ends[2], ends[3] - ends[2] if len(ends) > 3 else 0
    return here[len(case.prefix) :], first, second


def _listed_prompt_stops(stage: Stage) -> list[Case]:
    cases = []
    for salt, first in enumerate((1, 2, 3, 5)):
        prefix = spread_prefix(stage, 1 + 2 * salt, 70 + salt)
        text = stage.choices(prefix, first + 2)
        cases += [Case(prefix=prefix, limits=_bounded(limits), note=how) for limits, how in _ways(prefix, text, first)]
    return cases


def _drawn_prompt_stops(draw: st.DrawFn, stage: Stage) -> Case:
    prefix = draw(prefixes(vocab_size=stage.vocab_size))
    first = draw(st.integers(1, 8))
    ways = [limits for limits, _ in _ways(prefix, stage.choices(prefix, first + 2), first)]
    return Case(prefix=prefix, limits=_bounded(ways[draw(_WAY) % len(ways)]))


def _bounded(limits: Limits) -> Limits:
    return Limits(min(limits.max_new_tokens, _BOUNDED), limits.eos_ids, limits.max_length, limits.stop)


STOPS = Scene(
    "stops", _listed_stops, st.composite(_drawn_stops), trees=range(1, 1_000), limited=True, drawn=_drawn_stops
)
PROMPT_STOPS = Scene(
    "prompt stops",
    _listed_prompt_stops,
    st.composite(_drawn_prompt_stops),
    trees=range(1),
    limited=True,
    heavy=True,
    drawn=_drawn_prompt_stops,
)
