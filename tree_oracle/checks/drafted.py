"""The scenes ``drafted`` and ``drafters``: texts on the drafts of ``tree_oracle.decoder.drafters``, tree by tree or on request.

What the target emits is asked once, when the case is made, and stands in it, so that a case says by itself what is drafted. One
prompt for ``leaf-before-zero`` is looked for, whose text comes to token 0 soon; in a large vocabulary there may be none.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tree_oracle.checks.scene import Scene, Stage
from tree_oracle.checks.scenes import spread_prefix
from tree_oracle.decoder.drafters import DEPTH, DRAFTERS, ToldDraft
from tree_oracle.record import Case, DrafterData, Limits, TreeData
from tree_oracle.strategies import prefixes

_NAMES = tuple(DRAFTERS)
_CAP = 9
_ROUNDS = 3
_LENGTHS = (1, 6)
_TRIES = 40  # one text in eight comes to token 0 soon enough, in a vocabulary of 61


def _prompt(stage: Stage, name: str, length: int, salt: int) -> tuple[int, ...]:
    """A prompt, of which the text comes to token 0 where the drafter asks for that."""
    tries = range(_TRIES if name == "leaf-before-zero" else 1)
    prompts = [spread_prefix(stage, length, salt + 13 * step) for step in tries]
    return next((prompt for prompt in prompts[1:] if 0 in stage.choices(prompt, DEPTH + 2)[1:]), prompts[0])


def _asked(stage: Stage, name: str, prompt: tuple[int, ...], end: int | None) -> Case:
    """A case for ``generate``, whose ``end``-th token is an end token."""
    text = stage.choices(prompt, _CAP + DEPTH)
    limits = Limits(_CAP, () if end is None else (text[end],))
    return Case(prefix=prompt, limits=limits, drafter=DrafterData(name, text, stage.special), note=f"{name} drafts")


def _given(stage: Stage, name: str, prompt: tuple[int, ...]) -> Case:
    """A case for ``open``: the trees that the drafter makes where a right decoder comes to."""
    text = stage.choices(prompt, _ROUNDS * (DEPTH + 1) + DEPTH)
    draft = ToldDraft(name, prompt, text, stage.vocab_size, stage.special)
    trees, here = list[TreeData](), prompt
    for _ in range(_ROUNDS):
        trees.append(draft(here).to_data())
        here = stage.after(here, trees[-1])
    return Case(prefix=prompt, trees=tuple(trees), limits=Limits(64), note=f"{name} drafts")


def _listed_asked(stage: Stage) -> list[Case]:
    return [
        _asked(stage, name, _prompt(stage, name, _LENGTHS[salt % 2], salt), 6 if salt % 2 else None)
        for salt, name in enumerate(_NAMES)
    ]


def _listed_given(stage: Stage) -> list[Case]:
    return [_given(stage, name, _prompt(stage, name, 4, 50 + salt)) for salt, name in enumerate(_NAMES)]


def _drawn_asked(draw: st.DrawFn, stage: Stage) -> Case:
    name = _NAMES[draw(st.integers(0, len(_NAMES) - 1))]
    return _asked(stage, name, draw(prefixes(vocab_size=stage.vocab_size)), draw(st.none() | st.integers(0, _CAP - 1)))


def _drawn_given(draw: st.DrawFn, stage: Stage) -> Case:
    name = _NAMES[draw(st.integers(0, len(_NAMES) - 1))]
    return _given(stage, name, draw(prefixes(vocab_size=stage.vocab_size)))


DRAFTED = Scene(
    "drafted",
    _listed_given,
    st.composite(_drawn_given),
    trees=range(_ROUNDS, _ROUNDS + 1),
    limited=True,
    heavy=True,
    drawn=_drawn_given,
)
DRAFTERS_ASKED = Scene(
    "drafters",
    _listed_asked,
    st.composite(_drawn_asked),
    trees=range(1),
    limited=True,
    handed=True,
    heavy=True,
    drawn=_drawn_asked,
)
