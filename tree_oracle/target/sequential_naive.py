"""Layer 1 of the truth, the oracle itself: one ordinary forward pass per history.

A batch of one, no cache, no mask argument, no position argument. The row of a history is the last position's logits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

History = tuple[int, ...]


def naive_rows(model: Any, histories: Sequence[History]) -> Float[np.ndarray, "k vocab"]:
    """The row after each history, in the model's own dtype, widened to float64."""
    return np.stack([widened(plain_logits(model, ids_of(model, [history]))[0, -1]) for history in histories])


def plain_logits(model: Any, ids: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n vocab"]:
    """One ordinary forward pass."""
    with torch.no_grad():
        logits: Tensor = model(input_ids=ids, use_cache=False).logits
    return logits


def ids_of(model: Any, sequences: Sequence[Sequence[int]]) -> Int[Tensor, "batch n"]:
    """Equally long token sequences as one tensor on the model's device."""
    return torch.tensor(sequences, dtype=torch.int64, device=model.device)


def widened(values: Float[Tensor, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """The same numbers in float64 on the host; nothing rounds."""
    return values.detach().cpu().to(torch.float64).numpy()
