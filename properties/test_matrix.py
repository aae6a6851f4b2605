"""The fault x seam matrix: a fault is seen where its part shows, and its cause is named there."""

from __future__ import annotations

import json
import os
from collections import Counter

import pytest
from click.testing import CliRunner

from tree_oracle.cli import main
from tree_oracle.faults import PLANTED
from tree_oracle.faults.attend_faults import ATTEND_FAULTS
from tree_oracle.record import UsageError
from tree_oracle.run import Cell, Named, matrix


def test_a_fault_is_seen_where_its_part_shows() -> None:
    """A wrong tree is seen where trees are built and a wrong move where rows are moved, nowhere else; the causes are named."""
    cells = list(matrix(["orphan-kept", "pool-values-not-moved"]))
    seen = {(cell.fault, cell.seam) for cell in cells if cell.check}
    assert seen == {("orphan-kept", "build_tree"), ("pool-values-not-moved", "move")}
    assert {cell.seam for cell in cells if not cell.check} >= {
        "lay_out",
        "tree_logits",
        "accept",
        "open",
        "generate",
        "tap",
    }
    assert {cell.named for cell in cells if cell.check} <= {Named.FIRST, Named.ALONE}
    assert all(cell.good for cell in cells)


@pytest.mark.sweep
def test_every_operator_fault_is_named_alone() -> None:
    """What an attention operator answers is compared with every wrong one's answer, within twice the room of the case."""
    faults = [fault.name for fault in ATTEND_FAULTS]
    cells = [cell for cell in matrix(faults) if cell.check]
    assert [cell.fault for cell in cells] == faults
    assert {cell.named for cell in cells} == {Named.ALONE}


@pytest.mark.skipif(os.environ.get("TREE_ORACLE_PROFILE") != "deep", reason="takes minutes; runs in the profile deep")
def test_the_right_cause_is_named_first_in_nearly_every_cell() -> None:
    """Over all faults and seams the planted cause comes first in at least 95% of the cells that see it, and no wrong one is certain."""
    cells = list(matrix())
    told = Counter(cell.named for cell in cells if cell.named is not None)
    assert told[Named.ALONE] + told[Named.FIRST] >= 0.95 * told.total()
    assert {cell.fault for cell in cells if cell.check} == set(PLANTED)
    assert all(cell.good for cell in cells)


def test_a_wrong_cause_that_is_called_certain_is_no_good_cell() -> None:
    """Only certainty about the wrong cause is held against the diagnosis."""
    wrong = Cell(fault="a", seam="open", check="X-01", named=Named.WRONG, causes=("b",), certain=True)
    assert not wrong.good
    assert Cell(fault="a", seam="open", check="X-01", named=Named.WRONG, causes=("b", "c")).good
    assert Cell(fault="a", seam="open").good


def test_the_command_prints_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """``faults --matrix`` prints a line per cell and the count, or all of it as JSON; a wrong cause that is certain exits with 1."""
    cells = [
        Cell(
            fault="one-level-more",
            seam="build_tree",
            check="CONSTRUCT-02",
            named=Named.ALONE,
            causes=("one-level-more",),
        ),
        Cell(fault="one-level-more", seam="tap"),
    ]
    monkeypatch.setattr("tree_oracle.run.crossing.matrix", lambda names: iter(cells))
    shown = CliRunner().invoke(main, ["faults", "--matrix"])
    assert shown.exit_code == 0
    assert [line.split()[:3] for line in shown.output.splitlines()[:2]] == [
        ["one-level-more", "build_tree", "CONSTRUCT-02"],
        ["one-level-more", "tap", "not"],
    ]
    assert "1 of 2 cells see their fault; the right cause is named first in 1 (100.0%)" in shown.output
    data = json.loads(CliRunner().invoke(main, ["faults", "--matrix", "--json"]).output)
    assert [cell["seam"] for cell in data if cell["check"]] == ["build_tree"]
    cells.append(Cell(fault="a", seam="tap", check="X-01", named=Named.WRONG, causes=("b",), certain=True))
    assert CliRunner().invoke(main, ["faults", "--matrix"]).exit_code == 1


def test_what_the_command_cannot_do_is_refused() -> None:
    """An unknown fault, two proofs at once, and a fault that nothing is done with are errors of usage."""
    with pytest.raises(UsageError, match="no-such"):
        list(matrix(["no-such"]))
    for wrong in (["--matrix", "--prove"], ["--fault", "one-level-more"]):
        refused = CliRunner().invoke(main, ["faults", *wrong])
        assert refused.exit_code == 2
        assert "one of --prove and --matrix" in refused.output
