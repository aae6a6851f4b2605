"""Cases with one branch only, cases whose draft is the target's own text, and trees with one leaf more.

Chains are full subjects: a tree with one branch must do what plain speculative decoding does.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tree_oracle.checks.scene import Scene, Stage
from tree_oracle.checks.scenes import any_shape, decoys, fed, listed_shapes, note_of, script_rounds, spread_prefix
from tree_oracle.checks.shapes import Shape
from tree_oracle.checks.tables import marked_rows, marks
from tree_oracle.record import Array, Case, Limits, TreeData
from tree_oracle.strategies import ScriptedTree, prefixes

_LONGEST = 6


def _chain(length: int, goal: int) -> Shape:
    return Shape(f"a chain of {length}", tuple(range(-1, length)), (goal,))


def _fed_chain(stage: Stage, shape: Shape, goal: int, order: list[int]) -> Case:
    tree = decoys(stage, shape, goal).to_data()
    return fed(tree, marked_rows(marks(tree, goal, order), stage.vocab_size), note_of(shape, goal))


def _listed_fed(stage: Stage) -> list[Case]:
    pairs = [(length, goal) for length in (0, 1, 2, 5) for goal in range(length + 1)]
    order = np.random.default_rng(3).permutation(stage.vocab_size).tolist()
    return [_fed_chain(stage, _chain(length, goal), goal, order) for length, goal in pairs]


def _drawn_fed(draw: st.DrawFn, stage: Stage) -> Case:
    length = draw(st.integers(0, _LONGEST))
    goal = draw(st.integers(0, length))
    return _fed_chain(stage, _chain(length, goal), goal, draw(st.permutations(range(stage.vocab_size))))


def _chain_rounds(stage: Stage, prefix: tuple[int, ...], pairs: list[tuple[int, int]], note: str) -> Case:
    scripts = [decoys(stage, _chain(length, goal), goal) for length, goal in pairs]
    return script_rounds(stage, prefix, scripts, Limits(64), note)


def _listed_chains(stage: Stage) -> list[Case]:
    wanted = [[(3, 3), (3, 0), (3, 2)], [(1, 0), (1, 1), (4, 2)], [(5, 4), (2, 2), (0, 0)], [(4, 4), (4, 4), (1, 1)]]
    return [
        _chain_rounds(stage, spread_prefix(stage, 1 + 3 * salt, salt), pairs, f"chains {pairs}")
        for salt, pairs in enumerate(wanted)
    ]


def _drawn_chains(draw: st.DrawFn, stage: Stage) -> Case:
    prefix = draw(prefixes(vocab_size=stage.vocab_size))
    pair = st.integers(0, _LONGEST).flatmap(lambda length: st.tuples(st.just(length), st.integers(0, length)))
    return _chain_rounds(stage, prefix, draw(st.lists(pair, min_size=1, max_size=3)), "")


def _listed_full(stage: Stage) -> list[Case]:
    lengths = [(1, 2, 3), (4, 1, 5), (6, 6, 6)]
    return [
        _chain_rounds(
            stage, spread_prefix(stage, 2 + salt, 7 + salt), [(n, n) for n in each], f"the target's own {each}"
        )
        for salt, each in enumerate(lengths)
    ]


def _drawn_full(draw: st.DrawFn, stage: Stage) -> Case:
    prefix = draw(prefixes(vocab_size=stage.vocab_size))
    lengths = draw(st.lists(st.integers(1, _LONGEST), min_size=1, max_size=3))
    return _chain_rounds(stage, prefix, [(length, length) for length in lengths], "")


def _leaf_pair(stage: Stage, script: ScriptedTree, parent: int, order: list[int], note: str) -> Case:
    """A tree and the same tree with one leaf more, last in storage, its token new among its siblings; one set of rows."""
    small = script.to_data()
    taken = {small.tokens[v] for v in range(1, len(small.tokens)) if small.parents[v] == parent}
    token = next(t for t in order if t not in taken)
    large = TreeData((*small.tokens, token), (*small.parents, parent))
    rows = marked_rows(marks(large, script.goal, order), stage.vocab_size)
    return Case(prefix=(small.tokens[0],), trees=(small, large), rows=Array.of(rows.astype(np.float32)), note=note)


def _listed_leaves(stage: Stage) -> list[Case]:
    cases = []
    for index, (shape, goal) in enumerate(listed_shapes()):
        order = np.random.default_rng(index).permutation(stage.vocab_size).tolist()
        for parent in sorted({0, goal, shape.parents[goal]} - {-1}):
            note = f"a leaf added under node {parent}; {note_of(shape, goal)}"
            cases.append(_leaf_pair(stage, decoys(stage, shape, goal), parent, order, note))
    return cases


def _drawn_leaves(draw: st.DrawFn, stage: Stage) -> Case:
    script = draw(any_shape(stage))
    parent = draw(st.integers(0, len(script.parents) - 1))
    return _leaf_pair(stage, script, parent, draw(st.permutations(range(stage.vocab_size))), "")


FED_CHAINS = Scene("fed chains", _listed_fed, st.composite(_drawn_fed), trees=range(1, 2), fed=True, drawn=_drawn_fed)
CHAINS = Scene(
    "chains", _listed_chains, st.composite(_drawn_chains), trees=range(1, 1_000), limited=True, drawn=_drawn_chains
)
FULL = Scene(
    "full drafts",
    _listed_full,
    st.composite(_drawn_full),
    trees=range(1, 1_000),
    limited=True,
    heavy=True,
    drawn=_drawn_full,
)
LEAVES = Scene("leaves", _listed_leaves, st.composite(_drawn_leaves), trees=range(2, 3), fed=True, drawn=_drawn_leaves)
