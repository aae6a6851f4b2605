"""Sequoia's ``GreedyTree``, which is its tree, its mask and its verification in one, called as Sequoia calls it.

    layout, verify    GreedyTree(draft_model_engine, target_model_engine, prefix, ..., grow_map, ...), grown and verified once

It asks two engines for their passes. One that stands for both is handed in: it sees the target's pass (tokens, mask and
positions), answers with the rows that are to be judged, and sees which cache rows are kept. Growing copies the tree's tokens.
A tree that is not stored level by level is not of its kind. An accepted token 0 or 2 ends the text for it, whatever the
tokenizer, and then it gives no next token: such a decision is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tree_oracle.adapters.emitted import check_emitted
from tree_oracle.record import DecoderError, Unsupported
from tree_oracle.tree import CandidateTree

Function = Callable[..., Any]

_HALF = torch.float16  # the type that its masks have unless another is named


class Engine:
    """What ``GreedyTree`` asks of an engine and of the engine's cache; the rows are n x vocabulary."""

    def __init__(self, max_length: int, rows: torch.Tensor) -> None:
        self.max_length, self.rows = max_length, rows
        self.engine = self.kv_cache = self
        self.seen: dict[str, Any] = {}
        self.kept: list[int] | None = None

    def inference(self, **given: Any) -> torch.Tensor:
        """A pass, whose last nodes are the tree's."""
        self.seen = {name: value.clone() for name, value in given.items()}  # views of buffers that are written to later
        rows = torch.zeros(1, given["input_ids"].shape[1], self.rows.shape[1])
        last = min(rows.shape[1], len(self.rows))
        rows[0, rows.shape[1] - last :] = self.rows[len(self.rows) - last :]
        return rows

    graph_inference = inference

    def gather_kv_incremental(self, indices: list[int], offset: int) -> None:
        """The rows that are kept behind the first ``offset``."""
        self.kept = list(indices)


def by_pass(made: Function) -> Function:
    """Mask and positions of the target's pass over the tree."""

    def called(tree: CandidateTree, prefix_len: int) -> tuple[Any, Any]:
        _, target = _verified(made, tree, prefix_len, torch.zeros(len(tree), 1))
        tokens = target.seen["input_ids"][0].tolist()
        if tokens[-len(tree) :] != tree.tokens.tolist():
            raise DecoderError(f"the pass is over tokens {tokens}; expected those of the tree, {tree.tokens.tolist()}")
        return target.seen["attn_mask"], target.seen["position_ids"]

    return called


def by_kept_rows(made: Function) -> Function:
    """The accepted nodes, as the cache rows that were kept, and the next token."""

    def called(tree: CandidateTree, logits: torch.Tensor) -> tuple[list[int], int]:
        (tokens, *_, ended), target = _verified(made, tree, 2, logits)
        if ended:
            raise Unsupported(f"Sequoia ends the text at token {int(tokens[-1])} and gives no next token")
        if target.kept is None:
            raise DecoderError("no cache rows were kept or dropped; expected gather_kv_incremental to be called")
        path = [slot - 1 for slot in target.kept]  # the root is behind one token, in slot 1
        check_emitted(tokens[1:-1].tolist(), [0, *path], tree.tokens.tolist())
        return path, int(tokens[-1])

    return called


def _verified(made: Function, tree: CandidateTree, length: int, rows: torch.Tensor) -> tuple[Any, Engine]:
    """One round behind a prefix of ``length`` tokens, the root the last, of which all others are cached."""
    levels, room = _levels(tree), length + 2 * len(tree) + 1
    draft, target = Engine(room, torch.zeros(1, 1)), Engine(room, rows)
    one = made(
        draft_model_engine=draft,
        target_model_engine=target,
        prefix=torch.tensor([*[1] * (length - 1), int(tree.tokens[0])]),
        target_kv_len=length - 1,
        max_length=room,
        vocab_size=1,
        max_target_seq=0,  # no round follows
        grow_map=_grow_map(tree, levels),
        attn_mask=torch.full((room, room), torch.finfo(_HALF).min, dtype=_HALF),
        position_ids=torch.zeros(room, dtype=torch.long),
        sampling_callables=[_giving(tree.tokens[level]) for level in levels[1:]],
        sample_gather_indices=[torch.arange(len(level)) for level in levels[1:]],
    )
    one.construct_grow_map()
    return one.verify(), target


def _levels(tree: CandidateTree) -> list[list[int]]:
    if (np.diff(tree.depths) < 0).any():
        raise Unsupported("Sequoia grows trees level by level")
    return [np.flatnonzero(tree.depths == depth).tolist() for depth in range(int(tree.depths.max()) + 1)]


def _grow_map(tree: CandidateTree, levels: list[list[int]]) -> dict[str, Any]:
    """The tree as Sequoia's search writes it."""
    children = [list(tree.children(node)) for node in range(len(tree))]
    mask = torch.eye(len(tree), dtype=torch.long)
    for node, parent in enumerate(tree.parents.tolist()):
        if parent >= 0:
            mask[node] |= mask[parent]
    return {
        "roots": levels,
        "branches": [[len(children[node]) for node in level] for level in levels],
        "Successors": children,
        "mask": mask,
        "depth": torch.from_numpy(np.array(tree.depths)),
        "size": len(tree),
    }


def _giving(tokens: Any) -> Function:
    drafted = torch.from_numpy(np.array(tokens))
    return lambda logits: drafted
