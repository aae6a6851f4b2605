"""What a seam does not run it cannot show: a wrong part shows through no seam but those that are named for it."""

from __future__ import annotations

import pytest
from grounds import ground

from tree_oracle.checks import choose
from tree_oracle.decoder import Parts, Seam
from tree_oracle.decoder.showing import replaced, showing
from tree_oracle.faults import FAULTS
from tree_oracle.record import Status
from tree_oracle.run import Budget, run_battery

pytestmark = pytest.mark.sweep

# One fault for each part that not every seam runs.
WITNESSES = ("one-level-more", "position-by-slot", "rows-one-slot-late", "previous-slot-row", "cap-not-cut")


@pytest.mark.parametrize("name", WITNESSES)
def test_a_wrong_part_shows_only_where_it_is_run(name: str) -> None:
    """Checks that see a decoder only through seams that do not run the wrong part pass as on the reference."""
    fault = FAULTS[name]
    seams = showing(fault.parts)
    blind = [c for c in choose() if not any(source.seam in seams for source in c.sources)]
    assert blind
    found = ground(fault.target)
    cases = [case for check in blind for source in check.sources for case in found.stock.of(source.scene)[::25]]
    report = run_battery(
        found.subject(fault.decoder), blind, Budget(cases=0, shrink_runs=0, diagnose=False), cases=cases
    )
    assert {result.status for result in report.results} <= {Status.PASSED, Status.NOT_APPLICABLE}


def test_the_reference_shows_nothing_else_than_itself() -> None:
    """Where nothing is replaced nothing can show; every planted fault and twin replaces a part and can show somewhere."""
    assert (replaced(Parts()), showing(Parts())) == ((), frozenset())
    for fault in FAULTS.values():
        assert replaced(fault.parts)
        assert showing(fault.parts)
        assert showing(fault.parts) <= set(Seam)
        checks = [c for c in choose(ids=[fault.check]) if any(s.seam in showing(fault.parts) for s in c.sources)]
        assert checks, f"{fault.name} cannot show in {fault.check}"
