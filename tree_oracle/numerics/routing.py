"""Which experts each row was sent to, in a mixture of experts.

Where the last expert chosen and the next one score nearly the same, a rounding step swaps them, and the row moves by whole
logits: no fault, and no rounding that a tolerance could hold. So rows whose own token goes to other experts in the tree pass
than in the plain pass are judged apart. What their ancestors and the prefix were sent to is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from jaxtyping import Int
from torch import Tensor, nn

Experts = Int[np.ndarray, "k experts"]  # of each row, layer after layer, sorted within a layer
Calls = dict[int, list[Experts]]  # by router, call after call, one row for each token


def has_experts(model: Any) -> bool:
    """Whether rows are computed together with those that go to the same experts."""
    return _counts(model.config)[0] > 0


@contextmanager
def watched(model: Any) -> Iterator[Calls]:
    """The experts that every call inside the block chooses; nothing for a model that has none."""
    count, chosen = _counts(model.config)
    routers = [module for module in model.modules() if count and type(module).__name__.endswith("Router")]
    calls: Calls = {number: [] for number in range(len(routers))}

    def note(number: int) -> Any:
        def after(_module: nn.Module, _args: Any, output: Any) -> None:
            calls[number].append(_chosen(output, count, chosen))

        return after

    handles = [router.register_forward_hook(note(number)) for number, router in enumerate(routers)]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def in_one_pass(calls: Calls) -> Experts | None:
    """Of every row of the last call; None without experts."""
    return np.concatenate([found[-1] for found in calls.values()], axis=1) if calls else None


def in_many_passes(calls: Calls) -> Experts | None:
    """Of the last row of every call; None without experts."""
    if not calls:
        return None
    return np.concatenate([np.stack([call[-1] for call in found]) for found in calls.values()], axis=1)


def _counts(config: Any) -> tuple[int, int]:
    """Experts in a layer, and how many of them a token goes to; 0 where there are none."""
    return int(getattr(config, "num_local_experts", 0)), int(getattr(config, "num_experts_per_tok", 0))


def _chosen(output: Any, count: int, chosen: int) -> Experts:
    """The best ``chosen`` of the scores that a router returns, whatever else it returns beside them."""
    parts = output if isinstance(output, tuple) else (output,)
    scores = next(part for part in parts if isinstance(part, Tensor) and part.shape[-1] == count)
    best = scores.reshape(-1, count).topk(chosen, dim=-1).indices
    return np.asarray(best.sort(dim=-1).values.cpu().numpy())
