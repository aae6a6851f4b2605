"""Running vectors against programs: good ones pass, and hostile ones end in an honest status, in time, with nothing left behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import msgspec
import pytest
from document_runner import blocks
from vectors_peer import IDS, peer_command

from tree_oracle.record import AdapterError, Status, UsageError
from tree_oracle.vectors import find, load
from tree_oracle.vectors.protocol import read_greeting, read_reply
from tree_oracle.vectors.runner import Patience, VectorReport, run_vectors

pytestmark = pytest.mark.sweep

ROOT = Path(__file__).parent.parent
GREETING = '{"protocol": "tree-oracle-vectors", "version": 1}'
QUICK = Patience(start=60.0, answer=2.0, starts=3)
PATIENT = Patience(answer=60.0)

PASS, FAIL, ERR, NOT = Status.PASSED, Status.FAILED, Status.ERROR, Status.NOT_OBSERVABLE


def asked(folder: Path, mode: str, patience: Patience = QUICK) -> VectorReport:
    command = peer_command(folder, mode)
    return run_vectors(command, [(group.operation, vector) for group, vector in map(find, IDS)], patience)


@pytest.mark.parametrize("mode", ["good", "errors", "stays"])
def test_a_right_program_passes(tmp_path: Path, mode: str) -> None:
    """Right answers pass, whatever the program writes to standard error and however long it stays after its input ended."""
    report = asked(tmp_path, mode, PATIENT)
    assert [result.status for result in report.results] == [PASS] * 3
    assert (report.problem, report.exit_code, report.name) == ("", 0, "peer")


@pytest.mark.parametrize(("mode", "statuses", "sentence", "code"), [
    ("wrong", [PASS, FAIL, PASS], "emitted has 2 entries; expected 1", 1),
    ("cut", [PASS, ERR, NOT], "is none: Input data was truncated", 3),
    ("cut and gone", [PASS, FAIL, PASS], "ended with exit code 0", 1),
    ("huge", [PASS, ERR, NOT], "Integer value out of range", 3),
    ("infinite", [PASS, ERR, NOT], "Number out of range", 3),
    ("deep", [PASS, ERR, NOT], "recursion", 3),
    ("bytes", [PASS, ERR, NOT], "JSON is malformed", 3),
    ("empty", [PASS, ERR, NOT], "Input data was truncated", 3),
    ("dies", [PASS, FAIL, PASS], "the program ended with exit code 3; it last said: out of ideas", 1),
    ("killed", [PASS, FAIL, PASS], "the program was ended by signal 11", 1),
    ("hangs", [PASS, FAIL, PASS], "the program gave no answer within 2 s", 1),
    ("complains", [PASS, FAIL, PASS], "the program gave no answer within 2 s; it last said: e", 1),
    ("out of order", [PASS, FAIL, PASS], "the program gave no answer within 2 s", 1),
    ("stubborn", [PASS, FAIL, PASS], "the program gave no answer within 2 s", 1),
    ("flood", [PASS, ERR, NOT], "bytes without an end of line", 3),
    ("other id", [PASS, ERR, NOT], "the program answers 'stop-9999' where 'stop-0010' was asked", 3),
    ("gone", [ERR, NOT, NOT], "at its greeting the program ended with exit code 7", 3),
    ("old", [ERR, NOT, NOT], "speaks 'tree-oracle-vectors' version 0; expected 'tree-oracle-vectors' version 1", 3),
    ("enormous version", [ERR, NOT, NOT], "version", 3),
    ("other", [ERR, NOT, NOT], "speaks 'chess' version 1", 3),
    ("no greeting", [ERR, NOT, NOT], "the program's greeting 'hello' is none", 3),
])  # fmt: skip
def test_a_hostile_program_ends_in_an_honest_status(
    tmp_path: Path, mode: str, statuses: list[Status], sentence: str, code: int
) -> None:
    """Whatever a program does at its second answer, that vector has the status that it earned and the sentence that says why."""
    report = asked(tmp_path, mode)
    # A program that was started again meets the third vector as its first.
    assert [result.status for result in report.results] == statuses
    told = next(result.sentence for result in report.results if result.status in (FAIL, ERR))
    assert sentence in told
    assert len(told) < 400
    assert report.exit_code == code


def test_a_program_that_never_greets_is_in_error(tmp_path: Path) -> None:
    """Where no greeting comes nothing can be asked: the first vector is in error, and the others are not observable."""
    report = asked(tmp_path, "silent", Patience(start=0.3))
    assert [result.status for result in report.results] == [ERR, NOT, NOT]
    assert report.results[0].sentence == "at its greeting the program gave no answer within 0.3 s"


@pytest.mark.parametrize("mode", ["twice", "early", "lines"])
def test_a_second_reply_is_no_reply_to_the_next(tmp_path: Path, mode: str) -> None:
    """A program that answers twice, or without end, is in error at the next vector, and is not asked again."""
    report = asked(tmp_path, mode)
    assert [result.status for result in report.results] == [PASS, PASS, ERR]
    assert "without being asked" in report.results[2].sentence or "answers" in report.results[2].sentence
    assert report.exit_code == 3


def test_a_program_that_talks_on_is_in_error(tmp_path: Path) -> None:
    """What is said after the last answer is a problem of the run: its passes do not make it one."""
    report = asked(tmp_path, "talks on", PATIENT)
    assert [result.status for result in report.results] == [PASS] * 3
    assert "one more thing" in report.problem
    assert report.exit_code == 3


def test_a_program_that_stops_reading_is_not_waited_for(tmp_path: Path) -> None:
    """A program that closed its input gets no further request, and fails at the next vector when time is up."""
    report = asked(tmp_path, "deaf")
    assert [result.status for result in report.results] == [PASS, PASS, FAIL]


def test_a_program_that_reads_nothing_does_not_block_the_runner(tmp_path: Path) -> None:
    """A request larger than any pipe is given up in time where nobody reads it."""
    script = tmp_path / "deaf.py"
    script.write_text(f"import time\nprint('{GREETING}', flush=True)\ntime.sleep(60)\n", encoding="utf-8")
    large = max(load("decode").vectors, key=lambda vector: len(msgspec.json.encode(vector)))
    wide = msgspec.structs.replace(
        large, input=msgspec.structs.replace(large.input, documents=large.input.documents * 60)
    )
    assert len(msgspec.json.encode(wide)) > 2**18
    report = run_vectors([sys.executable, "-I", "-S", str(script)], [("decode", wide)], QUICK)
    assert report.results[0].status is FAIL


def test_a_program_that_dies_each_time_is_given_up(tmp_path: Path) -> None:
    """After so many starts nothing more is asked, and what was not asked is not observable."""
    vectors = [("stop", vector) for vector in load("stop").vectors[:8]]
    command = peer_command(tmp_path, "good", "{}")  # it knows no answer, so it dies of every question
    report = run_vectors(command, vectors, QUICK)
    assert [result.status for result in report.results] == [FAIL] * 3 + [NOT] * 5
    assert report.results[-1].sentence == "not asked: the program was started 3 times and ended each time"


def test_the_whole_run_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the time for everything is used up nothing more is asked, and the passes so far do not make the run one."""
    clock = count(step=10)  # ten seconds go by between any two looks at the clock, of which two are for each vector
    monkeypatch.setattr("tree_oracle.vectors.runner.monotonic", lambda: float(next(clock)))
    report = asked(tmp_path, "good", Patience(whole=55.0))
    assert [result.status for result in report.results] == [PASS, PASS, NOT]
    assert report.results[2].sentence == "not asked: the 55 s for the whole run are used up"
    assert report.problem == "not all vectors were asked: the 55 s for the whole run are used up"
    assert report.exit_code == 3


def test_nothing_of_a_program_is_left(tmp_path: Path) -> None:
    """A program that hangs is gone afterwards, with what it had started."""
    script = tmp_path / "forks.py"
    script.write_text(
        "import os, time\nread, write = os.pipe()\nother = os.fork()\n"
        f"with open({str(tmp_path / 'pid')!r} + str(bool(other)), 'w') as file: file.write(str(os.getpid()))\n"
        f"if other: os.read(read, 1); print('{GREETING}', flush=True)\n"
        "else: os.write(write, b'x')\n"
        "time.sleep(60)\n",
        encoding="utf-8",
    )
    run_vectors([sys.executable, "-I", "-S", str(script)], [("stop", load("stop").vectors[0])], QUICK)
    for name in ("pidTrue", "pidFalse"):
        pid = int((tmp_path / name).read_text(encoding="utf-8"))
        until = time.monotonic() + 10
        while _alive(pid) and time.monotonic() < until:
            time.sleep(0.02)
        assert not _alive(pid)


def _alive(pid: int) -> bool:
    """Whether a process is there and no corpse that waits for its parent."""
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat")
        return not status.exists() or status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.parametrize("command", [["/no/such/program"], [str(ROOT)], []])
def test_what_cannot_be_started_is_a_usage_error(command: list[str]) -> None:
    """A program that is not there is named, and no vector gets a status."""
    with pytest.raises(UsageError, match="cannot start"):
        run_vectors(command, [("stop", load("stop").vectors[0])])


def test_what_is_not_named_is_not_asked() -> None:
    """A greeting that names operations, encodings or policies leaves out the rest, by name."""
    greeted = read_greeting(
        b'{"protocol":"tree-oracle-vectors","version":1,"operations":["build","encode"],"formats":["bool"],"policies":[]}'
    )
    stop, encode, build = load("stop").vectors[0], load("encode").vectors, load("construct").vectors[0]
    assert greeted.lacks("stop", stop) == "the program does not name the operation 'stop'"
    assert greeted.lacks("encode", encode[0]) == ""
    assert greeted.lacks("encode", encode[-1]) == "the program does not name the encoding 'json'"
    assert greeted.lacks("build", build) == "the program does not name the policy 'treespark'"
    assert read_greeting(b'{"protocol":"tree-oracle-vectors","version":1}').lacks("stop", stop) == ""


@pytest.mark.parametrize(
    "line", [b"", b"null", b"[]", b'{"id":1}', b'{"answer":1}', b'{"id":"a","refused":1}', b'{"id":"a"}x']
)
def test_what_is_no_reply_is_an_adapter_error(line: bytes) -> None:
    """A line that is no reply is refused, and shown."""
    with pytest.raises(AdapterError, match="the program's reply .* is none: "):
        read_reply(line, "a")


@pytest.mark.skipif(shutil.which("perl") is None, reason="the guide's example is in Perl, which is not installed here")
def test_the_example_of_the_guide_passes(tmp_path: Path) -> None:
    """The Perl program in `docs/vectors.md` is right about every tie and every pair of equal siblings."""
    found = blocks((ROOT / "docs" / "vectors.md").read_text(encoding="utf-8"), "vectors.md")
    (program,) = [block.text for block in found if block.language == "perl"]
    assert program.count("\n") <= 32
    (tmp_path / "adapter.pl").write_text(program, encoding="utf-8")
    vectors = [("walk", vector) for vector in load("greedy-ties").vectors]
    report = run_vectors(["perl", str(tmp_path / "adapter.pl")], vectors, PATIENT)
    assert report.counts[PASS] == len(vectors) == 210, report.results[0]


def test_nothing_here_needs_torch(tmp_path: Path) -> None:
    """Making, reading, judging and running vectors loads no torch."""
    program = "import tree_oracle.vectors.generate, tree_oracle.vectors.runner, tree_oracle.report.vectors, sys; assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
