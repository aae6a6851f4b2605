"""The scene ``near``: rounds whose first decision is a near tie, with both of its tokens drafted side by side.

A near tie cannot be built into a target from outside, but it can be found: of 64 short prompts the ones are taken after which
the target's two best tokens lie closest together, measured against the spread of the row. The tree holds the second best first,
so that whoever breaks the tie the other way accepts another child.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from hypothesis import strategies as st

from tree_oracle.checks.scene import Scene, Stage
from tree_oracle.checks.scenes import any_shape, decoys, script_rounds, spread_prefix
from tree_oracle.checks.shapes import SHAPES
from tree_oracle.record import Case, Limits, TreeData
from tree_oracle.strategies import ScriptedTree

_TRIED, _TAKEN = 64, 3
_LIMITS = Limits(max_new_tokens=64)


@lru_cache(maxsize=4)
def _nearest(stage: Stage) -> tuple[tuple[tuple[int, ...], int, int], ...]:
    """The prompts, each with the second best and the best next token, the nearest tie first."""
    prompts = [spread_prefix(stage, 3, salt) for salt in range(_TRIED)]
    rows = stage.truth.rows(prompts)
    order = np.argsort(rows, axis=1)
    best, second = (np.take_along_axis(rows, order[:, [at]], axis=1)[:, 0] for at in (-1, -2))
    gaps = (best - second) / (best - rows.min(axis=1))
    gaps[gaps == 0] = np.inf  # an exact tie has a rule
    taken = np.argsort(gaps, kind="stable")[:_TAKEN].tolist()
    return tuple((prompts[at], int(order[at, -2]), int(order[at, -1])) for at in taken)


def _case(stage: Stage, number: int, later: ScriptedTree, note: str) -> Case:
    prompt, second, best = _nearest(stage)[number]
    (after,) = stage.choices((*prompt, best), 1)
    tree = TreeData((prompt[-1], second, best, after), (-1, 0, 0, 2))
    rest = script_rounds(stage, stage.after(prompt, tree), [later], _LIMITS, note)
    return Case(prefix=prompt, trees=(tree, *rest.trees), limits=_LIMITS, note=note)


def _listed(stage: Stage) -> list[Case]:
    return [
        _case(stage, number, decoys(stage, SHAPES[4], 6), f"near tie {number + 1} of {_TAKEN}, then a round after it")
        for number in range(_TAKEN)
    ]


def _drawn(draw: st.DrawFn, stage: Stage) -> Case:
    return _case(stage, draw(st.integers(0, _TAKEN - 1)), draw(any_shape(stage)), "")


NEAR = Scene("near", _listed, st.composite(_drawn), trees=range(2, 3), limited=True, drawn=_drawn)
