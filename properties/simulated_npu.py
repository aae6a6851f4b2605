"""A simulated NPU: a torch device called ``npu`` that computes on the processor. For tests of device plumbing only.

It shows that ids, masks and positions are put on the device that a model lies on, since operations on tensors of two devices
are refused here as on a real one. It shows nothing of Ascend, neither its operators nor how it rounds, and calls itself
simulated. It is torch's own PrivateUse1 key, renamed: a tensor keeps its numbers in a contiguous tensor of the processor, found
by its storage, and one fallback runs every operator on those. A view is a copy here, so an operator that writes in place to
a view is refused. The functions that set it up are private to torch and need release 2.13.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.utils import backend_registration
from torch.utils._pytree import tree_leaves, tree_map

from tree_oracle.target.backends import DeviceFacts
from tree_oracle.target.backends.cpu import CpuBackend
from tree_oracle.target.backends.facts import facts_of

CAN_BE_SIMULATED = hasattr(backend_registration, "_setup_privateuseone_for_python_backend") and hasattr(
    getattr(torch._C, "_acc", None), "create_empty_tensor"
)
_present = False
_lacks: tuple[torch.dtype, ...] = ()  # dtypes that it cannot compute
_held: dict[int, Tensor] = {}  # by storage: what a tensor of the device holds
_views: set[int] = set()  # storages that are copies of another tensor's numbers
_VIEWS = {"aten::view", "aten::as_strided"}


class SimulatedBackend(CpuBackend):
    """The device as a backend. Its kind says that it is none of Ascend's."""

    kind = "simulated npu"

    def environment(self) -> DeviceFacts:
        """No SoC, no CANN, no driver."""
        return facts_of(self.kind, self.device, name="simulated on a processor")


@contextmanager
def simulated_npu(lacks: tuple[torch.dtype, ...] = ()) -> Iterator[SimulatedBackend]:
    """The device is there inside the block. Torch cannot unlearn its name, but told that none is present it leaves it alone."""
    global _present, _lacks
    _registered()
    _present, _lacks = True, lacks
    try:
        yield SimulatedBackend("npu")
    finally:
        _present, _lacks = False, ()
        _held.clear()
        _views.clear()


def held(tensor: Tensor) -> Tensor:
    """The numbers of a tensor on the device."""
    numbers = _held[tensor.untyped_storage()._cdata]
    return numbers if numbers.shape == tensor.shape else numbers.reshape(tensor.shape)


@lru_cache(maxsize=1)
def _registered() -> torch.library.Library:
    """Once per process; the library must live as long as its fallback."""

    class Module:
        is_available = staticmethod(lambda: _present)
        is_initialized = staticmethod(lambda: True)
        current_device = staticmethod(lambda: 0)
        device_count = staticmethod(lambda: int(_present))
        manual_seed_all = staticmethod(lambda _: None)
        _is_in_bad_fork = staticmethod(lambda: False)

    class Hook(torch._C._acc.PrivateUse1Hooks):
        def is_available(self) -> bool:
            return _present

        def has_primary_context(self, device_index: int) -> bool:
            return _present

        def is_built(self) -> bool:
            return True

    set_up: Callable[..., None] = backend_registration._setup_privateuseone_for_python_backend
    set_up("npu", backend_module=Module(), hook=Hook())
    library = torch.library.Library("_", "IMPL")  # type: ignore[no-untyped-call]
    library.fallback(_run, "PrivateUse1")  # type: ignore[no-untyped-call]
    return library


def _run(operator: Any, *args: Any, **kwargs: Any) -> Any:
    """One operator, on what its tensors hold."""
    if not _present:
        raise RuntimeError("the simulated device is not there")
    name = operator.name()
    given: dict[int, tuple[Tensor, Tensor]] = {}  # by identity: what is held, and the tensor that holds it

    def unwrapped(value: Any) -> Any:
        if not _is_ours(value):
            return torch.device("cpu") if isinstance(value, torch.device) else value
        numbers = held(value)
        given[id(numbers)] = numbers, value
        return numbers

    plain, more = tree_map(unwrapped, (args, kwargs))
    if name == "aten::_copy_from":  # the one operator that may cross devices; its second tensor is written
        plain[1].copy_(plain[0])
        return args[1]
    if name == "aten::_local_scalar_dense":
        return plain[0].item()
    if any(tensor.untyped_storage()._cdata in _views for tensor in _written(operator, args, kwargs)):
        raise NotImplementedError(f"the simulated device copies views, so {name} cannot write to one")
    result = operator(*plain, **more)
    for numbers, tensor in given.values():
        if numbers.numel() != tensor.numel():  # an output that the operator gave another size
            tensor.data = _wrapped(numbers)
    return tree_map(lambda value: given[id(value)][1] if id(value) in given else _wrapped(value, name), result)


def _written(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
    """The tensors of the device that the operator writes to."""
    given = dict(zip((argument.name for argument in operator._schema.arguments), args, strict=False)) | kwargs
    names = [a.name for a in operator._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    return [value for name in names for value in tree_leaves(given.get(name)) if _is_ours(value)]


def _is_ours(value: Any) -> bool:
    return isinstance(value, Tensor) and value.device.type == "npu"


def _wrapped(value: Any, made_by: str = "") -> Any:
    if not isinstance(value, Tensor):
        return value
    if value.dtype in _lacks:
        raise RuntimeError(f"the simulated device has no {value.dtype}")
    numbers = value.contiguous()
    tensor: Tensor = torch._C._acc.create_empty_tensor(tuple(value.shape), value.dtype)
    place = tensor.untyped_storage()._cdata
    _held[place] = numbers
    (_views.add if made_by in _VIEWS else _views.discard)(place)
    return tensor
