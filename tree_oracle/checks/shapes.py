"""The small trees that wake every known class of fault, by name, each with the nodes at which the walk is made to end.

A chain hides nine of seventeen planted faults, and accepting the first branch of a depth-first tree hides most of the rest
(measured on a two-layer model): the accepted branch must also be the last one, its slots scattered, a slot equal to a
later rank, and the leaf not always the deepest.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """Parents by slot, and where walks end."""

    name: str
    parents: tuple[int, ...]
    goals: tuple[int, ...]


FORK = Shape("two children of the root", (-1, 0, 0), (2,))
LARGE = Shape("more than sixteen nodes, the path behind the sixteenth", (-1, *(0,) * 17, 17, 18), (19,))

SHAPES = (
    Shape("the root alone", (-1,), (0,)),
    Shape("one node", (-1, 0), (0, 1)),
    Shape("a chain", (-1, 0, 1, 2), (0, 2, 3)),
    Shape("a star", (-1, 0, 0, 0, 0), (1, 4)),
    Shape("a spine with a leaf before each of its nodes", (-1, 0, 0, 2, 2, 4, 4), (2, 6)),
    Shape("breadth first, two children each", (-1, 0, 0, 1, 1, 2, 2), (0, 3, 6)),
    Shape("depth first, two children each", (-1, 0, 1, 1, 0, 4, 4), (2, 6)),
    Shape("breadth first, the deep branch last", (-1, 0, 0, 0, 3, 4), (2, 5)),
    Shape("an accepted slot equal to a later rank", (-1, 0, 0, 1, 3), (2, 4)),
    Shape("a short branch stored between the nodes of a long one", (-1, 0, 0, 2, 1, 3, 0), (4, 5, 6)),
)
