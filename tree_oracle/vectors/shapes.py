"""Trees for the vectors: every small one, and larger ones of each shape that a slot could be mistaken in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from tree_oracle.vectors.chance import Chance
from tree_oracle.vectors.model import Tree

Parents = tuple[int, ...]
LONG_PREFIX = 300  # tokens, more than eight bits count


def every(n: int) -> Iterator[Parents]:
    """The parents of each tree of n nodes with parents first."""
    yield from ((-1, *rest) for rest in product(*(range(node) for node in range(1, n))))


def _chain(chance: Chance, n: int) -> Parents:
    return (-1, *range(n - 1))


def _star(chance: Chance, n: int) -> Parents:
    return (-1, *(0 for _ in range(1, n)))


def _levels(chance: Chance, n: int) -> Parents:
    """Level by level, with at most six children to a node."""
    parents = [-1]
    while len(parents) < n:
        least = max(parents[-1], 0)
        free = [node for node in range(least, min(len(parents), least + 4)) if parents.count(node) < 6]
        parents.append(chance.pick(free))
    return tuple(parents)


def _depth_first(chance: Chance, n: int) -> Parents:
    """Each node below the one before it or one of its ancestors."""
    parents = [-1]
    while len(parents) < n:
        parent = len(parents) - 1
        while parents[parent] >= 0 and chance.below(2):
            parent = parents[parent]
        parents.append(parent)
    return tuple(parents)


def _late_branch(chance: Chance, n: int) -> Parents:
    """A few leaves, then the deep branch, so that its slots are nowhere near its depths."""
    leaves = max(1, n // 3)
    return tuple([-1] + [0] * min(leaves, n - 1) + [node - 1 for node in range(leaves + 1, n)])[:n]


def _any(chance: Chance, n: int) -> Parents:
    return (-1, *(chance.below(node) for node in range(1, n)))


SHAPES: dict[str, Callable[[Chance, int], Parents]] = {
    "chain": _chain,
    "star": _star,
    "level by level": _levels,
    "depth first": _depth_first,
    "deep branch last": _late_branch,
    "any order": _any,
}


def named(chance: Chance, parents: Sequence[int], vocab: int = 8) -> Tree:
    """Tokens for these nodes: siblings distinct, otherwise repeated wherever chance has it."""
    tokens: list[int] = []
    for node, parent in enumerate(parents):
        used = {tokens[other] for other in range(1, node) if parents[other] == parent}
        free = [token for token in range(max(vocab, len(used) + 1)) if token not in used]
        tokens.append(chance.pick(free))
    return Tree(tuple(tokens), tuple(parents))


def far_tokens(tree: Tree) -> Tree:
    """The same tree with tokens near the end of a vocabulary of 151,936."""
    return Tree(tuple(151_800 + token for token in tree.tokens), tree.parents)


def depths_of(parents: Sequence[int]) -> list[int]:
    """The depth of each node."""
    depths: list[int] = []
    for parent in parents:
        depths.append(0 if parent < 0 else depths[parent] + 1)
    return depths


def traits(tree: Tree) -> set[str]:
    """The flags that a tree earns by its shape and its tokens."""
    parents, n = tree.parents, len(tree.parents)
    depths = depths_of(parents)
    below_root = list(zip(parents[1:], tree.tokens[1:], strict=True))
    found = {
        "RootAlone": n == 1,
        "Chain": n > 1 and all(parent == node - 1 for node, parent in enumerate(parents)),
        "SiblingBefore": any(node != depth for node, depth in enumerate(depths)),
        "NotAncestor": any(parent < node - 1 for node, parent in enumerate(parents) if node),
        "EqualTokens": len(set(tree.tokens[1:])) < len(set(below_root)),
        "LevelsMixed": depths != sorted(depths),
        "ByteBoundary": n in (8, 9),
        "WordBoundary": n in (31, 32, 33, 64, 65),
        "WideToken": max(tree.tokens) > 2**16,
        "ManyNodes": n > 256,
    }
    return {flag for flag, there in found.items() if there}
