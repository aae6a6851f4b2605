"""Reading a ``BlockMask`` of torch's flex attention: a rule that tells each cell from the others, and a table of blocks.

    block in the table as partial    the rule decides
    block in the table as full       visible
    block in neither                 hidden

A compiled kernel goes by the table and asks the rule in partial blocks alone; uncompiled, torch asks the rule everywhere and
never looks at the table (read in torch 2.13). So a mask whose halves contradict each other means two things, and is not read.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_mask


def dense_of(mask: BlockMask, *, lane: int, heads: int, rows: int, keys: int) -> Bool[np.ndarray, "rows keys"] | None:
    """True where a row attends. None: table and rule contradict each other, heads differ, or the rule cannot be asked.

    Args:
        lane: which row of the batch.
        heads: of the queries; the rule is asked for each, since it is told the head.
        rows: new tokens.
        keys: that the layer shows.
    """
    if rows > mask.seq_lengths[0] or keys > mask.seq_lengths[1]:
        return None  # flex attention refuses it too
    try:
        asked = create_mask(mask.mask_mod, lane + 1, heads, rows, keys, device=mask.kv_indices.device)
    except Exception:  # somebody else's function, which may look something up that is not there
        return None
    seen = asked[lane].cpu()
    partial = _blocks(mask, mask.kv_num_blocks, mask.kv_indices, lane, rows, keys)
    full = _blocks(mask, mask.full_kv_num_blocks, mask.full_kv_indices, lane, rows, keys)
    agrees = torch.where(partial, seen, full) == seen
    if not agrees.all() or (seen != seen[:1]).any():
        return None
    return np.asarray(seen[0].numpy())


def _blocks(
    mask: BlockMask, counts: Tensor | None, indices: Tensor | None, lane: int, rows: int, keys: int
) -> Bool[Tensor, "heads rows keys"]:
    """Which cells lie in the blocks of one of the two tables; its heads are all, or one for all."""
    if counts is None or indices is None:
        return torch.zeros((1, rows, keys), dtype=torch.bool)
    place = lane if len(counts) > 1 else 0
    counts, indices = counts[place].cpu(), indices[place].cpu()
    height, width = mask.BLOCK_SIZE
    listed = torch.arange(indices.shape[-1]) < counts[..., None]  # heads x blocks of rows x places in the list
    columns = max(indices.shape[-1], -(-keys // width))
    found = torch.zeros((*indices.shape[:-1], columns + 1), dtype=torch.bool)
    found.scatter_(-1, torch.where(listed, indices.long(), columns), True)
    cells = found[..., :columns].repeat_interleave(height, dim=-2).repeat_interleave(width, dim=-1)
    return cells[:, :rows, :keys]
