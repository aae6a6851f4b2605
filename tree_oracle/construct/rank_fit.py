"""Whether a tree has a static shape under some order of equally probable tokens.

It has, when the children of every node can be given the ranks of the shape so that each child has the log-probability of its
rank in the law, and below it what the shape has below that rank. Ranks with equal shapes below them are interchangeable, so
shapes are numbered by what stands below (as in ``tree_oracle.tree.isomorphism``) and a node is tried once for each number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from tree_oracle.construct.laws import History, Laws, edges_of, histories_of
from tree_oracle.tree import CandidateTree

Ranks: TypeAlias = tuple[int, ...]  # of the nodes on a path, from below the root
_Shape: TypeAlias = tuple[tuple[int, int], ...]  # ranks of the children, ascending, and the numbers of their shapes
_Place: TypeAlias = tuple[int, int]  # a node of the tree, and the number of a shape that it may have


class _Family(NamedTuple):
    """The children of a node that may have some shape."""

    children: tuple[int, ...]
    due: list[tuple[int, int]]  # ranks that the law has a token for, and the numbers of their shapes
    ranks: list[list[int]]  # for each child the entries of ``due`` that its log-probability allows


def fits(tree: CandidateTree, choices: Sequence[Ranks], laws: Laws) -> bool:
    """The decision. Families are found from the root down and decided from the leaves up: no tree is too deep."""
    shapes = _shapes(choices)
    histories = histories_of(tree)
    families: dict[_Place, _Family] = {}
    places: list[_Place] = [(0, len(shapes) - 1)]
    for node, number in places:
        family = _family(tree, node, histories[node], shapes[number], laws)
        families[node, number] = family
        pairs = zip(family.children, family.ranks, strict=True)
        wanted = {(child, family.due[entry][1]) for child, entries in pairs for entry in entries}
        places += sorted(wanted)
    right: dict[_Place, bool] = {}
    for place in reversed(places):
        right[place] = _decided(families[place], right)
    return right[places[0]]


def _shapes(choices: Sequence[Ranks]) -> list[_Shape]:
    """Every distinct shape below some node, by number; that of the root last."""
    below: dict[Ranks, list[tuple[int, int]]] = {ranks: [] for ranks in ((), *choices)}
    numbers: dict[_Shape, int] = {}
    for ranks in sorted(below, key=len, reverse=True):
        number = numbers.setdefault(tuple(sorted(below[ranks])), len(numbers))
        if ranks:
            below[ranks[:-1]].append((ranks[-1], number))
    return list(numbers)


def _family(tree: CandidateTree, node: int, history: History, shape: _Shape, laws: Laws) -> _Family:
    children = tree.children(node)
    if not shape:
        return _Family(children, [], [[] for _ in children])
    ranked = laws.top(history, shape[-1][0] + 1)
    due = [(rank, number) for rank, number in shape if rank < len(ranked.tokens)]
    edges = edges_of(laws, ranked, history, tree.tokens[list(children)].tolist())
    entries: dict[float, list[int]] = {}
    for entry, (rank, _) in enumerate(due):
        entries.setdefault(float(ranked.edges[rank]), []).append(entry)
    return _Family(children, due, [entries.get(edge, []) for edge in edges])


def _decided(family: _Family, right: dict[_Place, bool]) -> bool:
    """Whether each child can be given a rank of its own at which it is right, and no rank is left."""
    if len(family.children) != len(family.due):
        return False
    rows = [
        [entry for entry in entries if right[child, family.due[entry][1]]]
        for child, entries in zip(family.children, family.ranks, strict=True)
    ]
    return all_matched(rows)


def all_matched(rows: list[list[int]]) -> bool:
    """Whether every row can be given one of its entries, no two the same (augmenting paths, breadth first)."""
    owner: dict[int, int] = {}
    for row in range(len(rows)):
        found = _augmented(rows, owner, row)
        if not found:
            return False
    return True


def _augmented(rows: list[list[int]], owner: dict[int, int], start: int) -> bool:
    """Give ``start`` an entry, moving others on to further entries of theirs where need be."""
    came: dict[int, int] = {}  # entry -> the row that reached it
    given = {row: entry for entry, row in owner.items()}
    todo = [start]
    for row in todo:
        for entry in rows[row]:
            if entry in came:
                continue
            came[entry] = row
            if entry not in owner:
                _shift(owner, given, came, entry)
                return True
            todo.append(owner[entry])
    return False


def _shift(owner: dict[int, int], given: dict[int, int], came: dict[int, int], entry: int) -> None:
    """Walk back from a free entry: each row on the way takes the entry that it reached and leaves its own."""
    while True:
        row = came[entry]
        owner[entry] = row
        if row not in given:
            return
        entry = given[row]
