"""A tree as shapes on a plane, read back from its drawing in text (``tree_oracle.tree.draw``), which is what a report keeps.

The drawing determines the tree, so nothing is guessed; a text that is no drawing has no picture and is shown as text. The
root stands on the left, children to the right of their parent, one leaf to a line, a parent halfway between its outer children.

What the failing node may see is known without asking anybody: itself and its ancestors. What it sees too much or too little is
read from the words of VISIBLE, ``sees nodes [0, 1, 2]``, and from no other words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tree_oracle.record import Finding

_LINE = re.compile(
    r"((?:\|   |    )*)(\|-- |`-- )?\[(\d{1,9})\] (-?\d{1,19})(?:  \(\+(\d{1,9}) child(?:ren)?\))?(  <--)?"
)
_REST = re.compile(r"\.\.\. \d+ more nodes?(, marked among them: .*)?")
_SEES = re.compile(r"sees nodes \[(\d{1,9}(?:, \d{1,9})*)\]")

MOST_LINES = 256
ROW, HEIGHT, GAP, CHARACTER, MARGIN = 34, 24, 34, 7.5, 12


@dataclass(frozen=True, slots=True)
class Node:
    """One node: its middle left end on the plane, and what it is to the failing one."""

    slot: int
    token: int
    parent: int  # slot of the parent; -1 at the root
    x: float
    y: float
    more: int  # children that are left out
    failing: bool
    allowed: bool  # on the path to the failing node, so it must be visible there
    wrong: str  # "extra": seen, but not allowed; "missing": allowed, but not seen; else empty

    @property
    def label(self) -> str:
        """What stands in its box."""
        return f"[{self.slot}] {self.token}"


@dataclass(frozen=True, slots=True)
class Picture:
    """A tree ready to be drawn; ``width`` is that of a node's box."""

    nodes: tuple[Node, ...]
    width: float
    size: tuple[int, int]
    rest: str  # the last line of a drawing that was cut

    @property
    def by_slot(self) -> dict[int, Node]:
        """The nodes by their slots."""
        return {node.slot: node for node in self.nodes}

    @property
    def failing(self) -> Node | None:
        """The node that the finding is about, if the picture shows it."""
        return next((node for node in self.nodes if node.failing), None)

    @property
    def wrong(self) -> list[tuple[str, str]]:
        """What the failing node sees too much and too little, in the words of the caption."""
        told = (("extra", "Dashed, seen and must not be"), ("missing", "Dotted, not seen and must be"))
        found = [(words, [node.slot for node in self.nodes if node.wrong == kind]) for kind, words in told]
        return [(words, _listed(slots)) for words, slots in found if slots]

    @property
    def words(self) -> str:
        """The picture for somebody who does not see it."""
        said = [f"A tree of {len(self.nodes)} nodes"]
        if self.failing is not None:
            said.append(f"node {self.failing.slot} fails")
            said.append(f"it may see {_listed(node.slot for node in self.nodes if node.allowed)}")
        return "; ".join([*said, *(f"{words.partition(', ')[2]}: {slots}" for words, slots in self.wrong)])


@dataclass(frozen=True, slots=True)
class _Line:
    slot: int
    token: int
    depth: int
    parent: int
    more: int
    marked: bool


def picture(finding: Finding) -> Picture | None:
    """The tree of a finding; None if it has no drawing, or a text in its place."""
    lines, rest = _read(finding.drawing)
    if not lines:
        return None
    parents = {line.slot: line.parent for line in lines}
    marked = next((line.slot for line in lines if line.marked), None)
    path = _path(parents, marked)
    extra, missing = _seen(finding, marked, path)
    width = max(len(f"[{line.slot}] {line.token}") for line in lines) * CHARACTER + 14
    heights = _heights(lines)
    nodes = tuple(
        Node(
            line.slot, line.token, line.parent, MARGIN + line.depth * (width + GAP), heights[line.slot], line.more,
            failing=line.slot == marked, allowed=line.slot in path,
            wrong="extra" if line.slot in extra else "missing" if line.slot in missing else "",
        )
        for line in lines
    )  # fmt: skip
    right = max(node.x for node in nodes) + width + MARGIN + (GAP if any(node.more for node in nodes) else 0)
    return Picture(nodes, width, (int(right) + 1, int(max(heights.values()) + ROW / 2 + 1)), rest)


def _read(drawing: str) -> tuple[list[_Line], str]:
    """The lines of a drawing and its last one if it was cut; no lines if it is none."""
    texts = drawing.split("\n")
    rest = texts.pop() if _REST.fullmatch(texts[-1]) else ""
    found: list[_Line] = []
    path: list[int] = []
    for text in texts[: MOST_LINES + 1]:
        line = _LINE.fullmatch(text)
        depth = 0 if line is None else len(line[1]) // 4 + (line[2] is not None)
        if line is None or depth > len(path) or (depth == 0) != (not found) or (line[2] is None) != (depth == 0):
            return [], ""
        del path[depth:]
        slot, parent = int(line[3]), path[-1] if path else -1
        found.append(_Line(slot, int(line[4]), depth, parent, int(line[5] or 0), line[6] is not None))
        path.append(slot)
    distinct = len({line.slot for line in found}) == len(found)
    return (found, rest) if distinct and len(found) <= MOST_LINES else ([], "")


def _path(parents: dict[int, int], node: int | None) -> set[int]:
    path: set[int] = set()
    while node is not None and node in parents:
        path.add(node)
        node = parents[node]
    return path


def _seen(finding: Finding, marked: int | None, path: set[int]) -> tuple[set[int], set[int]]:
    words = _SEES.fullmatch(finding.seen)
    if marked is None or words is None:
        return set(), set()
    seen = {int(slot) for slot in words[1].split(", ")}
    return seen - path, path - seen


def _heights(lines: list[_Line]) -> dict[int, float]:
    """The height of each node: leaves one below the other in the order of the drawing, parents between their children."""
    children: dict[int, list[int]] = {line.slot: [] for line in lines}
    for line in lines[1:]:
        children[line.parent].append(line.slot)
    heights: dict[int, float] = {}
    leaves = [line.slot for line in lines if not children[line.slot]]
    for row, leaf in enumerate(leaves):
        heights[leaf] = row * ROW + ROW / 2
    for line in reversed(lines):
        below = children[line.slot]
        if below:
            heights[line.slot] = (heights[below[0]] + heights[below[-1]]) / 2
    return heights


def _listed(slots: Iterable[int]) -> str:
    words = [str(slot) for slot in slots]
    return f"node{'' if len(words) == 1 else 's'} {', '.join(words)}"
