"""The largest that was judged: of what lies beyond, a run says nothing.

What cannot be: a round whose parents are no tree's counts by its nodes alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from tree_oracle.record.case import Case
from tree_oracle.record.counted import counted
from tree_oracle.record.ranges import Count
from tree_oracle.record.round import Round


class Extent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Each the largest of its kind, wherever it came about; 0: none was seen."""

    text: Count = 0  # tokens, the prompt included
    rounds: Count = 0  # of one request
    nodes: Count = 0  # of a tree, the root left out
    width: Count = 0  # nodes of a tree at one depth
    depth: Count = 0
    requests: Count = 0  # of one session or call

    def __or__(self, other: Extent) -> Extent:
        return Extent(*map(max, msgspec.structs.astuple(self), msgspec.structs.astuple(other)))

    @property
    def words(self) -> str:
        """For a page; what was not seen is left out."""
        told = (
            (self.text, f"a text of {counted(self.text, 'token')} with its prompt"),
            (self.rounds, f"{counted(self.rounds, 'round')} of one request"),
            (self.nodes, f"a tree of {counted(self.nodes, 'node')} below its root"),
            (self.width, f"{self.width} at one depth"),
            (self.depth, f"depth {self.depth}"),
            (self.requests, f"{counted(self.requests, 'request')} at once"),
        )
        return ", ".join(words for size, words in told if size)


def extent_of(case: Case, rounds: Sequence[Round]) -> Extent:
    """What one case came to, by the rounds that were shown for it."""
    texts, shapes = [0], [(0, 0, 0)]
    for round_ in rounds:
        texts.append(len(round_.prefix or ()) + len(round_.emitted))
        if round_.parents is not None:
            shapes.append(_shape(round_.parents))
    nodes, width, depth = map(max, zip(*shapes, strict=True))
    most = max(Counter(round_.request for round_ in rounds).values(), default=0)
    return Extent(max(texts), most, nodes, width, depth, max(len(case.batch), 1))


def _shape(parents: Sequence[int]) -> tuple[int, int, int]:
    """Nodes, width and depth of a tree."""
    depths = [0]
    for node, parent in enumerate(parents[1:], start=1):
        if not 0 <= parent < node:
            return len(parents) - 1, 0, 0
        depths.append(depths[parent] + 1)
    below = Counter(depths[1:])
    return len(parents) - 1, max(below.values(), default=0), max(below, default=0)
