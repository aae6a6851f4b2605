"""A small kit that several files of properties read: trained for a moment, its choices clear in float32 alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tree_oracle.kit import make, make_kit

SMALL: dict[str, Any] = {"steps": 6, "prompts": 2, "length": 8, "dtype": "float32"}
DEEP = os.environ.get("TREE_ORACLE_PROFILE") == "deep"


def one_number_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """To measure a floor in three formats takes most of the time that a small kit takes."""
    if not DEEP:
        monkeypatch.setattr(make, "DTYPES", ("float32",))


def small_kit(factory: pytest.TempPathFactory) -> Path:
    """The folder of a small kit, made once in a process; whoever changes it changes a copy."""
    folder = factory.getbasetemp() / "small-kit"
    if not folder.exists():
        with pytest.MonkeyPatch.context() as monkeypatch:
            one_number_format(monkeypatch)
            make_kit(folder, **SMALL)
    return folder
