"""flex_attention's block mask: made once per table, made anew for a changed one, and compiled where there is a compiler."""

from __future__ import annotations

import gc
import os
import shutil
from weakref import ref

import pytest
import torch

from tree_oracle.target.backends import backend_for, kernel_named, kernel_seen

SCALE = 0.1


def test_a_changed_table_is_a_new_mask() -> None:
    """Rows follow a table that is changed in place between two calls, and nothing keeps a table alive."""
    table = torch.ones(8, 16, dtype=torch.bool).tril(8)
    q, k = torch.randn(1, 2, 8, 16), torch.randn(1, 2, 16, 16)
    for row in (0, 3, 3, 5):
        table[row, 1:] = False
        seen, true = (kernel_named(name).attend(q, k, k, table, SCALE) for name in ("flex", "eager"))
        assert (seen - true).abs().max() < 1e-6
    alive = ref(table)
    del table
    gc.collect()
    assert alive() is None


@pytest.mark.skipif(
    os.environ.get("TREE_ORACLE_PROFILE") != "deep", reason="compiles for a quarter of a minute; profile deep"
)
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_the_compiled_kernel_is_seen_and_right() -> None:
    """It is offered when asked for, the profile shows the compiled graph and no plain operator, and its rows are eager's."""
    assert backend_for("cpu").hindrance("flex-compiled") is None
    q, k = torch.randn(1, 2, 40, 32), torch.randn(1, 2, 170, 32)
    table = torch.rand(40, 170) < 0.5
    table[:, 0] = True
    compiled = kernel_named("flex-compiled")
    compiled.attend(q, k, k, table, SCALE)
    run = kernel_seen(lambda: compiled.attend(q, k, k, table, SCALE))
    assert run.kernels == ("flex-compiled",)
    assert (run.result - kernel_named("eager").attend(q, k, k, table, SCALE)).abs().max() < 1e-5
