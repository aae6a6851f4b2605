"""The noise floor of a target, measured without any tree.

Seeded random histories are run in the target's dtype and in float64. ``sequential`` is the largest error of a plain row.
``control`` is the largest change of a plain row when it is computed again in ways that change no history: the same pass
again; beside other rows in one batch; behind a cached prefix. One token changed in the history shows what a fault looks like;
where every layer slides, it is one of those that the row can depend on at all, 1 + layers x (window - 1) of them.

Cache entries follow the rule of the rows, room = 2 x error + change: the error of a cold run against float64, and the change
when the same tokens are run in two pieces. The change alone is too small a room: a right tree pass exceeded the largest of
112 measured ones in 2 of 504 cases.

A fault of the target's arithmetic would make room for itself. Where the rows of a control are in the median more than twice as
far off as plain ones, a cache stores too little or many rows are rounded otherwise than few, and the figures are ``unusable``.
Of right passes of ten architectures in three dtypes the ratio was 0.91 to 1.16, of those two faults in float32 above 2,500. One
scale for all rows does not show here; ``numerics.signs`` has more.

A float64 target has no wider dtype to be measured by. Its errors are those of a float32 copy times 2^-29, the ratio of the
two unit roundoffs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tree_oracle.record import Noise, Unsupported, gaps
from tree_oracle.target.compat import forward_with_cache, layer_tensors, prefill
from tree_oracle.target.reach import reach_of, reaches
from tree_oracle.target.sequential_naive import History, ids_of, naive_rows
from tree_oracle.target.sequential_shared import shared_rows
from tree_oracle.target.target import Target

# Short and long histories, a few of each.
LENGTHS = (2, 5, 9, 17, 33, 64, 65, 129)
PER_LENGTH = 3

_FACTOR = 2.0  # the rule's own

_FLOAT64_TO_FLOAT32 = 2.0**-29  # 2^-53 / 2^-24

_Rows = Float[np.ndarray, "k vocab"]


def measure_noise(target: Target, reference: Target, seed: int = 0) -> Noise:
    """Measure ``target`` by ``reference``, its float64 copy; zero for an exact target, whose rows are compared bit for bit."""
    if target.exact:
        return Noise()
    draw = np.random.default_rng(seed)
    groups = [_histories(draw, n, target.vocab_size) for n in LENGTHS if n <= target.context_length]
    histories = [history for group in groups for history in group]
    true = naive_rows(reference.model, histories)
    reach = reach_of(reaches(target.model.config))
    wrong = naive_rows(reference.model, [_changed(draw, history, target.vocab_size, reach) for history in histories])
    plain = naive_rows(target.model, histories)
    controls = _controls(target.model, groups)
    rounding, unit = _rounding(target)
    rounded = plain if rounding is target else naive_rows(rounding.model, histories)
    return Noise(
        sequential=unit * float(gaps(rounded, true).max()),
        control=max(float(gaps(plain, rows).max()) for rows in controls),
        wrong_history=float(gaps(wrong, true).min()),
        cache=cache_room(target, reference, histories),
        samples=len(controls) * len(histories),
        unusable=_unlike(plain, controls, true) if rounding is target else "",
    )


def row_error(target: Target, reference: Target, history: History) -> float:
    """How far one plain row is off, up to a constant shift."""
    rounding, unit = _rounding(target)
    (found,) = gaps(naive_rows(rounding.model, [history]), naive_rows(reference.model, [history]))
    return unit * float(found)


def cache_room(target: Target, reference: Target, histories: Sequence[History]) -> float:
    """The room of a cache entry, from these texts of two tokens or more; see the first lines of this module."""
    rounding, unit = _rounding(target)
    try:
        errors = (_cache_gap(prefill(rounding.model, h), prefill(reference.model, h)) for h in histories)
        changes = (
            _cache_gap(prefill(target.model, h), _in_two_pieces(target.model, h)) for h in histories if len(h) > 1
        )
        return 2 * unit * max(errors) + max(changes, default=0.0)
    except Unsupported:  # no keys and values: nobody can ask for the truth about them either
        return 0.0


def _rounding(target: Target) -> tuple[Target, float]:
    """The target whose rounding is measured, and what a figure of its is worth."""
    return (target.in_dtype("float32"), _FLOAT64_TO_FLOAT32) if target.dtype == "float64" else (target, 1.0)


def _controls(model: Any, groups: Sequence[Sequence[History]]) -> list[_Rows]:
    """The rows of all groups again: repeated, in one batch per group, and behind the prefix that a group shares."""
    batched = [shared_rows(model, group, cached=False) for group in groups]
    behind = [shared_rows(model, group) for group in groups]
    return [naive_rows(model, [h for group in groups for h in group]), np.concatenate(batched), np.concatenate(behind)]


def _unlike(plain: _Rows, controls: Sequence[_Rows], true: _Rows) -> str:
    """Why the figures are not those of rounding; empty if they are."""
    usual = float(np.median(gaps(plain, true)))
    worst = max(float(np.median(gaps(rows, true))) for rows in controls)
    if worst <= _FACTOR * usual:
        return ""
    return (
        f"half of the target's rows are off by {worst:.3g} logits or more behind a cached prefix or in a batch, and by "
        f"{usual:.3g} alone: that is not rounding, and a floor from it would make room for the fault"
    )


def _in_two_pieces(model: Any, history: History) -> Any:
    cut = 1 + sum(history) % (len(history) - 1)  # any cut: the tokens are random
    cache = prefill(model, history[:cut])
    forward_with_cache(model, ids_of(model, [history[cut:]]), cache=cache)
    return cache


def _cache_gap(one: Any, other: Any) -> float:
    pairs = zip(chain(*layer_tensors(one)), chain(*layer_tensors(other)), strict=True)
    return max(float((_wide(a) - _wide(b)).abs().max()) for a, b in pairs)


def _wide(values: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """In double precision, on the processor: a device may have none, and the reference may lie elsewhere."""
    return values.cpu().to(torch.float64)


def _histories(draw: np.random.Generator, length: int, vocab: int) -> list[History]:
    """Different histories of one length that share all but their last quarter."""
    shared = draw.integers(0, vocab, length - max(1, length // 4))
    return [tuple(map(int, [*shared, *draw.integers(0, vocab, length - len(shared))])) for _ in range(PER_LENGTH)]


def _changed(draw: np.random.Generator, history: History, vocab: int, reach: int | None) -> History:
    at = int(draw.integers(0 if reach is None else max(len(history) - reach, 0), len(history)))
    return (*history[:at], (history[at] + 1 + int(draw.integers(vocab - 1))) % vocab, *history[at + 1 :])
