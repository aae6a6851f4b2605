"""Dense masks of a batch: one square block of candidates per request and, where the form has them, its prefix columns.

With P the longest cached prefix and R the largest tree, a request with c cached tokens and n nodes has

    columns   P - c hidden, c visible, then its visible block, then R - n hidden     (prefixes end together)
    rows      n, then R - n that see nothing                                        (as in TreeFlash)

so that the nodes of all requests stand in the same columns. Size: R (P + R) entries a request, R^2 of them the block. An
additive row that sees nothing is uniform under the lowest finite value and NaN under -inf.

Where the root is the prefix's last row (Sequoia, PopSoda2002), its row is missing, and its column is the prefix's last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.ancestors import block_of, parents_of
from tree_oracle.tree.formats.batch import Trees, cached_of
from tree_oracle.tree.formats.convention import Causality, PrefixColumns, RootRow
from tree_oracle.tree.formats.field import Field, first_false
from tree_oracle.tree.formats.mask_form import MaskForm
from tree_oracle.tree.validate import TreeArrays

_MASK = Field("dense mask", "mask")


@dataclass(frozen=True, slots=True, eq=False)
class DenseMask:
    """Tokens by request, the root first, and the mask ``[batch, rows, columns]`` (or keys first) in its declared form."""

    tokens: tuple[Any, ...]
    mask: np.ndarray


def encode_dense(trees: Trees, prefix_lens: Sequence[int], form: MaskForm) -> DenseMask:
    """The mask of a batch.

    Raises:
        UsageError: not one prefix length of at least 1 for each tree, or no tree.
    """
    frame = _Frame(form, tuple(cached_of(prefix_lens, len(trees))), tuple(map(len, trees)))
    visible = np.stack([frame.around(request, block_of(tree)) for request, tree in enumerate(trees)])
    return DenseMask(tuple(tree.tokens for tree in trees), form.write(visible[:, frame.no_row :, frame.no_column :]))


def decode_dense(mask: DenseMask, prefix_lens: Sequence[int], form: MaskForm) -> tuple[TreeArrays, ...]:
    """Tokens and parents of each request in storage order, which need not have parents first unless the form says so.

    Raises:
        InvalidEncoding: the mask is no batch of trees after these prefixes, in this form.
        UsageError: not one prefix length of at least 1 for each request, or no request.
    """
    tokens, frame, visible = _framed(mask, prefix_lens, form)
    return tuple(TreeArrays(one, frame.parents(b, visible[b]), None) for b, one in enumerate(tokens))


def decode_dense_trees(mask: DenseMask, prefix_lens: Sequence[int], form: MaskForm) -> tuple[CandidateTree, ...]:
    """The trees of a mask whose nodes are stored with parents first.

    Raises:
        InvalidEncoding: as for ``decode_dense``, or another order, or no token.
        UsageError: as for ``decode_dense``.
    """
    tokens, frame, visible = _framed(mask, prefix_lens, form)
    return tuple(frame.field(b).tree(one, frame.parents(b, visible[b])) for b, one in enumerate(tokens))


@dataclass(frozen=True, slots=True)
class _Frame:
    """What surrounds the blocks of a batch."""

    form: MaskForm
    cached: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def before(self) -> int:
        return max(self.cached) if self.form.prefix is PrefixColumns.DENSE else 0

    @property
    def no_row(self) -> int:
        """1 where the root has no row."""
        return int(self.form.root is RootRow.PREFIX_ROW)

    @property
    def no_column(self) -> int:
        """1 where the root has no column: with its row it loses the column that the prefix does not have either."""
        return self.no_row * int(self.form.prefix is PrefixColumns.IMPLICIT)

    def around(self, request: int, block: Bool[np.ndarray, "n n"]) -> Bool[np.ndarray, "rows columns"]:
        """The whole mask of a request, true where a row attends, the root's row and column included."""
        n, before, rows = len(block), self.before, max(self.sizes)
        visible = np.zeros((rows, before + rows), dtype=np.bool_)
        visible[:n, max(0, before - self.cached[request]) : before] = True
        visible[:n, before : before + n] = block
        return visible

    def parents(self, request: int, stored: Bool[np.ndarray, "rows columns"]) -> Int[np.ndarray, " n"]:
        """The parents of a request's nodes, if its mask is that of a tree and nothing besides."""
        n, before = self.sizes[request], self.before
        block = np.zeros((n, n), dtype=np.bool_)
        if n and self.no_row:
            block[:, 0] = block[0, 0] = True
        block[self.no_row :, self.no_column :] = stored[: max(0, n - self.no_row), before : before + n - self.no_column]
        wanted = self.around(request, block)[self.no_row :, self.no_column :]
        wrong = first_false(stored == wanted)
        if wrong is not None:
            seen, part = ("hidden", "the request's own prefix") if wanted[wrong] else ("visible", "padding")
            raise (
                _MASK.row(request)
                .placed(self.form.place)
                .error(wrong, f"is {seen}; expected otherwise, as it is {part}")
            )
        inside = self.field(request)
        parents = parents_of(block, inside)
        late = first_false(parents < np.arange(n))
        if self.form.causality is Causality.NARROWS and late is not None:
            raise inside.error((late[0], int(parents[late])), "looks ahead; expected parents first under a causal mask")
        return parents

    def field(self, request: int) -> Field:
        """Where the block of a request is stored."""
        return _MASK.row(request).placed(
            lambda index: self.form.place((index[0] - self.no_row, self.before + index[1] - self.no_column))
        )


def _framed(
    mask: DenseMask, prefix_lens: Sequence[int], form: MaskForm
) -> tuple[list[Int[np.ndarray, " n"]], _Frame, Bool[np.ndarray, "batch rows columns"]]:
    tokens = _MASK.named("tokens").each(mask.tokens)
    frame = _Frame(form, tuple(cached_of(prefix_lens, len(tokens))), tuple(map(len, tokens)))
    rows = max(frame.sizes)
    stored = (len(tokens), max(0, rows - frame.no_row), max(0, frame.before + rows - frame.no_column))
    return tokens, frame, form.read(mask.mask, _MASK, stored)
