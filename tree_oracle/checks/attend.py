"""ATTEND: an attention operator with its own form of the mask, judged row by row. No model is asked.

Law (``attend(q, k, v, tree, prefix_len, layout)``): the row of node v is ordinary attention over the cached prefix, the
ancestors of v and v itself, within the window by position if there is one. In one half of the cases the values are one-hot, so
that an output holds the weight that went to every key, and the keys that a row must not see would take nearly all of it
(``attend_aimed``); in the other half every single bit of the mask stands out in every dtype (``attend_balanced``). What is due
is computed without any mask, and how much an error may be is measured for every case (``attended``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tree_oracle.checks.attend_aimed import Aimed
from tree_oracle.checks.attend_bits import wrong_bit
from tree_oracle.checks.attended import SeenAttention, seen_attention
from tree_oracle.checks.attends import ATTENDS
from tree_oracle.checks.check import Source, check
from tree_oracle.checks.say import NothingToJudge, fail, listing
from tree_oracle.checks.view import View
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Finding, Status

_SOURCES = (Source(Seam.ATTEND, ATTENDS),)
_CLASSES = "fault classes MASK-IGNORED, MASK-LAYOUT, MASK-TILE and SWA"


@check("ATTEND-01", rung=1, needs=("attended",), sources=_SOURCES, source=_CLASSES)
def no_weight_goes_to_a_key_that_must_not_be_seen(view: View) -> Iterator[Finding]:
    """No node gives weight to a key that it must not see.

    Nodes are aimed at by rows that must not see them, so that a leak takes a row over whatever the length of the prefix; and
    where all keys are balanced, each of them moves a row that it leaks into. Woken by more keys than a mask is applied to, by
    trees wider than a tile, by bits that fill no whole byte. Real causes: tiles below the diagonal taken to be visible, a
    stride or an offset of another row, a window by slot.
    """
    yield from _first(view, _leaked)


def _first(view: View, judge: Callable[[SeenAttention, int, int], Finding | None]) -> Iterator[Finding]:
    """The first finding of any row, by call, node and head."""
    for seen in seen_attention(view):
        found = next(filter(None, (judge(seen, head, node) for head, node in seen.wrong_rows())), None)
        if found is not None:
            yield found
            return


def _leaked(seen: SeenAttention, head: int, node: int) -> Finding | None:
    """Weight on a key that is not the node's own."""
    if isinstance(seen.inputs, Aimed):
        return _leaked_to_class(seen, seen.inputs, head, node)
    column = wrong_bit(seen, head, node)
    if column is None or column in seen.own[node]:
        return None
    return fail(
        f"node {node} sees {seen.column(column, node)}",
        expected=f"no weight on it: {_keys(seen, node)}",
        seen=f"the row of its own keys and this one in head {head}, {_off(seen, head, node)}",
        round=seen.index,
        node=node,
    )


def _off(seen: SeenAttention, head: int, node: int) -> str:
    off = np.abs(seen.out[head, node] - seen.due[head, node]).max()
    return f"off by {off:.3g}; errors of rounding are at most {seen.room:.3g} here"


def _leaked_to_class(seen: SeenAttention, inputs: Aimed, head: int, node: int) -> Finding | None:
    """Weight in a class that holds none of the node's own keys."""
    classes = inputs.classes[inputs.group(head)]
    mine = np.isin(np.arange(seen.out.shape[-1]), classes[seen.own[node]])
    found = np.where(mine, 0.0, np.abs(seen.out[head, node]))
    if not found.max() > seen.room:
        return None
    within = np.flatnonzero(classes == found.argmax())
    if not len(within):
        return fail(
            f"the row of node {node} in head {head} holds {found.max():.3g} where no value has anything but 0",
            expected="weights of keys",
            seen=f"{found.max():.6g} at place {found.argmax()}; errors of rounding are at most {seen.room:.3g} here",
            round=seen.index,
            node=node,
        )
    aimed = int(inputs.targets[head, node])
    column = aimed if aimed in within else int(within[-1])
    return fail(
        f"node {node} sees {seen.column(column, node)}",
        expected=f"no weight on it: {_keys(seen, node)}",
        seen=f"a weight of {found.max():.3g} in head {head}; errors of rounding are at most {seen.room:.3g} here",
        round=seen.index,
        node=node,
    )


@check("ATTEND-02", rung=1, needs=("attended",), sources=_SOURCES, source=_CLASSES)
def every_key_that_may_be_seen_has_its_weight(view: View) -> Iterator[Finding]:
    """Among the keys that a node may see, weight is shared as in ordinary attention.

    Weights are compared after what leaked to others is taken out. Woken by a query that aims at an ancestor or at a column of
    the prefix beside the edge of a tile, and by any column where all are balanced. Real causes: a prefix column lost, a loop
    over keys that ends too early, a node that does not see itself, a row in which nothing is visible, a window by slot, a
    missing scale.
    """
    yield from _first(view, _misweighted)


def _misweighted(seen: SeenAttention, head: int, node: int) -> Finding | None:
    if isinstance(seen.inputs, Aimed):
        return _misweighted_class(seen, seen.inputs, head, node)
    column = wrong_bit(seen, head, node)
    if column is not None and column not in seen.own[node]:
        return None  # a leak
    lost = f"node {node} does not see {seen.column(column, node)}" if column is not None else ""
    return fail(
        lost or f"the row of node {node} is no ordinary attention over its own keys, nor with one key more or less",
        expected=f"the row in which every own key has its weight: {_keys(seen, node)}",
        seen=f"{'the row without this key' if lost else 'a row'} in head {head}, {_off(seen, head, node)}",
        round=seen.index,
        node=node,
    )


def _misweighted_class(seen: SeenAttention, inputs: Aimed, head: int, node: int) -> Finding | None:
    classes = inputs.classes[inputs.group(head)]
    own = seen.own[node]
    mine = np.unique(classes[own])
    found, due = seen.out[head, node][mine], seen.due[head, node][mine]
    total = found.sum()
    shared = found / total if total > seen.room else found  # a row of zeros has nothing to share
    off = np.abs(shared - due)
    if not off.max() > 2 * seen.room:  # the sum that it is divided by has an error too
        return None
    worst = int(off.argmax())
    within = own[classes[own] == mine[worst]]
    what = seen.column(int(within[0]), node) if len(within) == 1 else f"columns {listing(within)}"
    return fail(
        f"node {node} gives {what} a weight of {shared[worst]:.3g}",
        expected=f"{due[worst]:.6g}, as in ordinary attention over {_keys(seen, node)}",
        seen=f"{shared[worst]:.6g} in head {head}; errors of rounding are at most {2 * seen.room:.3g} here",
        round=seen.index,
        node=node,
    )


def _keys(seen: SeenAttention, node: int) -> str:
    own = seen.own[node]
    cached = int((own < seen.cached).sum())
    nodes = listing(own[own >= seen.cached] - seen.cached)
    return f"its own keys are {cached} of the prefix and nodes {nodes}"


@check("ATTEND-03", rung=1, needs=("attended",), sources=_SOURCES, source="fault classes MASK-STALE and GRAPH")
def every_bit_of_the_mask_is_alive(view: View) -> Iterator[Finding]:
    """Where one tree shows a node other keys than the tree before it, with the same arrays, the node's row is another one.

    In each case one node changes its parent between two calls; nothing else does. Woken by any such pair. Real causes: the
    mask of the call before is kept because the shapes are the same, or a captured graph replays it; bits never read.
    """
    before = None
    for seen in seen_attention(view):
        if before is not None:
            yield from _dead(before, seen)
            return
        before = seen
    raise NothingToJudge(Status.NOT_APPLICABLE, "the case holds one tree")


def _dead(before: SeenAttention, after: SeenAttention) -> Iterator[Finding]:
    room = before.room + after.room
    due = np.abs(after.due - before.due).max(axis=-1)
    changed = np.abs(after.out - before.out).max(axis=-1)
    for node in np.flatnonzero((due > 2 * room).any(axis=0)).tolist():
        if not (changed[:, node] > room).any():
            new = sorted(set(after.own[node].tolist()) - set(before.own[node].tolist()))
            yield fail(
                f"the row of node {node} stays as it was although its keys are others",
                expected=f"a row changed by {due[:, node].max():.3g}: {_keys(after, node)}, before {_keys(before, node)}",
                seen=f"changed by {changed[:, node].max():.3g}; new are columns {listing(new)}",
                round=after.index,
                node=node,
            )
            return
