"""A report that no run comes to is refused wherever one is read, by what contradicts what; one as it was written is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from click.testing import CliRunner
from grounds import ground
from hypothesis import given
from report_grounds import FAILING, HOLDING, LEAK, report, reports, result, storable

from tree_oracle.cli import main
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.faults import find_fault
from tree_oracle.record import (
    Catch,
    FileError,
    HandedOn,
    Known,
    Ledger,
    Planted,
    Report,
    Status,
    Witness,
    read_report,
    to_json,
    write_file,
)
from tree_oracle.record.consistent import contradiction
from tree_oracle.record.schema import schema_json
from tree_oracle.report.certificate import make_certificate, read_certificate

VALIDATOR = jsonschema.Draft202012Validator(msgspec.json.decode(schema_json("report-1.schema.json")))
HELD = HOLDING.results


def witness(**more: Any) -> Report:
    """The report with another witness."""
    return msgspec.structs.replace(HOLDING, witness=msgspec.structs.replace(HOLDING.witness, **more))


def first(**more: Any) -> Report:
    """The report with another first result."""
    return msgspec.structs.replace(HOLDING, results=(msgspec.structs.replace(HELD[0], **more), *HELD[1:]))


PLANTED = Planted(seam="accept", wrong="another bonus token", check="GREEDY-01", catch=Catch.CAUGHT)


def powered(*found: Planted, **more: Any) -> Report:
    """The report with these planted answers, changed in some fields."""
    return msgspec.structs.replace(HOLDING, power=tuple(msgspec.structs.replace(planted, **more) for planted in found))


NEGATIVE = {
    "accepted": witness(accepted=-4),
    "drafted": witness(drafted=-1),
    "reached": witness(reached=(-1, -1)),
    "cases": first(cases=-1),
    "near_ties": first(near_ties=-1),
    "failed_at": first(status=Status.FAILED, failed_at=0),
    "rung": first(rung=-1),
    "seconds": msgspec.structs.replace(HOLDING, seconds={"POSITION-01": -0.5}),
    "diagnosed_on": first(status=Status.FAILED, findings=(msgspec.structs.replace(LEAK, diagnosed_on=-1),)),
}

EDITED = {
    "one result twice": (msgspec.structs.replace(HOLDING, results=(*HELD, HELD[0])), "POSITION-01 has 2 results; expected one"),
    "more undecided than judged": (first(undecided=11), "POSITION-01 is passed with 11 of 10 cases undecided"),
    "a pass of nothing": (first(cases=0), "POSITION-01 is passed on 0 cases, 0 of them undecided; expected one or more"),
    "a pass in doubt": (first(undecided=3), "POSITION-01 is passed on 10 cases, 3 of them undecided"),
    "a pass with a finding": (first(findings=(LEAK,)), "POSITION-01 is passed with 1 finding and first failing case None"),
    "a pass that failed": (first(failed_at=3), "with 0 findings and first failing case 3; expected neither"),
    "unseen and judged": (first(status=Status.NOT_OBSERVABLE), "POSITION-01 is not observable on 10 cases; expected none"),
    "a known pass": (first(known=Known("so", "T-1")), "POSITION-01 is passed and a known failure; expected a failed one"),
    "more of its own": (witness(accepted=9), "own.accepted is 10; expected at most 9, that of the whole witness"),
    "more accepted than proposed": (witness(reached=(21, 9)), "reached is [21, 9]; expected as many counts as proposed, [20, 20]"),
    "growing with depth": (witness(reached=(9, 14)), "witness.reached is [9, 14]; expected counts that do not grow with depth"),
    "more rounds than there are": (witness(proposed=(21, 20)), "proposed is [21, 20]; expected at most 20 rounds"),
    "more moved than accepted": (witness(handed_on=HandedOn(3, 2, 3)), "displacing is 3; expected at most the 2 that are accepting"),
    "nothing planted": (powered(), "power holds no planted answer; expected one or more"),
    "planted twice": (powered(PLANTED, PLANTED), "power has 2 entries for 'another bonus token' through accept; expected one"),
    "planted and not": (powered(PLANTED, catch=Catch.NOT_PLANTED), "'another bonus token' was not planted, with the reason ''"),
    "reached and missed": (
        msgspec.structs.replace(HOLDING, ledger=Ledger(("tie on the path",), ("tie on the path",))),
        "the ledger says of 'tie on the path' that it came about, and that it did not",
    ),
}  # fmt: skip


@pytest.mark.parametrize("edited", NEGATIVE)
def test_a_count_below_nothing_is_refused(tmp_path: Path, edited: str) -> None:
    """Reader, certificate and schema refuse it by its place."""
    path = tmp_path / "report.json"
    path.write_bytes(to_json(NEGATIVE[edited]))
    with pytest.raises(
        FileError, match=rf"Expected `\w+` >= [01](\.0)? - at `\$.*{'' if edited == 'seconds' else edited}"
    ):
        read_report(path)
    assert not VALIDATOR.is_valid(msgspec.json.decode(path.read_bytes()))
    path.write_bytes(to_json(make_certificate(NEGATIVE[edited])))
    with pytest.raises(FileError, match="Expected"):
        read_certificate(path)


@pytest.mark.parametrize("edited", EDITED)
def test_a_report_that_contradicts_itself_is_refused(tmp_path: Path, edited: str) -> None:
    """What was changed by hand is named where the report is read, alone or inside a certificate."""
    changed, said = EDITED[edited]
    path = tmp_path / "report.json"
    for document, read in ((changed, read_report), (make_certificate(changed), read_certificate)):
        path.write_bytes(to_json(document))
        with pytest.raises(FileError) as caught:
            read(path)
        assert f"{path} holds a report that contradicts itself: " in str(caught.value)
        assert said in str(caught.value)


def test_no_certificate_is_made_of_it(tmp_path: Path) -> None:
    """The command that certifies refuses the file, and says why."""
    path = tmp_path / "report.json"
    path.write_bytes(to_json(EDITED["one result twice"][0]))
    answer = CliRunner().invoke(main, ["certificate", "make", str(path)])
    assert (answer.exit_code, "POSITION-01 has 2 results" in answer.output) == (3, True)
    write_file(path, HOLDING)
    assert CliRunner().invoke(main, ["certificate", "make", str(path)]).exit_code == 0


@given(found=reports(storable))
def test_reports_of_every_kind_are_read(tmp_path_factory: pytest.TempPathFactory, found: Report) -> None:
    """Nothing is refused that a run may come to."""
    path = tmp_path_factory.mktemp("reports") / "report.json"
    write_file(path, found)
    assert read_report(path) == found


@pytest.mark.sweep
@pytest.mark.parametrize("decoder", [ReferenceDecoder, find_fault("first-child-only").decoder], ids=["right", "wrong"])
def test_no_run_contradicts_itself(decoder: Any) -> None:
    """What a battery writes of a right decoder and of a wrong one is free of contradictions."""
    found = ground().report(
        decoder, "CONSTRUCT-01", "GREEDY-01", "GREEDY-02", "COMMIT-02", "METRIC-01", "SEQUENCE-01", "LAW-01"
    )
    assert contradiction(found) == ""
    assert contradiction(FAILING) == contradiction(HOLDING) == contradiction(report()) == ""


def test_more_accepted_than_drafted_is_a_decoder_s_own_word(tmp_path: Path) -> None:
    """Counters that are stated may be wrong, and a failure need not say at which case: both are read."""
    path = tmp_path / "report.json"
    failed = result("VISIBLE-03", Status.FAILED, cases=0)
    write_file(path, report(failed, witness=Witness(20, 3, 30, 50), own=Witness()))
    assert read_report(path).results == (failed,)
