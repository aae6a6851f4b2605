"""A tree as text, one line per node: slot in brackets, token, the caller's label, and an arrow at marked nodes.

    [0] 7
    |-- [1] 4
    |   `-- [3] 2  <--
    `-- [2] 4

Plain ASCII and the same text every time, so that a drawing can stand in a log, a JSON file and a test. Siblings are
in slot order. A larger tree than ``max_lines`` is cut to a prefix-closed part of it: first the paths to marked nodes,
then the lowest slots; the nodes at the edge say how many children are missing, and the last line how many nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_oracle.tree.candidate import CandidateTree

MAX_LINES = 64  # a screen or two, and the whole of a tree of the usual size: Medusa has 64 nodes, EAGLE 60
ARROW = "  <--"


def draw(
    tree: CandidateTree, marked: Collection[int], label: Callable[[int], str] | None, max_lines: int = MAX_LINES
) -> str:
    """The drawing, without a final newline. ``max_lines`` is at least 2."""
    if len(tree) <= max_lines:
        return "\n".join(_lines(tree, range(len(tree)), marked, label))
    shown = _most_wanted(tree, marked, max_lines - 1)
    return "\n".join([*_lines(tree, shown, marked, label), _rest(tree, shown, marked)])


def _lines(
    tree: CandidateTree, shown: Collection[int], marked: Collection[int], label: Callable[[int], str] | None
) -> list[str]:
    lines: list[str] = []
    stack = [(0, "", "")]  # a node, what stands before it on its line, what stands before its children's branches
    while stack:
        node, before, margin = stack.pop()
        children = [child for child in tree.children(node) if child in shown]
        hidden = len(tree.children(node)) - len(children)
        lines.append(before + _text(tree, node, node in marked, label, hidden))
        for child in reversed(children):
            last = child == children[-1]
            stack.append((child, margin + ("`-- " if last else "|-- "), margin + ("    " if last else "|   ")))
    return lines


def _text(tree: CandidateTree, node: int, marked: bool, label: Callable[[int], str] | None, hidden: int) -> str:
    text = f"[{node}] {tree.tokens[node]}"
    if label is not None:
        text = f"{text}  {label(node)}".rstrip()
    if hidden:
        text += f"  (+{hidden} {'child' if hidden == 1 else 'children'})"
    return text + ARROW if marked else text


def _most_wanted(tree: CandidateTree, marked: Collection[int], room: int) -> set[int]:
    # Any beginning of a prefix-closed set in slot order is prefix closed, so nothing shown lacks its parent.
    shown = set(tree.closure(marked)[:room])
    for node in range(len(tree)):
        if len(shown) == room:
            break
        shown.add(node)
    return shown


def _rest(tree: CandidateTree, shown: Collection[int], marked: Collection[int]) -> str:
    count = len(tree) - len(shown)
    line = f"... {count} more {'node' if count == 1 else 'nodes'}"
    missed = sorted(node for node in marked if node not in shown)
    return f"{line}, marked among them: {missed[0]}{' and others' if len(missed) > 1 else ''}" if missed else line
