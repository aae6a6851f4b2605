"""Claim: ready adapters import without their engines, and ask for a missing one in a single clear error."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from typing import Any

import pytest

from tree_oracle import check_decoder, load_target
from tree_oracle.adapters import ENGINES, load_engine
from tree_oracle.record import MissingEngine, UsageError

ADAPTERS = {
    "economize": ("economize", ("EconomizeTrees", "EconomizeChains", "EconomizeLookup")),
    "rotalabs-accel": ("rotalabs", ("RotalabsTrees", "RotalabsChains", "RotalabsMedusa")),
    "dflash": ("dflash", ("DFlash",)),
    "flashspec": ("flashspec", ("FlashSpec", "FlashSpecLookup")),
    "sequential-speculative-decoding": ("seqspecdecod", ("StandardSampling", "CappedHierarchicalSampling")),
}


class _Absent:
    """Finds no engine, whether one is installed or not."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.split(".")[0] in {engine.module for engine in ENGINES.values()} - {"transformers"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


@pytest.fixture
def no_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    for engine in ENGINES.values():
        loaded = [name for name in sys.modules if name.split(".")[0] == engine.module != "transformers"]
        for name in loaded:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_Absent(), *sys.meta_path])


@pytest.mark.parametrize("name", ADAPTERS)
@pytest.mark.usefixtures("no_engines")
def test_an_adapter_names_its_missing_engine_and_the_line_that_installs_it(name: str) -> None:
    """Without the engine the module imports, and making a decoder says what to install."""
    module, classes = ADAPTERS[name]
    found = importlib.import_module(f"tree_oracle.adapters.{module}")
    for adapter in classes:
        with pytest.raises(MissingEngine, match=f"engine {name} .*install it with: .*--no-deps {name}=="):
            getattr(found, adapter)(load_target("exact"))


@pytest.mark.usefixtures("no_engines")
def test_a_missing_engine_is_no_failure_of_the_decoder() -> None:
    """The run ends with the same error, which is one of usage, and no verdict is given."""
    with pytest.raises(UsageError, match="the engine flashspec"):
        check_decoder("tree_oracle.adapters.flashspec:FlashSpec", target="exact")


def test_an_unknown_engine_is_named_with_the_known_ones() -> None:
    """A name that is none is refused."""
    with pytest.raises(UsageError, match="unknown engine 'vroom'; known: dflash, economize"):
        load_engine("vroom")


def test_what_breaks_while_an_engine_is_imported_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that is there and lacks something itself is not called absent."""
    import tree_oracle.adapters.engines as engines

    def broken(name: str) -> Any:
        raise ImportError("cannot import name 'AutoThing'", name="transformers")

    monkeypatch.setattr(engines, "import_module", broken)
    with pytest.raises(MissingEngine, match="dflash cannot be imported: cannot import name 'AutoThing'"):
        load_engine("dflash")
