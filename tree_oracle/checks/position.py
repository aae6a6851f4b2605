"""POSITION: where a node sits.

Law: position(v) = L - 1 + depth(v), with L committed tokens, the root included. Siblings share a position; the storage slot
does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_oracle.checks.check import Source, check
from tree_oracle.checks.doubt import told_apart
from tree_oracle.checks.rounds_seen import ROUNDS_SEEN
from tree_oracle.checks.say import fail
from tree_oracle.checks.scenes import TREES
from tree_oracle.checks.view import View, branch, shown
from tree_oracle.checks.wide import WIDE
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Finding, counted


@check(
    "POSITION-01",
    rung=1,
    needs=("prefix", "tokens", "parents", "positions"),
    sources=(
        Source(Seam.LAY_OUT, TREES),
        Source(Seam.LAY_OUT, WIDE),
        *ROUNDS_SEEN,
    ),
    source="the definition of tree attention: a node stands where its path puts it (docs/plug-in-your-decoder.md)",
)
def counts_depth(view: View) -> Iterator[Finding]:
    """Every node sits at position L - 1 + depth, whatever its storage slot.

    Woken by a node that has a sibling or cousin in an earlier slot. Real causes: position by slot, one too many or too few
    when the root is counted twice or not at all, offsets of the last layer reused without gathering the parents.
    """
    told = told_apart(view)
    for index, round_ in enumerate(view.rounds):
        prefix, _, parents = shown(round_)
        assert round_.positions is not None
        known = round_.positions[:1] if index in told.doubts else round_.positions  # the root is the root of any tree
        for node, seen in enumerate(known):
            depth = len(branch(parents, node)) - 1
            expected = len(prefix) - 1 + depth
            if seen != expected:
                by_slot = f", which counts its slot {node}" if seen == len(prefix) - 1 + node else ""
                yield fail(
                    f"node {node} at depth {depth} is at position {seen}{by_slot}",
                    expected=f"position {expected}: prefix of {counted(len(prefix), 'token')} - 1 + depth {depth}",
                    seen=f"position {seen}",
                    round=index,
                    node=node,
                )
                return
    yield from told.unsure()
