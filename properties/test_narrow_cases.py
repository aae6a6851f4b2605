"""What shows past a size or late alone is woken by the listed cases: many rounds, many nodes, negative rows, ends in a list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from grounds import ground, statuses, with_methods

from tree_oracle import ReferenceDecoder
from tree_oracle.checks import CHECKS
from tree_oracle.checks.ends import ENDS, PROMPT_ENDS
from tree_oracle.checks.path_cases import PATHS, PROMPT_PATHS
from tree_oracle.checks.scenes import MARKED, ROUNDS
from tree_oracle.decoder import Parts
from tree_oracle.decoder.commit import keep_path
from tree_oracle.record import Status
from tree_oracle.run import Budget, run_battery
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree
from tree_oracle.verify import walk


def test_a_commit_that_goes_wrong_in_the_sixth_round_fails() -> None:
    """One listed session is so long that a cache which keeps the first rows from its sixth commit on shows it afterwards."""

    def decoder(target: Target) -> ReferenceDecoder:
        counts: dict[int, int] = {}

        def commit(cache: Any, cached: int, kept: Any) -> None:
            counts[id(cache)] = 1 if cached < 3 else counts.get(id(cache), 0) + 1
            keep_path(cache, cached, np.arange(len(kept)) if counts[id(cache)] > 5 else kept)

        return ReferenceDecoder(target, Parts(commit=commit))

    cases = ground().stock.of(ROUNDS)
    checks = [CHECKS["COMMIT-01"], CHECKS["SEQUENCE-01"]]
    report = run_battery(ground().subject(decoder), checks, Budget(shrink_runs=0, diagnose=False), cases=cases)
    assert statuses(report) == {"COMMIT-01": Status.FAILED, "SEQUENCE-01": Status.FAILED}


def chosen_in(dtype: torch.dtype) -> Any:
    """A factory of deciders that turn rows into log-probabilities in this dtype before they choose."""

    def accept(tree: CandidateTree, rows: np.ndarray) -> tuple[tuple[int, ...], int]:
        logs = torch.log_softmax(torch.from_numpy(rows).to(dtype), dim=-1).float()
        walked = walk(tree, logs.numpy())
        return walked.accepted, walked.bonus

    return lambda _: with_methods(accept=accept)


@pytest.mark.parametrize("own", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_choice_in_fewer_digits_than_the_target_has_fails(own: str, dtype: torch.dtype) -> None:
    """Rows rounded to half precision decide otherwise where the two best are close, unless that is the target's own dtype."""
    subject = ground(dtype=own).subject(chosen_in(dtype))
    few = [case for case in ground(dtype=own).stock.of(MARKED) if "negative" not in case.note]
    report = run_battery(subject, [CHECKS["GREEDY-01"]], Budget(shrink_runs=0, diagnose=False), cases=few)
    rounds_too_far = own == "float32" and dtype in (torch.float16, torch.bfloat16)
    assert statuses(report) == {"GREEDY-01": Status.FAILED if rounds_too_far else Status.PASSED}


def test_a_case_is_made_for_every_narrow_condition() -> None:
    """The listed cases hold negative rows, end tokens first of two and third of three, and each beside the other ways to end."""
    stage = ground().stock.stage
    rows = [np.asarray(case.rows.numpy(), dtype=np.float64) for case in MARKED.listed(stage) if case.rows is not None]
    assert sum(bool((found < 0).all()) for found in rows) >= 2
    assert any(len(found) > 16 for found in rows)
    for scene in (ENDS, PROMPT_ENDS):
        limits = [case.limits for case in scene.listed(stage) if case.limits is not None]
        assert any(len(one.eos_ids) == 3 for one in limits)
        assert any(one.eos_ids and one.max_length is not None for one in limits)
        assert any(one.eos_ids and one.stop for one in limits)
    for scene in (PATHS, PROMPT_PATHS):
        limits = [case.limits for case in scene.listed(stage) if case.limits is not None]
        assert any(one.min_new and one.eos_ids for one in limits)
        assert any(one.stop for one in limits)
