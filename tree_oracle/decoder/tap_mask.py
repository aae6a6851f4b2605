"""What a mask does at the attention that is handed it, read there, because the same tensor means different things elsewhere.

                floating point    bool                 whole numbers     None
    eager       added             added as 0 and 1     added             hides nothing
    sdpa        added             True attends         refused           a triangle from the upper left corner; one row: all
    own         added             True attends         refused           causal above the cached rows

"own" is a model that reads its mask itself, such as the exact one. Measured on transformers 5.24; a boolean mask under eager
therefore hides nothing, however it was meant. A cell is hidden if its score is moved down by 1e4 or more: exp(-1e4) is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor, nn

EAGER, SDPA, OWN = "eager", "sdpa", "own"

_HIDDEN = -1e4


def innermost(model: nn.Module, parameter: str) -> list[nn.Module]:
    """The modules whose ``forward`` takes ``parameter`` and that hold no other such module: there it is really used."""
    takers = {id(m): m for m in model.modules() if parameter in signature(m.forward).parameters}
    return [m for m in takers.values() if not any(id(inner) in takers for inner in m.modules() if inner is not m)]


def given(module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], name: str) -> Any:
    """The argument ``name`` of a call, by name or by place; None where it is not given."""
    if name in kwargs:
        return kwargs[name]
    names = list(signature(module.forward).parameters)
    return args[names.index(name)] if name in names[: len(args)] else None


def kernel_of(model: Any) -> str:
    """Which column of the table above holds for ``model``."""
    reads_it_itself = any(module is model for module in innermost(model, "attention_mask"))
    return OWN if reads_it_itself else str(model.config._attn_implementation)


def acting(mask: Any, kernel: str, rows: int, past: int) -> Bool[np.ndarray, "rows columns"] | None:
    """True where a row attends; columns are the ``past`` cached rows, then the new ones. None: it cannot be read."""
    columns = past + rows
    if isinstance(mask, Mapping):
        mask = mask.get("full_attention")
    if mask is None:
        return _without_mask(kernel, rows, columns)
    if not isinstance(mask, Tensor):
        return None
    if mask.dim() == 2 and kernel == OWN:
        return np.asarray(_without_mask(kernel, rows, columns) & (mask[0, :columns] != 0).cpu().numpy())
    return _of_plane(mask, kernel, rows, columns) if mask.dim() == 4 else None


def _without_mask(kernel: str, rows: int, columns: int) -> Bool[np.ndarray, "rows columns"]:
    if kernel == EAGER or rows == 1:
        return np.ones((rows, columns), dtype=bool)
    return np.tri(rows, columns, 0 if kernel == SDPA else columns - rows, dtype=bool)


def _of_plane(mask: Tensor, kernel: str, rows: int, columns: int) -> Bool[np.ndarray, "rows columns"] | None:
    as_it_is = mask.dtype == torch.bool and kernel != EAGER
    heads = (mask[0] if as_it_is else mask[0] > _HIDDEN).cpu().numpy()
    seen = heads[0]
    if seen.shape[0] not in (1, rows) or seen.shape[1] < columns or (heads != seen).any():
        return None
    if seen[:, columns:].any():
        return None  # a row sees slots of the cache that hold nothing yet; a record has no columns for them
    return np.array(np.broadcast_to(seen[:, :columns], (rows, columns)))
