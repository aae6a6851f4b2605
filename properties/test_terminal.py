"""What a person reads on a terminal, whole: the list, the pages, a passing and a failing check, and the usage errors."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from tree_oracle.checks import CHECKS
from tree_oracle.cli import main
from tree_oracle.record import Status
from tree_oracle.report import make_console, print_result
from tree_oracle.run.tally import bare_result

# Frozen cases only, so that every figure is the same everywhere.
COMMANDS = {
    "list": ["list"],
    "faults": ["faults"],
    "explain a check": ["explain", "COMMIT-01"],
    "explain a fault": ["explain", "keep-first-rows"],
    "a pass": ["check", "--family", "POSITION", "--cases", "0"],
    "a failure": ["check", "--fault", "position-by-slot", "--check", "POSITION-01", "--cases", "0"],
    "an unknown check": ["check", "--check", "HISTROY-01"],
    "an unknown family": ["check", "--family", "COMIT"],
    "an unknown fault": ["check", "--fault", "sibling-leek"],
    "an unknown case": ["replay", "0123456789ab"],
    "no decoder there": ["check", "--in-process", "--decoder", "no_such_module:Decoder"],
    "not a decoder's name": ["doctor", "--decoder", "decoder"],
}
HELD, FAILED, USAGE = 0, 1, 2
CODES = {"a failure": FAILED}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_whole_output_is_as_it_was(
    name: str, snapshot: SnapshotAssertion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command prints the same text, without colour when piped, and ends with the code that it documents."""
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, COMMANDS[name])
    expected = USAGE if name.startswith(("an unknown", "no ", "not ")) else CODES.get(name, HELD)
    assert result.exit_code == expected, result.output
    assert "\x1b" not in result.output
    lines = result.output.splitlines()
    assert lines == [line.rstrip() for line in lines]
    assert "\n".join(lines) == snapshot


@given(st.sampled_from(list(Status)), st.text(st.sampled_from("abc "), min_size=100, max_size=300))
def test_a_check_is_one_line_without_blanks_at_its_end(status: Status, reason: str) -> None:
    """However long its reason is, the line of a check is neither broken nor cut where it is piped."""
    out = StringIO()
    print_result(make_console(out), bare_result(CHECKS["GREEDY-03"], status, cases=3, reason=reason))
    (line,) = out.getvalue().splitlines()
    assert line == line.rstrip()
    assert status.value in line
    if status in (Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE, Status.UNDECIDED):
        assert reason.rstrip() in line
