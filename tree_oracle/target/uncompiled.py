"""flex_attention in a model without a compiler: transformers compiles it on the first call, and its masks too.

A kernel is compiled anew for new shapes, which nothing here could wait for on a processor. Torch can run the same operator as
it is written, all scores written out, and so it is run here on every device: its rows are those of flex_attention's definition,
and say nothing of how a compiled kernel rounds. The profiler shows FlexAttentionAutogradOp.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import nn
from torch.nn.attention import flex_attention as operator
from transformers import masking_utils
from transformers.integrations import flex_attention as integration

from tree_oracle.record import UsageError

FLEX = "flex_attention"
_BLOCKS = "create_block_mask"  # as transformers imports it
_SWITCH = "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG"  # torch's own: without it even a plain call is traced for each shape


def hold_uncompiled(model: nn.Module) -> None:
    """Run every call of ``model`` without a compiler.

    Raises:
        UsageError: this release of torch cannot.
    """
    if not hasattr(operator, _SWITCH):
        raise UsageError(f"attention {FLEX!r}: this torch can run it compiled only; use attention eager or sdpa")
    switch = _Switch()
    model.register_forward_pre_hook(switch.before)
    model.register_forward_hook(switch.after, always_call=True)


class _Switch:
    """Goes on before a module runs and off after it. It holds no module, so a copied model gets its own."""

    def __init__(self) -> None:
        self.on: list[ExitStack] = []

    def before(self, _module: nn.Module, _args: tuple[Any, ...]) -> None:
        stack = ExitStack()
        stack.enter_context(_uncompiled())
        self.on.append(stack)

    def after(self, _module: nn.Module, _args: tuple[Any, ...], _output: Any) -> None:
        self.on.pop().close()


@contextmanager
def _uncompiled() -> Iterator[None]:
    make: Any = getattr(masking_utils, _BLOCKS)

    def run(query: Any, key: Any, value: Any, training: bool = False, **options: Any) -> Any:
        return operator.flex_attention(query, key, value, **options)

    def blocks(*args: Any, **options: Any) -> Any:
        return make(*args, **options | {"_compile": False})

    ours = (
        (integration, "compile_friendly_flex_attention", run),
        (masking_utils, _BLOCKS, blocks),
        (operator, _SWITCH, True),
    )
    before = [getattr(module, name) for module, name, _ in ours]
    try:
        for module, name, value in ours:
            setattr(module, name, value)
        yield
    finally:
        for (module, name, _), value in zip(ours, before, strict=True):
            setattr(module, name, value)
