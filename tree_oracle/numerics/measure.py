"""Measuring one cell: the tree pass, the plain pass and the controls, each against float64 on the CPU.

The first half of the instances makes the rule, from passes without a tree; the second half tries it. The reference is a float64
copy of the weights *as the cell's dtype holds them*, so that what is measured is computing, not storing.

    repeat   the wide pass again, and some plain passes again
    width    the chain one token at a time against all at once
    layout   one row over cached rows in another order against the same row in order
    cached   a row behind its cached prefix against the plain row
    batch    texts in one batch against each alone
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext

import msgspec
import numpy as np

from tree_oracle.numerics.cell import Cell, Control, Figures, Found, Verdict
from tree_oracle.numerics.compared import compare
from tree_oracle.numerics.distance import Rows, spread
from tree_oracle.numerics.gathered import Arrays, Gathered
from tree_oracle.numerics.inputs import History, Instance, Lane, instances, wrong_histories
from tree_oracle.numerics.neighbours import look_beside
from tree_oracle.numerics.passes import Passes
from tree_oracle.numerics.routing import has_experts, in_many_passes, in_one_pass, watched
from tree_oracle.numerics.signs import Shown, despite, signs, signs_of_loss
from tree_oracle.numerics.tolerance import Evidence, effects, tolerance, verdict
from tree_oracle.numerics.weights import weights_of
from tree_oracle.record import Unsupported, UsageError, counted, gaps
from tree_oracle.target import Target, one_torch_thread
from tree_oracle.target.backends import backend_for, kernel_named
from tree_oracle.target.reach import reach_of, reaches
from tree_oracle.target.sequential import is_small
from tree_oracle.target.sequential_shared import shared_rows

FEW = 8  # histories of each lane for the controls and effects that cost a pass each

CONTROLS = ("repeat", "width", "layout", "cached", "batch")


def reference_of(target: Target) -> Target:
    """The float64 copy on the CPU by which the target is measured."""
    return target.on("cpu").in_dtype("float64")


def measure_cell(
    cell: Cell, target: Target, *, rows: int, seed: int = 0, clean: Target | None = None
) -> tuple[Found, Arrays | None]:
    """Measure one cell on ``target``, which has to be the one that the cell names.

    Args:
        clean: the target without the fault that was planted in ``target``; the reference is made from it.
        rows: tree rows to judge, at least; as many plain rows make the rule.

    Raises:
        UsageError: the prefix and a tree do not fit into the target's context, or nothing is asked for.
        Unsupported: a model that no tree mask is proven for, or another kernel ran than the cell names,
            or a cache that this model or this release has not.
    """
    began, each = time.perf_counter(), cell.width * cell.batch
    if rows < 1:
        raise UsageError(f"{counted(rows, 'row')} to judge; expected at least 1")
    if cell.prefix + cell.width > target.context_length:
        raise UsageError(
            f"prefix {cell.prefix} and width {cell.width} do not fit into a context of {target.context_length} tokens"
        )
    half = -(-rows // each)
    made = instances(seed, 2 * half, vocab=target.vocab_size, prefix=cell.prefix, width=cell.width, batch=cell.batch)
    with one_torch_thread() if is_small(target.model) else nullcontext():
        measured = _Measured(cell, target, reference_of(clean or target), seed)
        measured.look(made[0])
        for instance in made[:half]:
            measured.rule(instance)
        for instance in made[half:]:
            measured.trial(instance)
    found, arrays = measured.result()
    took = round(time.perf_counter() - began, 2)
    return msgspec.structs.replace(found, seconds=took, weights=weights_of(target)), arrays


class _Measured:
    """One cell while it is measured."""

    def __init__(self, cell: Cell, target: Target, golden: Target, seed: int) -> None:
        self.cell, self.target, self.golden, self.seed = cell, target, golden, seed
        self.passes = Passes(target, kernel_named(cell.kernel), cell.cache, cell.prefix - 1)
        self.kernels: dict[str, tuple[str, ...]] = {}
        self.reach = reach_of(reaches(target.model.config))
        self.seen = Gathered()

    def rule(self, instance: Instance) -> None:
        """Passes without a tree."""
        for lane in instance.lanes:
            self._compare("sequential", self.passes.plain(lane.histories), self._true(lane.histories))
            self._chain(lane)
        if len(instance.lanes) > 1:
            texts = [(*lane.prefix, *lane.chain) for lane in instance.lanes]
            alone = self.passes.plain(texts)
            self._change("batch", self.passes.batched(texts), alone)

    def look(self, instance: Instance) -> None:
        """Learn from the profile which attention kernels a tree pass and a plain pass run.

        Raises:
            Unsupported: not the one that was asked for. The exact model runs none.
        """
        backend, asked, text = backend_for(self.cell.device), self.cell.kernel, instance.lanes[0].histories[:1]
        runs = {"tree": lambda: self.passes.tree(instance), "plain": lambda: self.passes.plain(text)}
        for name, run in runs.items():
            self.kernels[name] = seen = backend.kernel_seen(run).kernels
            if not self.target.exact and asked not in ("sdpa", *seen):
                ran = " and ".join(seen) or "no known kernel"
                raise Unsupported(f"asked for {asked}, and {ran} ran in the {name} pass")

    def trial(self, instance: Instance) -> None:
        """The tree pass, the plain passes of the same histories, and wrong histories of some."""
        histories = [history for lane in instance.lanes for history in lane.histories]
        true = self._true(histories)
        with watched(self.target.model) as at_once:
            seen = self.passes.tree(instance)
        with watched(self.target.model) as alone:
            plain = self.passes.plain(histories)
        ours, theirs = in_one_pass(at_once), in_many_passes(alone)
        same = np.ones(len(true), bool) if ours is None or theirs is None else (ours == theirs).all(axis=1)
        same |= ~np.isfinite(seen).all(axis=1)  # such a row goes to any experts; it is lost, and not routed elsewhere
        self.seen.routed += int((~same).sum())
        self._compare("tree", seen[same], true[same])
        self._compare("plain", plain[same], true[same])
        for lane, right in zip(instance.lanes, np.split(true, len(instance.lanes)), strict=True):
            self._wrong(lane, right)

    def _wrong(self, lane: Lane, right: Rows) -> None:
        """How far rows of wrong histories, computed as plain rows are, lie from the right rows."""
        made = wrong_histories(self.seed, lane.histories[-FEW:], self.target.vocab_size, self.reach)
        moved = gaps(self.passes.plain([wrong for _, _, wrong in made]), right[-FEW:][[at for _, at, _ in made]])
        for (kind, _, _), gap in zip(made, moved.tolist(), strict=True):
            self.seen.effects[kind].append(gap)

    def result(self) -> tuple[Found, Arrays | None]:
        """The figures and what they are worth."""
        lost = {name: sum(part.lost for part in parts) for name, parts in self.seen.compared.items()}
        if any(lost.values()):
            return self._lost(lost), None
        if not sum(len(part.gap) for part in self.seen.compared["tree"]):
            reason = f"routing: all of {counted(self.seen.routed, 'judged row')} go to other experts in the tree pass"
            return Found(self.cell, Verdict.UNDECIDED, reason), None
        sequential, tree, plain = (self.seen.joined(name) for name in ("sequential", "tree", "plain"))
        moved = {kind: np.array(found) for kind, found in self.seen.effects.items()}
        changes = {name: np.concatenate(parts) for name, parts in self.seen.changes.items()}
        rule = tolerance(Evidence(sequential.gap, np.concatenate(list(changes.values())), tree.gap, plain.gap, moved))
        said = effects(moved, rule.allowed)
        decided, reason = verdict(rule, said, exact=self.target.exact)
        if self.seen.routed:
            reason += f"; rows that go to other experts, judged apart: {self.seen.routed}"
        if has_experts(self.target.model) and not self.seen.beside.asked:
            reason += "; neighbours not asked, since no token tried goes to the same experts as the last one"
        controls = {name: Control(spread(found), int((found == 0).sum())) for name, found in changes.items()}
        chain = {name: self.seen.joined(name).errors(rule.allowed) for name in ("decode", "wide")}
        figures = Figures(
            tree=tree.errors(rule.allowed),
            plain=plain.errors(rule.allowed),
            passes=chain,
            controls=controls,
            effects=said,
            tolerance=rule,
            kernels=self.kernels["tree"],
            plain_kernels=self.kernels["plain"],
            routed=self.seen.routed,
            invariant=controls["width"].equal == controls["width"].change.n,
        )
        shown = Shown(
            plain=spread(self.seen.joined("alone").gap),
            cached=spread(self.seen.joined("cached").gap),
            decode=chain["decode"].gap,
            wide=chain["wide"].gap,
            repeated=controls["repeat"].change.largest,
            beside=self.seen.beside.changed,
            unexplained=rule.unexplained,
            measurable=self.cell.dtype != "float64",
        )
        arrays = Arrays(
            tree.gap, plain.gap, sequential.gap, tree.margin, tree.flipped, np.concatenate(list(moved.values()))
        )
        signs_shown = signs(shown)
        decided, reason = despite(signs_shown, decided, reason)
        return Found(self.cell, decided, reason, figures, signs_shown), arrays

    def _lost(self, lost: dict[str, int]) -> Found:
        counts = {name: sum(len(part.gap) + part.lost for part in parts) for name, parts in self.seen.compared.items()}
        told = ", ".join(f"{lost[name]} of {counts[name]} {name}" for name in lost)
        shown = signs_of_loss(lost)
        why = "only passes over many rows" if shown else "passes over one row too"
        return Found(self.cell, Verdict.NOT_FINITE, f"rows that are not finite: {told}; {why}", signs=shown)

    def _chain(self, lane: Lane) -> None:
        prefix, chain, passes = lane.prefix, lane.chain, self.passes
        texts = [(*prefix, *chain[: at + 1]) for at in range(len(chain))]
        true, decode, wide = self._true(texts), passes.decode(prefix, chain), passes.wide(prefix, chain)
        self._compare("decode", decode, true)
        self._compare("wide", wide, true)
        self._change("width", wide, decode)
        again = passes.wide(prefix, chain)
        self._change("repeat", again, wide)
        look_beside(self.seen.beside, passes, prefix, chain, again)
        few = texts[:FEW]
        plain = passes.plain(few)
        self._change("repeat", passes.plain(few), plain)
        self._change("cached", decode[:FEW], plain)
        self._compare("alone", plain, true[:FEW])
        self._compare("cached", decode[:FEW], true[:FEW])
        self._layout(texts[-1])

    def _layout(self, text: History) -> None:
        count = len(text) - 1
        order = np.random.default_rng([self.seed, count]).permutation(count).tolist()
        self._change("layout", self.passes.scattered(text, order), self.passes.scattered(text, range(count)))

    def _true(self, histories: Sequence[History]) -> Rows:
        return shared_rows(self.golden.model, histories)

    def _compare(self, name: str, seen: Rows, true: Rows) -> None:
        self.seen.compared[name].append(compare(seen, true, self.cell.dtype))

    def _change(self, name: str, rows: Rows, others: Rows) -> None:
        finite = np.isfinite(rows).all(axis=1) & np.isfinite(others).all(axis=1)
        self.seen.changes[name].append(gaps(rows[finite], others[finite]))
