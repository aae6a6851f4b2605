"""Rows that are probabilities or log-probabilities where logits are declared are told so, in the failure and by the doctor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from grounds import ground, result_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tree_oracle.checks import choose
from tree_oracle.checks.row_forms import form_of
from tree_oracle.checks.scenes import ROUNDS, TREES
from tree_oracle.decoder import ReferenceDecoder, Seam
from tree_oracle.record import Array, Limits, RowKind
from tree_oracle.run import Budget, run_battery
from tree_oracle.run.conventions import fitting_convention
from tree_oracle.tree import CandidateTree

FORMS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "probabilities": lambda logits: logits.softmax(-1),
    "log-probabilities": lambda logits: logits.log_softmax(-1),
}
KINDS = {"probabilities": RowKind.PROBABILITIES, "log-probabilities": RowKind.LOG_PROBABILITIES}
logits = arrays(np.float32, st.integers(2, 70), elements=st.floats(-30, 30, width=32))


@given(logits, st.sampled_from(list(FORMS)), st.sampled_from(["float64", "float32", "float16", "bfloat16"]))
def test_a_law_is_recognised_in_every_dtype(row: Any, form: str, dtype: str) -> None:
    """Whatever the logits and the dtype, their softmax looks like probabilities and its logarithm like log-probabilities."""
    made = FORMS[form](torch.tensor(row)).to(getattr(torch, dtype)).double().numpy()
    assert form_of(made) == form


@given(logits, st.floats(1, 9))
def test_a_row_whose_law_is_of_another_size_looks_like_nothing(row: Any, much: float) -> None:
    """Positive entries that sum to more than 1, and logits whose exponentials do, are taken for neither."""
    law = np.exp(row - row.max())
    assert form_of(law / law.sum() * (1 + much)) == ""
    assert form_of(np.log(law / law.sum()) + much) == ""
    assert form_of(np.full(3, np.nan)) == form_of(np.array([np.inf, 0.0])) == ""


class Changed:
    """The reference, with other rows than logits, declared or not."""

    def __init__(self, target: Any, form: str, *, declared: bool = False) -> None:
        self._inner, self._form, self._declared = ReferenceDecoder(target), form, declared

    def rows(self, rows: Any) -> Any:
        """In the form that they are shown in."""
        return FORMS[self._form](torch.tensor(np.array(rows))).numpy()

    def tree_logits(self, prefix: Sequence[int], tree: CandidateTree) -> Any:
        """Rows."""
        return self.rows(self._inner.tree_logits(prefix, tree))

    def open(self, prompts: Sequence[Sequence[int]], limits: Limits) -> Any:
        """A session whose rounds show rows."""
        session, kind = self._inner.open(prompts, limits), {"row_kind": KINDS[self._form]} if self._declared else {}

        def step(trees: Any) -> Any:
            shown = session.step(trees)
            return [
                msgspec.structs.replace(r, rows=Array.of(self.rows(r.rows.numpy())), scores=None, **kind)  # type: ignore[union-attr]
                for r in shown
            ]

        return type("Session", (), {"step": staticmethod(step)})()


@pytest.mark.parametrize("form", FORMS)
def test_the_failure_names_the_form(form: str) -> None:
    """A row that fails and is a law of some form says which, through every seam that shows rows."""
    found = ground("exact", cases=0)
    cases = [*found.stock.of(TREES)[:3], *found.stock.of(ROUNDS)[:3]]
    subject = found.subject(lambda target: Changed(target, form))
    budget = Budget(cases=0, shrink_runs=0, diagnose=False)
    report = run_battery(subject, choose(ids=("HISTORY-01",)), budget, stock=found.stock, cases=cases)
    findings = result_of(report, "HISTORY-01").findings
    assert len(findings) == 2
    assert [f.sentence for f in findings if f"; it looks like {form}, and logits are wanted" not in f.sentence] == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seam", [Seam.TREE_LOGITS, Seam.SESSION])
def test_the_doctor_names_the_form(form: str, seam: Seam) -> None:
    """Rows of another form are named where they are taken for logits, and right or declared ones are not."""
    found = ground("exact", cases=0)
    hint = fitting_convention(found.subject(lambda target: Changed(target, form)), seam)
    assert f"the rows are {form}: answer logits" in hint
    assert fitting_convention(found.subject(ReferenceDecoder), seam) == ""
    if seam is Seam.SESSION:
        assert fitting_convention(found.subject(lambda target: Changed(target, form, declared=True)), seam) == ""
