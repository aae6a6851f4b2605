"""Claim: what is kept in reports/found is seen again, wherever the engine is installed in the version that it was found in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tree_oracle import check_decoder
from tree_oracle.adapters import ENGINES

FOUND = Path(__file__).parent.parent / "reports" / "found"
pytestmark = pytest.mark.filterwarnings("ignore")  # the engines' own
CHEAP = ("SEQUENCE-01", "GREEDY-01", "CHAIN-02", "LAW-01", "LAW-04")


def _kept(engine: str) -> list[Any]:
    path = FOUND / f"{engine}-{ENGINES[engine].version}.json"
    document: dict[str, Any] = msgspec.json.decode(path.read_bytes())
    reports: list[Any] = document["reports"]
    return reports


@pytest.mark.parametrize("engine", ENGINES)
def test_every_known_engine_has_its_findings_kept(engine: str) -> None:
    """There is a report for every adapter, with a case beside it for each failure that has one."""
    for report in _kept(engine):
        assert report["decoder"].startswith("tree_oracle.adapters.")
        for result in report["results"]:
            for finding in result.get("findings", ()):
                if "case" in finding:
                    assert (FOUND / "cases" / f"{result['check']}-{finding['replay']}.json").is_file()


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "transformers"])
def test_what_was_found_is_found_again(engine: str) -> None:
    """On the cheaper checks every verdict is the one that is kept."""
    known = ENGINES[engine]
    if known.found != known.version:
        pytest.skip(f"{engine} {known.version} is not installed; {known.pip}")
    for kept in _kept(engine):
        due = {result["check"]: result["status"] for result in kept["results"] if result["check"] in CHEAP}
        report = check_decoder(kept["decoder"], target=kept["target"], checks=tuple(due), cases=0)
        assert {result.check: result.status.value for result in report.results} == due, kept["decoder"]
