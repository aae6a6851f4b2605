"""The mask of Ascend's fused attention: its polarity, its shapes, and the calls that carry it. No device is asked."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis.extra import numpy as arrays

from tree_oracle.target.backends import KERNELS, MaskShape, ascend_mask, visible_pairs

TABLES = arrays.arrays(np.bool_, arrays.array_shapes(min_dims=2, max_dims=3, max_side=6))


@given(table=TABLES)
def test_the_operator_is_given_what_is_masked_out(table: np.ndarray) -> None:
    """A pair is visible iff its entry is False, in four dimensions with one head; a row without a key is refused by name."""
    empty = np.argwhere(~table.any(axis=-1))
    if len(empty):
        with pytest.raises(MaskShape, match=f"row {empty[0][-1]} of sequence .* sees no key at all"):
            ascend_mask(table)
        return
    mask = ascend_mask(table)
    rows = table.reshape(-1, *table.shape[-2:])
    assert mask.atten_mask.shape == (len(rows), 1, *table.shape[-2:])
    assert mask.atten_mask.flags["C_CONTIGUOUS"]
    for place in np.ndindex(rows.shape):
        assert mask.atten_mask[place[0], 0, place[1], place[2]] != rows[place]
    assert (visible_pairs(mask.atten_mask)[:, 0] == rows).all()
    assert mask.sparse_mode == 1  # the whole table; modes 2 to 4 compute a triangle of their own


@pytest.mark.parametrize(
    "table", [np.ones(3, bool), np.ones((2, 2)), np.ones((1, 1, 2, 2), bool), np.ones((2, 0), bool)]
)
def test_what_is_no_visibility_is_refused(table: np.ndarray) -> None:
    """One dimension, numbers, four dimensions and no keys."""
    with pytest.raises(MaskShape, match="is no visibility; expected booleans"):
        ascend_mask(table)


class Plugin(ModuleType):
    """Stands in for torch_npu: both operators written out on the processor, by what their documentation says of the mask."""

    def __init__(self) -> None:
        super().__init__("torch_npu")
        self.calls: list[dict[str, Any]] = []

    def npu_fusion_attention(self, q: Any, k: Any, v: Any, heads: int, layout: str, **more: Any) -> tuple[Any, ...]:
        assert heads == q.shape[1]
        assert layout == "BNSD"
        assert more["pre_tockens"] == more["next_tockens"] == 2**31 - 1
        return self._attention(q, k, v, more)

    def npu_fused_infer_attention_score(self, q: Any, k: Any, v: Any, **more: Any) -> tuple[Any, ...]:
        assert (more["num_heads"], more["num_key_value_heads"], more["input_layout"]) == (
            q.shape[1],
            k.shape[1],
            "BNSD",
        )
        assert all(x.is_contiguous() for x in (q, k, v))
        return self._attention(q, k, v, more)

    def _attention(self, q: Any, k: Any, v: Any, more: dict[str, Any]) -> tuple[Any, ...]:
        self.calls.append(more)
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
        scores = q @ k.transpose(-1, -2) * more["scale"]
        if "atten_mask" in more:
            assert more["sparse_mode"] in (0, 1)
            scores = scores.masked_fill(more["atten_mask"], -torch.inf)
        return scores.softmax(-1) @ v, None


@pytest.mark.parametrize("name", ["ascend-fusion", "ascend-infer"])
def test_the_calls_carry_the_same_attention(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against stand-ins that follow the documentation, both wrappers give what eager attention gives, masked and not."""
    plugin = Plugin()
    monkeypatch.setitem(sys.modules, "torch_npu", plugin)
    made = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(2, heads, rows, 16, generator=made) for heads, rows in ((4, 3), (2, 7), (2, 7)))
    visible = torch.rand(2, 3, 7, generator=made) < 0.4
    visible[..., 2] = True
    for table in (visible, visible[0], None):
        due = KERNELS["eager"].attend(q, k, v, table, 0.25)
        assert torch.allclose(KERNELS[name].attend(q, k, v, table, 0.25), due, atol=1e-6)
    assert ["atten_mask" in call for call in plugin.calls] == [True, True, False]
