"""A case that no decoder could answer is a usage error that names the field, and never the decoder's fault."""

from __future__ import annotations

import numpy as np
import pytest
from grounds import ground

from tree_oracle.checks import CHECKS
from tree_oracle.record import Array, Bias, Case, DrafterData, Limits, Processors, RequestData, TreeData, UsageError
from tree_oracle.run.misfits import refuse_misfit
from tree_oracle.target import load_target

TREE = TreeData((1, 0, 7), (-1, 0, 0))
ONE, LIMITS = (1,), Limits(8)
EVERY = tuple(range(61))


def processed(**values: object) -> Case:
    return Case(prefix=ONE, trees=(TREE,), limits=LIMITS, processors=Processors(**values))  # type: ignore[arg-type]


REFUSED = {
    "no round": ("SESSION-01", Case(prefix=(), batch=(RequestData(prompt=ONE, trees=()),), limits=LIMITS), "tree"),
    "root": ("VISIBLE-03", Case(prefix=(5,), trees=(TREE,)), r"trees\[0\].* root 1; .*, 5"),
    "banned": ("PATHSTATE-01", processed(banned=tuple((token,) for token in EVERY)), "banned"),
    "bias": ("PATHSTATE-01", processed(bias=(Bias(sequence=(5,), value=1e300),)), r"bias .* 1e\+300"),
    "frequency": ("PATHSTATE-01", processed(frequency=1e308), "frequency"),
    "repetition": ("PATHSTATE-01", processed(repetition=1e-300), "repetition"),
    "end tokens": ("STOP-06", Case(prefix=ONE, limits=Limits(5, EVERY, min_new=3)), "eos_ids .* every token"),
    "end token": ("STOP-06", Case(prefix=ONE, limits=Limits(5, (99999,), min_new=3)), "eos_ids .* 99999"),
    "drafted text": (
        "SEQUENCE-02",
        Case(prefix=ONE, limits=LIMITS, drafter=DrafterData("all-right", (5, -5))),
        "drafter .* -5",
    ),
    "special": (
        "SEQUENCE-02",
        Case(prefix=ONE, limits=LIMITS, drafter=DrafterData("all-right", (5,), (2**70,))),
        "drafter",
    ),
    "rows": (
        "GREEDY-01",
        Case(prefix=ONE, trees=(TREE,), rows=Array.of(np.full((3, 61), -np.inf, dtype=np.float32))),
        "rows .* -inf",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_nobody_could_answer_is_refused(name: str) -> None:
    """The message names the field of the case."""
    check, case, message = REFUSED[name]
    with pytest.raises(UsageError, match=message):
        refuse_misfit(case, [CHECKS[check]], ground().target)


def test_a_wide_tree_for_attention_is_refused_by_no_vocabulary() -> None:
    """No model is run on it, so that it may have more nodes than the target has tokens."""
    found = ground()
    source = CHECKS["ATTEND-01"].sources[0]
    wide = [case for case in found.stock.of(source.scene) if len(case.trees[0].tokens) > found.truth.vocab_size]
    assert wide
    for case in wide:
        refuse_misfit(case, [CHECKS["ATTEND-01"]], found.target)


def test_a_device_that_holds_no_numbers_is_refused() -> None:
    """The meta device computes shapes alone."""
    with pytest.raises(UsageError, match="device 'meta' holds no numbers"):
        load_target("exact", device="meta")
