"""Whether a failure belongs to its case or to what was asked before it, and what a replay then says."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from grounds import ground, result_of
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.cli import main
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.record import (
    Case,
    CaseFile,
    DecoderError,
    Earlier,
    FileError,
    Recurs,
    Report,
    Status,
    ToleranceFile,
    UsageError,
    read_case,
)
from tree_oracle.report.again import check_command, found_by
from tree_oracle.report.kept import kept_words
from tree_oracle.run import Budget, load_case, replay, save_cases
from tree_oracle.run.outcome import Outcome
from tree_oracle.run.recurs import Recurrence, recurrence
from tree_oracle.target import Target

CHECK = "GREEDY-02"
BUDGET = Budget(cases=0, shrink_runs=20)
MANY = 1000  # requests that may be driven


def asked(numbers: Sequence[int]) -> tuple[Earlier, ...]:
    return tuple(Earlier("accept", Case(prefix=(number,))) for number in numbers)


def numbers_of(earlier: Sequence[Earlier]) -> list[int]:
    return [one.case.prefix[0] for one in earlier]


def tried(
    fails: Callable[[list[int]], bool], history: Sequence[int], runs: int = MANY
) -> tuple[Recurrence | None, int]:
    """What is said of a decoder that fails after the requests for which ``fails``, and how many were driven."""
    driven = 0

    def retry(decoder: Any, model: Any, earlier: Sequence[Earlier]) -> Outcome:
        nonlocal driven
        driven += len(earlier)
        return Outcome(Status.FAILED if fails(numbers_of(earlier)) else Status.PASSED)

    return recurrence(lambda: (None, None), retry, asked(history), runs), driven


@given(needed=st.lists(st.integers(0, 5), min_size=1, max_size=3), history=st.lists(st.integers(0, 9), max_size=20))
def test_the_earlier_requests_that_are_told_bring_the_failure_back_and_none_is_idle(
    needed: list[int], history: list[int]
) -> None:
    """Where a failure needs some earlier requests, those are named and no others, in the order in which they were asked."""
    history += needed
    found, _ = tried(lambda earlier: set(needed) <= set(earlier), history)
    assert found is not None
    assert found.recurs is Recurs.AFTER_OTHERS
    told = numbers_of(found.earlier)
    assert sorted(told) == sorted(set(needed))
    assert all(number in (rest := iter(history)) and number in [number, *rest] for number in told)


@given(history=st.lists(st.integers(0, 9), max_size=40), runs=st.integers(0, 60))
def test_no_more_requests_are_driven_than_the_budget_has(history: list[int], runs: int) -> None:
    """The search ends with the budget, and says of how many requests it knows that they do not bring the failure back."""
    found, driven = tried(lambda earlier: len(earlier) > 11, history, runs)
    assert found is not None
    assert driven <= 3 * runs  # to find a list, to make it shorter, and to confirm it
    if found.recurs is Recurs.NOT_SEEN:
        assert found.tried <= min(len(history), 11)
        assert found.all_tried == (found.tried == len(history))
    else:
        assert len(found.earlier) == 12


def test_what_fails_alone_is_not_laid_at_other_requests() -> None:
    """A case that is enough is said to be, without a word more, and nothing else is driven."""
    found, driven = tried(lambda earlier: True, range(9))
    assert found == Recurrence(Recurs.ALONE)
    assert (found.words, driven) == ("", 0)


def test_chance_is_not_called_state() -> None:
    """A decoder that fails every second time, whatever it was asked, is not said to depend on earlier requests alone."""
    turns = iter(range(MANY))
    found, _ = tried(lambda earlier: next(turns) % 2 == 1, range(9))
    assert found is not None
    assert found.recurs is Recurs.NOT_SEEN
    assert found.words.endswith("or on chance")


def test_a_second_decoder_that_cannot_be_made_decides_nothing() -> None:
    """Of a factory that works once nothing is said."""

    def once() -> tuple[Any, Any]:
        raise DecoderError("the factory raised")

    assert recurrence(once, lambda *_: Outcome(Status.PASSED), asked([1]), MANY) is None


class Leaking:
    """Once it was asked about a root alone, it accepts nothing any more."""

    def __init__(self, target: Target) -> None:
        self._right, self._spoilt = ReferenceDecoder(target), False

    def accept(self, tree: Any, rows: np.ndarray) -> Any:
        spoilt, self._spoilt = self._spoilt, self._spoilt or len(tree.tokens) == 1
        return ((), int(rows[0].argmax())) if spoilt else self._right.accept(tree, rows)


class Stubborn:
    """Accepts nothing, ever."""

    def __init__(self, target: Target) -> None:
        """Needs no target."""

    def accept(self, tree: Any, rows: np.ndarray) -> Any:
        return (), int(rows[0].argmax())


@cache
def judged(decoder: Any) -> Report:
    return ground().report(decoder, CHECK, budget=BUDGET)


def kept(report: Report, folder: Path) -> CaseFile:
    (path,) = save_cases(report, folder)
    return read_case(path)


def test_state_that_is_left_behind_is_named_and_brought_back(tmp_path: Path) -> None:
    """A decoder that leaks state between requests: the finding says so, keeps the request that spoils it, and names no cause."""
    report = judged(Leaking)
    (finding,) = result_of(report, CHECK).findings
    assert finding.sentence.endswith(
        "alone, on a new decoder, this case does not fail: the failure depends on earlier requests, "
        "and comes back after 1 earlier request"
    )
    assert (finding.recurs, finding.causes, finding.certain, finding.diagnosed_on) == (
        Recurs.AFTER_OTHERS,
        (),
        False,
        0,
    )
    assert [len(tree.tokens) for tree in finding.earlier[0].case.trees] == [1]

    file = kept(report, tmp_path)
    again = replay(file, ground().subject(Leaking))
    said = "kept      it failed after 1 earlier request, which came first now too; alone, on a new decoder, it did not"
    assert (again.exit_code, kept_words(again, file)) == (1, said)
    assert again.results[0].findings[0].diagnosed_on == 0
    right = replay(file, ground().subject(ReferenceDecoder))
    assert right.exit_code == 0
    assert kept_words(right, file) == said
    bare = msgspec.structs.replace(file, earlier=(), recurs=None)
    assert kept_words(right, bare).startswith("kept      it failed in its run, and nobody could try it alone: ")
    assert replay(bare, ground().subject(Leaking)).exit_code == 0  # so it is the earlier request that brings it back


def test_a_decoder_that_is_always_wrong_is_diagnosed_as_before(tmp_path: Path) -> None:
    """The twin of a leak: a failure of the case alone keeps its sentence and its causes; a later pass says where it was seen."""
    report = judged(Stubborn)
    (finding,) = result_of(report, CHECK).findings
    assert "alone, on a new decoder" not in finding.sentence
    assert (finding.recurs, finding.earlier) == (Recurs.ALONE, ())
    assert finding.diagnosed_on
    file = kept(report, tmp_path)
    right = replay(file, ground().subject(ReferenceDecoder))
    assert right.exit_code == 0
    assert kept_words(right, file).splitlines() == [
        f"kept      it failed by itself, on a new decoder of the same process too: {finding.sentence}",
        f"again     {found_by(file)}",
    ]


def test_a_pass_of_what_never_failed_alone_decides_nothing(tmp_path: Path) -> None:
    """A failure that no new decoder showed: its replay is undecided, with exit code 4, and names the command of the run."""
    calls: list[int] = []

    def once_wrong(target: Target) -> Any:
        right = ReferenceDecoder(target)

        class Once:
            def accept(self, tree: Any, rows: np.ndarray) -> Any:
                calls.append(len(tree.tokens))
                wrong = calls.count(7) == 3 and calls[-1] == 7
                return ((), int(rows[0].argmax())) if wrong else right.accept(tree, rows)

        return Once()

    report = judged(once_wrong)
    (finding,) = result_of(report, CHECK).findings
    assert finding.recurs is Recurs.NOT_SEEN
    assert "this case does not fail" in finding.sentence
    file = kept(report, tmp_path)
    again = replay(file, ground().subject(ReferenceDecoder))
    assert (again.results[0].status, again.exit_code) == (Status.UNDECIDED, 4)
    assert "only a run of them all can tell" in again.results[0].reason
    named = msgspec.structs.replace(file, decoder="mine:Decoder")
    assert f"again     {found_by(named)}" in kept_words(again, named)
    for more in ("mine:Decoder\nagain     rm -r x", "fault:x\u2028y"):
        assert (
            found_by(msgspec.structs.replace(file, decoder=more)) == ""
        )  # no command, where one line cannot show the name


def test_the_command_of_a_kept_case_is_that_of_its_run(tmp_path: Path) -> None:
    """Checks, cases, seed and tolerance report stand in the command of a report and of each case that it left."""
    budget = Budget(cases=3, shrink_runs=0, diagnose=False, seed=5)
    report = ground(cases=0).report(Stubborn, "GREEDY-01", "GREEDY-02", budget=budget)
    floor = ToleranceFile("my floor.json", "ab" * 32)
    report = msgspec.structs.replace(report, decoder="mine:Decoder", tolerance=floor)
    command = check_command(report)
    assert command.startswith(
        "tree-oracle check --decoder mine:Decoder --check GREEDY-01 --check GREEDY-02 --target exact"
    )
    assert command.endswith("--cases 3 --seed 5 --tolerance 'my floor.json'")
    assert {found_by(read_case(path)) for path in save_cases(report, tmp_path)} == {command}


def test_an_earlier_request_through_no_seam_is_refused(tmp_path: Path) -> None:
    """A case file may hold anything: what came through no seam that there is, or is no input, is named."""
    file = kept(judged(Leaking), tmp_path)
    for bad, said in (
        (Earlier("back door", file.case), "'back door', which is no seam"),
        (Earlier("accept", msgspec.structs.replace(file.case, prefix=(99,))), "the case has token 99"),
    ):
        with pytest.raises(UsageError, match=said):
            replay(msgspec.structs.replace(file, earlier=(bad,)), ground().subject(ReferenceDecoder))


def test_an_earlier_request_that_the_decoder_no_longer_takes_is_refused(tmp_path: Path) -> None:
    """Without the method that the earlier requests came through nothing is seen again, and a pass would be a lie."""
    file = kept(judged(Leaking), tmp_path)
    moved = tuple(msgspec.structs.replace(one, seam="generate") for one in file.earlier)
    with pytest.raises(UsageError, match="came through generate, and the decoder does not offer it; it offers accept"):
        replay(msgspec.structs.replace(file, earlier=moved), ground().subject(Leaking))


@pytest.mark.parametrize("change", [{"earlier": ()}, {"recurs": Recurs.ALONE}, {"recurs": None}], ids=str)
def test_earlier_requests_and_what_is_said_of_them_go_together(change: dict[str, Any], tmp_path: Path) -> None:
    """A file that says after others and holds none, or holds some and says otherwise, is no case file."""
    file = kept(judged(Leaking), tmp_path)
    path = tmp_path / "changed.json"
    written = msgspec.to_builtins(file) | msgspec.to_builtins(change)
    path.write_bytes(msgspec.json.encode(written))
    with pytest.raises(
        FileError, match=r"earlier requests? that recurs .*; expected some where it recurs 'after others'"
    ):
        load_case(str(path))


def test_another_python_is_not_asked_earlier_requests(tmp_path: Path) -> None:
    """Such a case is refused there: without the requests before it a pass would be a lie."""
    (path,) = save_cases(judged(Leaking), tmp_path)
    words = ["replay", str(path), "--decoder", "mine:Leaking", "--python", sys.executable]
    refused = CliRunner().invoke(main, words)
    assert refused.exit_code == 2
    assert "after earlier requests, which no other Python is asked; replay it without --python" in refused.output
