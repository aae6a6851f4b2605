"""What a mask does at the attention that is handed it, read there, because the same tensor means different things elsewhere.

                floating point    bool                 whole numbers     None
    eager       added             added as 0 and 1     added             hides nothing
    sdpa        added             True attends         refused           a triangle from the upper left corner; one row: all
    flex        added             added as 0 and 1     added             hides nothing; a BlockMask: see ``tap_blocks``
    own         added             True attends         refused           causal above the cached rows
    foreign     added             cannot be told       cannot be told    one row: all; otherwise it cannot be told

"own" is a model that reads its mask itself, such as the exact one; "foreign" one whose attention is not that of transformers.
Measured on transformers 5.24; so a boolean mask under eager or flex hides nothing, however it was meant. A cell is hidden if
its score is moved down by 1e4 or more: exp(-1e4) is 0.

Columns are those of the keys that the layer's cache shows (``tree_oracle.masked.columns``): a static one has slots behind the
rows that it holds, a window has dropped rows in front. What is read is laid over all rows, and what has been dropped is hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from inspect import signature
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn
from torch.nn.attention.flex_attention import BlockMask

from tree_oracle.decoder.tap_blocks import dense_of
from tree_oracle.masked.columns import UNFILLED
from tree_oracle.masked.kinds import FULL, near

EAGER, SDPA, FLEX, OWN, FOREIGN = "eager", "sdpa", "flex_attention", "own", "foreign"
ADDED = (EAGER, FLEX)  # a tensor is added to the scores, whatever its type

_HIDDEN = -1e4


def innermost(model: nn.Module, parameter: str) -> list[nn.Module]:
    """The modules whose ``forward`` takes ``parameter`` and that hold no other such module: there it is really used."""
    takers = {id(m): m for m in model.modules() if parameter in _names(m)}
    return [m for m in takers.values() if not any(id(inner) in takers for inner in m.modules() if inner is not m)]


def given(module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], name: str) -> Any:
    """The argument ``name`` of a call, by name or by place; None where it is not given."""
    if name in kwargs:
        return kwargs[name]
    names = _names(module)
    return args[names.index(name)] if name in names[: len(args)] else None


def _names(module: nn.Module) -> tuple[str, ...]:
    """The parameters of a module's ``forward``, less the module itself."""
    forward = module.forward
    if getattr(forward, "__func__", None) is type(module).forward:
        return _parameters(type(module).forward)[1:]
    return tuple(signature(forward).parameters)  # replaced in this one module


@lru_cache(maxsize=1024)
def _parameters(forward: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(signature(forward).parameters)  # asked at every call that is tapped, and slow


def kernel_of(model: Any) -> str:
    """Which column of the table above holds for ``model``."""
    takers = innermost(model, "attention_mask")
    if any(module is model for module in takers):
        return OWN
    known = all(type(module).__module__.partition(".")[0] == "transformers" for module in takers)
    return str(model.config._attn_implementation) if known else FOREIGN


@dataclass(frozen=True, slots=True)
class Asked:
    """What a layer is asked in one row of a batch, as far as the meaning of its mask depends on it."""

    rows: int  # new tokens
    past: int  # cached rows
    kernel: str
    kind: str = FULL
    size: int = 0  # window or chunk
    lane: int = 0  # which row of the batch
    positions: tuple[int, ...] | None = None  # of the new tokens; None: by slot
    shown: Int[np.ndarray, " columns"] | None = None  # the row that each key is; None: not known
    heads: int = 1  # of the queries

    @property
    def columns(self) -> int:
        """All rows, the new ones last."""
        return self.past + self.rows


@dataclass(frozen=True, slots=True)
class Sight:
    """What the layers of one kind see in one row of a batch."""

    kind: str
    size: int
    mask: Bool[np.ndarray, "rows columns"]  # columns: the cached rows, then the new ones
    stale: bool = False  # a row sees a slot of the cache that holds nothing; a record has no column for it

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sight):
            return NotImplemented
        mine, theirs = (self.kind, self.size, self.stale), (other.kind, other.size, other.stale)
        return mine == theirs and np.array_equal(self.mask, other.mask)


def acting(mask: Any, asked: Asked) -> Sight | None:
    """True where a row attends. None: it cannot be read."""
    if isinstance(mask, Mapping):
        mask = mask.get(asked.kind)
    if isinstance(mask, BlockMask):
        return _of_blocks(mask, asked)
    if mask is None or (isinstance(mask, Tensor) and mask.dim() == 2 and asked.kernel == OWN):
        return _without_plane(mask, asked)
    if not isinstance(mask, Tensor) or mask.dim() != 4:
        return None
    seen = _of_plane(mask, asked)
    return None if seen is None else _over_rows(seen, asked)


def _of_blocks(mask: BlockMask, asked: Asked) -> Sight | None:
    if asked.kernel != FLEX:
        return None
    keys = mask.seq_lengths[1] if asked.shown is None else len(asked.shown)
    seen = dense_of(mask, lane=asked.lane, heads=asked.heads, rows=asked.rows, keys=keys)
    return None if seen is None else _over_rows(seen, asked)


def _without_plane(padding: Tensor | None, asked: Asked) -> Sight | None:
    if asked.kernel == FOREIGN and asked.rows > 1:
        return None
    if asked.kernel != OWN:
        width = asked.columns if asked.shown is None else len(asked.shown)
        return _over_rows(_without_mask(asked.kernel, asked.rows, width), asked)
    real = np.ones(asked.columns, dtype=bool)
    if padding is not None:
        real = (padding[_lane(padding, asked), : asked.columns] != 0).cpu().numpy()
    seen = np.tri(asked.rows, asked.columns, asked.past, dtype=bool) & real
    if asked.kind != FULL:
        keys: Int[np.ndarray, " columns"] = real.cumsum(axis=0) - 1  # as is usual where padding stands in front
        if asked.positions is not None:
            keys = np.concatenate([keys[: asked.past], asked.positions])
        seen = seen & near(asked.kind, asked.size, keys[asked.past :], keys)
    return Sight(asked.kind, asked.size, np.asarray(seen))


def _without_mask(kernel: str, rows: int, keys: int) -> Bool[np.ndarray, "rows keys"]:
    if kernel in ADDED or rows == 1:
        return np.ones((rows, keys), dtype=bool)
    return np.tri(rows, keys, dtype=bool)


def _of_plane(mask: Tensor, asked: Asked) -> Bool[np.ndarray, "rows keys"] | None:
    if asked.kernel == FOREIGN and not mask.is_floating_point():
        return None
    as_it_is = mask.dtype == torch.bool and asked.kernel not in ADDED
    found = mask[_lane(mask, asked)]
    heads = (found if as_it_is else found > _HIDDEN).cpu().numpy()
    seen = heads[0]
    if seen.shape[0] not in (1, asked.rows) or (heads != seen).any():
        return None
    return np.array(np.broadcast_to(seen, (asked.rows, seen.shape[1])))


def _over_rows(seen: Bool[np.ndarray, "rows keys"], asked: Asked) -> Sight | None:
    """From keys to rows: a key that stands behind the last row is a slot that is not filled."""
    keys = _keys(seen.shape[1], asked)
    if seen.shape[1] < len(keys):
        return None
    filled = keys != UNFILLED
    mask = np.zeros((asked.rows, asked.columns), dtype=bool)
    mask[:, keys[filled]] = seen[:, : len(keys)][:, filled]
    return Sight(asked.kind, asked.size, mask, bool(seen[:, : len(keys)][:, ~filled].any()))


def _keys(width: int, asked: Asked) -> Int[np.ndarray, " keys"]:
    """The row that each key is: as the cache says; where it is not known, a narrow mask is one over the last rows."""
    if asked.shown is not None:
        return asked.shown
    if width < asked.columns and asked.kind != FULL:
        return np.arange(asked.columns - width, asked.columns)
    return np.pad(np.arange(asked.columns), (0, max(width - asked.columns, 0)), constant_values=UNFILLED)


def _lane(mask: Tensor, asked: Asked) -> int:
    """One mask may be meant for all rows of a batch."""
    return asked.lane if len(mask) > 1 else 0
