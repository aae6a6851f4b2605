"""Wrong node scores, and a detour to the right ones."""

from __future__ import annotations

import numpy as np

from tree_oracle.decoder.parts import Rows
from tree_oracle.decoder.scores import log_softmax
from tree_oracle.tree import CandidateTree


def own_row(tree: CandidateTree, rows: Rows) -> np.ndarray:
    """Fault: a node is scored under its own row, the law of the token *after* it."""
    return np.asarray(log_softmax(rows)[np.arange(len(tree)), tree.tokens])


def through_probabilities(tree: CandidateTree, rows: Rows) -> np.ndarray:
    """Twin: probabilities are gathered first and their logarithm is taken last."""
    return np.asarray(np.log(np.exp(log_softmax(rows))[tree.parents, tree.tokens]))


def previous_slot(tree: CandidateTree, rows: Rows) -> np.ndarray:
    """Fault: a node is scored under the row of the slot before it."""
    return np.asarray(log_softmax(rows)[np.maximum(np.arange(len(tree)) - 1, 0), tree.tokens])


def root_row(tree: CandidateTree, rows: Rows) -> np.ndarray:
    """Fault: every node is scored under the root's row."""
    return np.asarray(log_softmax(rows)[0, tree.tokens])
