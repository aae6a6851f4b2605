"""Scripted chance for engines that draw from torch's generators: their own code runs, on coins that are handed over.

Inside the block ``torch.rand`` and ``rand_like`` give the next coins, one per entry in storage order, and ``torch.multinomial``
takes one coin for each row, as ``tree_oracle.verify.coin`` has it: the first token whose cumulative weight exceeds u times the
sum. Generators that are passed along are not asked. So a rule that takes no coins can be judged at every edge, exactly.

An engine may draw the uniforms of all tests before it looks at the first. ``in_order`` hands it the coins in the order in
which the tests are really made, which only the engine's own answers tell: tests that are never reached take no coin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from tree_oracle.decoder.sampled import StreamCoin
from tree_oracle.record import Unsupported
from tree_oracle.tree import CandidateTree

Decision = tuple[Sequence[int], int]
Decide = Callable[[Sequence[float], Iterator[float]], Decision]

_BELOW_ONE = 1 - 2**-24  # the largest float32 below 1: a coin that float32 would round up to 1 is no coin any more
_OTHERS = (torch.bernoulli, torch.normal, torch.randint, torch.randn, torch.randperm)


class TorchChance(TorchFunctionMode):
    """See the module.

    Args:
        coins: what tests and draws take.
        draws: what draws take, where that is something else.
        forced: what the first draws give, whatever their weights: a draft that is handed over. They take no coin.

    Raises:
        Unsupported: (inside the block) chance of another kind, or several draws of one row.
    """

    def __init__(
        self, coins: Iterator[float], draws: Iterator[float] | None = None, forced: Sequence[int] = ()
    ) -> None:
        super().__init__()
        self._coins, self._draws, self._forced = coins, StreamCoin(coins if draws is None else draws), list(forced)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func in _OTHERS:
            raise Unsupported(f"the engine draws with {func.__name__}, which cannot be scripted")
        if func in (torch.rand, torch.rand_like):
            kwargs.pop("generator", None)
            return self._uniforms(torch.empty_like if func is torch.rand_like else torch.empty, args, kwargs)
        if func in (torch.multinomial, Tensor.multinomial):
            return self._draw(*args, **kwargs)
        return func(*args, **kwargs)

    def _uniforms(self, make: Callable[..., Tensor], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Tensor:
        blank = make(*args, **kwargs)
        taken = [min(next(self._coins), _BELOW_ONE) for _ in range(blank.numel())]
        return torch.tensor(taken, dtype=blank.dtype, device=blank.device).reshape(blank.shape)

    def _draw(self, weights: Tensor, num_samples: int, *_: Any, **__: Any) -> Tensor:
        if num_samples != 1:
            raise Unsupported(f"the engine draws {num_samples} tokens at a time; expected 1")
        rows = weights.reshape(-1, weights.shape[-1]).double().tolist()
        found = [self._forced.pop(0) if self._forced else self._draws.draw(row) for row in rows]
        return torch.tensor(found, device=weights.device).reshape(*weights.shape[:-1], 1)


def in_order(tree: CandidateTree, coins: Iterator[float], decide: Decide) -> Decision:
    """Decide with one coin per test, in the order in which children are tested, and one for the draw at the end.

    ``decide(uniforms, draws)`` runs the engine on one uniform per node, of which the root's counts for nothing, and must
    answer as ``accept`` does. It is run once more for every test that is made.
    """
    tests: dict[int, float] = {}
    while True:
        uniforms = [tests.get(node, _BELOW_ONE) for node in range(len(tree))]
        accepted, _ = decide(uniforms, iter([0.0]))
        node = _next_test(tree, accepted, tests)
        if node is None:
            return decide(uniforms, chain([next(coins)]))
        tests[node] = next(coins)


def _next_test(tree: CandidateTree, accepted: Sequence[int], tests: Mapping[int, float]) -> int | None:
    """The first node on the engine's own way down that has had no coin; None where the way has ended."""
    here, way = 0, set(accepted)
    while True:
        below = None
        for child in tree.children(here):
            if child not in tests:
                return int(child)
            if child in way:
                below = int(child)
                break
        if below is None:
            return None
        here = below
