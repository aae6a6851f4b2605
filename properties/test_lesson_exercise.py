"""The lesson's own exercise: a tiny tree with unequal branches and repeated labels, every node against its exact path.

Everything but the masked pass is written out by hand here: no tree code, no layout, no truth of the library.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tree_oracle import CandidateTree, load_target
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.target import SequentialTruth

PREFIX = [5, 3, 9]  # the root is the 9
#            root  a  b  a' c  b' a''   a' is the second "7" under the root's child b, a'' the third, at depth 3
TOKENS = [9, 7, 4, 7, 8, 4, 7]
PARENTS = [-1, 0, 0, 2, 1, 3, 5]
PATHS = {
    0: [5, 3, 9],
    1: [5, 3, 9, 7],
    2: [5, 3, 9, 4],
    3: [5, 3, 9, 4, 7],
    4: [5, 3, 9, 7, 8],
    5: [5, 3, 9, 4, 7, 4],
    6: [5, 3, 9, 4, 7, 4, 7],
}


@pytest.mark.parametrize("target", ["exact", "tiny:qwen3", "tiny:llama", "tiny:gpt2"])
def test_every_node_equals_an_independent_forward_on_its_path(target: str) -> None:
    """One masked pass over the tree gives at every node the logits of an ordinary run over that node's path.

    On the exact model bit for bit; on float32 models within the noise that was measured without any tree.
    """
    loaded = load_target(target)
    room = SequentialTruth(loaded).noise().allowed
    rows = ReferenceDecoder(loaded).tree_logits(PREFIX, CandidateTree(TOKENS, PARENTS))
    for node, path in PATHS.items():
        with torch.no_grad():
            alone = loaded.model(input_ids=torch.tensor([path])).logits[0, -1].numpy()
        assert np.abs(rows[node] - alone).max() <= room, f"node {node}, path {path}"


def test_equal_labels_on_different_branches_are_different_nodes() -> None:
    """The three nodes that hold token 7 have three different rows, for they have three different histories."""
    rows = ReferenceDecoder(load_target("exact")).tree_logits(PREFIX, CandidateTree(TOKENS, PARENTS))
    sevens = [rows[node].tobytes() for node in (1, 3, 6)]
    assert len(set(sevens)) == 3
