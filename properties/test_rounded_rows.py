"""Right rows in half precision are called what they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from grounds import ground, sentences, with_methods
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.checks.rounded import rounded_to
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.target import Target


@given(st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=8), st.sampled_from(["float16", "bfloat16"]))
def test_torch_rounds_alike(values: list[float], form: str) -> None:
    """What torch makes of a row in half precision is known as that, or as the other where both are the same."""
    row = torch.tensor(values, dtype=torch.float32)
    half = row.to(getattr(torch, form)).float().numpy()
    found = rounded_to(half, row.numpy())
    assert found is not None
    assert np.array_equal(half, row.to(getattr(torch, found)).float().numpy())


def test_another_row_is_no_rounding() -> None:
    """A row that is off by more than its last digits is none of them."""
    assert rounded_to(np.array([1.0, 2.5], np.float32), np.array([1.0, 2.0], np.float32)) is None


@pytest.mark.parametrize("form", ["float16", "bfloat16"])
def test_the_failure_names_the_format(form: str) -> None:
    """HISTORY fails on the exact model, and says that the law is right but for its digits."""

    def rounding(target: Target) -> Any:
        made = ReferenceDecoder(target)

        def tree_logits(prefix: Any, tree: Any) -> Any:
            return torch.as_tensor(np.asarray(made.tree_logits(prefix, tree))).to(getattr(torch, form))

        return with_methods(tree_logits=tree_logits)

    assert any(
        f"it is that law rounded to {form}" in said for said in sentences(ground().report(rounding, "HISTORY-01"))
    )
