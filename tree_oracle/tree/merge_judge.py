"""Whether a merged tree stands for the drafts that went into it: the same histories, rows and required probabilities.

What a decoder shows of its merge is a claim; what it does not show is not judged. Against the drafts, each kept apart:

    histories       every drafted history is in the merged tree, and none that nobody drafted
    places          the merged node that stands for a drafted node has its history
    rows            the target's row at a merged node is the row at the end of the unmerged path
    probabilities   each draft's node is verified with its own draft's q, bit for bit

Histories are told apart by a table of their own, (history of the parent, token) -> number, so nothing here trusts ``merge``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from jaxtyping import Float, Int

from tree_oracle.record import AdapterError, UsageError
from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.merge_rules import MergeRule, merged_by

_LONGEST = 12  # tokens of a history that a sentence shows


class MergeFault(StrEnum):
    """What can be wrong with a merge."""

    LOST = "lost history"
    INVENTED = "invented history"
    MISPLACED = "misplaced node"
    ROW = "wrong row"
    PROBABILITY = "wrong probability"


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """One draft as it was before merging."""

    tree: CandidateTree  # with log-probabilities where verification needs them
    rows: Float[np.ndarray, "n vocab"] | None = None  # the target's, at the end of each path, computed without any tree
    corrections: Int[np.ndarray, " n"] | None = None  # equal numbers: equal corrections of the draft's next law


@dataclass(frozen=True, slots=True, eq=False)
class MergeClaim:
    """What a decoder shows of its merged tree.

    If ``edge_log_probs`` is not shown and the tree has log-probabilities, those are taken to serve every draft.
    """

    tree: CandidateTree
    node_of: tuple[Int[np.ndarray, " n"], ...] | None = None  # for each draft: the merged node of each of its nodes
    edge_log_probs: tuple[Float[np.ndarray, " n"], ...] | None = (
        None  # for each draft: the q that each node is tried with
    )
    rows: Float[np.ndarray, "m vocab"] | None = None


@dataclass(frozen=True, slots=True)
class MergeFinding:
    """One fault, the first of its kind, and the rules of merging that would have made this very tree."""

    fault: MergeFault
    draft: int | None
    node: int  # of the draft; of the merged tree where no draft has it
    detail: str
    rules: tuple[MergeRule, ...] = ()

    def __str__(self) -> str:
        made = f"; merging {' or '.join(self.rules)} makes this tree" if self.rules else ""
        return f"{self.fault}: {self.detail}{made}"


def judge_merge(drafts: Sequence[Draft], claim: MergeClaim, *, noise: float = 0.0) -> tuple[MergeFinding, ...]:
    """At most one finding of each kind, in the order of ``MergeFault``; none: the merge is right in what it shows.

    ``noise`` is how far entries of rows may differ: 0 on an exact model, else what was measured.

    Raises:
        UsageError: no draft, drafts with different roots, or rows and corrections that do not fit their draft.
        AdapterError: a claim whose parts do not fit the drafts or its own tree.
    """
    roots = {int(draft.tree.tokens[0]) for draft in drafts}
    if len(roots) != 1:
        raise UsageError(f"{len(drafts)} drafts with roots {sorted(roots)}; expected at least one, all with one root")
    judge = _Judge(tuple(drafts), claim, noise)
    found = (judge.lost(), judge.invented(), judge.misplaced(), judge.row(), judge.probability())
    return tuple(finding for finding in found if finding is not None)


class _Judge:
    """The drafts and the claim, with every history numbered."""

    def __init__(self, drafts: tuple[Draft, ...], claim: MergeClaim, noise: float) -> None:
        _check_shapes(drafts, claim)
        self.drafts, self.claim, self.noise = drafts, claim, noise
        self.known: dict[tuple[int, int], int] = {}
        self.drafted = [self._numbers(draft.tree) for draft in drafts]
        self.merged = self._numbers(claim.tree)
        self.place = {number: node for node, number in reversed(list(enumerate(self.merged)))}

    def lost(self) -> MergeFinding | None:
        for index, numbers in enumerate(self.drafted):
            for node, number in enumerate(numbers):
                if number not in self.place:
                    return self._finding(
                        MergeFault.LOST, index, node, f"{self._said(index, node)} is on no merged path"
                    )
        return None

    def invented(self) -> MergeFinding | None:
        drafted = {number for numbers in self.drafted for number in numbers}
        for node, number in enumerate(self.merged):
            if number not in drafted:
                detail = f"merged node {node} ({_history(self.claim.tree, node)}) was drafted by nobody"
                return self._finding(MergeFault.INVENTED, None, node, detail)
        return None

    def misplaced(self) -> MergeFinding | None:
        for index, nodes in enumerate(self.claim.node_of or ()):
            for node, merged in enumerate(nodes.tolist()):
                if self.merged[merged] != self.drafted[index][node]:
                    other = f"merged node {merged} ({_history(self.claim.tree, merged)})"
                    return self._finding(MergeFault.MISPLACED, index, node, f"{self._said(index, node)} became {other}")
        return None

    def row(self) -> MergeFinding | None:
        for index, draft in enumerate(self.drafts):
            if draft.rows is None or self.claim.rows is None:
                continue
            for node, wanted in enumerate(draft.rows):
                merged = self._merged_node(index, node)
                if merged is not None and not _same(self.claim.rows[merged], wanted, self.noise):
                    whose = self._owner(self.claim.rows[merged])
                    detail = f"merged node {merged} has another row than {self._said(index, node)}{whose}"
                    return self._finding(MergeFault.ROW, index, node, detail)
        return None

    def probability(self) -> MergeFinding | None:
        for index, draft in enumerate(self.drafts):
            wanted = [] if draft.tree.edge_log_probs is None else draft.tree.edge_log_probs.tolist()
            for node, log_q in enumerate(wanted):
                used = self._used(index, node)
                if used is not None and used != log_q:
                    detail = (
                        f"{self._said(index, node)} is tried with log q = {used}; expected {log_q}, its own draft's"
                    )
                    return self._finding(MergeFault.PROBABILITY, index, node, detail)
        return None

    def _numbers(self, tree: CandidateTree) -> list[int]:
        numbers: list[int] = []
        for token, parent in zip(tree.tokens.tolist(), tree.parents.tolist(), strict=True):
            above = numbers[parent] if parent >= 0 else -1
            numbers.append(self.known.setdefault((above, token), len(self.known)))
        return numbers

    def _merged_node(self, draft: int, node: int) -> int | None:
        if self.claim.node_of is not None:
            return int(self.claim.node_of[draft][node])
        return self.place.get(self.drafted[draft][node])

    def _used(self, draft: int, node: int) -> float | None:
        if self.claim.edge_log_probs is not None:
            return float(self.claim.edge_log_probs[draft][node])
        merged = self._merged_node(draft, node)
        edges = self.claim.tree.edge_log_probs
        return None if merged is None or edges is None else float(edges[merged])

    def _owner(self, row: Float[np.ndarray, " vocab"]) -> str:
        for index, draft in enumerate(self.drafts):
            for node, other in enumerate([] if draft.rows is None else draft.rows):
                if _same(row, other, self.noise):
                    return f": that of {self._said(index, node)}"
        return ""

    def _said(self, draft: int, node: int) -> str:
        return f"node {node} of draft {draft} ({_history(self.drafts[draft].tree, node)})"

    def _finding(self, fault: MergeFault, draft: int | None, node: int, detail: str) -> MergeFinding:
        return MergeFinding(fault, draft, node, detail, self._rules())

    def _rules(self) -> tuple[MergeRule, ...]:
        """The wrong rules that make exactly the histories of this tree, where those are wrong."""
        trees = [draft.tree for draft in self.drafts]
        corrections = [draft.corrections for draft in self.drafts if draft.corrections is not None]
        shown = set(self.merged)
        if shown == {number for numbers in self.drafted for number in numbers}:
            return ()
        rules = [rule for rule in MergeRule if rule is not MergeRule.CORRECTION or len(corrections) == len(trees)]
        return tuple(rule for rule in rules if set(self._numbers(merged_by(rule, trees, corrections).tree)) == shown)


def _same(row: Float[np.ndarray, " vocab"], wanted: Float[np.ndarray, " vocab"], noise: float) -> bool:
    # Equal infinities are equal; their difference is no number, and a NaN is equal to nothing.
    with np.errstate(invalid="ignore"):
        return bool(((row == wanted) | (np.abs(row - wanted) <= noise)).all())


def _history(tree: CandidateTree, node: int) -> str:
    tokens = [str(tree.tokens[above]) for above in tree.path(node)]
    return " ".join(tokens if len(tokens) <= _LONGEST else ["...", *tokens[-_LONGEST:]])


def _check_shapes(drafts: tuple[Draft, ...], claim: MergeClaim) -> None:
    sizes, m = [len(draft.tree) for draft in drafts], len(claim.tree)
    for index, (draft, n) in enumerate(zip(drafts, sizes, strict=True)):
        for name, values in (("rows", draft.rows), ("corrections", draft.corrections)):
            if values is not None and len(values) != n:
                raise UsageError(f"{name} of draft {index} have {len(values)} entries; expected {n}, one for each node")
    for name, shown in (("node_of", claim.node_of), ("edge_log_probs", claim.edge_log_probs)):
        if shown is not None and [len(values) for values in shown] != sizes:
            raise AdapterError(
                f"{name} has {[len(values) for values in shown]} entries; expected {sizes}, draft by draft"
            )
    for index, nodes in enumerate(claim.node_of or ()):
        wrong = np.flatnonzero((nodes < 0) | (nodes >= m))
        if nodes.dtype.kind not in "iu" or len(wrong):
            entry = f"node_of[{index}]" + (f"[{wrong[0]}] is {nodes[wrong[0]]}" if len(wrong) else f" is {nodes.dtype}")
            raise AdapterError(f"{entry}; expected merged nodes from 0 to {m - 1}")
    widths = {draft.rows.shape[1:] for draft in drafts if draft.rows is not None}
    if claim.rows is not None and (len(claim.rows) != m or not widths <= {claim.rows.shape[1:]}):
        raise AdapterError(
            f"rows of shape {claim.rows.shape}; expected one for each of {m} nodes, as wide as the drafts'"
        )
