"""A request that has ended owes nothing of its cache: BATCH and COMMIT say the same, whatever is left behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from grounds import ground, result_of, statuses, with_methods
from hypothesis import given, settings
from hypothesis import strategies as st

from tree_oracle.checks import CHECKS, choose
from tree_oracle.checks.batches import BATCHES
from tree_oracle.checks.scenes import ROUNDS
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.record import Array, Case, LayerRows, Limits, Round, Status
from tree_oracle.run import Budget, run_battery
from tree_oracle.target import Target

IDS = ("COMMIT-01", "COMMIT-02", "BATCH-03", "RANK-03")
WAYS = ("emptied", "uncut", "gone", "other rows")
"""What a decoder may leave behind a request that has ended: freed rows, all rows of its tree, nothing, rows of others."""


def left(cache: Sequence[LayerRows], way: str) -> Any:
    """A cache in which nothing is as a cold run makes it."""

    def changed(array: Array) -> np.ndarray:
        rows = np.asarray(array.numpy())
        return {"emptied": rows[..., :0, :], "uncut": np.repeat(rows, 2, axis=-2), "other rows": rows + 1}[way]

    return None if way == "gone" else [(changed(layer.keys), changed(layer.values)) for layer in cache]


def leaving(way: str, *, running: bool = False) -> Any:
    """The reference, whose session leaves that behind every request that has ended, or behind one that is still running."""

    def made(target: Target) -> Any:
        def opened(prompts: Any, limits: Limits) -> Any:
            session = ReferenceDecoder(target).open(prompts, limits)
            last: list[Round] = []

            def spoilt(round_: Round) -> bool:
                return (round_.end is None) if running else (round_.end is not None)

            def step(trees: Any) -> list[Round]:
                last[:] = session.step(trees)
                return [msgspec.structs.replace(r, kept=(0, 0)) if spoilt(r) else r for r in last]

            def cache() -> list[Any]:
                pairs = zip(last, session.cache(), strict=True)
                return [left(rows, way) if spoilt(round_) else rows for round_, rows in pairs]

            return with_methods(step=step, cache=cache, admit=session.admit, drop=session.drop)

        return with_methods(open=opened)

    return made


def one_more(array: Array) -> np.ndarray:
    return np.pad(np.asarray(array.numpy()), ((0, 0), (0, 1), (0, 0)))


def judge(decoder: Any, cases: Sequence[Case]) -> dict[str, Status]:
    found = ground()
    checks = tuple(CHECKS[name] for name in IDS)
    budget = Budget(shrink_runs=0, diagnose=False)
    return statuses(run_battery(found.subject(decoder), checks, budget, cases=cases, stock=found.stock))


def ending(case: Case, cap: int) -> Case:
    return msgspec.structs.replace(case, limits=Limits(cap))


@settings(max_examples=max(6, settings().max_examples // 8))
@given(st.data(), st.sampled_from(WAYS), st.integers(1, 9))
def test_what_is_left_behind_an_end_is_nobodys_to_judge(data: st.DataObject, way: str, cap: int) -> None:
    """Wherever texts of one request or of several end, no check of caches holds against a decoder what it leaves there."""
    stage = ground().stock.stage
    scene = data.draw(st.sampled_from([ROUNDS, BATCHES]))
    case = ending(data.draw(scene.generated(stage)), cap)
    assert set(judge(leaving(way), [case]).values()) <= {Status.PASSED, Status.NOT_APPLICABLE, Status.NOT_OBSERVABLE}


@pytest.mark.parametrize("scene", [ROUNDS, BATCHES], ids=lambda scene: scene.name)
def test_what_the_next_round_starts_from_is_judged(scene: Any) -> None:
    """The same remains behind a request that goes on fail, by the check of single requests or of several."""
    found = judge(leaving("other rows", running=True), ground().stock.of(scene)[:4])
    assert found["COMMIT-01" if scene is ROUNDS else "BATCH-03"] is Status.FAILED


def test_no_finding_speaks_of_a_root_that_nothing_follows() -> None:
    """A running request whose newest token is already cached is told so; there its token is a next root."""

    def grown(target: Target) -> Any:
        def opened(prompts: Any, limits: Limits) -> Any:
            session = ReferenceDecoder(target).open(prompts, limits)

            def cache() -> Any:
                return [[(one_more(layer.keys), one_more(layer.values)) for layer in rows] for rows in session.cache()]

            return with_methods(step=session.step, cache=cache)

        return with_methods(open=opened)

    report = ground().report(grown, "COMMIT-01", "BATCH-03")
    for check in ("COMMIT-01", "BATCH-03"):
        (finding,) = result_of(report, check).findings
        assert "the newest committed token, the next root, is already among them" in finding.sentence


def test_a_decoder_that_waits_for_what_has_ended_fails() -> None:
    """One that expects a tree for a request that has ended raises on valid input: a law of whole texts fails, others are open."""

    def waiting(target: Target) -> Any:
        def opened(prompts: Any, limits: Limits) -> Any:
            session = ReferenceDecoder(target).open(prompts, limits)

            def step(trees: Any) -> list[Round]:
                if len(trees) != len(prompts):
                    raise ValueError(f"{len(trees)} trees for {len(prompts)} requests")
                return session.step(trees)

            return with_methods(step=step)

        return with_methods(open=opened)

    cases = [case for case in ground().stock.of(BATCHES) if "cut off by its cap" in case.note]
    checks, budget = choose(families=["BATCH", "SESSION"]), Budget(shrink_runs=0, diagnose=False)
    report = run_battery(ground().subject(waiting), checks, budget, cases=cases, stock=ground().stock)
    assert statuses(report)["SESSION-01"] is Status.FAILED
    assert statuses(report)["BATCH-01"] is Status.UNDECIDED
    assert report.exit_code == 1
