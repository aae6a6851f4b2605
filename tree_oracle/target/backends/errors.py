"""Why a device, dtype or kernel cannot be used here. Each message ends with what to do about it."""

from __future__ import annotations

from tree_oracle.record import UsageError


class DeviceMissing(UsageError):
    """The machine has no such device, or this torch was built without it."""


class PluginMissing(DeviceMissing):
    """The device needs a torch plug-in that is not installed (torch_npu)."""


class DriverMissing(DeviceMissing):
    """The plug-in is installed and cannot start: its driver or toolkit (CANN) is not there or does not fit."""


class MaskShape(UsageError):
    """A visibility table that does not fit the queries and keys, or that the operator's mask form cannot express."""
