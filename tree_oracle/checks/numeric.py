"""NUMERIC: by how much rows may differ from the float64 ones, and that they differ by the same whatever stands beside them.

    gap(v) <= 2 x sequential + floor                    logits, up to a constant shift; bit for bit on the exact model

``sequential`` is the largest error of the plain pass in the same dtype and ``floor`` the largest change of a row between passes
without any tree, from a tolerance report or from a small sample measured on the spot. What a row may differ by is never a
constant. HISTORY asks which history a row is of, and gives each row the room that its own plain pass needs; here the measured
rule itself is tried, on the plain pass first.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tree_oracle.checks.check import Source, check
from tree_oracle.checks.history import seen_rows
from tree_oracle.checks.rounded import rounded_to
from tree_oracle.checks.rows import within
from tree_oracle.checks.say import NothingToJudge, fail
from tree_oracle.checks.scenes import PROMPTS, TREES
from tree_oracle.checks.view import View, history, true_rows
from tree_oracle.checks.widths import WIDTHS
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Finding, Level, Noise, Status, counted, row_gap

_NEEDS = ("prefix", "tokens", "parents", "rows")


@check(
    "NUMERIC-01",
    rung=2,
    level=Level.SHOULD,
    needs=_NEEDS,
    sources=(Source(Seam.TREE_LOGITS, TREES), Source(Seam.TAP, PROMPTS), Source(Seam.GENERATE, PROMPTS)),
    source="tree error <= 2 x sequential error + measured floor (docs/tolerances.md)",
)
def rows_are_as_exact_as_plain_passes(view: View) -> Iterator[Finding]:
    """A row of a tree pass is off by at most twice what plain passes in the same dtype are off by, plus the measured floor.

    Errors are differences from the float64 run. The rule comes from control rows without any tree; with n of them about
    N / (n + 1) of N judged rows exceed the largest by chance alone, and where that is more than one a case with a row above it
    is undecided. It is tried on the plain pass at the history of the row that is farthest off, and is no rule where that fails
    it; a row above it has twice its own plain error and the floor. Where noise and wrong histories overlap no number decides.
    """
    rows = [
        (gap, index, node)
        for index, round_ in enumerate(view.rounds)
        for node, gap in enumerate(map(row_gap, seen_rows(round_), true_rows(view, round_)))
    ]
    noise = Noise() if view.truth.exact else _usable(view.truth.noise())
    rows.sort(key=lambda one: -one[0])
    for gap, index, node in [one for one in rows if one[0] > noise.allowed] or rows[:1]:
        own = _own(view, noise, index, node)
        if gap > noise.allowed and not view.truth.exact:
            _not_by_chance(noise, len(rows))
        if gap > noise.allowed and gap > 2 * own + noise.control:
            yield _too_far(view, noise, (gap, index, node), len(rows))
            return


def _usable(noise: Noise) -> Noise:
    """The floor, if it can decide anything.

    Raises:
        NothingToJudge: undecided; says why.
    """
    if noise.powerless:
        why = noise.unusable or f"noise and faults overlap: {noise.powerless}"
        raise NothingToJudge(Status.UNDECIDED, f"{why} ({noise.origin})")
    if not noise.samples:
        raise NothingToJudge(Status.UNDECIDED, f"no control row stands behind the floor ({noise.origin})")
    return noise


def _not_by_chance(noise: Noise, rows: int) -> None:
    """One row of so many is above the floor: that says something.

    Raises:
        NothingToJudge: undecided, since as much is expected by chance.
    """
    if noise.by_chance(rows) > 1:
        few = f"{counted(noise.samples, 'control row')} for {rows} judged: about {noise.by_chance(rows):.2g} exceed by chance"
        raise NothingToJudge(Status.UNDECIDED, f"{few}; a tolerance report of more rows decides (--tolerance)")


def _own(view: View, noise: Noise, index: int, node: int) -> float:
    """The error of the plain pass at this node's history.

    Raises:
        NothingToJudge: undecided, since the plain pass exceeds the rule as well: it is infeasible there.
    """
    if view.truth.exact:
        return 0.0
    text = history(view.rounds[index], node)
    own = view.truth.error(text)
    if own > noise.allowed:
        raise NothingToJudge(
            Status.UNDECIDED,
            f"infeasible: the plain pass itself is off by {own:.3g} logits after {counted(len(text), 'token')}, and "
            f"{noise.allowed:.3g} are allowed ({noise.origin})",
        )
    return own


def _too_far(view: View, noise: Noise, row: tuple[float, int, int], judged: int) -> Finding:
    gap, index, node = row
    round_ = view.rounds[index]
    form = rounded_to(seen_rows(round_)[node], true_rows(view, round_)[node])
    rule = "0 logits: on this target nothing rounds"
    if not view.truth.exact:
        rule = (
            f"at most {noise.allowed:.3g} logits: 2 x {noise.sequential:.3g} of the plain pass + {noise.control:.3g}, "
            f"{noise.origin}; with {noise.samples} control rows about {noise.by_chance(judged):.2g} of these {judged} rows "
            "exceed the largest by chance"
        )
    return fail(
        f"the row of node {node} is farther off than plain passes are" + (f": it is rounded to {form}" if form else ""),
        expected=rule,
        seen=f"{gap:.3g} logits",
        round=index,
        node=node,
    )


@check(
    "NUMERIC-02",
    rung=5,
    level=Level.SHOULD,
    needs=_NEEDS,
    sources=(Source(Seam.TREE_LOGITS, WIDTHS),),
    source="rung L5 of the ladder; fault class NUMERIC",
)
def rows_do_not_depend_on_width(view: View) -> Iterator[Finding]:
    """The row of a node is the same bit for bit whatever other nodes are in the pass, and however many.

    The decoder is compared with itself: a tree, one of its branches alone, and the tree with other tokens beside that branch;
    in a trace, a round and the control rounds after its nodes' tokens. Where this target's own plain rows change when they are
    computed in other company, without any tree, bits cannot be asked of a decoder; a row that moves by more than that noise
    allows has failed there too.
    """
    first: dict[tuple[int, ...], tuple[int, int, np.ndarray]] = {}
    compared = False
    for index, round_ in enumerate(view.rounds):
        for node, row in enumerate(seen_rows(round_)):
            text = tuple(history(round_, node))
            before = first.setdefault(text, (index, node, row))
            compared |= before[0] != index
            if not np.array_equal(row, before[2]) and _counts(view, text, row_gap(row, before[2])):
                yield _moved(view, before, (index, node, row))
                return
    if not compared:
        raise NothingToJudge(Status.NOT_APPLICABLE, "no node is in two passes")
    if not _invariant(view):
        raise NothingToJudge(
            Status.NOT_APPLICABLE,
            f"this target's own plain rows change by {view.truth.noise().control:.3g} logits when they are computed again in "
            "other company, without any tree: its kernels are not width-invariant, and no row moved by more than that noise",
        )


def _invariant(view: View) -> bool:
    """Whether nothing without a tree was seen to change a bit."""
    return view.truth.exact or view.truth.noise().control == 0


def _counts(view: View, text: tuple[int, ...], gap: float) -> bool:
    """Whether a changed row is held against the decoder. Two rows are compared, each of which may be off."""
    return _invariant(view) or not within(gap, view.truth, text, rows=2)


def _moved(view: View, before: tuple[int, int, np.ndarray], now: tuple[int, int, np.ndarray]) -> Finding:
    sizes = [len(view.rounds[index].tokens or ()) for index in (before[0], now[0])]
    bits = int((before[2] != now[2]).sum())
    gap = row_gap(now[2], before[2])
    other = "as many other nodes" if sizes[0] == sizes[1] else counted(sizes[1], "node")
    return fail(
        f"the row of node {now[1]} changes with the other nodes of the pass",
        expected=f"the bits of node {before[1]}, the same history, in a pass of {counted(sizes[0], 'node')}",
        seen=f"in a pass of {other} {bits} of {len(now[2])} logits differ, by up to {gap:.3g}{_as_noise(view, gap)}",
        round=now[0],
        node=now[1],
    )


def _as_noise(view: View, gap: float) -> str:
    """What a change that rounding could explain is held against: nothing of the kind was seen without a tree."""
    if view.truth.exact or gap > 2 * view.truth.noise().allowed:
        return ""
    samples = counted(view.truth.noise().samples, "control row")
    return f"\nno more than rounding may, but of {samples} of this target, without any tree, none changed a bit"
