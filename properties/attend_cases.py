"""Cases of the seam ``attend``, and what the judges say of an operator on one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grounds import ground, with_methods
from hypothesis import strategies as st

from tree_oracle.checks import CHECKS, View
from tree_oracle.checks.attends import ATTENDS
from tree_oracle.checks.drive import drive
from tree_oracle.decoder import Seam
from tree_oracle.record import Case, Finding

DTYPES = ("float64", "float32", "bfloat16", "float16")
LISTED = {case.note: case for case in ATTENDS.listed(ground().stock.stage)}
IDS = ("ATTEND-01", "ATTEND-02", "ATTEND-03")
Attend = Callable[..., Any]


def findings(case: Case, attends: Attend, **more: Any) -> list[Finding]:
    """What the judges say of one operator on one case."""
    rounds = drive(with_methods(attend=attends, **more), Seam.ATTEND, case, 61)
    view = View(case, rounds, ground().truth)
    judges = [CHECKS[name].judge for name in (IDS if len(case.trees) > 1 else IDS[:2])]
    return [finding for judge in judges for finding in judge(view)]


@st.composite
def cases(draw: st.DrawFn, bits: bool | None = None) -> Case:
    """Any drawn case; ``bits``: balanced ones alone, or none of them."""
    return draw(ATTENDS.generated(ground().stock.stage).filter(lambda case: bits in (None, _bits(case))))


def _bits(case: Case) -> bool:
    assert case.attend is not None
    return case.attend.bits
