"""Wrong ways to verify, and detours to the right one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tree_oracle.decoder.parts import Decision, Rows
from tree_oracle.tree import CandidateTree


def _below(tree: CandidateTree, node: int) -> list[int]:
    return [v for v in range(node + 1, len(tree)) if tree.parents[v] == node]


def _judged(tree: CandidateTree, rows: Rows, row_of: Callable[[int, list[int], int], int]) -> Decision:
    """Children are tried in order, each with the row that ``row_of`` names for a node, its children and this child."""
    accepted, here = list[int](), 0
    while True:
        below = _below(tree, here)
        child = next((v for v in below if tree.tokens[v] == rows[row_of(here, below, v)].argmax()), None)
        if child is None:
            return Decision(tuple(accepted), int(rows[here].argmax()))
        accepted.append(child)
        here = child


def previous_slot_row(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: a child is judged with the row of the slot before it, which is its parent's only on a chain."""
    return _judged(tree, rows, lambda here, below, child: child - 1)


def parent_looked_up(tree: CandidateTree, rows: Rows) -> Decision:
    """Twin: a child is judged with the row found by looking its parent up."""
    return _judged(tree, rows, lambda here, below, child: int(tree.parents[child]))


def bonus_by_count(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: the bonus is read from the row whose *slot* is the number of accepted nodes."""
    decision = parent_looked_up(tree, rows)
    return Decision(decision.accepted, int(rows[len(decision.accepted)].argmax()))


def bonus_by_last(tree: CandidateTree, rows: Rows) -> Decision:
    """Twin: the bonus is read from the row of the last entry of root plus accepted nodes."""
    decision = parent_looked_up(tree, rows)
    return Decision(decision.accepted, int(rows[[0, *decision.accepted][-1]].argmax()))


def best_available(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: where the argmax has no node, the best scoring child is taken instead of stopping."""
    accepted, here = [], 0
    while children := _below(tree, here):
        here = max(children, key=lambda v: (rows[here][tree.tokens[v]], -v))
        accepted.append(here)
    return Decision(tuple(accepted), int(rows[here].argmax()))


def best_if_argmax(tree: CandidateTree, rows: Rows) -> Decision:
    """Twin: the best scoring child is found first and taken only if its token is the argmax."""
    accepted, here = [], 0
    while children := _below(tree, here):
        best = max(children, key=lambda v: (rows[here][tree.tokens[v]], -tree.tokens[v], -v))
        if tree.tokens[best] != rows[here].argmax():
            break
        accepted.append(best)
        here = best
    return Decision(tuple(accepted), int(rows[here].argmax()))


def _follow(tree: CandidateTree, choices: np.ndarray) -> Decision:
    """The walk along one choice per node."""
    accepted, here = [], 0
    while (child := next((v for v in _below(tree, here) if tree.tokens[v] == choices[here]), None)) is not None:
        accepted.append(child)
        here = child
    return Decision(tuple(accepted), int(choices[here]))


def last_maximum(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: of bit-equal maxima the last one wins."""
    return _follow(tree, rows.shape[1] - 1 - rows[:, ::-1].argmax(axis=1))


def stable_sort(tree: CandidateTree, rows: Rows) -> Decision:
    """Twin: the choice is the first entry of a stable descending sort."""
    return _follow(tree, np.argsort(-rows, axis=1, kind="stable")[:, 0])


def first_child_only(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: only the first child of a node is looked at. No token ever changes; rounds only get shorter."""
    choices, accepted, here = rows.argmax(axis=1), [], 0
    while (children := _below(tree, here)) and tree.tokens[children[0]] == choices[here]:
        here = children[0]
        accepted.append(here)
    return Decision(tuple(accepted), int(choices[here]))


def children_reversed(tree: CandidateTree, rows: Rows) -> Decision:
    """Twin: children are looked at from the last to the first; among distinct siblings only one can match."""
    choices, accepted, here = rows.argmax(axis=1), [], 0
    while matching := [v for v in _below(tree, here)[::-1] if tree.tokens[v] == choices[here]]:
        here = matching[-1]
        accepted.append(here)
    return Decision(tuple(accepted), int(choices[here]))


def own_row(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: a child is judged with its own row."""
    return _judged(tree, rows, lambda here, below, child: child)


def first_childs_row(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: all children of a node are judged with the row of the first of them, to which a pointer was moved too early."""
    return _judged(tree, rows, lambda here, below, child: below[0])


def elder_siblings_row(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: a child is judged with the row of the sibling that was tried before it, and only the first with its parent's."""
    return _judged(tree, rows, lambda here, below, child: [here, *below][below.index(child)])


def by_depth(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: the chosen token is matched with any node of the next depth, whoever its parent is."""
    choices, here = rows.argmax(axis=1), 0
    accepted: list[int] = []
    while True:
        level = np.flatnonzero(tree.depths == tree.depths[here] + 1).tolist()
        child = next((v for v in level if tree.tokens[v] == choices[here]), None)
        if child is None:
            return Decision(tuple(accepted), int(choices[here]))
        accepted.append(child)
        here = child


def top_two(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: a child is accepted if its token is among the two best of its parent's row."""
    ranked, accepted, here = np.argsort(-rows, axis=1, kind="stable")[:, :2], [], 0
    while (child := next((v for v in _below(tree, here) if tree.tokens[v] in ranked[here]), None)) is not None:
        accepted.append(child)
        here = child
    return Decision(tuple(accepted), int(ranked[here, 0]))


def last_child_only(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: only the last child of a node is looked at."""
    choices, accepted, here = rows.argmax(axis=1), [], 0
    while (children := _below(tree, here)) and tree.tokens[children[-1]] == choices[here]:
        here = children[-1]
        accepted.append(here)
    return Decision(tuple(accepted), int(choices[here]))


def bonus_from_root(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: the bonus is read from the root's row."""
    return Decision(parent_looked_up(tree, rows).accepted, int(rows[0].argmax()))


def bonus_from_last_slot(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: the bonus is read from the row of the last slot."""
    return Decision(parent_looked_up(tree, rows).accepted, int(rows[-1].argmax()))


def bonus_above_the_leaf(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: where the path ends in a leaf, the bonus is read from the row of the leaf's parent."""
    decision = parent_looked_up(tree, rows)
    if not decision.accepted or _below(tree, decision.accepted[-1]):
        return decision
    return Decision(decision.accepted, int(rows[tree.parents[decision.accepted[-1]]].argmax()))


def one_level_short(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: nodes of the deepest level are never accepted."""
    return _cut_at(tree, rows, tree.max_depth - 1)


def bounded_by_depth(tree: CandidateTree, rows: Rows) -> Decision:
    """Twin: no more nodes are accepted than the tree has levels."""
    return _cut_at(tree, rows, tree.max_depth)


def _cut_at(tree: CandidateTree, rows: Rows, most: int) -> Decision:
    accepted = parent_looked_up(tree, rows).accepted[: max(most, 0)]
    return Decision(accepted, int(rows[[0, *accepted][-1]].argmax()))


def no_more_than_zero(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: the maximum is looked for among zeros, so that of a row that is negative throughout token 0 is chosen."""
    return parent_looked_up(tree, np.where(rows.max(axis=1, keepdims=True) > 0, rows, np.zeros_like(rows)))


def lifted_above_zero(tree: CandidateTree, rows: Rows) -> Decision:
    """Twin: every row is told from its largest entry down."""
    return parent_looked_up(tree, rows - rows.max(axis=1, keepdims=True))


def in_half(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: the choice is made after the row was rounded to float16."""
    return parent_looked_up(tree, rows.astype(np.float16))


def in_double(tree: CandidateTree, rows: Rows) -> Decision:
    """Twin: the choice is made after the row was widened to float64."""
    return parent_looked_up(tree, rows.astype(np.float64))


def sixteen_slots(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: nodes from slot 16 on are never accepted; the texts stay right."""
    right = parent_looked_up(tree, rows)
    count = next((place for place, node in enumerate(right.accepted) if node >= 16), None)
    if count is None:
        return right
    return Decision(right.accepted[:count], int(tree.tokens[right.accepted[count]]))
