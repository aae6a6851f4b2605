"""Which attention kernel ran, by the names of the operators that torch's profiler saw.

A kernel that was asked for is no evidence: scaled_dot_product_attention chooses among its kernels by shape, dtype and mask,
and a library may pass it by. Every kernel here leaves an operator of its own in the profile:

    sdpa-math       aten::_scaled_dot_product_attention_math
    sdpa-flash      aten::_scaled_dot_product_flash_attention, on a CPU ..._for_cpu
    sdpa-efficient  aten::_scaled_dot_product_efficient_attention
    sdpa-cudnn      aten::_scaled_dot_product_cudnn_attention
    flex            FlexAttentionAutogradOp (not compiled: all scores are written out)
    flex-compiled   a compiled graph; its operators are not named one by one
    ascend-fusion   npu::npu_fusion_attention
    ascend-infer    npu::npu_fused_infer_attention_score
    eager           a softmax, and none of the above
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from torch.profiler import ProfilerActivity, profile

_SDPA = "aten::_scaled_dot_product_"
_MARKS = {
    "sdpa-math": (f"{_SDPA}attention_math",),
    "sdpa-flash": (f"{_SDPA}flash_attention", f"{_SDPA}flash_attention_for_cpu"),
    "sdpa-efficient": (f"{_SDPA}efficient_attention",),
    "sdpa-cudnn": (f"{_SDPA}cudnn_attention",),
    "sdpa-device": (f"{_SDPA}fused_attention_overrideable",),  # the plug-in of a device brings its own
    "flex": ("FlexAttentionAutogradOp",),
    "ascend-fusion": ("npu::npu_fusion_attention",),
    "ascend-infer": ("npu::npu_fused_infer_attention_score",),
}
_COMPILED = "CompiledFxGraph"
_SOFTMAX = "aten::_softmax"


class Seen(NamedTuple):
    """What one call did."""

    result: Any  # what the call returned
    operators: tuple[str, ...]  # names in the profile, sorted, each once
    kernels: tuple[str, ...]  # the attention kernels that these names are evidence of


def kernel_seen(run: Callable[[], Any], *, device: str = "cpu") -> Seen:
    """Run once under the profiler and say which attention kernels ran.

    Args:
        run: must make its attention calls itself; what another thread or process does is not seen.
        device: where it computes; on a GPU the profile holds the names of the device's own kernels too.
    """
    activities = [ProfilerActivity.CPU]
    if device.startswith("cuda"):
        activities.append(ProfilerActivity.CUDA)
    with _quietly(), profile(activities=activities) as seen:
        result = run()
    operators = tuple(sorted({event.name for event in seen.events() or ()}))
    return Seen(result, operators, kernels_in(operators))


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep the profiler of torch 2.13 from writing two lines on stderr each time it is used."""
    if "KINETO_LOG_LEVEL" in os.environ:
        yield
        return
    os.environ["KINETO_LOG_LEVEL"] = "99"
    try:
        yield
    finally:
        del os.environ["KINETO_LOG_LEVEL"]


def kernels_in(operators: Iterable[str]) -> tuple[str, ...]:
    """The attention kernels that these operator names are evidence of, sorted; empty if no attention was seen."""
    names = set(operators)
    found = sorted(kernel for kernel, marks in _MARKS.items() if names & set(marks))
    if found:
        return tuple(found)
    if any(_COMPILED in name for name in names):
        return ("flex-compiled",)
    return ("eager",) if _SOFTMAX in names else ()
