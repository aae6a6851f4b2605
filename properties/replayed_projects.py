"""Functions that answer as the own functions of OPT-Tree, Sequoia and SGLang were recorded to, and check what they are asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import torch

RECORDED = json.loads(
    (Path(__file__).parent.parent / "fixtures" / "recorded_projects.json").read_text(encoding="utf-8")
)
LOWEST = torch.finfo(torch.float16).min
Replay = Callable[[dict[str, Any]], Any]


def bits(rows: Sequence[str]) -> torch.Tensor:
    return torch.tensor([[int(bit) for bit in row] for row in rows])


def grown(one: dict[str, Any]) -> Any:
    """OPT-Tree's tree, which is told a draft and answers its last update as it was recorded."""
    shown = one["buffers"]

    class Tree:
        def __init__(self, nodes: int, device: str, threshold: float, max_depth: int) -> None:
            assert (nodes, device) == (len(one["tokens"]) - 1, "cpu")
            self.told, self.max_depth = list[list[int]](), max_depth

        def update(self, logits: torch.Tensor) -> Any:
            told = [(-float(logits[0, row, token]), row, token) for row, token in logits[0].nonzero().tolist()]
            self.told.append([token for *_, token in told])
            if len(self.told) < self.max_depth:
                return {"is_final": False}
            assert sorted(chain.from_iterable(self.told)) == sorted(one["tokens"][1:])
            return {
                "input_ids": torch.tensor(shown["input_ids"]),
                "position_ids": torch.tensor(shown["position_ids"]),
                "attention_mask": bits(shown["attention_mask"]).to(torch.int8),
                "parent_last": torch.tensor(shown["parent_last"]),
                "is_final": shown["is_final"],
            }

    return Tree


def kept_rows(one: dict[str, Any]) -> Any:
    """OPT-Tree's verification, which writes to the cache that it is given and answers as it was recorded."""

    def verify(*, logits: Any, draft: Any, parent: Any, **given: Any) -> Any:
        assert draft.tolist() == [one["tokens"]]
        assert parent.tolist() == one["parent"]
        assert logits.argmax(-1).tolist() == [one["argmax"]]
        given["past_key_values_data"][0][0, :, 0] = torch.tensor(one["cache"])
        given["current_length_data"].fill_(one["length"])
        return None, one["best_candidate"], one["accept_length"], torch.tensor([one["next_draft"]]), None, None, None

    return verify


class Grown:
    """Sequoia's tree, so far as it is grown: asked for what the record was made of."""

    def __init__(self, one: dict[str, Any], given: dict[str, Any]) -> None:
        self.target, asked = given["target_model_engine"], given["grow_map"]
        below = [[v for v, parent in enumerate(one["parents"]) if parent == u] for u in range(len(one["parents"]))]
        assert (asked["Successors"], asked["size"]) == (below, len(below))
        drafted = chain.from_iterable(call(None).tolist() for call in given["sampling_callables"])
        assert list(drafted) == one["tokens"][1:]

    def construct_grow_map(self) -> None: ...


def passed(one: dict[str, Any]) -> Any:
    class GreedyTree(Grown):
        def __init__(self, **given: Any) -> None:
            super().__init__(one, given)

        def verify(self) -> Any:
            shown = one["pass"]
            mask = torch.where(bits(shown["attn_mask"]) == 1, 0.0, LOWEST).to(torch.float16)
            tokens, places = (torch.tensor([shown[name]]) for name in ("input_ids", "position_ids"))
            storage = torch.tensor(shown["storage_ids"])
            self.target.inference(
                input_ids=tokens, position_ids=places, attn_mask=mask[None, None], storage_ids=storage
            )
            return tokens[0], 0, 0, False

    return GreedyTree


def gathered(one: dict[str, Any]) -> Any:
    class GreedyTree(Grown):
        def __init__(self, **given: Any) -> None:
            super().__init__(one, given)

        def verify(self) -> Any:
            tokens = torch.zeros(1, len(one["tokens"]), dtype=torch.long)
            rows = self.target.inference(input_ids=tokens)
            assert rows.argmax(-1).tolist() == [one["argmax"]]
            if one["gathered"] is not None:
                self.target.engine.kv_cache.gather_kv_incremental(one["gathered"], 2)
            return torch.tensor(one["valid_tokens"]), one["accept_length"], one["accept_length"], one["terminal"]

    return GreedyTree


def linked(one: dict[str, Any]) -> Any:
    def build(**given: Any) -> Any:
        asked = {name: value.tolist() if torch.is_tensor(value) else value for name, value in given.items()}
        assert asked == one["asked"]
        mask, *others = one["buffers"].values()
        return bits([mask])[0].to(torch.bool), *(torch.tensor(buffer) for buffer in others)

    return build


def followed(one: dict[str, Any]) -> Any:
    def verify(*, candidates: Any, retrieve_index: Any, retrieve_next_token: Any, **given: Any) -> None:
        assert candidates.tolist() == [one["tokens"]]
        assert given["target_predict"].tolist() == [one["argmax"]]
        below = [[v for v, parent in enumerate(one["parents"]) if parent == u] for u in range(len(one["parents"]))]
        assert retrieve_next_token.tolist() == [[children[0] if children else -1 for children in below]]
        for name in ("predicts", "accept_index", "accept_token_num"):
            given[name].copy_(torch.tensor(one[name]))

    return verify


LAYOUTS: dict[str, Replay] = {"opt-tree": grown, "sequoia": passed, "sglang": linked}
VERIFIED: dict[str, Replay] = {"opt-tree": kept_rows, "sequoia": gathered, "sglang": followed}
