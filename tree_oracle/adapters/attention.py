"""Attention operators as decoders with the one seam ``attend``: torch's own, flex_attention, and Ascend's fused ones.

Each takes the device and the dtype of the target, so that ``--device cuda --dtype bfloat16`` judges the operator there:

    tree-oracle check --decoder tree_oracle.adapters.attention:sdpa_flash --family ATTEND

The mask is the boolean table of the layout, in the form of the kernel: a boolean or a block mask, for Ascend inverted. What is
not offered on the device is refused with the device's own reason, and an operator is judged only if the profile shows that it
ran: a library that quietly takes another kernel is refused as well. Ascend's operators have not been run on a device yet.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from tree_oracle.decoder import AttentionLayout
from tree_oracle.record import Unsupported
from tree_oracle.target import Target
from tree_oracle.target.backends import Kernel, backend_for, kernel_named
from tree_oracle.target.dtypes import DTYPES
from tree_oracle.tree import CandidateTree

# How torch begins where none of the kernels that are allowed takes the inputs.
_NO_KERNEL = ("No available kernel", "No viable backend")


def refuses(error: RuntimeError) -> bool:
    """Whether torch says that it has no such kernel for these inputs, and not that a kernel failed on them.

    What it lacks for a device or a dtype is a ``NotImplementedError``. Every error of CUDA has words on kernels in its later
    lines, so only the beginning counts.
    """
    return isinstance(error, NotImplementedError) or str(error).startswith(_NO_KERNEL)


class AttentionOperator:
    """One kernel on one device in one dtype."""

    def __init__(self, kernel: str, *, device: str = "cpu", dtype: str = "float32") -> None:
        """Find the kernel and the device.

        Raises:
            UsageError: an unknown kernel, or a device that is not here.
        """
        self._kernel: Kernel = kernel_named(kernel)
        self._backend = backend_for(device)
        self.attend_dtype = dtype  # what it computes in, for the seam

    def attend(
        self, q: np.ndarray, k: np.ndarray, v: np.ndarray, tree: CandidateTree, prefix_len: int, layout: AttentionLayout
    ) -> Tensor:
        """Attention by this kernel, under the table of the layout. (heads, n, width), on the device.

        Raises:
            Unsupported: the kernel does not run here with a mask, on these inputs, or another one ran in its place.
        """
        refused = self._backend.refusal(self._kernel.name, self.attend_dtype)
        if refused is not None:
            raise Unsupported(f"{self._kernel.name} on {self._backend.device} in {self.attend_dtype}: {refused}")
        arrays = [self._here(rows)[None].to(DTYPES[self.attend_dtype]) for rows in (q, k, v)]
        visible, scale = self._here(layout.visible), float(q.shape[-1]) ** -0.5
        seen = self._backend.kernel_seen(lambda: self._run(arrays, visible, scale))
        if self._kernel.name not in ("sdpa", *seen.kernels):
            raise Unsupported(
                f"asked for {self._kernel.name}, and {' and '.join(seen.kernels) or 'no known kernel'} ran"
            )
        out: Tensor = seen.result[0]
        return out

    def _run(self, arrays: list[Tensor], visible: Tensor, scale: float) -> Tensor:
        try:
            q, k, v = arrays
            return self._kernel.attend(q, k, v, visible, scale)
        except RuntimeError as error:
            if refuses(error):
                raise Unsupported(str(error).splitlines()[0]) from error
            raise  # the operator took the inputs and failed

    def _here(self, rows: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(rows).copy()).to(self._backend.device)


def operator(kernel: str) -> Any:
    """A factory ``target -> decoder`` for the kernel of this name (see ``tree_oracle.target.backends.KERNELS``)."""

    def make(target: Target) -> AttentionOperator:
        return AttentionOperator(kernel, device=target.device, dtype=target.dtype)

    make.__name__ = make.__qualname__ = kernel
    return make


eager = operator("eager")
sdpa = operator("sdpa")
sdpa_math = operator("sdpa-math")
sdpa_flash = operator("sdpa-flash")
sdpa_efficient = operator("sdpa-efficient")
sdpa_cudnn = operator("sdpa-cudnn")
flex = operator("flex")
flex_compiled = operator("flex-compiled")
ascend_fusion = operator("ascend-fusion")
ascend_infer = operator("ascend-infer")
