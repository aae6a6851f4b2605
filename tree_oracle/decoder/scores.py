"""A node's own score: the log-probability of its token under the row of its *parent*.

score(v) = log softmax(row(parent(v)))[token(v)],   score(root) = 0
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from tree_oracle.tree import CandidateTree


def log_softmax(rows: Float[np.ndarray, "n vocab"]) -> Float[np.ndarray, "n vocab"]:
    """Log-probabilities in float64, shifted by the maximum first so that nothing overflows."""
    wide = rows.astype(np.float64)
    shifted = wide - wide.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def path_scores(tree: CandidateTree, rows: Float[np.ndarray, "n vocab"]) -> Float[np.ndarray, " n"]:
    """The conditional log-probability of every node; 0 for the root, which nobody scores."""
    laws = log_softmax(rows)
    scores = laws[tree.parents, tree.tokens]
    scores[0] = 0.0
    return np.asarray(scores)
