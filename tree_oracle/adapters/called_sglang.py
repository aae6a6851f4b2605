"""SGLang's tree building and greedy verification, called as SGLang calls them, for one request.

    layout    build_tree_kernel_efficient(bonus_tokens=, parent_list=, top_scores_index=, draft_tokens=, seq_lens=,
              seq_lens_sum=, topk=, spec_steps=, num_verify_tokens=): mask, positions, the three tables of links, tokens
    verify    verify_tree_greedy(predicts=, accept_index=, accept_token_num=, candidates=, retrieve_index=,
              retrieve_next_token=, retrieve_next_sibling=, target_predict=): nothing; the first three are written. The
              kernel's own schema spells ``retrive``, and a function without a signature is taken to be the kernel.

What is emitted are the entries of ``predicts`` at the accepted nodes, so they must be the tokens of the nodes that follow. The
links are the verification's only knowledge of the tree, so a layout whose links are another tree's is refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tree_oracle.adapters.emitted import check_count, check_emitted
from tree_oracle.checks import answers
from tree_oracle.record import DecoderError
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.formats import InvalidEncoding, LinkIndex, Links, decode_links
from tree_oracle.tree.formats.buffers import MEDUSA_TOP_K

Function = Callable[..., Any]


def by_pool(layout: Function) -> Function:
    """The buffers of a tree, asked for as the places of its nodes in a pool of expansions of ten."""

    def called(pool: Any, tree: CandidateTree, prefix_len: int) -> dict[str, Any]:
        mask, positions, *links, tokens = layout(
            bonus_tokens=_tensor(tree.tokens[:1]),
            parent_list=_tensor(pool.parent_list)[None],
            top_scores_index=_tensor(pool.selected)[None],
            draft_tokens=_tensor(tree.tokens[1:])[None],
            seq_lens=torch.tensor([prefix_len]),
            seq_lens_sum=prefix_len,
            topk=MEDUSA_TOP_K,
            spec_steps=int(tree.depths.max()),
            num_verify_tokens=len(tree),
        )
        batched = answers.array(tokens, "tokens").reshape(1, -1)
        _check_links(Links(batched, *(answers.array(table, "links") for table in links)), tree)
        return {"tokens": batched, "mask": mask, "positions": positions}

    return called


def _check_links(links: Links, tree: CandidateTree) -> None:
    try:
        (found,) = decode_links(links, LinkIndex.GLOBAL)
    except InvalidEncoding as error:
        raise DecoderError(f"the links of this layout are no tree's: {error}") from error
    if found.parents.tolist() != tree.parents.tolist():
        raise DecoderError(
            f"the links of this layout are those of parents {found.parents.tolist()}; expected {tree.parents.tolist()}"
        )


def by_links(verify: Function) -> Function:
    """The accepted nodes and the next token, read where the kernel writes them."""
    spelled = _spelled(verify)

    def called(links_global: Any, argmax: list[int]) -> tuple[list[int], int]:
        n = len(argmax)
        predicts = torch.full((n,), -1, dtype=torch.int32)
        accepted, count = torch.full((1, n), -1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
        tables = {
            "index": links_global.retrieve_index,
            "next_token": links_global.next_token,
            "next_sibling": links_global.next_sibling,
        }
        verify(
            predicts=predicts,
            accept_index=accepted,
            accept_token_num=count,
            candidates=_tensor(links_global.tokens),
            target_predict=torch.tensor([argmax]),
            **{f"{spelled}_{name}": _tensor(table) for name, table in tables.items()},
        )
        check_count(int(count[0]) + 1, n, "accept_token_num")
        path = accepted[0, : int(count[0]) + 1].tolist()  # the root first
        tokens = links_global.tokens[0].tolist()
        check_emitted([tokens[0], *(_at(predicts, node) for node in path[:-1])], path, tokens)
        return path[1:], _at(predicts, path[-1])

    return called


def _at(predicts: torch.Tensor, node: int) -> int:
    if not 0 <= node < len(predicts):
        raise DecoderError(f"node {node} is accepted; expected nodes 0 to {len(predicts) - 1}")
    return int(predicts[node])


def _spelled(verify: Function) -> str:
    try:
        return "retrieve" if "retrieve_index" in inspect.signature(verify).parameters else "retrive"
    except (TypeError, ValueError):
        return "retrive"


def _tensor(values: Any) -> torch.Tensor:
    return torch.from_numpy(np.array(values, dtype=np.int64))
