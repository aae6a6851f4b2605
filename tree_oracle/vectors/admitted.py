"""The whole set of right trees: every prefix-closed set of paths that the reference's own predicate admits.

Small cases only. Sequoia fixes a shape first, and where several shapes are equally good its predicate knows the one that its
tie rule takes; so its shapes are enumerated here, and each is asked for its trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import prod
from typing import TypeAlias

from tree_oracle.construct import RankTree, ReferencePolicy, Sequoia
from tree_oracle.tree import CandidateTree
from tree_oracle.vectors.counts import CountDraft
from tree_oracle.vectors.model import Admitted, Build, Path
from tree_oracle.vectors.policies import policy_of

_Opened: TypeAlias = Callable[[Path], list[Path]]


def admitted(asked: Build) -> Admitted:
    """All right trees, in lexicographic order."""
    policy, draft = policy_of(asked.policy, asked.parameters), CountDraft(asked.draft)
    possible = list(_closed_sets(draft, asked.root, policy.depth, policy.budget))
    found = {
        tuple(sorted(paths, key=lambda path: (len(path), path)))
        for rule in rules_of(asked)
        for paths in possible
        if rule.admits(tree_of_paths(asked.root, paths), draft, asked.root)
    }
    return Admitted(tuple(sorted(found)))


def tree_of_paths(root: int, paths: Sequence[Path]) -> CandidateTree:
    """The tree of a prefix-closed set of paths, level by level."""
    ordered = sorted(paths, key=lambda path: (len(path), path))
    slots = {(): 0, **{path: slot for slot, path in enumerate(ordered, start=1)}}
    parents = [-1, *(slots[path[:-1]] for path in ordered)]
    return CandidateTree([root, *(path[-1] for path in ordered)], parents)


def rules_of(asked: Build) -> list[ReferencePolicy]:
    """The policy; for Sequoia one for each of its equally good shapes."""
    policy = policy_of(asked.policy, asked.parameters)
    if not isinstance(policy, Sequoia):
        return [policy]
    acceptance, total = asked.parameters["acceptance"], asked.parameters["total"]
    assert isinstance(acceptance, tuple)
    assert isinstance(total, int)
    chances = [Fraction(chance, total) for chance in acceptance if isinstance(chance, int)]
    return [RankTree(shape) for shape in best_shapes(chances, policy.budget, policy.depth)]


def best_shapes(chances: Sequence[Fraction], budget: int, depth: int) -> list[tuple[Path, ...]]:
    """The sets of rank paths of this size whose sum of products is largest."""
    shapes = [shape for shape in _shapes(len(chances), depth, budget) if len(shape) == budget]
    values = [sum(prod(chances[rank] for rank in ranks) for ranks in shape) for shape in shapes]
    return [shape for shape, value in zip(shapes, values, strict=True) if value == max(values)]


def _shapes(width: int, depth: int, most: int) -> Iterator[tuple[Path, ...]]:
    """Prefix-closed sets in which a rank comes only with the smaller ones of its family."""

    def opened(path: Path) -> list[Path]:
        sibling = [(*path[:-1], path[-1] + 1)] if path[-1] + 1 < width else []
        return sibling + ([(*path, 0)] if len(path) < depth else [])

    yield from _grown((), [(0,)], opened, most)


def _closed_sets(draft: CountDraft, root: int, depth: int, most: int) -> Iterator[tuple[Path, ...]]:
    def children(path: Path) -> list[Path]:
        if len(path) == depth:
            return []
        return [(*path, token) for token, count in enumerate(draft.counts((root, *path))) if count]

    yield ()
    yield from _grown((), children(()), children, most)


def _grown(tree: tuple[Path, ...], frontier: list[Path], opened: _Opened, most: int) -> Iterator[tuple[Path, ...]]:
    """Each set once: a candidate that was passed over is never taken later."""
    if len(tree) == most:
        return
    for at, path in enumerate(frontier):
        larger = (*tree, path)
        yield larger
        yield from _grown(larger, [*frontier[at + 1 :], *opened(path)], opened, most)
