"""Cells on real passes: legitimate rounding is called that, and planted numerical faults are not."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from tree_oracle.cli import main
from tree_oracle.faults.rounding import NUMBER_FAULTS, NumberFault, find_number_fault
from tree_oracle.numerics import (
    Cell,
    Found,
    Sweep,
    Verdict,
    measure,
    measure_cell,
    read_cell_arrays,
    read_tolerance,
    run_sweep,
)
from tree_oracle.numerics.inputs import KINDS, instances, wrong_histories
from tree_oracle.numerics.routing import in_one_pass
from tree_oracle.numerics.schema import SCHEMA, schema_json
from tree_oracle.numerics.sweep import load_cell
from tree_oracle.record import FileError, Unsupported, UsageError
from tree_oracle.record.files import to_json
from tree_oracle.target import Target

pytestmark = pytest.mark.sweep

DEEP = os.environ.get("TREE_ORACLE_PROFILE") == "deep"
PLACE = {"torch": "here"}


def cell(target: str, dtype: str = "float32", kernel: str = "sdpa", cache: str = "dynamic", **size: int) -> Cell:
    return Cell(target, "cpu", dtype, kernel, cache=cache, **({"width": 12, "batch": 1, "prefix": 14} | size))


@cache
def loaded(target: str, dtype: str = "float32") -> Target:
    return load_cell(cell(target, dtype))


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_the_exact_model_is_bit_equal_in_every_dtype(dtype: str) -> None:
    """No control, no tree row and no dtype changes a bit, in a batch of two, and every wrong history is seen."""
    found, _ = measure_cell(cell("exact", dtype, width=6, batch=2, prefix=5), loaded("exact", dtype), rows=12)
    assert found.verdict is Verdict.EXACT, found.reason
    assert found.figures is not None
    assert found.figures.invariant
    assert all(control.equal == control.change.n for control in found.figures.controls.values())
    assert all(effect.caught == effect.n > 0 for effect in found.figures.effects.values())
    assert found.allowed == 0.0


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rounding_of_a_dense_model_shows_no_sign(dtype: str) -> None:
    """The tree pass is as far off as the plain pass, by the kernel that was asked for, and nothing looks unlike rounding."""
    found, arrays = measure_cell(cell("tiny:llama", dtype), loaded("tiny:llama", dtype), rows=24)
    assert found.signs == ()
    assert found.verdict is (Verdict.USABLE if dtype == "float32" else Verdict.OVERLAP), found.reason
    assert (found.allowed is None) == (dtype == "bfloat16")
    figures = found.figures
    assert figures is not None
    assert arrays is not None
    assert figures.kernels
    assert 0 < figures.tree.gap.largest <= 2 * figures.plain.gap.largest + figures.tolerance.floor
    assert figures.tolerance.judged == len(arrays.tree) == 24
    assert figures.tree.gap.largest == arrays.tree.max()


def test_a_cache_in_eight_bits_overlaps_and_is_no_sign() -> None:
    """Its rounding is in tree and plain rows alike, as large as what wrong histories do, so the cell has no number."""
    found, _ = measure_cell(cell("tiny:llama", cache="fp8", batch=2), loaded("tiny:llama"), rows=24)
    assert found.cell.name.endswith("prefix 14 cache fp8")
    assert (found.verdict, found.allowed, found.signs) == (Verdict.OVERLAP, None, ())
    figures = found.figures
    assert figures is not None
    assert figures.plain.gap.p50 > 0.01  # a thousand times what float32 rounds
    assert figures.tolerance.unexplained == 0
    assert figures.controls["layout"].change.largest < 1e-4  # moved bit by bit, rounded once
    assert set(figures.controls) == {"repeat", "width", "layout", "cached", "batch"}


def test_a_cache_that_is_not_to_be_had_is_refused() -> None:
    """Eight bits do not hold the numbers of the exact model, and an unknown cache is named with those that are known."""
    with pytest.raises(Unsupported, match="the exact model in eight bits is not exact"):
        measure_cell(cell("exact", cache="fp8"), loaded("exact"), rows=12)
    with pytest.raises(UsageError, match="unknown cache 'fp4', did you mean 'fp8'.* Known: dynamic, fp8"):
        measure_cell(cell("exact", cache="fp4"), loaded("exact"), rows=12)


def test_sharing_an_expert_with_other_rows_is_no_sign() -> None:
    """In a mixture of experts, rows of one expert are one product, whose last bits depend on how many there are."""
    size = cell("tiny:mixtral", width=24, prefix=9)
    found, _ = measure_cell(size, loaded("tiny:mixtral"), rows=24)
    assert found.signs == ()


# Of those that a verdict of the figures alone calls usable, or that had no sign; all others in the deep profile.
NOTICED_BY_SIGN = (
    ("gemma3", "half-precision-state"),
    ("mistral", "width-dependent-rounding"),
    ("mixtral", "row-shared-scale"),
)


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        pytest.param(model, fault, id=f"{model} {fault.name}")
        for model in ("llama", "gemma3", "mistral", "mixtral")
        for fault in NUMBER_FAULTS
        if DEEP or model == "llama" or (model, fault.name) in NOTICED_BY_SIGN
    ],
)
def test_a_numerical_fault_is_told_from_rounding_and_gives_no_floor(model: str, fault: NumberFault) -> None:
    """Each planted fault has its sign and no number; its twin, which rounds as much and rightly, loses none to a sign."""
    right, size = loaded(f"tiny:{model}"), cell(f"tiny:{model}", width=12, prefix=24)
    rows = 24 if fault.sign == "empty row" else 12  # a star, whose siblings fill a tile, is the fourth instance
    planted, _ = measure_cell(size, fault.planted(right), rows=rows, clean=right)
    harmless, _ = measure_cell(size, fault.harmless(right), rows=rows, clean=right)
    assert fault.sign in planted.signs, planted
    assert planted.allowed is None
    assert planted.verdict in (Verdict.NOT_ROUNDING, Verdict.EXCEEDED, Verdict.NOT_FINITE)
    assert harmless.signs == (), harmless
    assert harmless.verdict in (Verdict.USABLE, Verdict.OVERLAP, Verdict.INFEASIBLE)
    assert (harmless.allowed is None) == (harmless.verdict is not Verdict.USABLE)


def test_a_fault_that_does_nothing_is_said_to_do_nothing(tmp_path: Path) -> None:
    """Where keys and values are bfloat16 already, keeping them as that changes no figure, and the cell is not called clean."""
    sweep = msgspec.structs.replace(
        SMALL, targets=("tiny:llama",), dtypes=("bfloat16",), prefixes=(9,), fault="half-precision-state"
    )
    (half,) = small_sweep(tmp_path / "planted.json", sweep).cells
    assert (half.verdict, half.allowed) == (Verdict.UNMEASURED, None)
    assert half.reason.startswith("unsupported: half-precision-state does nothing in this dtype and size")


def test_a_lost_row_is_not_taken_for_one_that_goes_to_other_experts() -> None:
    """A row of NaN goes to any experts; every one is counted as lost, none as judged apart."""
    right, fault = loaded("tiny:mixtral"), find_number_fault("softmax-over-an-empty-tile")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "look_beside", lambda *_: None)  # another control, which costs most
        patch.setattr(measure, "in_one_pass", lambda calls: np.full_like(in_one_pass(calls), -1))
        found, _ = measure_cell(cell("tiny:mixtral", prefix=24), fault.planted(right), rows=24, clean=right)
    assert found.signs == ("empty row",), found


def test_a_wrong_name_of_a_numerical_fault_is_refused() -> None:
    """The message has the name and the known ones."""
    with pytest.raises(UsageError, match="unknown numerical fault 'rounding'; known: width-dependent-rounding"):
        find_number_fault("rounding")


def test_inputs_are_the_same_everywhere_and_wrong_histories_are_wrong() -> None:
    """The same seed gives the same instances; a wrong history differs from its right one, within the model's reach."""
    sizes: Any = {"vocab": 5, "prefix": 3, "width": 7, "batch": 2}
    assert [one.lanes[1].histories for one in instances(1, 4, **sizes)] == [
        one.lanes[1].histories for one in instances(1, 4, **sizes)
    ]
    for one in instances(1, 4, **sizes):
        for lane in one.lanes:
            made = wrong_histories(0, lane.histories, 5, 4)
            assert {kind for kind, *_ in made} <= set(KINDS)
            for _, number, wrong in made:
                right = lane.histories[number]
                assert wrong[-4:] != right[-4:]
                assert wrong[: max(len(right) - 4, 0)] == right[: max(len(right) - 4, 0)]
    with pytest.raises(UsageError, match="width 0 is below 1"):
        instances(1, 1, vocab=5, prefix=1, width=0, batch=1)


SMALL = Sweep(
    ("exact", "tiny:mixtral"),
    "cpu",
    ("float32", "int8"),
    ("eager",),
    widths=(3,),
    batches=(1,),
    prefixes=(2, 3000),
    rows=3,
)


def small_sweep(path: Path, sweep: Sweep = SMALL, **options: Any) -> Any:
    return run_sweep(sweep, path, PLACE, **options)


def test_a_sweep_goes_on_whatever_happens_in_a_cell(tmp_path: Path) -> None:
    """Out of memory, an unknown dtype, a prefix beyond the context and a crash each become their cell's reason."""

    def load(cell: Cell) -> Target:
        if cell.target == "tiny:mixtral" and cell.dtype == "float32":
            raise MemoryError("no room for 3 TiB\nsecond line")
        return load_cell(cell)

    seen: list[Found] = []
    report = small_sweep(tmp_path / "all.json", load=load, on_cell=seen.append)
    verdicts = {(one.cell.target, one.cell.dtype, one.cell.prefix): (one.verdict, one.reason) for one in report.cells}
    assert report.complete
    assert tuple(seen) == report.cells
    assert verdicts["exact", "float32", 2][0] is Verdict.EXACT
    assert verdicts["exact", "float32", 3000] == (
        Verdict.UNMEASURED,
        "unsupported: prefix 3000 and width 3 do not fit into a context of 2048 tokens",
    )
    assert verdicts["tiny:mixtral", "float32", 2] == (Verdict.UNMEASURED, "out of memory: no room for 3 TiB")
    assert "int8" in verdicts["exact", "int8", 2][1]


def test_an_interrupted_sweep_keeps_its_cells_and_goes_on(tmp_path: Path) -> None:
    """What was finished is in the file, is not measured again, and the whole is what an undisturbed sweep gives."""
    sweep = msgspec.structs.replace(SMALL, targets=("exact",), dtypes=("float32",), prefixes=(2, 3))
    path, other = tmp_path / "cut.json", tmp_path / "whole.json"

    def stop(_: Found) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small_sweep(path, sweep, on_cell=stop)
    cut = read_tolerance(path)
    assert len(cut.cells) == 1
    assert not cut.complete
    again: list[Found] = []
    report, whole = small_sweep(path, sweep, resume=True, on_cell=again.append), small_sweep(other, sweep)
    assert len(again) == 1
    assert report.cells[0] == cut.cells[0]
    timeless = [[msgspec.structs.replace(one, seconds=0.0) for one in found.cells] for found in (report, whole)]
    assert timeless[0] == timeless[1]
    assert {name: one.tolist() for name, one in read_cell_arrays(path, 1).items()} == {
        name: one.tolist() for name, one in read_cell_arrays(other, 1).items()
    }
    with pytest.raises(UsageError, match="is of another sweep"):
        small_sweep(path, msgspec.structs.replace(sweep, seed=1), resume=True)
    with pytest.raises(UsageError, match="measured elsewhere or by other code: torch differ"):
        run_sweep(sweep, path, {"torch": "there"}, resume=True)


def test_a_report_matches_its_schema_and_is_read_back(tmp_path: Path) -> None:
    """The committed schema is what the code means; a report validates, comes back equal, and another file is refused."""
    path = tmp_path / "one.json"
    sweep = msgspec.structs.replace(SMALL, targets=("exact",), dtypes=("float32",))
    report = small_sweep(path, sweep)
    assert SCHEMA.read_text(encoding="utf-8") == schema_json()
    jsonschema.Draft202012Validator(json.loads(schema_json())).validate(json.loads(path.read_bytes()))
    assert read_tolerance(path) == report
    assert to_json(report) == path.read_bytes()
    assert report.allowed(sweep.cells[0]) == 0.0
    assert report.allowed(sweep.cells[1]) is None
    assert read_cell_arrays(path, 0)["tree"].dtype == np.float32
    assert read_cell_arrays(path, 1) == {}
    path.write_bytes(b"{}")
    with pytest.raises(FileError, match="is not a tree-oracle-tolerance file"):
        read_tolerance(path)


def test_a_report_of_an_older_release_had_no_other_cache() -> None:
    """A kept report, written before a cell had a cache, is read back as one whose rows no cache has rounded."""
    kept = Path(__file__).parent.parent / "reports" / "tolerance" / "cpu-dense-5000-rows.json"
    report = read_tolerance(kept)
    assert b'"cache"' not in kept.read_bytes()
    assert {report.sweep.cache, *(found.cell.cache for found in report.cells)} == {"dynamic"}
    assert tuple(found.cell for found in report.cells) == report.sweep.cells


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("", "unknown target ''"),
        ("tiny", "names no architecture"),
        ("tiny:lama", "unknown architecture 'lama', did you mean 'llama'?"),
        ("tiny:llama:seed=x", "seed='x' is not a whole number"),
        ("exact:vocab=few", "vocab='few' is not a whole number"),
        ("dir:not/there", "'not/there' is no directory"),
    ],
)
def test_a_target_that_nobody_can_load_is_refused_before_the_first_cell(
    tmp_path: Path, target: str, words: str
) -> None:
    """It is told at once and nothing is written, though another target could be measured."""
    path = tmp_path / "t.json"
    asked = ["tolerance", "measure", str(path), "--target", "exact", "--target", target, "--width", "3", "--rows", "3"]
    found = CliRunner().invoke(main, asked)
    assert (found.exit_code, path.exists()) == (2, False)
    assert words in found.output


def test_a_sweep_of_nothing_is_refused(tmp_path: Path) -> None:
    """An empty list of anything leaves no cell, and rows below 1 leave nothing to judge."""
    with pytest.raises(UsageError, match="a sweep without cells"):
        small_sweep(tmp_path / "none.json", msgspec.structs.replace(SMALL, kernels=()))
    with pytest.raises(UsageError, match="0 rows to judge"):
        measure_cell(cell("exact"), loaded("exact"), rows=0)
