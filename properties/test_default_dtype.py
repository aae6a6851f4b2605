"""What belongs to the whole process stays as it was, though a factory sets it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from grounds import ground, statuses

from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.record import Status
from tree_oracle.target import Target

pytestmark = pytest.mark.sweep


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_a_factory_that_sets_torchs_default_dtype_is_judged_as_without(dtype: torch.dtype) -> None:
    """The oracle's own tensors are made in its own default."""

    def factory(target: Target) -> Any:
        torch.set_default_dtype(dtype)
        return ReferenceDecoder(target)

    assert statuses(ground().report(factory, "HISTORY-01"))["HISTORY-01"] is Status.PASSED
    assert torch.get_default_dtype() is torch.float32
