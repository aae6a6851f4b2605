"""Claim: the adapter of ``economize`` drives a loop of that shape round by round and tells right from wrong through it."""

from __future__ import annotations

from typing import Any

import economize_fake as fake
import engine_fakes
import pytest
from grounds import ground, statuses
from grounds import listed as some_of
from law_decoders import judged, listed

from tree_oracle.adapters.economize import EconomizeChains, EconomizeTrees
from tree_oracle.checks import choose
from tree_oracle.record import Limits, Status, Unsupported
from tree_oracle.run import Budget, run_battery
from tree_oracle.target import load_target

pytestmark = pytest.mark.sweep

CHECKS = ("POSITION-01", "VISIBLE-03", "HISTORY-01", "GREEDY-01", "SEQUENCE-01")


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    engine_fakes.install(monkeypatch, fake.modules())


def _statuses(adapter: Any, *checks: str, step: int = 10) -> dict[str, Status]:
    """By every ``step``-th listed case: each is driven through a loop of Python objects, and slow."""
    found, budget = ground(), Budget(cases=0, shrink_runs=0, diagnose=False)
    cases = some_of(found, step)
    return statuses(run_battery(found.subject(adapter), choose(ids=checks), budget, cases=cases, stock=found.stock))


def test_a_right_loop_is_called_right() -> None:
    """Trees, rows, masks, positions and decisions of whole sessions and texts come through as they are."""
    assert set(_statuses(EconomizeTrees, *CHECKS).values()) == {Status.PASSED}


def test_chains_are_written_where_the_loop_reads_them() -> None:
    """A chain is a full subject."""
    assert set(_statuses(EconomizeChains, "CHAIN-02").values()) == {Status.PASSED}


def test_a_wrong_bonus_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A last token from the root's row fails where it should, and the rows stay right."""
    monkeypatch.setattr(fake.Verifier, "spoiled", True)
    found = _statuses(EconomizeTrees, "HISTORY-01", "GREEDY-01")
    assert found == {"HISTORY-01": Status.PASSED, "GREEDY-01": Status.FAILED}


@pytest.mark.parametrize("spoiled", [False, True])
@pytest.mark.parametrize("adapter", [EconomizeTrees, EconomizeChains])
def test_scripted_coins_reach_its_tests(adapter: Any, spoiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recursive rejection with all uniforms drawn at once is followed at every edge, and its faults show."""
    monkeypatch.setattr(fake.Verifier, "spoiled", spoiled)
    decoder = adapter(load_target("exact"))
    shape = (-1, 0, 1) if adapter is EconomizeChains else (-1, 0, 0)
    seam, case = next((seam, case) for seam, case in listed("LAW-01") if case.trees[0].parents == shape)
    due = Status.FAILED if spoiled else Status.PASSED
    assert judged(decoder, "LAW-01", seam, case).status is due


def test_whole_texts_are_read_as_rounds() -> None:
    """Every round shows its tree and the path accepted, and together they emit the text, to its end."""
    rounds = EconomizeTrees(load_target("exact")).generate([[3, 17, 5]], Limits(9))[0]
    assert sum(len(round_.emitted) for round_ in rounds) == 9
    assert rounds[0].tokens is None
    assert all(round_.tokens is not None for round_ in rounds[1:])
    assert any(round_.accepted for round_ in rounds[1:])


def test_a_prompt_of_one_token_beside_longer_ones_is_refused() -> None:
    """Its pass over the prompts has no row without tokens."""
    adapter = EconomizeTrees(load_target("exact"))
    with pytest.raises(Unsupported, match="no prompt of one beside longer"):
        adapter.open([[1], [1, 2]], Limits(5))
    assert adapter.open([[1], [2]], Limits(5)) is not None


def test_a_minimum_is_refused() -> None:
    """An end token that the engine emits too early is not held against it: nobody told it of the minimum."""
    adapter, limits = EconomizeTrees(load_target("exact")), Limits(5, (7,), min_new=2)
    for run in (adapter.open, adapter.generate):
        with pytest.raises(Unsupported, match="no minimum number of tokens"):
            run([[1, 2]], limits)
