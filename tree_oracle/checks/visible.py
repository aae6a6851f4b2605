"""VISIBLE: who may look at whom.

Law: the row of node v attends to the whole prefix, to v's ancestors and to v itself, and to nothing else. Then attention at
v sees exactly the tokens that an ordinary run over v's own history sees.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool

from tree_oracle.checks.check import Source, check
from tree_oracle.checks.doubt import told_apart
from tree_oracle.checks.rounds_seen import ROUNDS_SEEN
from tree_oracle.checks.say import fail, listing
from tree_oracle.checks.scenes import TREES
from tree_oracle.checks.view import View, branch, relation, shown
from tree_oracle.checks.wide import WIDE
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Finding, Round

_NEEDS = ("prefix", "tokens", "parents", "visible")
_SOURCES = (
    Source(Seam.LAY_OUT, TREES),
    Source(Seam.LAY_OUT, WIDE),
    *ROUNDS_SEEN,
)
_LESSON = (
    "the definition of tree attention: a node sees the prefix, its ancestors and itself (docs/plug-in-your-decoder.md)"
)


def _mask(round_: Round) -> tuple[Bool[np.ndarray, "n prefix"], Bool[np.ndarray, "n n"]]:
    """The part of the mask over the cached prefix, and the part over the nodes."""
    assert round_.visible is not None and round_.prefix is not None
    mask, cached = np.asarray(round_.visible.numpy(), dtype=bool), len(round_.prefix) - 1
    return mask[:, :cached], mask[:, cached:]


@check("VISIBLE-01", rung=1, needs=_NEEDS, sources=_SOURCES, source=_LESSON)
def sees_the_prefix(view: View) -> Iterator[Finding]:
    """Every row attends to the whole cached prefix.

    Woken by prefixes of every length, one and nothing cached included. Real causes: a mask built for another prefix
    length, a window that counts slots, columns that were lost when the prefix was cached in chunks.
    """
    for index, round_ in enumerate(view.rounds):
        over_prefix, _ = _mask(round_)
        for node, row in enumerate(over_prefix):
            if not row.all():
                blind = np.flatnonzero(~row).tolist()
                yield fail(
                    f"node {node} does not see prefix token {blind[0]}",
                    expected=f"all {len(row)} cached prefix tokens visible",
                    seen=f"hidden: {listing(blind)}",
                    round=index,
                    node=node,
                )
                return


@check("VISIBLE-02", rung=1, needs=_NEEDS, sources=_SOURCES, source=_LESSON)
def sees_its_branch(view: View) -> Iterator[Finding]:
    """Every row attends to the node itself and to each of its ancestors.

    Woken by depth 2 and more. Real causes: a mask of direct parents only, an ancestor stored after its descendant under a
    mask that is also causal, a row that does not see itself.
    """
    told = told_apart(view)
    for index, round_ in told.known:
        _, over_nodes = _mask(round_)
        _, _, parents = shown(round_)
        for node, row in enumerate(over_nodes):
            missing = [v for v in branch(parents, node) if not row[v]]
            if missing:
                yield fail(
                    f"node {node} does not see node {missing[0]}, {relation(parents, node, missing[0])}",
                    expected=f"sees nodes {listing(branch(parents, node))}",
                    seen=f"sees nodes {listing(np.flatnonzero(row).tolist())}",
                    round=index,
                    node=node,
                )
                return
    yield from told.unsure()


@check("VISIBLE-03", rung=1, needs=_NEEDS, sources=_SOURCES, source=_LESSON)
def sees_nothing_else(view: View) -> Iterator[Finding]:
    """No row attends to a node that is neither itself nor one of its ancestors.

    Woken by a sibling or cousin in an earlier slot. Real causes: an ordinary causal mask over the flattened tree, a stale
    mask of the last round, a fast path that assumes a triangle, a packed mask read with the wrong stride.
    """
    told = told_apart(view)
    for index, round_ in told.known:
        _, over_nodes = _mask(round_)
        _, _, parents = shown(round_)
        for node, row in enumerate(over_nodes):
            leaks = sorted(set(np.flatnonzero(row).tolist()) - set(branch(parents, node)))
            if leaks:
                yield fail(
                    f"node {node} sees node {leaks[0]}, {relation(parents, node, leaks[0])}",
                    expected=f"sees nodes {listing(branch(parents, node))}",
                    seen=f"sees nodes {listing(np.flatnonzero(row).tolist())}",
                    round=index,
                    node=node,
                )
                return
    yield from told.unsure()
