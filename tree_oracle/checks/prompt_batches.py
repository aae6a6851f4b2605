"""The scene ``prompt batches``: prompts of unequal lengths that are handed to ``generate`` in one call.

Each has a text of its own: one may end with its end token, or fill its context, while the others go on, and equal prompts have
equal texts. A decoder that takes one prompt at a time refuses them, by ``NotImplementedError``.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from tree_oracle.checks.batches import exchanged
from tree_oracle.checks.scene import Scene, Stage
from tree_oracle.checks.scenes import spread_prefix
from tree_oracle.record import Case, Limits, RequestData
from tree_oracle.strategies import prefixes

_MOST = 3  # prompts of a drawn case

Tokens = tuple[int, ...]


def together(prompts: Sequence[Tokens], limits: Limits, note: str = "") -> Case:
    """All prompts in one call."""
    return Case(prefix=(), batch=tuple(RequestData(trees=(), prompt=one) for one in prompts), limits=limits, note=note)


def _listed_prompt_batches(stage: Stage) -> list[Case]:
    prompts = [spread_prefix(stage, length, 230 + length) for length in (2, 6, 4)]
    (end,) = stage.choices(prompts[1], 2)[1:]
    return [
        together(prompts, Limits(6), "three prompts of unequal lengths"),
        together(prompts[1::-1], Limits(7, (end,)), "the first of two texts ends with its second token"),
        together(prompts, Limits(9, max_length=8), "the longest prompt fills the context first"),
        together((prompts[1], exchanged(prompts[1])), Limits(6), "two prompts of the same tokens in another order"),
    ]


def _drawn_prompt_batches(draw: st.DrawFn, stage: Stage) -> Case:
    prompts = draw(st.lists(prefixes(vocab_size=stage.vocab_size), min_size=2, max_size=_MOST))
    place = draw(st.none() | st.integers(0, 5))
    ends = () if place is None else stage.choices(prompts[-1], place + 1)[place:]
    return together(prompts, Limits(draw(st.integers(1, 8)), ends))


PROMPT_BATCHES = Scene(
    "prompt batches",
    _listed_prompt_batches,
    st.composite(_drawn_prompt_batches),
    trees=range(1),
    limited=True,
    batched=True,
    asked=True,
    heavy=True,
    drawn=_drawn_prompt_batches,
)
