"""Power: wrong answers planted behind an adapter are caught, missed or not planted, their twins pass, and the report says which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from grounds import SMALL_DECODERS, ground
from hypothesis import given
from hypothesis import strategies as st
from report_grounds import HOLDING, reports, several_planted, storable

from tree_oracle import ReferenceDecoder, check_decoder
from tree_oracle.cli import main
from tree_oracle.decoder import Seam
from tree_oracle.record import Catch, Planted, Report, UsageError
from tree_oracle.report import markdown_summary
from tree_oracle.report.certificate import make_certificate
from tree_oracle.report.html import html_page
from tree_oracle.report.words import planted_words, power_words
from tree_oracle.run.power import Power
from tree_oracle.run.tamper import TAMPERINGS, Tampering

ACCEPTING = [tampering for tampering in TAMPERINGS if tampering.seam is Seam.ACCEPT]


def power_of(made: Any) -> Power:
    return Power(ground().subject(made), ground().stock)


class Accepts:
    """One method of the reference."""

    def __init__(self, target: Any) -> None:
        self._made = ReferenceDecoder(target)

    def accept(self, tree: Any, rows: Any) -> Any:
        return self._made.accept(tree, rows)


class AcceptsWrongly(Accepts):
    """Always another bonus token."""

    def accept(self, tree: Any, rows: Any) -> Any:
        accepted, bonus = super().accept(tree, rows)
        return accepted, bonus - 1 if bonus else 1


class AcceptsNothing:
    """Whatever is asked, nothing is accepted: there is no last accepted node to leave out."""

    def __init__(self, target: Any) -> None:
        pass

    def accept(self, tree: Any, rows: Any) -> tuple[list[int], int]:
        return [], int(rows[0].argmax())


# ------------------------------------------------------------------------------------------------------------ measuring


def test_everything_that_is_planted_behind_the_reference_is_caught() -> None:
    """Each wrong answer fails the check that has to notice it, and the twin that takes the same way passes it."""
    found = power_of(ReferenceDecoder).measured()
    assert len(found) == len(TAMPERINGS)
    assert {planted.catch for planted in found if planted.reason != "the adapter does not offer it"} == {Catch.CAUGHT}
    assert sum(planted.catch is Catch.CAUGHT for planted in found) >= 7


def test_a_method_that_is_not_offered_takes_no_plant() -> None:
    """What the adapter does not offer is told as not planted, with that reason."""
    found = power_of(Accepts).measured()
    caught = [planted.check for planted in found if planted.catch is Catch.CAUGHT]
    assert caught == [tampering.check for tampering in ACCEPTING]
    assert {planted.reason for planted in found if planted.catch is not Catch.CAUGHT} == {
        "the adapter does not offer it"
    }


@pytest.mark.parametrize(
    ("made", "check", "reason"),
    [(AcceptsWrongly, "GREEDY-01", "GREEDY-01 fails without it"), (AcceptsNothing, "GREEDY-02", "")],
)
def test_a_decoder_that_fails_by_itself_is_not_said_to_be_caught(made: Any, check: str, reason: str) -> None:
    """A failure that is there without the plant notices nothing, and an answer in which there is nothing to change shows nothing."""
    (planted,) = [power_of(made).planted(tampering) for tampering in ACCEPTING if tampering.check == check]
    assert planted.catch is Catch.NOT_PLANTED
    assert reason in planted.reason != ""


class AcceptsForAWhile(Accepts):
    """Right, until it breaks down for good, as what leaks does."""

    def __init__(self, target: Any) -> None:
        super().__init__(target)
        self._left = 30  # the first trial of the twin takes 24

    def accept(self, tree: Any, rows: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise RuntimeError("no pages are left")
        return super().accept(tree, rows)


def test_a_decoder_that_breaks_down_by_then_is_not_said_to_be_caught() -> None:
    """A failure that comes of what was asked before is no notice of the plant: its twin does not pass again."""
    (bonus,) = [tampering for tampering in ACCEPTING if tampering.check == "GREEDY-01"]
    found = [power_of(AcceptsForAWhile).planted(bonus), power_of(Accepts).planted(bonus)]
    assert [planted.catch for planted in found] == [Catch.NOT_PLANTED, Catch.CAUGHT]
    assert found[0].reason != ""


def test_what_a_check_does_not_look_at_is_missed() -> None:
    """Another bonus token, and a check that is named for it and reads accepted nodes alone: missed, and the exit code is 3."""
    bonus = next(tampering for tampering in ACCEPTING if tampering.check == "GREEDY-01")
    blind = Tampering(Seam.ACCEPT, "GREEDY-02", bonus.sentence, bonus.change)
    assert power_of(Accepts).planted(blind).catch is Catch.MISSED


# ------------------------------------------------------------------------------------------------------------ reporting

measured = several_planted(st.text("ab", min_size=1, max_size=9), most=4)


def with_power(power: tuple[Planted, ...] | None) -> Report:
    return msgspec.structs.replace(HOLDING, power=power)


@given(measured)
def test_a_missed_plant_is_no_pass(power: tuple[Planted, ...]) -> None:
    """Whatever else is held, a wrong answer that nobody noticed gives exit code 3; others change nothing."""
    missed = any(planted.catch is Catch.MISSED for planted in power)
    found = with_power(power)
    assert found.exit_code == (3 if missed else 0)
    assert ("NOT noticed" in power_words(found)) == missed
    made = make_certificate(found)
    assert all(planted_words(planted) in made.power for planted in power)
    assert any("not noticed" in line for line in made.may_not_say) == missed
    assert "--power" in made.again.command
    assert any("none was planted for them" in line for line in made.may_not_say)


@given(reports(storable))
def test_power_that_was_not_measured_is_said_to_be(found: Report) -> None:
    """A report without it says so, its certificate too, and neither claims that anything would be noticed."""
    found = msgspec.structs.replace(found, power=None)
    assert power_words(found) == "not measured"
    assert make_certificate(found).power.startswith("not measured: nothing wrong was planted through this adapter")
    assert any("power was not measured" in line for line in make_certificate(found).may_not_say)


@given(measured)
def test_every_plant_is_told_on_every_page(power: tuple[Planted, ...]) -> None:
    """Method, what was planted and what came of it stand in the page and in the summary."""
    found = with_power(power)
    page, summary = html_page(found), markdown_summary(found)
    for one in power:
        assert f"<td>{one.wrong}</td><td><code>{one.check}</code></td>" in page
        assert planted_words(one) in summary


# ---------------------------------------------------------------------------------------------------------- whole runs


def test_power_is_measured_where_it_is_asked_for() -> None:
    """With the option the report holds it and the exit code stays that of the checks; without it nothing is planted."""
    usual = check_decoder(Accepts, checks=["GREEDY-01"], cases=0)
    found = check_decoder(Accepts, checks=["GREEDY-01"], cases=0, power=True)
    assert usual.power is None
    assert found.power is not None
    assert (found.exit_code, power_words(found)[:6]) == (0, "2 of 2")
    with pytest.raises(UsageError, match="power is 1; expected True or False"):
        check_decoder(Accepts, power=1)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="power=True plants answers here"):
        check_decoder("a:b", target="exact", python="python3", power=True)


def test_the_command_prints_it(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line of how many were caught, then one for each."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(Path(__file__).parent)
    named = ["--decoder", "test_power:Accepts", "--in-process"]
    ran = CliRunner().invoke(main, ["check", *named, "--check", "GREEDY-01", "--cases", "0", "--power"])
    assert ran.exit_code == 0, ran.output
    assert "2 of 2 planted wrong answers were caught through this adapter, and their twins passed" in ran.output
    assert "accept: another bonus token: caught by GREEDY-01, its twin passed" in ran.output


def test_the_command_refuses_what_it_cannot_plant() -> None:
    """Answers of another interpreter are not changed here."""
    asked = ["check", "--decoder", "a:b", "--target", "exact", "--python", "python3", "--power"]
    ran = CliRunner().invoke(main, asked)
    assert ran.exit_code == 2
    assert "--power plants answers in this interpreter" in ran.output


@pytest.mark.sweep
def test_a_child_measures_it_too(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process of its own the same is planted and caught."""
    (tmp_path / "small.py").write_text(SMALL_DECODERS)
    monkeypatch.syspath_prepend(tmp_path)
    found, inside = (
        check_decoder("small:Right", target="exact", checks=["GREEDY-01"], cases=0, power=True, isolate=isolate)
        for isolate in (True, False)
    )
    assert found.power == inside.power is not None
