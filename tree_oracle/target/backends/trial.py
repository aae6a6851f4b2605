"""Trying a dtype or a kernel on a small case: whether it runs, whether it was the one that ran, and whether it is attention.

The case: all scores equal, and the value of key j is row j of a Walsh matrix, whose entries are +1 and -1. A row of the output
is then the mean of the values that it sees, and one key more or less, of the eight there are, moves some entry of it by a ninth
at least. Half of that is allowed: an answer that is nearer to another table is a wrong result, in any dtype.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from tree_oracle.target.backends.hindrance import Hindrance, Kind, kind_of
from tree_oracle.target.backends.kernels import Kernel
from tree_oracle.target.backends.plain import Visible
from tree_oracle.target.backends.seen import Seen
from tree_oracle.target.dtypes import DTYPES

_HEADS, _ROWS, _WIDTH = 2, 8, 64  # every kernel takes such sizes
_SCALE = 0.125
_ROOM = 1 / (2 * (_ROWS + 1))

Synchronise = Callable[[], None]


def of_dtype(device: str, dtype: str, synchronise: Synchronise) -> Hindrance | None:
    """Why a matrix product and a softmax cannot be had in this dtype; None if they can."""

    def one() -> None:
        made = torch.ones(8, 8, dtype=DTYPES[dtype], device=device)
        (made @ made)[0].softmax(-1)

    return _tried(one, synchronise)


def of_kernel(
    kernel: Kernel,
    dtype: str,
    masked: bool,
    device: str,
    synchronise: Synchronise,
    see: Callable[[Callable[[], Any]], Seen],
) -> Hindrance | None:
    """Why this kernel cannot be used; None if it ran, as itself, and gave attention."""
    seen: list[Seen] = []
    table = visible_on_trial() if masked else None

    def run() -> None:
        q, k, v = (rows.to(DTYPES[dtype]).to(device)[None] for rows in arrays_on_trial())
        visible = None if table is None else table.to(device)
        if kernel.compiles:
            kernel.attend(
                q, k, v, visible, _SCALE
            )  # the first call traces the plain operator, whose name would be seen
        seen.append(see(lambda: kernel.attend(q, k, v, visible, _SCALE)))

    hindered = _tried(run, synchronise)
    if hindered is not None:
        return hindered
    (ran,) = seen
    if kernel.name not in ("sdpa", *ran.kernels):  # torch's own choice is whatever it was
        names = " and ".join(ran.kernels) or "no known kernel"
        return Hindrance(Kind.REFUSED, f"asked for {kernel.name}, and {names} ran")
    return _wrong(ran.result, table)


def arrays_on_trial() -> tuple[Tensor, Tensor, Float[Tensor, "heads rows width"]]:
    """Queries, keys and values, float32."""
    ones = torch.ones(_HEADS, _ROWS, _WIDTH)
    parity = [[(-1.0) ** (key & place).bit_count() for place in range(_WIDTH)] for key in range(_ROWS)]
    return ones, ones, torch.tensor(parity).expand(_HEADS, _ROWS, _WIDTH)


def visible_on_trial() -> Tensor:
    """No triangle: a kernel that only knows causal masks must refuse."""
    rows = torch.arange(_ROWS)
    visible = rows[:, None] >= rows[None, :]
    visible[3, 1] = False
    return visible


def _wrong(out: Tensor, visible: Visible) -> Hindrance | None:
    table = torch.ones(_ROWS, _ROWS) if visible is None else visible.float()
    due = table @ arrays_on_trial()[2] / table.sum(-1, keepdim=True)
    off = (out[0].float().cpu() - due).abs().max().item()
    if off <= _ROOM:  # never true of NaN
        return None
    return Hindrance(
        Kind.WRONG, f"a row of the small case is off by {off:.3g}; one wrong key would move it by {2 * _ROOM:.3g}"
    )


def _tried(run: Callable[[], Any], synchronise: Synchronise) -> Hindrance | None:
    """The reason why it cannot run, in one line. Torch warns of what a forced kernel misses before it raises."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            run()
            synchronise()
        except Exception as error:
            reasons = [str(error), *(str(warning.message) for warning in said)]
            lines = [line.strip() for reason in reversed(reasons) for line in reason.splitlines()[:1] if line.strip()]
            told = lines[0].partition(" (Triggered internally")[0] if lines else "no reason given"
            return Hindrance(kind_of(error), f"{type(error).__name__}: {told}")
    return None
