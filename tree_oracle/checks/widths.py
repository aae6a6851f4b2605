"""The scene ``widths``: the same branch in passes of different company.

Each case holds a tree, one of its branches alone, and the tree again with another token at every node beside that branch. Sizes
stand on both sides of 8, 16 and 32, where kernels change.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tree_oracle.checks.scene import Scene, Stage
from tree_oracle.checks.scenes import any_shape, spread_prefix
from tree_oracle.checks.shapes import LARGE, SHAPES, Shape
from tree_oracle.checks.view import branch
from tree_oracle.record import Case, TreeData
from tree_oracle.strategies import prefixes

_WIDE = Shape("more than thirty-two nodes, the branch behind all others", (-1, *(0,) * 29, 29, 30, 31), (32,))
_LISTED = ((SHAPES[4], 2), (SHAPES[6], 9), (LARGE, 1), (_WIDE, 9))  # shapes, and committed tokens


def _alone(tree: TreeData, nodes: list[int]) -> TreeData:
    return TreeData(tuple(tree.tokens[v] for v in nodes), tuple(range(-1, len(nodes) - 1)))


def _others(tree: TreeData, nodes: list[int], vocab_size: int) -> TreeData:
    """The same tree with another token at every node that is not on the branch; siblings stay distinct."""
    for step in range(1, vocab_size):
        tokens = [token if v in nodes else (token + step) % vocab_size for v, token in enumerate(tree.tokens)]
        if len(set(zip(tree.parents, tokens, strict=True))) == len(tokens):
            break
    return TreeData(tuple(tokens), tree.parents)


def _case(prefix: tuple[int, ...], tree: TreeData, goal: int, vocab_size: int, note: str = "") -> Case:
    nodes = branch(tree.parents, goal)
    tree = TreeData((prefix[-1], *tree.tokens[1:]), tree.parents)
    return Case(prefix=prefix, trees=(tree, _alone(tree, nodes), _others(tree, nodes, vocab_size)), note=note)


def _listed(stage: Stage) -> list[Case]:
    return [
        _case(
            spread_prefix(stage, length, salt),
            TreeData(tuple((slot + 5) % stage.vocab_size for slot in range(len(shape.parents))), shape.parents),
            shape.goals[-1],
            stage.vocab_size,
            f"{shape.name}; the branch to node {shape.goals[-1]} alone; other tokens beside it",
        )
        for salt, (shape, length) in enumerate(_LISTED)
    ]


def _drawn(draw: st.DrawFn, stage: Stage) -> Case:
    shape = draw(any_shape(stage, min_nodes=2))
    return _case(draw(prefixes(vocab_size=stage.vocab_size)), shape.to_data(), shape.goal, stage.vocab_size)


WIDTHS = Scene("widths", _listed, st.composite(_drawn), trees=range(3, 4), heavy=True, drawn=_drawn)
