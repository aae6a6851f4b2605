"""Whether a kernel skips what a mask forbids, read from how long it takes.

One attention call of n rows behind a prefix is timed under three masks of the same size: a star (each node sees the root and
itself), a chain (each sees all before it) and all-visible. The masks take turns, so that a busy machine slows all three. A
kernel that computes every pair takes as long for a star as for all-visible. It is said to skip only if the slower quarter of
star times lies below the faster quarter of all-visible ones; otherwise no difference was seen, which a busy machine can cause
as well. Trees of the same size and other depths (``profile``) take turns with them: what is visible grows with depth.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec
import numpy as np
import torch
from jaxtyping import Bool

from tree_oracle.numerics.profile import sized_parents
from tree_oracle.record import UsageError, counted
from tree_oracle.target.backends import backend_for, kernel_named
from tree_oracle.target.dtypes import DTYPES

HEADS, WIDTH = 4, 64  # of the timed call; what is compared is masks, not sizes of models
SHAPES = ("star", "chain", "all")


class MaskCost(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Times of one kernel at one size, in seconds."""

    kernel: str
    nodes: int
    prefix: int
    pairs: dict[str, int]  # visible pairs, by shape
    median: dict[str, float]  # by shape
    skips: bool
    deeper: bool | None = None  # whether the deepest tree takes longer than the flattest; None: fewer than two depths


def mask_of(shape: str | int, nodes: int, prefix: int) -> Bool[np.ndarray, "nodes columns"]:
    """Who sees whom among ``prefix - 1`` cached tokens and the nodes; a number is the depth of a tree (``sized_parents``)."""
    if isinstance(shape, int):
        return _tree_mask(sized_parents(nodes, shape), prefix)
    own = np.eye(nodes, dtype=bool)
    own[:, 0] = True
    among = {"star": own, "chain": np.tri(nodes, dtype=bool), "all": np.ones((nodes, nodes), dtype=bool)}[shape]
    return np.concatenate([np.ones((nodes, prefix - 1), dtype=bool), among], axis=1)


def _tree_mask(parents: Sequence[int], prefix: int) -> Bool[np.ndarray, "nodes columns"]:
    among = np.eye(len(parents), dtype=bool)
    for node, parent in enumerate(parents[1:], start=1):
        among[node] |= among[parent]
    return np.concatenate([np.ones((len(parents), prefix - 1), dtype=bool), among], axis=1)


def mask_cost(
    kernel: str,
    *,
    nodes: int,
    prefix: int,
    depths: Sequence[int] = (),
    device: str = "cpu",
    dtype: str = "float32",
    times: int = 21,
) -> MaskCost:
    """Time one kernel; ``depths``: of trees that are timed beside the three shapes.

    Raises:
        UsageError: a kernel or dtype that is not to be had here, a size below 1, or no tree of such a depth.
        KernelFailed: the kernel is offered here, and fails on a small case.
    """
    if min(nodes, prefix, times) < 1:
        raise UsageError(
            f"{counted(nodes, 'node')}, a prefix of {prefix} and {times} times; expected at least 1 of each"
        )
    backend, chosen = backend_for(device), kernel_named(kernel)
    hindered = backend.dtype_hindrance(dtype) or backend.hindrance(kernel, dtype)
    if hindered is not None:
        raise hindered.error(f"{kernel} in {dtype} on {device}")
    make = torch.Generator().manual_seed(0)
    rows, keys, values = (
        torch.randn(1, HEADS, count, WIDTH, generator=make).to(DTYPES[dtype]).to(device)
        for count in (nodes, prefix - 1 + nodes, prefix - 1 + nodes)
    )
    flattest_first = sorted(set(depths))
    shapes: dict[str, str | int] = {name: name for name in SHAPES} | {
        f"depth {depth}": depth for depth in flattest_first
    }
    masks = {name: torch.as_tensor(mask_of(shape, nodes, prefix)).to(device) for name, shape in shapes.items()}
    taken: dict[str, list[float]] = {shape: [] for shape in masks}
    for turn in range(times + 1):
        for shape, mask in masks.items():
            began = time.perf_counter()
            chosen.attend(rows, keys, values, mask, WIDTH**-0.5)
            backend.synchronise()
            if turn:  # the first turn warms up
                taken[shape].append(time.perf_counter() - began)
    return MaskCost(
        kernel=kernel,
        nodes=nodes,
        prefix=prefix,
        pairs={shape: int(mask.sum()) for shape, mask in masks.items()},
        median={shape: float(np.median(found)) for shape, found in taken.items()},
        skips=skips(taken["star"], taken["all"]),
        deeper=skips(taken[f"depth {flattest_first[0]}"], taken[f"depth {flattest_first[-1]}"])
        if len(flattest_first) > 1
        else None,
    )


def skips(star: list[float], everything: list[float]) -> bool:
    """Whether the slower quarter of the one lies below the faster quarter of the other."""
    return float(np.quantile(star, 0.75)) < float(np.quantile(everything, 0.25))
