"""Catalogues: every entry that was written down can be found by its name."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.faults import FAULTS
from tree_oracle.faults.suspects import SUSPECTS
from tree_oracle.record.names import by_name


@dataclass(frozen=True)
class Entry:
    """Something with a name."""

    name: str
    number: int


@given(st.lists(st.text("ab", max_size=2)))
def test_a_catalogue_holds_all_its_entries_or_is_refused(names: list[str]) -> None:
    """No entry is lost: names in order lead to their own entries, and a name given twice is an error that quotes it."""
    entries = [Entry(name, number) for number, name in enumerate(names)]
    if len(set(names)) == len(names):
        assert list(by_name(entries).items()) == [(entry.name, entry) for entry in entries]
    else:
        with pytest.raises(ValueError, match="two entries are named '[ab]*'; expected a name of its own for each"):
            by_name(entries)


def test_both_faults_of_a_window_by_slot_are_planted() -> None:
    """A sliding window and the window of a convolution are two faults, and suspects too, each under a name of its own."""
    assert {FAULTS[name].check for name in ("window-by-slot", "convolution-by-slot")} == {"HISTORY-01", "MOVE-06"}
    assert len({suspect.name for suspect in SUSPECTS}) == len(SUSPECTS)
