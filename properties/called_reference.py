"""The reference decoder, or one with a planted fault, in the forms that the functions of OPT-Tree, Sequoia and SGLang have.

Written from the words of ``tree_oracle.adapters.called_*`` and without their code.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch

from tree_oracle import ReferenceDecoder
from tree_oracle.tree import CandidateTree

LOWEST = torch.finfo(torch.float16).min
VOCAB = 61


def functions_of(project: str, one: ReferenceDecoder) -> dict[str, Any]:
    """What is handed to ``describe_as``."""
    return {"opt-tree": _opt_tree, "sequoia": _sequoia, "sglang": _sglang}[project](one)


def _chosen(one: ReferenceDecoder, tokens: Any, parents: Sequence[int], argmax: Sequence[int]) -> tuple[list[int], int]:
    rows = np.zeros((len(argmax), VOCAB), dtype=np.float32)
    rows[np.arange(len(argmax)), argmax] = 1
    path, bonus = one.accept(CandidateTree(tokens, parents), rows)
    return list(path), bonus


def _opt_tree(one: ReferenceDecoder) -> dict[str, Any]:
    class Tree:
        def __init__(self, nodes: int, device: str, threshold: float, max_depth: int) -> None:
            self.tokens, self.parents, self.left = [0], [-1], max_depth
            self.level, self.weights = [0], [1.0]

        def update(self, logits: torch.Tensor) -> dict[str, Any]:
            self.left -= 1
            if self.left < 0 or not logits.any():
                return self._told()
            held = [(row, token) for row, token in logits[0].nonzero().tolist()]
            worth = {at: self.weights[at[0]] * float(logits[0, at[0], at[1]]) for at in held}
            held.sort(key=lambda at: -worth[at])
            first = len(self.tokens)
            self.tokens += [token for _, token in held]
            self.parents += [self.level[row] for row, _ in held]
            self.level, self.weights = list(range(first, len(self.tokens))), [worth[at] for at in held]
            return {"is_final": False}

        def _told(self) -> dict[str, Any]:
            laid = one.lay_out(CandidateTree(self.tokens, self.parents), 1)
            return {
                "input_ids": torch.tensor(self.tokens[1:]),
                "position_ids": torch.tensor(laid.positions[1:]),
                "attention_mask": torch.tensor(laid.visible[1:, 1:]).to(torch.int8),
                "parent_last": torch.tensor([max(up - 1, 0) if up else at for at, up in enumerate(self.parents[1:])]),
                "is_final": True,
            }

    def verify(*, logits: Any, draft: Any, parent: Any, **given: Any) -> Any:
        parents = [-1, *(0 if up == at else up + 1 for at, up in enumerate(parent.tolist()))]
        path, bonus = _chosen(one, draft[0].tolist(), parents, logits[0].argmax(-1).tolist())
        given["past_key_values_data"][0][0, : len(path) + 1, 0] = torch.tensor([0, *path])
        given["current_length_data"].fill_(len(path) + 1)
        return None, draft[0, [0, *path]].tolist(), len(path), torch.tensor([[bonus]])

    return {"masked": Tree, "verify": verify}


def _sequoia(one: ReferenceDecoder) -> dict[str, Any]:
    class GreedyTree:
        def __init__(self, **given: Any) -> None:
            self.target, self.prefix = given["target_model_engine"], given["prefix"].tolist()
            self.drafted, self.below = given["sampling_callables"], given["grow_map"]["Successors"]
            self.tokens = [self.prefix[-1]]

        def construct_grow_map(self) -> None:
            self.tokens += list(chain.from_iterable(call(None).tolist() for call in self.drafted))

        def verify(self) -> Any:
            up = {child: node for node, below in enumerate(self.below) for child in below}
            parents, cached = [up.get(node, -1) for node in range(len(self.tokens))], len(self.prefix) - 1
            laid = one.lay_out(CandidateTree(self.tokens, parents), cached + 1)
            mask = torch.where(torch.tensor(laid.visible), 0.0, LOWEST).to(torch.float16)
            rows = self.target.inference(
                input_ids=torch.tensor([self.tokens]),
                position_ids=torch.tensor(laid.positions)[None],
                attn_mask=mask[None, None],
            )
            path, bonus = _chosen(one, self.tokens, parents, rows[0].argmax(-1).tolist())
            ends = [at for at, node in enumerate(path) if self.tokens[node] in (0, 2)]
            if ends:
                return torch.tensor([self.tokens[node] for node in path[: ends[0] + 1]]), True
            self.target.engine.kv_cache.gather_kv_incremental([node + cached for node in path], cached + 1)
            return torch.tensor([*self.prefix, *(self.tokens[node] for node in path), bonus]), False

    return {"masked": GreedyTree, "verify": GreedyTree}


def _sglang(one: ReferenceDecoder) -> dict[str, Any]:
    def build(*, bonus_tokens: Any, parent_list: Any, top_scores_index: Any, draft_tokens: Any, **given: Any) -> Any:
        chosen, owners = top_scores_index[0].tolist(), parent_list[0].tolist()
        groups = [place // given["topk"] for place in chosen]
        parents = [-1, *(0 if group == 0 else 1 + chosen.index(owners[group]) for group in groups)]
        tokens = torch.cat((bonus_tokens, draft_tokens[0]))
        laid = one.lay_out(CandidateTree(tokens.tolist(), parents), int(given["seq_lens"][0]) + 1)
        below = [[v for v, up in enumerate(parents) if up == node] for node in range(len(parents))]
        after = {v: later for children in below for v, later in zip(children, children[1:], strict=False)}
        return (
            torch.tensor(laid.visible).reshape(-1),
            torch.tensor(laid.positions),
            torch.arange(len(parents))[None],
            torch.tensor([[children[0] if children else -1 for children in below]]),
            torch.tensor([[after.get(node, -1) for node in range(len(parents))]]),
            tokens,
        )

    def kernel(**given: torch.Tensor) -> None:
        """The kernel has no signature to be read, and spells ``retrive``."""
        child, sibling, tokens = (
            given[name][0].tolist() for name in ("retrive_next_token", "retrive_next_sibling", "candidates")
        )
        parents = [-1] * len(tokens)
        for node in range(len(tokens)):
            link = child[node]
            while link >= 0:
                parents[link], link = node, sibling[link]
        path, bonus = _chosen(one, tokens, parents, given["target_predict"][0].tolist())
        given["accept_index"][0, : len(path) + 1] = torch.tensor([0, *path])
        given["accept_token_num"].fill_(len(path))
        for here, token in zip([0, *path], [*(tokens[v] for v in path), bonus], strict=True):
            given["predicts"][here] = token

    return {"masked": build, "verify": kernel}
