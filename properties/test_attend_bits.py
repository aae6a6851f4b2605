"""Balanced cases of the seam ``attend``: every bit of a mask, every key and every value is alive in every dtype, at every size."""

from __future__ import annotations

import os
from typing import Any

import msgspec
import numpy as np
import torch
from attend_cases import DTYPES, LISTED, Attend, cases, findings
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.checks.attend_aimed import Aimed
from tree_oracle.checks.attend_inputs import inputs_of
from tree_oracle.checks.attended import ordinary, own_columns, room_of
from tree_oracle.decoder.attention import attention_layout
from tree_oracle.faults.attends import KeptMask, RewrittenMask, open_past_512
from tree_oracle.faults.attends_half import InHalf
from tree_oracle.record import Case
from tree_oracle.target.backends import kernel_named
from tree_oracle.target.dtypes import DTYPES as TORCH
from tree_oracle.tree import CandidateTree

DEEP = os.environ.get("TREE_ORACLE_PROFILE") == "deep"
BITS = [case for note, case in LISTED.items() if note.startswith("every bit")]


def weights(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per head: the weight of every column, the values, and what every node may see."""
    given_, groups = inputs_of(case), [inputs_of(case).group(head) for head in range(len(inputs_of(case).q))]
    assert case.attend is not None
    scores = np.einsum("hd,hjd->hj", given_.q[:, 0].astype(float), given_.k[groups].astype(float))
    tree = CandidateTree.from_data(case.trees[0])
    visible = attention_layout(tree, case.attend.prefix_len, case.attend.window).visible
    return np.exp(scores / case.attend.width**0.5), given_.v[groups].astype(float), visible


def test_every_listed_size_has_a_balanced_case_and_so_have_drawn_ones() -> None:
    """Aimed and balanced cases are of the same sizes; balanced ones have windows that cut several hundred columns beside."""
    sizes = [
        {
            (len(case.trees[0].parents), case.attend.prefix_len, case.attend.window)
            for case in LISTED.values()
            if case.attend and case.attend.bits is bits
        }
        for bits in (False, True)
    ]
    assert sizes[0] < sizes[1]
    assert {window for _, _, window in sizes[1] - sizes[0]} == {129, 700}


@given(case=cases(bits=True))
def test_sums_along_every_path_stay_within_one(case: Case) -> None:
    """Of light and of heavy columns apart, from the first column to any node; and entries are -1, 0 and 1."""
    assert case.attend is not None
    held, values, _ = weights(case)
    cached, parents = case.attend.prefix_len - 1, case.trees[0].parents
    assert set(np.unique(values)) <= {-1, 0, 1}
    for codes, heavy in zip(values, held > 1, strict=True):
        for mine in (heavy, ~heavy):
            sums = np.cumsum(codes[:cached] * mine[:cached, None], axis=0)
            assert np.abs(sums).max(initial=0) <= 1
            along = [sums[-1] if cached else np.zeros(codes.shape[1])]
            for node, parent in enumerate(parents):
                along.append(along[parent + 1] + codes[cached + node] * mine[cached + node])
            assert np.abs(along).max() <= 1


def test_every_bit_is_worth_more_than_twice_the_room() -> None:
    """Power, in every dtype and listed size: each bit inverted, and each visible key made zero, moves its row by more than that.

    Of large trees every seventh node is asked; the profile deep asks all.
    """
    for case in BITS:
        held, values, visible = weights(case)
        room = max(room_of(msgspec.json.encode(case), dtype) for dtype in DTYPES)
        due = ordinary(inputs_of(case), own_columns(case, case.trees[0].parents))
        for node in range(0, len(visible), 1 if DEEP or len(visible) < 32 else 7):
            own = visible[node]
            if own.sum() < 2:
                continue  # a row of one key without it sees nothing at all
            sums, total = np.einsum("hj,hjd->hd", held[:, own], values[:, own]), held[:, own].sum(axis=1)
            np.testing.assert_allclose(sums / total[:, None], due[:, node], atol=1e-12)
            for step in (np.where(own, -held, held), np.where(own, 1 - held, held)):  # a bit, then a key
                rows = (sums[:, None] + step[..., None] * values) / (total[:, None] + step)[..., None]
                moved = np.abs(rows - due[:, node, None]).max(axis=(0, 2))
                assert moved.min() > 2 * room, (case.note, node, int(moved.argmin()), float(moved.min()), room)


def tampered(bits: dict[int, int], dtype: str, kernel: str) -> Attend:
    """A kernel of torch in this dtype that is handed one bit of some rows the wrong way round: the column, by node."""

    def attends(q: Any, k: Any, v: Any, tree: CandidateTree, prefix_len: int, layout: Any) -> Any:
        visible = layout.visible.copy()
        for node, column in bits.items():
            visible[node, column] ^= True
        q, k, v = (torch.from_numpy(x.copy())[None].to(TORCH[dtype]) for x in (q, k, v))
        return kernel_named(kernel).attend(q, k, v, torch.from_numpy(visible), q.shape[-1] ** -0.5)[0].float().numpy()

    return attends


@given(
    case=st.sampled_from(BITS),
    places=st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)),
    dtype=st.sampled_from(["bfloat16", "float16"]),
    kernel=st.sampled_from(["eager", "sdpa-math", "sdpa-flash"]),
)
def test_any_bit_that_is_dead_in_half_precision_is_named(
    case: Case, places: tuple[int, int], dtype: str, kernel: str
) -> None:
    """Any node and column of any listed size: the finding says which node sees, or does not see, which column. Without it: none."""
    assert case.attend is not None
    tree, cached = CandidateTree.from_data(case.trees[0]), case.attend.prefix_len - 1
    node, column = places[0] % len(tree), places[1] % (cached + len(tree))
    visible = attention_layout(tree, cached + 1, case.attend.window).visible
    assert not findings(case, tampered({}, dtype, kernel), attend_dtype=dtype)
    if visible[node].sum() == 1 and visible[node, column]:
        return  # what a row does that sees nothing is the kernel's own affair
    every = findings(case, tampered({node: column}, dtype, kernel), attend_dtype=dtype)
    found = [
        one for one in every if one.round in (None, 0)
    ]  # in the next tree of the case the same bit may be another relation
    verb = "does not see" if visible[node, column] else "sees"
    what = f"node {column - cached}, " if column >= cached else f"column {column} of the prefix"
    assert found[0].sentence.startswith(f"node {node} {verb} {what}"), found


def test_a_mask_of_the_call_before_shows_in_half_precision() -> None:
    """ATTEND-03 sees it behind 2,041 cached columns, and lets the buffer pass that is written anew."""
    case = LISTED["every bit of 9 nodes over 2050 keys"]
    found = findings(case, InHalf(KeptMask()), attend_dtype="bfloat16")
    assert any("stays as it was" in finding.sentence for finding in found)
    assert not findings(case, InHalf(RewrittenMask()), attend_dtype="bfloat16")


def test_more_than_one_wrong_bit_is_no_ordinary_attention() -> None:
    """Where no one column explains a row, none is named."""
    found = findings(LISTED["every bit of 32 nodes over 1025 keys"], InHalf(open_past_512), attend_dtype="bfloat16")
    assert "is no ordinary attention over its own keys, nor with one key more or less" in found[0].sentence


def test_an_operator_of_one_head_is_told_too() -> None:
    """Half of the columns are light in it; each of them still moves its row by more than the room."""
    case = LISTED["every bit of 9 nodes over 2050 keys"]
    assert case.attend is not None
    alone = msgspec.structs.replace(case, attend=msgspec.structs.replace(case.attend, heads=1))
    assert not isinstance(inputs_of(alone), Aimed)
    for column in range(0, 2041, 97):
        assert findings(alone, tampered({3: column}, "bfloat16", "eager"), attend_dtype="bfloat16"), column
