"""The tap reads a mask as the attention does: a cell is visible exactly where it gets a weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tree_oracle.decoder.tap_mask import EAGER, OWN, SDPA, Asked, acting
from tree_oracle.target import load_target

FORMS = ["additive", "minus infinity", "bool", "zeros and ones", "none"]


def weights(mask: Tensor | None, kernel: str, rows: int, columns: int) -> np.ndarray:
    """What each of ``rows`` queries gives to each key, by torch's own attention or by the formula that eager code writes."""
    random = torch.Generator().manual_seed(rows * columns)
    q, k = torch.randn(1, 1, rows, 4, generator=random), torch.randn(1, 1, columns, 4, generator=random)
    if kernel == SDPA:
        causal = mask is None and rows > 1  # how transformers calls it
        out = torch.nn.functional.scaled_dot_product_attention(
            q, k, torch.eye(columns)[None, None], attn_mask=mask, is_causal=causal
        )
    else:
        scores = q @ k.transpose(-1, -2) / 2
        out = torch.softmax(scores if mask is None else scores + mask, dim=-1)
    return np.asarray(out[0, 0].numpy())


def read_as(mask: object, kernel: str, rows: int, past: int, **asked: Any) -> np.ndarray | None:
    """The cells of a mask, in a call of a single row unless told otherwise."""
    seen = acting(mask, Asked(rows, past, kernel, **asked))
    return None if seen is None else seen.mask


def in_form(seen: Tensor, form: str) -> Tensor | None:
    if form == "none":
        return None
    hidden = float("-inf") if form == "minus infinity" else torch.finfo(torch.float32).min
    plain = {"bool": seen, "zeros and ones": seen.float()}
    return plain.get(form, torch.zeros(seen.shape).masked_fill(~seen, hidden))[None, None]


@given(st.integers(1, 6), st.integers(0, 5), st.data())
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", [EAGER, SDPA])
def test_visible_is_what_gets_a_weight(kernel: str, form: str, rows: int, past: int, data: st.DataObject) -> None:
    """Under eager and sdpa alike, a mask of any form is read as it acts, however it may have been meant."""
    cells = data.draw(st.lists(st.booleans(), min_size=rows * (past + rows), max_size=rows * (past + rows)))
    seen = torch.tensor(cells).reshape(rows, past + rows)
    seen[:, past:] |= torch.eye(rows, dtype=torch.bool)  # a row that sees nothing gets weights of NaN
    mask = in_form(seen, form)
    read = read_as(mask, kernel, rows, past)
    assert read is not None
    assert np.array_equal(read, weights(mask, kernel, rows, past + rows) > 0)


@given(st.integers(1, 4), st.integers(0, 4), st.data())
@pytest.mark.parametrize("form", ["additive", "bool", "padding", "none"])
def test_the_exact_model_is_read_as_it_reads(form: str, rows: int, past: int, data: st.DataObject) -> None:
    """For a model that reads its mask itself, a token is visible to a row exactly if another in its place changes the row."""
    model = load_target("exact:layers=full").model  # one layer: what is not seen directly is not seen at all
    columns = past + rows
    cells = data.draw(st.lists(st.booleans(), min_size=rows * columns, max_size=rows * columns))
    seen = torch.tensor(cells).reshape(rows, columns)
    seen[:, past:] |= torch.eye(rows, dtype=torch.bool)
    padding = torch.cat([seen[0, :past], torch.ones(rows, dtype=torch.bool)])[None].long()
    mask = padding if form == "padding" else in_form(seen, form)

    def run(ids: list[int]) -> Tensor:
        filled = model(input_ids=torch.tensor([ids[:past]])) if past else None
        kept = None if filled is None else next(v for k, v in filled.items() if k != "logits")
        rows_: Tensor = model(torch.tensor([ids[past:]]), attention_mask=mask, past_key_values=kept).logits[0]
        return rows_

    ids = list(range(columns))
    base = run(ids)
    changes = [(run([*ids[:c], 60, *ids[c + 1 :]]) != base).any(dim=-1) for c in range(columns)]
    read = read_as(mask, OWN, rows, past)
    assert read is not None
    assert np.array_equal(read, torch.stack(changes, dim=1).numpy())


def test_what_cannot_be_read_is_not_guessed() -> None:
    """Masks that differ by head, that have too few columns, or that are no dense ones are not read; slots not filled are told."""
    by_head = torch.zeros(1, 2, 1, 3)
    by_head[0, 1, 0, 0] = float("-inf")
    assert read_as(by_head, EAGER, 1, 2) is None
    assert read_as(torch.zeros(1, 1, 1, 2), EAGER, 1, 2) is None
    stale = acting(torch.zeros(1, 1, 1, 5), Asked(1, 2, SDPA))
    assert stale is not None
    assert stale.stale
    assert read_as(torch.ones(1, 3), SDPA, 1, 2) is None
    assert read_as("flex", SDPA, 1, 2) is None
    unfilled = torch.zeros(1, 1, 1, 5)
    unfilled[..., 3:] = float("-inf")
    read = read_as(unfilled, SDPA, 1, 2)
    assert read is not None
    assert read.tolist() == [[True, True, True]]
