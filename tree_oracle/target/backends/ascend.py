"""Ascend's fused attention operators, called through torch_npu. Nothing here has run on an Ascend device yet.

Both take batch, heads, rows, width ("BNSD") and share keys among query heads by themselves. Their mask is described in
``ascend_mask``. torch_npu is imported at the call, so that this module loads everywhere.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tree_oracle.target.backends.ascend_mask import LARGEST, ascend_mask
from tree_oracle.target.backends.plain import Visible
from tree_oracle.target.backends.plugin import torch_npu


def fusion(q: Tensor, k: Tensor, v: Tensor, visible: Visible, scale: float) -> Tensor:
    """``npu_fusion_attention``, the operator of training: float16, bfloat16, float32.

    Raises:
        DeviceMissing: torch_npu is not there or cannot start.
        MaskShape: a row that sees nothing.
    """
    out: Tensor = torch_npu().npu_fusion_attention(
        q, k, v, q.shape[1], "BNSD", scale=scale, pre_tockens=LARGEST, next_tockens=LARGEST, **_mask(visible, q)
    )[0]
    return out


def infer(q: Tensor, k: Tensor, v: Tensor, visible: Visible, scale: float) -> Tensor:
    """``npu_fused_infer_attention_score``, the operator of inference: float16 and bfloat16.

    One query row takes another branch inside (IncreFlashAttention) than several do (PromptFlashAttention).

    Raises:
        DeviceMissing: torch_npu is not there or cannot start.
        MaskShape: a row that sees nothing.
    """
    out: Tensor = torch_npu().npu_fused_infer_attention_score(
        q.contiguous(),
        k.contiguous(),
        v.contiguous(),
        num_heads=q.shape[1],
        num_key_value_heads=k.shape[1],
        input_layout="BNSD",
        scale=scale,
        **_mask(visible, q),
    )[0]
    return out


def _mask(visible: Visible, q: Tensor) -> dict[str, Any]:
    if visible is None:
        return {}
    mask = ascend_mask(visible.cpu().numpy())
    table = torch.from_numpy(mask.atten_mask).to(q.device)
    return {"atten_mask": table, "sparse_mode": mask.sparse_mode, "inner_precise": mask.inner_precise}
