"""torch_npu, imported when it is first needed, with one clear message for each way in which it can fail."""

from __future__ import annotations

import importlib
from typing import Any

from tree_oracle.record import first_line
from tree_oracle.target.backends.errors import DeviceMissing, DriverMissing, PluginMissing

_NAME = "torch_npu"


def torch_npu() -> Any:
    """The plug-in of Ascend devices.

    Raises:
        PluginMissing: it is not installed.
        DriverMissing: it is installed and cannot start, because CANN is missing or does not fit, or because it was built for
            another torch.
    """
    try:
        return importlib.import_module(_NAME)
    except ModuleNotFoundError as error:
        if error.name != _NAME:
            raise DriverMissing(_cannot_start(error)) from error
        raise PluginMissing(
            f"Ascend devices need {_NAME}, which is not installed; install the release that fits this torch "
            "(pip install 'tree-oracle[npu]'), and CANN beside it"
        ) from error
    except (ImportError, OSError, RuntimeError, AttributeError) as error:
        raise DriverMissing(_cannot_start(error)) from error


def shown_device(device: str) -> str:
    """The name of a device for a reader: ``npu`` is Ascend's only where torch_npu is there; anything else simulates it."""
    if device.partition(":")[0] != "npu":
        return device
    try:
        torch_npu()
    except DeviceMissing:
        return f"{device} (simulated)"
    return device


def _cannot_start(error: Exception) -> str:
    return (
        f"{_NAME} is installed and cannot start: {first_line(error).rstrip('.')}. Most often CANN is missing or not set up: "
        "install it and run 'source set_env.sh' from its folder in this shell; torch, torch_npu and CANN must be releases made "
        "for each other"
    )
