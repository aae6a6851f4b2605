"""Planted faults have one namespace: wrong parts and wrong ways to sample are found, listed, explained and tried alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tree_oracle.cli import main
from tree_oracle.decoder import Seam
from tree_oracle.faults import FAULTS, PLANTED, find_fault
from tree_oracle.faults.laws import LAW_FAULTS
from tree_oracle.record import Status, UsageError
from tree_oracle.run import prove
from tree_oracle.run.proof import seeing

pytestmark = pytest.mark.sweep


def told(*arguments: str) -> str:
    return CliRunner().invoke(main, [*arguments]).output


def test_every_fault_is_under_one_roof() -> None:
    """All names of both kinds are found, each with seams through which its own check looks."""
    assert set(PLANTED) == set(FAULTS) | set(LAW_FAULTS)
    for name, fault in PLANTED.items():
        assert find_fault(name) is fault
        assert fault.check in {check.id for check in seeing(fault)}
        assert fault.family == fault.check.partition("-")[0]
    with pytest.raises(UsageError, match="no planted fault 'likelier-of-too'; the nearest is 'likelier-of-two'"):
        find_fault("likelier-of-too")


def test_a_law_fault_is_planted_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``check --fault`` plants it in the reference decoder: its own check fails, what it leaves alone passes."""
    monkeypatch.chdir(tmp_path)
    asked = ["--check", "LAW-01", "--check", "LAW-04", "--check", "CONSTRUCT-01", "--cases", "0", "--json"]
    result = CliRunner().invoke(main, ["check", "--fault", "likelier-of-two", *asked])
    found = {one["check"]: one["status"] for one in json.loads(result.output)["results"]}
    assert result.exit_code == 1
    assert found == {"LAW-01": Status.PASSED, "LAW-04": Status.FAILED, "CONSTRUCT-01": Status.PASSED}


def test_its_page_says_how_wrong_it_is() -> None:
    """``explain`` shows the distance as a fraction and where the law is farthest; ``faults`` lists it beside the others."""
    page = told("explain", "likelier-of-two")
    assert "a planted fault of the class LAW" in page
    assert "total variation 347/2016" in page
    assert "tree-oracle check --fault likelier-of-two" in page
    assert "measure" not in told("explain", "sibling-leak")
    assert {one["name"] for one in json.loads(told("faults", "--json"))} == set(PLANTED)


def test_the_proof_takes_both_kinds() -> None:
    """``faults --prove`` catches a law fault by its check, through the seams by chance alone."""
    (caught,) = prove(cases=(), names=["unscaled-block-residual"], twins=False)
    assert (caught.what, caught.check, caught.good) == ("fault", "LAW-01", True)
    assert LAW_FAULTS["unscaled-block-residual"].seams == {Seam.ACCEPT_SAMPLED, Seam.SAMPLED_SESSION}
