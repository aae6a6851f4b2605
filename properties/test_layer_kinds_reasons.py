"""The reasons for which models are refused are true of the models themselves, as they stand in transformers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoConfig, DynamicCache

from tree_oracle.masked import additive_mask, forward, tree_pass
from tree_oracle.record import Unsupported
from tree_oracle.target import forward_with_cache
from tree_oracle.target.tiny import seeded_model
from tree_oracle.target.tiny_configurations import CONFIGURATIONS

FULL = "full_attention"


def config(kind: str, **values: Any) -> Any:
    return AutoConfig.for_model(kind, **values)


PREFIX, NODES = [5, 9, 2, 7], [7, 3, 4, 8]  # the second branch, 4 and 8, stands behind a sibling
POSITIONS = np.array([3, 4, 4, 5])
SEEN = np.array(
    [[1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 0, 1, 0], [1, 1, 1, 1, 0, 1, 1]], dtype=bool
)

_SMALL = {"vocab_size": 64, "eos_token_id": None, "bos_token_id": None, "pad_token_id": None, "initializer_range": 0.3}
_HYBRID = _SMALL | {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "layer_types": ["linear_attention", FULL],
}
_EXPERTS = {
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
}
_LINEAR = {
    "linear_num_value_heads": 2,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
}
WRONG: dict[str, Callable[[], Any]] = {
    "mpt": lambda: config("mpt", **_SMALL, d_model=32, n_layers=2, n_heads=4, max_seq_len=64),
    "minimax": lambda: config("minimax", **_HYBRID, num_local_experts=4),
    "qwen3_next": lambda: config("qwen3_next", **_HYBRID, **_EXPERTS, **_LINEAR),
}


def rows_of(model: Any, ids: list[int], **inputs: Any) -> np.ndarray:
    with torch.no_grad():
        return np.asarray(model(input_ids=torch.tensor([ids]), use_cache=False, **inputs).logits[0].double().numpy())


@pytest.mark.parametrize("kind", WRONG)
def test_a_model_that_is_refused_is_wrong_behind_a_sibling(kind: str) -> None:
    """Handed the right mask and positions, it gives the right row on the branch that is stored first and a wrong one behind it."""
    model = seeded_model(WRONG[kind](), seed=0, attention="eager").eval()
    past = len(PREFIX) - 1
    whole = np.concatenate([np.tri(past, past + len(NODES), dtype=bool), SEEN])
    told = {} if kind == "mpt" else {"position_ids": torch.tensor([[*range(past), *POSITIONS.tolist()]])}
    rows = rows_of(model, [*PREFIX[:-1], *NODES], attention_mask=additive_mask(whole, model), **told)
    assert np.abs(rows[-3] - rows_of(model, [*PREFIX, 3])[-1]).max() < 1e-4
    assert np.abs(rows[-1] - rows_of(model, [*PREFIX, 4, 8])[-1]).max() > 1e-2
    with pytest.raises(Unsupported, match=f"'{kind}'"):
        tree_pass(model, DynamicCache(), np.array(NODES), POSITIONS, SEEN)


def test_bloom_takes_no_tree_mask() -> None:
    """Its bias is made from a mask over slots; one over queries and keys is an error."""
    model = seeded_model(
        config("bloom", **_SMALL, hidden_size=32, n_layer=2, n_head=4), seed=0, attention="eager"
    ).eval()
    with pytest.raises(ValueError, match="too many values to unpack"):
        rows_of(model, NODES, attention_mask=additive_mask(SEEN[:, 3:], model))


@pytest.mark.versions
def test_a_temperature_that_counts_slots_is_refused_where_it_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a Llama-4 with attention temperature are right, or a node is named whose row, let through, would be wrong."""
    found = CONFIGURATIONS["llama4"]()
    found.attn_temperature_tuning, found.floor_scale, found.attn_scale = True, 4, 0.5
    model = seeded_model(found, seed=0, attention="eager").eval()
    outcomes = set()
    for past in range(9):
        prefix = [(7 * at + 3) % 60 for at in range(past)]
        true = [rows_of(model, [*prefix, *branch])[-1] for branch in ([7], [7, 3], [7, 4], [7, 4, 8])]
        try:
            assert np.abs(tree_rows(model, prefix) - true).max() < 1e-4
            outcomes.add("right")
        except Unsupported as error:
            assert "attention temperature, which changes every 4 tokens, counts slots" in str(error)
            node = int(str(error).split()[1])
            with monkeypatch.context() as patch:
                patch.setattr(forward, "refuse_slot_scaling", lambda *_: None)
                assert np.abs(tree_rows(model, prefix)[node] - true[node]).max() > 1e-4
            outcomes.add("refused")
    assert outcomes == {"right", "refused"}


def tree_rows(model: Any, prefix: list[int]) -> np.ndarray:
    """The rows of the two branches above a prefix of any length."""
    past, kept = len(prefix), DynamicCache()
    if past:
        forward_with_cache(model, torch.tensor([prefix]), cache=kept)
    seen = np.concatenate([np.ones((len(NODES), past), dtype=bool), SEEN[:, 3:]], axis=1)
    return np.asarray(tree_pass(model, kept, np.array(NODES), POSITIONS + past - 3, seen))
