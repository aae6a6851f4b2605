"""The attention kernels that can be asked for by name, and how one is forced.

``sdpa`` leaves the choice to torch, which is what a model does unless told otherwise; ``sdpa-math`` and its like allow one of
torch's kernels and no other. For a Hugging Face model load the target with ``attention=kernel.implementation`` and run it
under ``kernel.forced()``. What was forced is not yet what ran: see ``seen``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from tree_oracle.target.backends import ascend, plain
from tree_oracle.target.backends.plain import Visible
from tree_oracle.target.spec import choose

Attention = Callable[
    [Float[Tensor, "b h n w"], Float[Tensor, "b kv t w"], Float[Tensor, "b kv t x"], Visible, float],
    Float[Tensor, "b h n x"],
]


@dataclass(frozen=True, slots=True)
class Kernel:
    """One way to compute attention."""

    name: str
    implementation: str  # what transformers calls it
    attention: Attention  # (queries, keys, values, visible, scale) -> outputs; GQA by fewer heads in keys and values
    sdpa: SDPBackend | None = None  # the one kernel of torch's choice that ``forced`` allows
    compiles: bool = False  # the first call of a shape takes seconds, and needs a compiler on this machine

    def forced(self) -> AbstractContextManager[None]:
        """Inside the block torch may choose this kernel only, and raises where it cannot run."""
        return nullcontext() if self.sdpa is None else sdpa_kernel(self.sdpa)

    @torch.no_grad()
    def attend(
        self,
        q: Float[Tensor, "b h n w"],
        k: Float[Tensor, "b kv t w"],
        v: Float[Tensor, "b kv t x"],
        visible: Visible,
        scale: float,
    ) -> Float[Tensor, "b h n x"]:
        """Masked attention by this kernel: softmax over the visible keys of ``scale * q . k``, times ``v``.

        Args:
            visible: (n, t) or (b, n, t), True where a query may see a key; None for no mask at all.

        Raises:
            MaskShape: the table does not fit the queries and keys.
            RuntimeError: as torch says it, where the kernel cannot take these inputs.
        """
        plain.fitting(q, k, visible)
        with self.forced():
            return self.attention(q, k, v, visible, scale)


KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel("eager", "eager", plain.eager),
        Kernel("sdpa", "sdpa", plain.sdpa),
        Kernel("sdpa-math", "sdpa", plain.sdpa, SDPBackend.MATH),
        Kernel("sdpa-flash", "sdpa", plain.sdpa, SDPBackend.FLASH_ATTENTION),
        Kernel("sdpa-efficient", "sdpa", plain.sdpa, SDPBackend.EFFICIENT_ATTENTION),
        Kernel("sdpa-cudnn", "sdpa", plain.sdpa, SDPBackend.CUDNN_ATTENTION),
        Kernel("flex", "flex_attention", plain.flex),
        Kernel("flex-compiled", "flex_attention", plain.flex_compiled, compiles=True),
        Kernel("ascend-fusion", "sdpa", ascend.fusion),
        Kernel("ascend-infer", "sdpa", ascend.infer),
    )
}


def kernel_named(name: str) -> Kernel:
    """The kernel of this name.

    Raises:
        UsageError: there is none; the nearest name is given.
    """
    choose("kernel", name, KERNELS)
    return KERNELS[name]
