"""HISTORY: a row is the law after one history.

Law: row(v) of the tree pass equals the last row of an ordinary run over the tokens of v's branch: prefix, then the nodes
from the root to v. Mask, positions, cache and gathering all have to be right for it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tree_oracle.checks.check import Source, check
from tree_oracle.checks.doubt import contradiction_at, doubts_of
from tree_oracle.checks.rounded import rounded_to
from tree_oracle.checks.rounds_seen import ROUNDS_SEEN
from tree_oracle.checks.row_forms import form_of
from tree_oracle.checks.rows import has_power, need_power, same_row
from tree_oracle.checks.say import NothingToJudge, after_commit, either, fail, listing
from tree_oracle.checks.scenes import PAIRS, TREES
from tree_oracle.checks.view import View, branch, history, relation, shown, true_rows
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Finding, Round, RowKind, Status, row_gap

_NEEDS = ("prefix", "tokens", "parents", "rows")


def seen_rows(round_: Round) -> np.ndarray:
    """The logits that the decoder showed, widened to float64."""
    assert round_.rows is not None
    if round_.row_kind is not RowKind.LOGITS:
        raise NothingToJudge(Status.NOT_OBSERVABLE, f"the rows are declared {round_.row_kind}; only logits are judged")
    return np.asarray(round_.rows.numpy(), dtype=np.float64)


@check(
    "HISTORY-01",
    rung=2,
    needs=_NEEDS,
    sources=(
        Source(Seam.TREE_LOGITS, TREES),
        *ROUNDS_SEEN,
    ),
    source="the lesson on branch histories: one forward pass stands for one sequential run per path",
)
def rows_equal_their_paths(view: View) -> Iterator[Finding]:
    """The row of every node equals the last row of an ordinary run over the node's own history.

    All nodes are compared, not only the accepted ones: tokens show half of the faults that rows show. On the exact model
    the comparison is bit for bit, elsewhere within the measured noise, and undecided where that noise has no power.
    """
    yield from first_wrong_row(view)


def first_wrong_row(view: View, start: int = 0) -> Iterator[Finding]:
    """The first row, from round ``start`` on, that is not the law after its own history."""
    for index, round_ in enumerate(view.rounds[start:], start):
        truth, seen = true_rows(view, round_), seen_rows(round_)
        for node in range(len(seen)):
            if not same_row(seen[node], truth[node], view.truth, history(round_, node)):
                yield _wrong_row(view, round_, index, node, truth, seen)
                return
    need_power(view.truth)


def _wrong_row(view: View, round_: Round, index: int, node: int, truth: np.ndarray, seen: np.ndarray) -> Finding:
    others = [
        v for v in range(len(seen)) if v != node and same_row(seen[node], truth[v], view.truth, history(round_, v))
    ]
    form = rounded_to(seen[node], truth[node])
    named = (
        f"; it is the row of node {either(others)}" if others else f"; it is that law rounded to {form}" if form else ""
    )
    kind = form_of(seen[node]) if not form_of(truth[node]) else ""
    named += f"; it looks like {kind}, and logits are wanted" if kind else ""
    tokens = history(round_, node)
    found = fail(
        f"the row of node {node} is not the law after its own history{named}",
        expected=f"argmax {int(truth[node].argmax())} after tokens {' '.join(map(str, tokens[-8:]))} (last of {len(tokens)})",
        seen=f"argmax {int(seen[node].argmax())}, off by {row_gap(seen[node], truth[node]):.3g} logits{_past(view, index)}"
        f"{_doubted(view, index)}",
        round=index,
        node=node,
    )
    return after_commit(found, index)


def _doubted(view: View, index: int) -> str:
    """That the tree itself, by which the history is told, is one of two."""
    doubt = doubts_of(view).get(index)
    return "" if doubt is None else f"\n{contradiction_at(doubt)}: either may be what is wrong"


def _past(view: View, index: int) -> str:
    """The commit that a later round starts from, which may be what is wrong."""
    if not index:
        return ""
    before = view.rounds[index - 1]
    what = f"tokens {listing(before.emitted)}" if before.accepted is None else f"nodes {listing((0, *before.accepted))}"
    return f"\nthis round starts from the commit of the one before it, of {what}: look at both"


@check(
    "HISTORY-02",
    rung=2,
    needs=_NEEDS,
    sources=(Source(Seam.TREE_LOGITS, PAIRS),),
    source="non-interference of branches; fault class NUMERIC M75",
)
def a_change_reaches_descendants_only(view: View) -> Iterator[Finding]:
    """Changing one node's token changes the rows of that node and its descendants, and no other row.

    The decoder is compared with itself. Rows that must not change are compared bit for bit on the exact model; rows that must
    change have to differ by more than noise can, which is asked only where the noise has power and where the truth changes
    too: a window may hide the token from a far descendant.
    """
    first, second = view.rounds[0], view.rounds[-1]
    _, tokens, parents = shown(first)
    changed = [v for v, (old, new) in enumerate(zip(tokens, shown(second)[1], strict=False)) if old != new]
    if len(changed) != 1 or shown(second)[2] != parents:
        raise NothingToJudge(Status.NOT_APPLICABLE, "needs two runs that differ in the token of one node")
    (node,) = changed
    before, after = seen_rows(first), seen_rows(second)
    for other in range(len(before)):
        same = same_row(after[other], before[other], view.truth, history(first, other))
        if same != (node in branch(parents, other)):
            continue
        if not same or (has_power(view.truth) and _must_change(view, other)):
            yield _reached(parents, node, other, row_gap(after[other], before[other]), changed=not same)
            return
    need_power(view.truth)


def _must_change(view: View, node: int) -> bool:
    """Whether an ordinary run over the node's two histories ends in different rows."""
    texts = [history(round_, node) for round_ in (view.rounds[0], view.rounds[-1])]
    before, after = view.truth.rows(texts)
    return not same_row(after, before, view.truth, texts[0])


def _reached(parents: tuple[int, ...], node: int, other: int, by: float, *, changed: bool) -> Finding:
    role = relation(parents, node, other)
    what = (
        f"changes the row of node {other}, {role}" if changed else f"leaves the row of node {other}, {role}, as it was"
    )
    return fail(
        f"changing the token of node {node} {what}",
        expected="changed" if not changed else "unchanged: the node is not in that row's history",
        seen=f"moved by {by:.3g} logits",
        node=other,
    )
