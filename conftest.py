"""Settings for the project's own tests: Hypothesis profiles and one thread for every numerical library.

``TREE_ORACLE_PROFILE`` chooses the profile. ``ci`` (the default) draws the same examples in every run; ``deep`` draws many
fresh ones, prints the seed and keeps what failed. Tests that are marked ``sweep`` are slow: a plain run of everything leaves
them out, `pytest -m sweep`, a file by its name and ``deep`` run them, and so does ``.ci/run``.
"""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_TESTS = "properties"

# Read when numpy and torch load, so they stand before any import of either. Small models run fastest, and always give the
# same bits, on one thread; a spinning thread would only take time from the other test worker.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test needs a network, so none may wait for one

# How long an example takes says nothing about whether it is right, and machines differ.
settings.register_profile("base", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("base"), derandomize=True, max_examples=20, database=None)
settings.register_profile("deep", settings.get_profile("base"), derandomize=False, max_examples=2000)
_PROFILE = os.environ.get("TREE_ORACLE_PROFILE", "ci")
settings.load_profile(_PROFILE)


def pytest_report_header() -> str:
    """Name the releases that the results were got with; this reads metadata and imports none of them."""
    names = ("numpy", "torch", "transformers", "msgspec", "jaxtyping")
    return f"profile: {_PROFILE}; " + ", ".join(f"{name} {metadata.version(name)}" for name in names)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the sweeps out where nobody chose anything."""
    everything = [Path(one).name for one in config.args] == [_TESTS]
    if _PROFILE == "deep" or config.option.markexpr or config.option.keyword or not everything:
        return
    sweeps = [item for item in items if item.get_closest_marker("sweep")]
    config.hook.pytest_deselected(items=sweeps)
    items[:] = [item for item in items if not item.get_closest_marker("sweep")]


def pytest_runtest_setup() -> None:
    """Hold torch to one thread, whatever the environment says, without importing it for tests that do not."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() != 1:
        torch.set_num_threads(1)
