"""Group ``trees``: what follows from tokens and parents alone."""

from __future__ import annotations

from tree_oracle.vectors.answers import answer
from tree_oracle.vectors.chance import Chance
from tree_oracle.vectors.groups.kit import Kit
from tree_oracle.vectors.model import Laid, LayOut, Tree
from tree_oracle.vectors.shapes import LONG_PREFIX, SHAPES, every, far_tokens, named, traits

_SIZES = (6, 8, 9, 16, 17, 31, 32, 33, 64, 65)


def trees() -> Kit:
    """Every tree of up to five nodes, and each shape at the sizes where words and bytes end."""
    kit = Kit("trees", "lay_out", "Depths, positions, the row that judges each node, and who attends whom.")
    chance = Chance("trees")
    for n in range(1, 6):
        for parents in every(n):
            _add(kit, f"one of all trees of {n} nodes", named(chance, parents, 3), chance.between(1, 4))
    for n in _SIZES:
        for name, shape in SHAPES.items():
            prefix_len = chance.pick([1, 2, 8]) if n > 16 else chance.between(1, 9)
            _add(kit, f"{n} nodes, {name}", named(chance, shape(chance, n)), prefix_len)
    wide = far_tokens(named(chance, SHAPES["any order"](chance, 6)))
    _add(kit, "tokens past sixteen bits, a prefix past eight", wide, LONG_PREFIX)
    _add(kit, "257 nodes", named(chance, SHAPES["any order"](chance, 257)), 3)
    return kit


def _add(kit: Kit, comment: str, tree: Tree, prefix_len: int) -> None:
    asked = LayOut(tree.tokens, tree.parents, prefix_len)
    laid = answer(asked)
    assert isinstance(laid, Laid)
    first = {"FirstToken"} if prefix_len == 1 else set()
    long = {"LongPrefix"} if prefix_len >= LONG_PREFIX else set()
    kit.add(comment, traits(tree) | first | long, asked, laid)
