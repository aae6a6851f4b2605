"""Arrays that are no tree, and the kind of fault in them.

Each is a valid tree with distinct siblings that was broken in one place, so whatever reads trees from outside can be
tested kind by kind: it must refuse, and say why. Where one break leads to several faults (a node hung from its own
descendant may equal a new sibling), the fault named is the first in the order of ``TreeFault``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from jaxtyping import Float

from tree_oracle.record import UsageError
from tree_oracle.strategies.trees import candidate_trees
from tree_oracle.tree import CandidateTree, TreeFault


class InvalidArrays(NamedTuple):
    """Tokens and parents as a caller might hand them in, and the fault in them."""

    tokens: Any  # not always integers: that is one of the faults
    parents: Any
    fault: TreeFault


def invalid_trees(
    *, vocab_size: int = 5, faults: Collection[TreeFault] | None = None
) -> st.SearchStrategy[InvalidArrays]:
    """Arrays refused by ``CandidateTree(tokens, parents, vocab_size=vocab_size, distinct_siblings=True)``.

    Every kind of fault in tokens and parents, or those in ``faults``. PARENT_AFTER_CHILD alone is a tree in another
    storage order, and DUPLICATE_SIBLINGS and tokens from ``vocab_size`` on are faults only where they are forbidden.

    Raises:
        UsageError: ``faults`` is empty or names one that is not in tokens and parents.
    """
    kinds = list(_BREAK) if faults is None else list(faults)
    if not kinds or not set(kinds) <= set(_BREAK):
        raise UsageError(f"faults {[str(kind) for kind in kinds]}; expected some of {[str(kind) for kind in _BREAK]}")
    return st.sampled_from(kinds).flatmap(lambda kind: _broken_trees(kind, vocab_size))


@st.composite
def invalid_log_probs(draw: st.DrawFn, tree: CandidateTree) -> tuple[Float[np.ndarray, " n"], int]:
    """Log-probabilities for ``tree`` and the node whose entry is wrong: NaN, above 0, or other than 0 at the root."""
    values = draw(st.lists(st.floats(max_value=0.0, width=32), min_size=len(tree), max_size=len(tree)))
    node = draw(st.integers(0, len(tree) - 1))
    wrong = st.sampled_from([float("nan"), float("inf")]) | st.floats(min_value=0.0, exclude_min=True)
    values[0] = 0.0
    values[node] = draw(wrong | st.just(-1.0) if node == 0 else wrong)
    return np.array(values, dtype=np.float64), node


@dataclass(frozen=True, slots=True)
class _Site:
    """A tree that is about to be broken at a node below the root."""

    draw: st.DrawFn
    tree: CandidateTree
    node: int
    vocab_size: int

    def with_parent(self, node: int, parent: int) -> tuple[Any, Any]:
        parents = self.tree.parents.tolist()
        parents[node] = parent
        return self.tree.tokens, parents


@st.composite
def _broken_trees(draw: st.DrawFn, kind: TreeFault, vocab_size: int) -> InvalidArrays:
    tree = draw(candidate_trees(vocab_size=vocab_size, min_nodes=2, max_nodes=8, distinct_siblings=True))
    site = _Site(draw, tree, draw(st.integers(1, len(tree) - 1)), vocab_size)
    return InvalidArrays(*_BREAK[kind](site), kind)


def _dtype(site: _Site) -> tuple[Any, Any]:
    arrays: list[Any] = [site.tree.tokens, site.tree.parents]
    which = site.draw(st.integers(0, 1))
    entries: list[Any] = arrays[which].tolist()
    entries[site.node] = site.draw(st.sampled_from([True, float(entries[site.node]), "0", None, 2**63]))
    whole = [arrays[which].astype(np.float32), arrays[which] > 0, arrays[which].astype(object)]
    arrays[which] = site.draw(st.sampled_from([entries, *whole]))
    return arrays[0], arrays[1]


def _length(site: _Site) -> tuple[Any, Any]:
    arrays = [site.tree.tokens, site.tree.parents]
    which = site.draw(st.integers(0, 1))
    values = arrays[which]
    arrays[which] = site.draw(st.sampled_from([values[:-1], values[None], values[:, None]]))
    return arrays[0], arrays[1]


def _orphan(site: _Site) -> tuple[Any, Any]:
    n = len(site.tree)
    near, far = st.sampled_from([n, -2]), st.sampled_from([2 * n, -n - 1, 2**31, -(2**63)])
    return site.with_parent(site.node, site.draw(near | far))


def _self_parent(site: _Site) -> tuple[Any, Any]:
    node = site.draw(st.sampled_from([site.node, 0]))  # a root that is its own parent is another system's convention
    return site.with_parent(node, node)


def _no_root(site: _Site) -> tuple[Any, Any]:
    return site.with_parent(0, site.node) if site.draw(st.booleans()) else ([], [])


def _two_roots(site: _Site) -> tuple[Any, Any]:
    return site.with_parent(site.node, -1)


def _cycle(site: _Site) -> tuple[Any, Any]:
    # A new leaf below the node makes sure that there is a descendant to hang the node from.
    tree, leaf = site.tree, len(site.tree)
    parents = [*tree.parents.tolist(), site.node]
    parents[site.node] = site.draw(st.sampled_from([*tree.subtree(site.node)[1:], leaf]))
    return [*tree.tokens.tolist(), 0], parents


def _token(site: _Site) -> tuple[Any, Any]:
    tokens = site.tree.tokens.tolist()
    tokens[site.node] = site.draw(st.sampled_from([site.vocab_size, site.vocab_size + 1, -1, -2]))
    return tokens, site.tree.parents


def _duplicate(site: _Site) -> tuple[Any, Any]:
    tokens, parents = site.tree.tokens.tolist(), site.tree.parents.tolist()
    return [*tokens, tokens[site.node]], [*parents, parents[site.node]]


def _parent_after_child(site: _Site) -> tuple[Any, Any]:
    order = list(range(len(site.tree)))
    parent = int(site.tree.parents[site.node])
    order[site.node], order[parent] = parent, site.node
    return site.tree.stored(order)[:2]


_BREAK: dict[TreeFault, Callable[[_Site], tuple[Any, Any]]] = {
    TreeFault.DTYPE: _dtype,
    TreeFault.LENGTH: _length,
    TreeFault.ORPHAN: _orphan,
    TreeFault.SELF_PARENT: _self_parent,
    TreeFault.NO_ROOT: _no_root,
    TreeFault.TWO_ROOTS: _two_roots,
    TreeFault.CYCLE: _cycle,
    TreeFault.TOKEN: _token,
    TreeFault.DUPLICATE_SIBLINGS: _duplicate,
    TreeFault.PARENT_AFTER_CHILD: _parent_after_child,
}
