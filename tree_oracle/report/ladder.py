"""The rungs of the ladder, in words. A rung is held when its checks passed and every lower one is held or not observable."""

from __future__ import annotations

from tree_oracle.record import Report

RUNGS = {
    0: "adapter sane",
    1: "structure",
    2: "histories",
    3: "greedy equal",
    4: "law equal",
    5: "bitwise width-invariant",
}

GRADES = {
    "A": "the exact model",
    "B": "an independent implementation of the same weights",
    "C": "the same engine with speculation off; blind to faults that both arms share",
    "D": "rows that came with the record; blind to faults that both arms share",
}


def rung(number: int | None) -> str:
    """``L2 histories``, or ``none``."""
    return "none" if number is None else f"L{number} {RUNGS[number]}"


def verdict(report: Report) -> str:
    """The result in one line."""
    held, broken = rung(report.held), report.broken
    end = f"weakest broken: {rung(broken)}" if broken is not None else "nothing broken"
    return f"strongest held: {held}; {end}"
