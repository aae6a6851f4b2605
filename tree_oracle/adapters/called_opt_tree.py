"""OPT-Tree's tree and greedy verification, called as OPT-Tree calls them.

    layout    Tree(nodes, device, threshold, max_depth), whose ``update`` is told a draft's logits until it says that it ends
    verify    verify of ``opt_classic.utils``: moves the kept cache rows, asks the model for the next draft, gives both

``Tree`` takes no tree: it grows one from a draft. The draft that it is told here is the one of which it can only grow the tree
in question: every node's weight is half of that of the node stored before it. No draft grows a tree that is not stored level by
level, that has equal siblings or no candidates; and none of more than 126 has such weights in float32. ``verify`` names no
nodes, so they are read from the cache rows that it kept. The order of a level is that of an unstable sort, and is undone here.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from tree_oracle.adapters.emitted import check_count, check_emitted
from tree_oracle.record import DecoderError, Unsupported
from tree_oracle.tree import CandidateTree

Function = Callable[..., Any]

_MOST = 126  # halves of 1 that a float32 holds exactly and apart from 0 on every processor


def from_draft(grown: Function) -> Function:
    """Mask and positions of the candidates: the mask among them alone, the positions counted from the root."""

    def called(tree: CandidateTree) -> tuple[Any, Any]:
        nodes, levels = len(tree) - 1, int(tree.depths.max())
        _check_grows(tree)
        growing = grown(nodes, "cpu", -1.0, levels + 1)  # no gain is too small: it ends where it may not grow deeper
        for depth in range(levels + 1):
            found = growing.update(_level(tree, depth, nodes))
        if not found["is_final"]:
            raise DecoderError(f"the tree is still growing after {levels} levels; expected its end")
        places = _places(found["input_ids"].tolist(), found["parent_last"].tolist(), tree)
        return found["attention_mask"][places][:, places], found["position_ids"][places]

    return called


def _check_grows(tree: CandidateTree) -> None:
    candidates = set(zip(tree.parents[1:].tolist(), tree.tokens[1:].tolist(), strict=True))
    if not 1 <= len(candidates) <= _MOST or len(candidates) < len(tree) - 1 or (np.diff(tree.depths) < 0).any():
        raise Unsupported(f"OPT-Tree is made to grow 1 to {_MOST} candidates level by level, without equal siblings")


def _level(tree: CandidateTree, depth: int, nodes: int) -> torch.Tensor:
    """Rows of the draft at the nodes of a depth, of which all but the tree's own are of no weight."""
    width = max(nodes, int(tree.tokens.max()) + 1)
    rows = torch.zeros(1, 1 if depth == 0 else nodes, width)
    first = int((tree.depths < depth).sum())
    for node in np.flatnonzero(tree.depths == depth + 1).tolist():
        parent = int(tree.parents[node])
        rows[0, parent - first, int(tree.tokens[node])] = 2.0 ** (parent - node)
    return rows


def _places(tokens: list[int], parents: list[int], tree: CandidateTree) -> list[int]:
    """Where each candidate is stored in what was grown: a level is in the order of a sort that is not stable."""
    nodes: list[int] = []
    for place, (token, parent) in enumerate(zip(tokens, parents, strict=True)):
        if not 0 <= parent <= place:
            raise DecoderError(f"parent_last[{place}] is {parent}; expected itself below the root, or one before it")
        above = 0 if parent == place else nodes[parent]
        found = [child for child in tree.children(above) if tree.tokens[child] == token]
        if not found or found[0] in nodes:
            raise DecoderError(
                f"candidate {place} is token {token} below node {above}; expected each of {tree.tokens.tolist()[1:]} below"
                f" {tree.parents.tolist()[1:]} once, as drafted"
            )
        nodes.append(found[0])
    if len(nodes) < len(tree) - 1:
        raise DecoderError(f"{len(nodes)} candidates were grown; expected the {len(tree) - 1} that were drafted")
    return [nodes.index(node) for node in range(1, len(tree))]


def by_kept_rows(verify: Function) -> Function:
    """The root and the accepted nodes, as the cache rows that were kept, and the root of the next draft."""

    def called(tree: CandidateTree, parents_unlisted_itself: Any, logits: torch.Tensor) -> tuple[list[int], int]:
        n = len(tree)
        cache, kept = torch.arange(n)[None, :, None], torch.tensor([n])
        answer = verify(
            input_ids=torch.zeros(1, 1, dtype=torch.long),
            logits=logits[None],
            draft=torch.from_numpy(np.array(tree.tokens))[None],
            position_ids=torch.from_numpy(tree.depths + 1),
            tree_attention_mask=torch.ones(n, n, dtype=torch.int8),  # of the pass that is over
            past_key_values_data=[cache],
            current_length_data=kept,
            parent=torch.from_numpy(np.array(parents_unlisted_itself.parents)),
            model=SimpleNamespace(draft=_no_draft),
            nodes=1,
            threshold=0.0,
            max_depth=1,
            logits_processor=None,
        )
        check_count(int(kept[0]), n, "current_length_data")
        path = cache[0, : int(kept[0]), 0].tolist()
        check_emitted(answer[1], path, tree.tokens.tolist())
        return path, int(answer[3][0, 0])

    return called


def _no_draft(ids: torch.Tensor, nodes: int, threshold: float, max_depth: int) -> tuple[torch.Tensor, ...]:
    """The least that can stand for a next draft: one candidate, token 0."""
    one = torch.zeros(1, dtype=torch.long)
    return one[None], one + ids.shape[1], torch.ones(1, 1, dtype=torch.int8), one
