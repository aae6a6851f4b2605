"""Double precision throughout: models narrow to float32 inside, and this undoes it.

Many Hugging Face modules hold ``x.to(torch.float32)`` in their normalisation or ``softmax(x, dtype=torch.float32)``, written to
*raise* the precision of half precision models. In a float64 model the same lines round: rows of a tiny Qwen3 then lie 1e-5
from the true ones, as far as a float32 run does, so they are no reference to measure float32 by. Under ``Double`` a float64
tensor stays one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

_NARROW = (torch.float32, torch.float16, torch.bfloat16)


class Double(TorchFunctionMode):
    """A context in which no operation turns a float64 tensor into a smaller floating type."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if not args or not isinstance(args[0], Tensor) or args[0].dtype != torch.float64:
            return func(*args, **(kwargs or {}))
        if func in (Tensor.float, Tensor.half, Tensor.bfloat16):
            return args[0]
        wide = {name: _wide(value) for name, value in (kwargs or {}).items()}
        return func(args[0], *map(_wide, args[1:]), **wide)


def _wide(value: Any) -> Any:
    return torch.float64 if isinstance(value, torch.dtype) and value in _NARROW else value


class _Switch:
    """Turns ``Double`` on before a module runs and off after it. It holds no module, so a copied model gets its own."""

    def __init__(self) -> None:
        self.on: list[Double] = []

    def before(self, _module: nn.Module, _args: tuple[Any, ...]) -> None:
        mode = Double()
        mode.__enter__()  # type: ignore[no-untyped-call]
        self.on.append(mode)

    def after(self, _module: nn.Module, _args: tuple[Any, ...], _output: Any) -> None:
        self.on.pop().__exit__(None, None, None)  # type: ignore[no-untyped-call]


def hold_double(model: nn.Module) -> None:
    """Run every call of ``model`` under ``Double``. A call of a module *inside* it is not covered."""
    switch = _Switch()
    model.register_forward_pre_hook(switch.before)
    model.register_forward_hook(switch.after, always_call=True)
