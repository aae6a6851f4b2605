"""The scene ``batches``: sessions of several requests, which differ in everything that one might take from another.

Listed are the conditions that wake a mix-up: unequal trees, prefixes and acceptance; node counts whose sum the number of
requests divides; a request that ends, is dropped, joins or goes on while others run, and two that do so together; a round
without a draft, for one request or for all, between a larger and a smaller tree; common prefixes, and a prompt that goes on
beyond what another has cached; more requests than four; and texts that end in ways of their own.
Drawn are whole sessions: who is admitted when and with what prompt, which trees, who is dropped and resumed, and the cap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from tree_oracle.checks.scene import Scene, Stage
from tree_oracle.checks.scenes import any_shape, decoys, spread_prefix
from tree_oracle.checks.shapes import SHAPES, Shape
from tree_oracle.record import Case, Limits, RequestData, TreeData
from tree_oracle.strategies import ScriptedTree, prefixes

_PLENTY = Limits(max_new_tokens=64)
_MOST, _STEPS = 4, 3  # requests of a drawn session, and trees of each

Goal = tuple[Shape, int]
ROOT, STAR, CHAIN = (SHAPES[0], 0), (SHAPES[3], 4), (SHAPES[2], 3)
SPINE, WIDE, REJECTED = (SHAPES[4], 6), (SHAPES[5], 6), (SHAPES[5], 0)
ONE, DEEP, LATER = (SHAPES[1], 1), (SHAPES[7], 5), (SHAPES[8], 4)


@dataclass(frozen=True, slots=True)
class Script:
    """One request before the target was asked for the tokens of its trees."""

    shapes: tuple[ScriptedTree, ...]
    prompt: tuple[int, ...] = ()
    joins: int = 0
    resumes: int | None = None
    follows: int | None = None  # the prompt stands behind the whole text of this earlier request


def batch_case(stage: Stage, scripts: Sequence[Script], limits: Limits = _PLENTY, note: str = "") -> Case:
    """The session in which every tree holds the target's own choices down to its goal, on the prefix that it meets."""
    requests, texts = list[RequestData](), list[tuple[int, ...]]()
    for script in scripts:
        earlier = script.resumes if script.resumes is not None else script.follows
        prompt = (*(texts[earlier] if earlier is not None else ()), *script.prompt)
        trees, text = _trees(stage, prompt, script.shapes)
        texts.append(text)
        own = () if script.resumes is not None else prompt
        requests.append(RequestData(trees=trees, prompt=own, joins=script.joins, resumes=script.resumes))
    return Case(prefix=(), batch=tuple(requests), limits=limits, note=note)


def _trees(
    stage: Stage, prompt: tuple[int, ...], shapes: Sequence[ScriptedTree]
) -> tuple[tuple[TreeData, ...], tuple[int, ...]]:
    """The trees, and the text after all of them."""
    trees, here = [], prompt
    for shape in shapes:
        trees.append(stage.script(here, shape))
        here = stage.after(here, trees[-1])
    return tuple(trees), here


def _listed_batches(stage: Stage) -> list[Case]:
    def request(length: int, *goals: Goal, **more: int | None) -> Script:
        prompt = spread_prefix(stage, length, 17 + length)
        return Script(tuple(decoys(stage, *goal) for goal in goals), prompt, **more)  # type: ignore[arg-type]

    unequal = [request(1, SPINE, STAR), request(5, REJECTED, DEEP), request(9, CHAIN, WIDE)]
    shared = request(6, WIDE, SPINE)
    first = stage.choices(unequal[0].prompt, 1)
    request_by_request = [request(2, ONE, STAR), request(4, STAR, ONE), request(7, ONE, ONE)]
    listed = [
        (unequal, _PLENTY, "unequal trees, prefixes and acceptance"),
        ([unequal[2], unequal[0], unequal[1]], _PLENTY, "the same in another order"),
        ([request(3, ONE, ONE), request(4, CHAIN, LATER), request(7, WIDE, STAR)], _PLENTY,
         "node counts whose mean is no request's own"),
        ([request(5, LATER, ONE), request(2, WIDE, SPINE), request(8, REJECTED, STAR)], _PLENTY,
         "as many nodes in all as requests times a whole number, in both rounds"),
        (unequal, Limits(3), "one request is cut off by its cap while the others go on"),
        (unequal, Limits(64, first), "one request ends with an end token in its first round"),
        ([request(9, CHAIN), request(3, STAR, WIDE, SPINE), request(6, REJECTED, DEEP, STAR)], _PLENTY,
         "the first request is dropped while the others go on"),
        ([request(4, WIDE, SPINE, CHAIN), request(9, DEEP), request(2, SPINE, ROOT, WIDE)], _PLENTY,
         "the middle request is dropped while the others go on"),
        ([request(9, WIDE, SPINE, STAR), request(8, CHAIN), request(2, STAR, SPINE, joins=1)], _PLENTY,
         "a shorter request joins where a longer one was dropped"),
        ([request(4, SPINE, ROOT, WIDE), request(7, CHAIN, STAR, LATER)], _PLENTY,
         "one request has no draft for a round"),
        ([request(2, WIDE, ROOT, ONE), request(6, SPINE, ROOT, STAR)], _PLENTY,
         "a round without any draft between a larger and a smaller tree"),
        ([shared, shared, request(3, REJECTED, DEEP)], _PLENTY, "two requests with the same prompt"),
        ([shared, request(3, STAR, LATER, follows=0), request(2, ROOT, CHAIN)], _PLENTY,
         "two requests share a prefix, and one goes on beyond it"),
        ([shared, Script(shared.shapes[1:], (*shared.prompt, *spread_prefix(stage, 3, 5)))], _PLENTY,
         "a prompt that goes on behind the whole of another prompt"),
        ([request(9, SPINE, WIDE), Script(shared.shapes, (*spread_prefix(stage, 9, 26)[:4], *spread_prefix(stage, 6, 5)))],
         _PLENTY, "a prompt that leaves another after a common beginning"),
        ([shared, Script(shared.shapes, exchanged(shared.prompt))], _PLENTY,
         "two prompts of the same tokens, of which two inside stand in another order"),
        ([request(5, SPINE, WIDE, STAR), request(3, ONE), request(2, STAR, CHAIN, joins=1, follows=1)], _PLENTY,
         "a prompt that begins with the text of a request that is gone"),
        ([request(5, SPINE, WIDE, STAR, ONE), request(3, STAR), replaced(request(1, SPINE, DEEP, joins=2), 1)], _PLENTY,
         "a request is dropped and goes on two steps later"),
        (request_by_request, _ways_to_end(stage, request_by_request),
         "each request ends in a way of its own: stop sequence, end token, context"),
        ([request(2, ONE), request(5, ONE, STAR), request(3, STAR), request(6, ONE, ONE),
          request(4, ONE, joins=1), request(7, STAR, joins=1)], _PLENTY,
         "two requests leave together, a third stays between them, and two join together"),
        ([request(length, ONE, ROOT) for length in (1, 2, 3, 4, 5, 6)], _PLENTY,
         "six requests with trees of one node"),
    ]  # fmt: skip
    return [batch_case(stage, scripts, limits, note) for scripts, limits, note in listed]


def exchanged(prompt: tuple[int, ...]) -> tuple[int, ...]:
    """The prompt with its second and third token in each other's place: their set is the same, and so are its ends."""
    first, second, third, *rest = prompt
    return (first, third, second, *rest)


def _ways_to_end(stage: Stage, scripts: Sequence[Script]) -> Limits:
    """The first of three texts ends with a stop sequence of two tokens, the second with its third token, and the prompt of the
    last is so long that the context has room for two."""
    texts = [stage.choices(script.prompt, 3) for script in scripts[:2]]
    return Limits(64, texts[1][2:], len(scripts[2].prompt) + 2, (texts[0][1:],))


def replaced(script: Script, resumes: int) -> Script:
    """The same trees for a request that goes on with the text of an earlier one."""
    return Script(script.shapes, (), script.joins, resumes)


def _drawn_batches(draw: st.DrawFn, stage: Stage) -> Case:
    scripts: list[Script] = []
    for number in range(draw(st.integers(2, _MOST))):
        scripts.append(_drawn_script(draw, stage, scripts, joins=draw(st.integers(0, 2)) if number >= 2 else 0))
    return batch_case(stage, scripts, Limits(draw(st.integers(1, 24))))


def _drawn_script(draw: st.DrawFn, stage: Stage, earlier: Sequence[Script], joins: int) -> Script:
    """A request with a prompt of its own, one that begins with the prompt of another, or one that resumes another."""
    prompt = draw(prefixes(vocab_size=stage.vocab_size))
    shapes = tuple(draw(st.lists(any_shape(stage), min_size=1, max_size=_STEPS)))
    way, other = draw(st.integers(0, 2)), draw(st.integers(0, _MOST))
    joins = max([joins, *(script.joins for script in earlier)])
    if not earlier or not way:
        return Script(shapes, prompt, joins)
    other %= len(earlier)
    if way == 1:
        return Script(shapes, (*earlier[other].prompt, *prompt), joins)
    gone = earlier[other].joins + len(earlier[other].shapes)
    return replaced(Script(shapes, joins=max(joins, gone)), other)


BATCHES = Scene(
    "batches",
    _listed_batches,
    st.composite(_drawn_batches),
    trees=range(1),
    limited=True,
    batched=True,
    heavy=True,
    drawn=_drawn_batches,
)
