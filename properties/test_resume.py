"""An interrupted run goes on where it stopped, and a journal is never taken for what it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from grounds import SMALL_DECODERS
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.checks import CHECKS, Check, choose
from tree_oracle.cli import main
from tree_oracle.record import CheckResult, FileError, Report, Status, UsageError, Witness
from tree_oracle.run import Battery, Budget, Interrupted, Plan, carry_out
from tree_oracle.run.journal import DEFAULT_FILE, Journal
from tree_oracle.run.sources import sources_digest
from tree_oracle.run.tally import Finished, bare_result

pytestmark = pytest.mark.sweep

RUN = {"plan": {"decoder": "d", "budget": {"cases": 25}}, "versions": {"numpy": "2"}}
IDS = tuple(check.id for check in choose(ids=["GATHER-01", "CHAIN-03", "GREEDY-03", "METRIC-01"]))
PLAN = Plan(decoder="small_resumed:Right", checks=IDS, budget=Budget(cases=0, shrink_runs=0))


@st.composite
def finished(draw: st.DrawFn) -> Finished:
    result = bare_result(
        CHECKS[draw(st.sampled_from(sorted(CHECKS)))],
        draw(st.sampled_from(list(Status))),
        reason=draw(st.text(st.characters(exclude_categories=["Cs"]))),
    )
    counts = st.builds(Witness, st.integers(0, 99), st.integers(0, 99))
    return Finished(result, draw(st.dictionaries(st.text("ab"), counts)), {"trees": "00"}, draw(st.floats(0, 9)))


journals = st.lists(finished(), max_size=4)


def written(path: Path, entries: list[Finished]) -> bytes:
    journal = Journal(path, RUN, resume=False)
    for entry in entries:
        journal.add(entry)
    return path.read_bytes()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("journal") / "run.jsonl"


@given(entries=journals, more=finished())
def test_what_was_finished_is_found_again(path: Path, entries: list[Finished], more: Finished) -> None:
    """A journal gives back all that was added, in order, and can be added to; the end of the run takes it away."""
    written(path, entries)

    again = Journal(path, RUN, resume=True)
    assert again.finished == tuple(entries)
    again.add(more)
    last = Journal(path, RUN, resume=True)
    assert last.finished == (*entries, more)
    last.close()
    assert not path.exists()


@given(entries=journals, data=st.data())
def test_a_file_cut_off_anywhere_loses_only_what_was_not_whole(
    path: Path, entries: list[Finished], data: st.DataObject
) -> None:
    """Wherever a write was cut off, every whole line is kept, the rest is dropped, and the file can be added to."""
    whole = written(path, entries)
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    path.write_bytes(cut)
    kept = entries[: max(cut.count(b"\n") - 1, 0)]

    again = Journal(path, RUN, resume=True)
    assert again.finished == tuple(kept)
    for entry in entries[len(kept) :]:
        again.add(entry)
    assert path.read_bytes() == whole


@given(entries=journals.filter(bool), data=st.data())
def test_a_damaged_line_is_named_and_nothing_is_touched(
    path: Path, entries: list[Finished], data: st.DataObject
) -> None:
    """Changing any byte of a whole line is noticed: the line is named, and the file is left as it is."""
    whole = bytearray(written(path, entries))
    head = whole.index(b"\n") + 1
    place = data.draw(st.integers(head, len(whole) - 2))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte not in (whole[place], ord("\n"))))
    number = whole[:place].count(b"\n") + 1
    if whole[place] == ord("\n"):
        return  # two lines run together: the second is part of the damage
    whole[place] = byte
    path.write_bytes(whole)

    with pytest.raises(
        FileError, match=rf"run.jsonl, line {number} is damaged: .*; take the line out to run its check"
    ):
        Journal(path, RUN, resume=True)
    assert path.read_bytes() == whole

    lines = bytes(whole).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: number - 1] + lines[number:]))
    others = entries[: number - 2] + entries[number - 1 :]
    assert Journal(path, RUN, resume=True).finished == tuple(others)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"notes of mine, no line ending", "is not a tree-oracle-journal file"),
        (b"notes\nof\nmine\n", "is not a tree-oracle-journal file"),
        (b'{"format": "tree-oracle-report", "version": 1, "run": {}}\n', "is 'tree-oracle-report' version 1; expected 'tree-"),
        (b'{"format": "tree-oracle-journal", "version": 2, "run": {}}\n', "version 2; expected 'tree-oracle-journal' v"),
        (b"\x80\n", "is not a tree-oracle-journal file"),
        (b"[" * 100_000 + b"\n", "is not a tree-oracle-journal file"),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_is_refused_and_not_touched(tmp_path: Path, content: bytes, message: str) -> None:
    """Whatever is named by mistake is refused with its reason and keeps every byte."""
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    with pytest.raises(FileError, match=message):
        Journal(path, RUN, resume=True)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"plan": {"decoder": "d", "budget": {"cases": 9}}, "versions": {"numpy": "2"}},
         "plan.budget.cases was 25 there and is 9 here"),
        ({"plan": {"decoder": "e", "budget": {"cases": 25}}, "versions": {"numpy": "2"}},
         "plan.decoder was 'd' there and is 'e' here"),
        ({"plan": {"decoder": "d", "budget": {"cases": 25}}, "versions": {"numpy": "3"}},
         "versions.numpy was '2' there and is '3' here"),
        ({"plan": {"decoder": "d", "budget": {"cases": 25}}, "versions": {}}, "versions.numpy was '2' there and is None here"),
    ],
)  # fmt: skip
def test_the_journal_of_another_run_is_refused(tmp_path: Path, other: dict[str, object], message: str) -> None:
    """What differs is named with both values, and the journal stays."""
    path = tmp_path / "run.jsonl"
    content = written(path, [])
    with pytest.raises(UsageError, match=message):
        Journal(path, other, resume=True)
    assert path.read_bytes() == content


def test_a_journal_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """A folder in its place is named."""
    with pytest.raises(FileError, match="cannot read .*: Is a directory"):
        Journal(tmp_path, RUN, resume=True)


def test_a_new_run_begins_anew(tmp_path: Path) -> None:
    """Without resume an old journal is forgotten, whatever it is of."""
    path = tmp_path / "run.jsonl"
    path.write_text("anything", encoding="utf-8")
    assert written(path, []).count(b"\n") == 1


def stop_after(count: int, heard: list[str]) -> Callable[[CheckResult], None]:
    def listen(result: CheckResult) -> None:
        heard.append(result.check)
        if len(heard) == count:
            raise KeyboardInterrupt

    return listen


@pytest.fixture(scope="module", autouse=True)
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The module that the plan names."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "small_resumed.py").write_text(SMALL_DECODERS, encoding="utf-8")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.syspath_prepend(folder)
        yield


@pytest.fixture(scope="module")
def uninterrupted() -> Report:
    return carry_out(PLAN)


@pytest.mark.parametrize("stop", [3, len(IDS)])
def test_a_resumed_run_comes_to_the_same_report(tmp_path: Path, uninterrupted: Report, stop: int) -> None:
    """Stopped after any check and gone on with, a run reports what it would have, and no check is done twice."""
    journal, heard = tmp_path / "new" / "run.jsonl", list[str]()
    with pytest.raises(Interrupted) as caught:
        carry_out(PLAN, journal=journal, on_result=stop_after(stop, heard))

    half = caught.value.report
    assert half is not None
    assert [result.status for result in half.results] == [Status.PASSED] * stop + [Status.UNDECIDED] * (len(IDS) - stop)
    assert half.exit_code == (0 if stop == len(IDS) else 4)

    done: list[str] = []
    with pytest.MonkeyPatch.context() as monkeypatch:
        real = Battery.finish

        def counted(self: Battery, check: Check, cases: object) -> Finished:
            done.append(check.id)
            return real(self, check)

        monkeypatch.setattr(Battery, "finish", counted)
        report = carry_out(PLAN, journal=journal, resume=True)

    assert done == list(IDS[stop:])
    assert bare(report) == bare(uninterrupted)
    assert report.witness.rounds > 0
    assert report.digest
    assert not journal.exists()


def bare(report: Report) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(report, environment={}, seconds={}))


def test_the_command_line_stops_cleanly_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C prints what is done, keeps it, and exits with 130; --resume finishes, and leaves no journal behind."""
    monkeypatch.chdir(tmp_path)
    command = ["check", "--decoder", PLAN.decoder, "--in-process", "--cases", "0"]
    command += [word for check in IDS for word in ("--check", check)]
    real, count = Battery.run, iter(range(9))

    def interrupted(self: Battery, check: object, cases: object = None, **more: object) -> CheckResult:
        if next(count) == 2:
            raise KeyboardInterrupt
        return real(self, check, cases, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Battery, "run", interrupted)
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 130
    assert "interrupted; what was finished is kept, --resume goes on with it" in done.stderr
    assert "2 passed, 0 failed, 2 undecided" in done.stdout
    assert DEFAULT_FILE.exists()

    done = CliRunner().invoke(main, [*command, "--resume"])
    assert done.exit_code == 0, done.output
    assert [line.split()[:2] for line in done.stdout.splitlines()[:4]] == [[check, "passed"] for check in IDS]
    assert not DEFAULT_FILE.exists()

    DEFAULT_FILE.write_text("torn", encoding="utf-8")
    done = CliRunner().invoke(main, [*command, "--resume"])
    assert done.exit_code == 3
    assert "is not a tree-oracle-journal file" in done.stderr


@given(change=st.sampled_from(["nothing", "its text", "another file", "a file beside it"]))
def test_a_changed_decoder_is_another_run(tmp_path_factory: pytest.TempPathFactory, change: str) -> None:
    """The digest of a package's sources changes with each of its files, and with nothing else; nothing is imported."""
    folder = tmp_path_factory.mktemp("sources")
    package = folder / "subject_of_digest"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit", encoding="utf-8")
    (package / "inner" / "a.py").write_text("1", encoding="utf-8")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(folder)
        before = sources_digest("subject_of_digest.inner.a:Decoder")
        if change == "its text":
            (package / "inner" / "a.py").write_text("2", encoding="utf-8")
        elif change == "another file":
            (package / "b.py").write_text("", encoding="utf-8")
        elif change == "a file beside it":
            (folder / "c.py").write_text("", encoding="utf-8")
        after = sources_digest("subject_of_digest.inner.a:Decoder")

    assert len(before) == 64
    assert (before == after) == (change in ("nothing", "a file beside it"))


@pytest.mark.parametrize("name", ["reference", "fault:sibling-leak", "no_such_module_anywhere:x", "sys:path", ":"])
def test_a_decoder_without_sources_has_no_digest(name: str) -> None:
    """Built-in decoders, modules that are not found and those written in C are told apart by versions alone."""
    assert sources_digest(name) == ""
