"""Ascend NPUs, through torch_npu. Written from its documentation; nothing here has run on an Ascend device yet."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tree_oracle.target.backends.backend import Backend
from tree_oracle.target.backends.errors import DeviceMissing
from tree_oracle.target.backends.facts import DeviceFacts, facts_of, switched
from tree_oracle.target.backends.plugin import torch_npu

_TOOLKIT = ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH")  # set by CANN's set_env.sh
_DRIVER = Path("/usr/local/Ascend/driver/version.info")


class NpuBackend(Backend):
    """One Ascend device."""

    kind = "npu"

    def __init__(self, device: str) -> None:
        """Take the device that ``device`` names.

        Raises:
            PluginMissing: torch_npu is not installed.
            DriverMissing: it cannot start, most often for want of CANN.
            DeviceMissing: no Ascend device is there, or none of this number.
        """
        super().__init__(device if ":" in device else f"{device}:0")
        self._plugin = torch_npu()
        count = self._plugin.npu.device_count() if self._plugin.npu.is_available() else 0
        if self._index >= count:
            raise DeviceMissing(
                f"device {device!r}: torch_npu sees {count} Ascend devices here, counted from 0; check with npu-smi info "
                "and ASCEND_RT_VISIBLE_DEVICES"
            )

    @property
    def _index(self) -> int:
        return int(self.device.partition(":")[2])

    def synchronise(self) -> None:
        """Wait for every stream of this device."""
        self._plugin.npu.synchronize(self._index)

    def environment(self) -> DeviceFacts:
        """SoC, CANN, driver and HF32 switches."""
        npu = self._plugin.npu
        return facts_of(
            self.kind,
            self.device,
            name=npu.get_device_name(self._index),
            plugin=f"torch_npu {self._plugin.__version__}",
            runtime=f"CANN {_cann()}",
            driver=_version(_DRIVER),
            capability=f"SoC {npu.get_soc_version()}",
            reduced_float32=switched(
                **{"HF32 matmul": bool(npu.matmul.allow_hf32), "HF32 convolution": bool(npu.conv.allow_hf32)}
            ),
        )

    @contextmanager
    def full_precision(self) -> Iterator[None]:
        """HF32 off, in matrix products (off at the start) and convolutions (on at the start)."""
        switches: tuple[Any, ...] = (self._plugin.npu.matmul, self._plugin.npu.conv)
        before = [switch.allow_hf32 for switch in switches]
        try:
            for switch in switches:
                switch.allow_hf32 = False
            yield
        finally:
            for switch, value in zip(switches, before, strict=True):
                switch.allow_hf32 = value


def _cann() -> str:
    """CANN's release, from the note that its installer leaves."""
    for variable in _TOOLKIT:
        home = os.environ.get(variable)
        if home:
            found = _version(Path(home) / f"{platform.machine()}-linux" / "ascend_toolkit_install.info")
            if found:
                return found
    return "of unknown release"


def _version(note: Path) -> str:
    """The line ``version=...`` of an installer's note; empty without the file."""
    try:
        lines = note.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition("=")[2].strip() for line in lines if line.lower().startswith("version=")), "")
