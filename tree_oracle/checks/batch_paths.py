"""The scene ``batch paths``: sessions of several requests whose tokens are chosen by processed rows.

What is kept per path is kept per request first: every prompt has a history of its own, so that the state of one request, used
for another, changes its text. Beside the processors stand a minimum length with an end token that is due too early, a stop
sequence, and a request that joins: options that a decoder may have for one request and drop for several.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from msgspec.structs import replace

from tree_oracle.checks.path_cases import LONGEST, WAYS, Chosen, script_paths
from tree_oracle.checks.scene import Scene, Stage
from tree_oracle.checks.scenes import any_shape, decoys, spread_prefix
from tree_oracle.checks.shapes import SHAPES, Shape
from tree_oracle.record import Case, Limits, Processors, RequestData
from tree_oracle.strategies import ScriptedTree, prefixes

_PLENTY = Limits(max_new_tokens=64)
_MOST = 3  # requests of a drawn session
_WAY = st.integers(0, 127)  # which way, counted round and round

_ONE, _STAR, _CHAIN = (SHAPES[1], 1), (SHAPES[3], 4), (SHAPES[2], 2)

Tokens = tuple[int, ...]
Script = tuple[Tokens, int, Sequence[ScriptedTree]]  # prompt, the step before which it joins, shapes


def batch_paths(
    stage: Stage, scripts: Sequence[Script], limits: Limits, processors: Processors, note: str = ""
) -> Case:
    """The session in which every tree holds the tokens of its own request's right text down to its goal."""
    requests = []
    for prompt, joins, shapes in scripts:
        alone = script_paths(stage, prompt, shapes, limits, processors)
        requests.append(RequestData(trees=alone.trees, prompt=prompt, joins=joins))
    return Case(prefix=(), batch=tuple(requests), limits=limits, processors=processors, note=note)


def _listed_batch_paths(stage: Stage) -> list[Case]:
    def request(length: int, *goals: tuple[Shape, int], joins: int = 0) -> Script:
        return spread_prefix(stage, length, 210 + length), joins, [decoys(stage, *goal) for goal in goals]

    def ruled_out(scripts: Sequence[Script], processors: Processors) -> Limits:
        """The first request's own first choice is an end token that comes too early, and ends what comes to it later."""
        first = Chosen(stage, scripts[0][0], _PLENTY, processors).upto(1)
        return replace(_PLENTY, eos_ids=first, min_new=2)

    three = [request(3, _STAR, _ONE), request(5, _ONE, _CHAIN), request(4, _ONE, joins=1)]
    own = Processors(repetition=1 / 64, frequency=1.0)
    pair = [request(6, _CHAIN, _ONE), request(3, _ONE, _STAR)]
    banned = Processors(banned=(stage.choices(pair[1][0], 1),))
    text = Chosen(stage, pair[1][0], _PLENTY, banned).upto(3)
    stopped = replace(ruled_out(pair, banned), stop=(text[1:3],))
    return [
        batch_paths(stage, three, _PLENTY, own, "what was there before, in each request's own history"),
        batch_paths(stage, pair, stopped, banned, "a ban, a minimum and a stop sequence for two requests"),
    ]


def _drawn_batch_paths(draw: st.DrawFn, stage: Stage) -> Case:
    scripts: list[Script] = []
    for number in range(draw(st.integers(2, _MOST))):
        prompt = draw(prefixes(vocab_size=stage.vocab_size, min_size=LONGEST))
        joins = draw(st.integers(0, 1)) if number == _MOST - 1 else 0
        scripts.append((prompt, joins, draw(st.lists(any_shape(stage), min_size=1, max_size=2))))
    _, make = WAYS[draw(_WAY) % len(WAYS)]
    return batch_paths(stage, scripts, Limits(draw(st.integers(1, 24))), make(stage, scripts[0][0]))


BATCH_PATHS = Scene(
    "batch paths",
    _listed_batch_paths,
    st.composite(_drawn_batch_paths),
    trees=range(1),
    limited=True,
    batched=True,
    processed=True,
    minimum=None,
    heavy=True,
    drawn=_drawn_batch_paths,
)
