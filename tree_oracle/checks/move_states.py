"""MOVE, recurrent layers: what a commit keeps where there is one state per request, and not a row per token.

Law: the state becomes the snapshot after the last kept node, and the window of the convolution the newest inputs *along the
path*: a node's predecessor is its parent, whatever the slot before it holds. No other request's entry changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tree_oracle.checks.check import Source, check
from tree_oracle.checks.moved import seen_moves
from tree_oracle.checks.moves import STATES
from tree_oracle.checks.say import fail, listing
from tree_oracle.checks.tags import REQUEST, Tags
from tree_oracle.checks.view import View
from tree_oracle.decoder.caches import Part
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Finding

_SOURCES = (Source(Seam.MOVE, STATES),)
_CLASS = "fault class STATE"


@check("MOVE-05", rung=1, needs=("pools",), sources=_SOURCES, source=_CLASS)
def the_state_is_that_after_the_last_kept_node(view: View) -> Iterator[Finding]:
    """After a move the state of every recurrent layer is the snapshot after the last kept node, for this request alone.

    Woken by one accepted node whose slot is not its rank. Real causes: the snapshot after the root, the one whose number is
    the count of accepted nodes, the one of the last node stored, one layer left out, another request's entry.
    """
    for index, seen in seen_moves(view):
        for pool, before, after in seen.of(Part.STATE):
            due = before.copy()
            due[REQUEST] = seen.beside(pool, Part.SNAPSHOTS)[seen.nodes[-1]]
            wrong = np.flatnonzero((after != due).any(axis=1)).tolist()
            if wrong:
                held = seen.origin(after[wrong[0]])
                kept = f"the snapshot after node {seen.nodes[-1]}, the last kept one"
                yield fail(
                    f"the state of request {wrong[0]} in layer {pool.layer} holds {held}",
                    expected=kept if wrong[0] == REQUEST else "what it held before",
                    seen=f"{held}; request {REQUEST} commits nodes {listing(seen.nodes)}",
                    round=index,
                )
                return


@check("MOVE-06", rung=1, needs=("pools",), sources=_SOURCES, source=_CLASS)
def the_window_follows_the_path(view: View) -> Iterator[Finding]:
    """After a move the window of every recurrent layer holds the newest inputs along the kept path, for this request alone.

    Woken by a path whose slots are scattered, or that is shorter than the window. Real causes: the window taken from
    neighbouring slots instead of parents, put back whole, or pushed by rejected inputs as well.
    """
    for index, seen in seen_moves(view):
        for pool, before, after in seen.of(Part.WINDOW):
            shape = pool.data.shape
            old, found, inputs = before.reshape(shape), after.reshape(shape), seen.beside(pool, Part.INPUTS)
            due = old.copy()
            due[REQUEST] = np.concatenate([old[REQUEST], inputs[list(seen.nodes)]])[-shape[1] :]
            wrong = np.argwhere((found != due).any(axis=2)).tolist()
            if wrong:
                request, place = wrong[0]
                name = _Names(old, inputs)
                yield fail(
                    f"the window of request {request} in layer {pool.layer} holds {name(found[request, place])} at place "
                    f"{place} of {shape[1]}",
                    expected=name(due[request, place]),
                    seen=listing(map(name, found[request])),
                    round=index,
                )
                return


@dataclass(frozen=True, slots=True)
class _Names:
    """What an entry of a window is, in words."""

    windows: np.ndarray  # before the move: request x place x width
    inputs: Tags

    def __call__(self, row: Tags) -> str:
        node = np.flatnonzero((self.inputs == row).all(axis=1))
        if node.size:
            return f"the input at node {node[0]}"
        known = np.argwhere((self.windows == row).all(axis=2))
        if known.size:
            return f"what was at place {known[0][1]} of request {known[0][0]}"
        return "no input" if row.any() else "zeros"
