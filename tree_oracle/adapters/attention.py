"""Attention operators as decoders with the one seam ``attend``: torch's own, flex_attention, and Ascend's fused ones.

Each takes the device and the dtype of the target, so that ``--device cuda --dtype bfloat16`` judges the operator there:

    tree-oracle check --decoder tree_oracle.adapters.attention:sdpa_flash --family ATTEND

The mask is the boolean table of the layout, in the form of the kernel: a boolean or a block mask, for Ascend inverted. What is
not offered on the device is refused with the device's own reason, as is a case for which memory does not suffice; what is
offered and crashes has failed. An operator is judged only if the profile shows that it ran: a library that quietly takes
another kernel is refused as well. Ascend's operators have not been run on a device yet.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from tree_oracle.decoder import AttentionLayout
from tree_oracle.record import Unsupported, first_line
from tree_oracle.target import Target
from tree_oracle.target.backends import Hindrance, Kernel, Kind, backend_for, kernel_named, kind_of
from tree_oracle.target.dtypes import DTYPES
from tree_oracle.tree import CandidateTree

_UNJUDGED = (Kind.REFUSED, Kind.OUT_OF_MEMORY)  # they say nothing of whether the operator is right


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
            Unsupported: the kernel does not run here with a mask, on these inputs, another one ran in its place, or memory did
                not suffice.
            KernelFailed: it is offered here, and crashes.
        """
        hindered = self._backend.hindrance(self._kernel.name, self.attend_dtype)
        if hindered is not None and hindered.kind is not Kind.WRONG:  # a wrong result is what the cases are for
            what = f"{self._kernel.name} on {self._backend.device} in {self.attend_dtype}"
            raise Unsupported(f"{what}: {hindered}") if hindered.kind in _UNJUDGED else hindered.error(what)
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
            found = kind_of(error)
            if found in _UNJUDGED:
                raise Unsupported(str(Hindrance(found, first_line(error)))) from error
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
