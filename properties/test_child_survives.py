"""Decoders that crash, hang, flood or hoard: each becomes a result of its check, the others are judged, and nothing lives on.

Most tests use small programs in the place of the child, which start in milliseconds; a whole child has to import torch.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from grounds import SMALL_DECODERS
from hypothesis import given, settings
from hypothesis import strategies as st

from tree_oracle import check_decoder
from tree_oracle.checks import choose
from tree_oracle.cli.common import caps_of
from tree_oracle.record import (
    Case,
    Catch,
    CheckResult,
    DecoderError,
    Planted,
    Report,
    Status,
    TreeOracleError,
    UsageError,
)
from tree_oracle.run import Budget, Caps, Plan, child_run
from tree_oracle.run.child import refusal
from tree_oracle.run.child_messages import (
    Done,
    Driven,
    Driving,
    Ended,
    Failing,
    Measured,
    Message,
    Opened,
    Ready,
    Refused,
    Request,
    Started,
    decode,
    decode_request,
    encode,
)
from tree_oracle.run.child_process import Cause, ChildProcess, End
from tree_oracle.run.last_words import last_words
from tree_oracle.run.power import unmeasured
from tree_oracle.run.tally import Finished, Head, Tally, bare_result
from tree_oracle.tree import InvalidTree, TreeFault

pytestmark = pytest.mark.sweep

CHECKS = choose(families=["VISIBLE", "GREEDY"])
PLAN = Plan(decoder="d", checks=tuple(check.id for check in CHECKS))
CASE = Case(prefix=(1, 2))
SOON = 60.0  # seconds: the end of a program that ends at once, on any machine
PATIENT = Caps(timeout=SOON, setup=SOON)

DEADLY = """
import ctypes, subprocess, sys, time

from tree_oracle import ReferenceDecoder


class Deadly:
    def __init__(self, target):
        self._right = ReferenceDecoder(target)

    def lay_out(self, tree, prefix_len):
        if len(tree) == 4:
            print("about to fall")
            ctypes.string_at(0)
        return self._right.lay_out(tree, prefix_len)

    def tree_logits(self, prefix, tree):
        child = subprocess.Popen(["sleep", "1000"])
        open("grandchild", "w").write(str(child.pid))
        while True:
            time.sleep(0.01)

    def accept(self, tree, rows):
        if len(tree) > 2:
            self.hoard = [bytearray(2**24) for _ in range(2**8)]
        return self._right.accept(tree, rows)

    def generate(self, prompts, limits):
        sys.stdout.write("x" * 2**20)
        if limits.min_new == 2:
            sys.exit(0)
        return self._right.generate(prompts, limits)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, from which modules can be imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def gone(pid: int) -> bool:
    """Whether there is no such process, waiting a while for the kernel to finish it."""
    until = time.monotonic() + SOON
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":  # dead; whoever inherited it has not looked yet
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_every_way_to_die_becomes_a_result(here: Path) -> None:
    """One decoder that crashes, hoards and floods in turn gets the true reason for each."""
    (here / "deadly.py").write_text(DEADLY, encoding="utf-8")

    ids = ["VISIBLE-03", "GATHER-01", "GATHER-03", "STOP-05"]
    report = check_decoder("deadly:Deadly", checks=ids, cases=0, isolate=True, timeout=SOON, memory=1500)

    assert report.exit_code == 1
    assert report.decoder == "deadly:Deadly"
    crash, hoard, again, flood = (by_id(report, check) for check in ids)
    assert all(result.status is Status.FAILED for result in (crash, hoard, again, flood))

    assert crash.findings[0].sentence == "the decoder's process ended in lay_out by SIGSEGV (Segmentation fault)"
    assert "about to fall" in crash.findings[0].seen
    assert "at deadly.py line 14 in lay_out" in crash.findings[0].seen
    assert crash.findings[0].case is not None
    assert len(crash.findings[0].case.trees[0].tokens) == 4
    assert crash.failed_at == crash.cases > 1

    assert hoard.findings[0].sentence == "the decoder took more memory in accept than the 1500 MiB that are allowed"
    # The deadly case is known by now: the next check is told, and no process is spent on it.
    assert again.findings[0].sentence == hoard.findings[0].sentence
    assert again.findings[0].case == hoard.findings[0].case

    assert "raised SystemExit" in flood.findings[0].sentence
    assert "1500 MiB" in report.environment["isolation"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_hang_becomes_a_result(here: Path) -> None:
    """A decoder that never answers has failed, is shown where it was, and leaves no process behind."""
    (here / "deadly.py").write_text(DEADLY, encoding="utf-8")

    # A check with little to do before the first drive; the rest of the time is slept away.
    report = check_decoder("deadly:Deadly", checks=["HISTORY-02"], cases=0, isolate=True, timeout=8)

    (hang,) = report.results
    assert hang.status is Status.FAILED
    assert hang.findings[0].sentence == "the decoder was still at work in tree_logits after 8 s"
    assert "at deadly.py line" in hang.findings[0].seen
    assert gone(int((here / "grandchild").read_text(encoding="utf-8")))


def test_a_child_says_what_this_process_says(here: Path) -> None:
    """Isolated and in process the report of one decoder is the same JSON, but for the environment and the time it took."""
    (here / "small_child.py").write_text(SMALL_DECODERS, encoding="utf-8")
    ids = ["GREEDY-03", "CHAIN-03", "METRIC-01"]
    isolated, local = (
        check_decoder("small_child:Wrong", checks=ids, cases=3, isolate=isolate) for isolate in (True, False)
    )

    assert isolated.counts[Status.FAILED] > 0
    assert isolated.counts[Status.PASSED] > 0
    assert isolated.witness.rounds > 0
    assert isolated.digest
    assert bare(isolated) == bare(local)


def test_a_death_in_the_set_up_fails_every_check(here: Path) -> None:
    """A module that kills its process when it is imported fails all checks in one attempt, with that for a reason."""
    (here / "stillborn.py").write_text("import os\nprint('no')\nos._exit(7)\n", encoding="utf-8")

    report = check_decoder("stillborn:Any", families=["VISIBLE"], isolate=True)

    assert {result.status for result in report.results} == {Status.FAILED}
    (sentence,) = {result.findings[0].sentence for result in report.results}
    assert sentence == "the decoder's process ended in its set-up with exit code 7"
    assert (report.target, report.grade, report.exit_code) == ("exact", "A", 1)


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (UsageError("no such module"), "UsageError", "^no such module$"),
        (InvalidTree(TreeFault.TWO_ROOTS, 3, "at node 3"), "TreeOracleError", "two roots: at node 3$"),
        (
            ZeroDivisionError("by zero"),
            "TreeOracleError",
            "the oracle itself broke down .*\n(.*\n)*.*ZeroDivisionError: by zero",
        ),
    ],
)
def test_an_error_of_ours_is_sent_as_itself(error: Exception, kind: str, words: str) -> None:
    """A child names the nearest public class of an error, and says of any other that it is our own defect."""
    sent = refusal(error)

    assert sent.kind == kind
    assert re.search(words, sent.text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"decoder": object(), "isolate": True}, "isolate=True needs the decoder by name, .* got object"),
        ({"decoder": "reference", "target": object(), "isolate": True}, "expected a Target, or a specification"),
        ({"decoder": "reference", "timeout": 1.0}, "timeout and memory need isolate=True"),
        ({"decoder": "reference", "memory": 1}, "timeout and memory need isolate=True"),
    ],
)
def test_what_cannot_be_isolated_is_refused(arguments: dict[str, object], message: str) -> None:
    """An object cannot be sent to a child, and limits cannot be held to without one; both are said."""
    with pytest.raises(UsageError, match=message):
        check_decoder(**arguments)  # type: ignore[arg-type]


def by_id(report: Report, check: str) -> CheckResult:
    return next(result for result in report.results if result.check == check)


def bare(report: Report) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(report, environment={}, seconds={}))


# A program in the place of a child, its result pipe open as ``pipe``.
OPENING = (
    "import os, signal, sys, time\npipe = os.fdopen(int(sys.argv[-1]), 'wb', 0)\nrequest = sys.stdin.buffer.read()\n"
)


def program(code: str, *, memory: int | None = None) -> ChildProcess:
    return ChildProcess([sys.executable, "-S", "-c", OPENING + code], b"asked", memory=memory)


def heard(child: ChildProcess, seconds: float = SOON) -> tuple[list[bytes], End]:
    """Every line of a child, and its end."""
    lines: list[bytes] = []
    with child:
        while isinstance(line := child.line(time.monotonic() + seconds), bytes):
            lines.append(line)
    return lines, line


@pytest.mark.parametrize(
    ("code", "cause", "number"),
    [
        ("os._exit(0)", Cause.EXIT, 0),
        ("os._exit(9)", Cause.EXIT, 9),
        ("sys.exit()", Cause.EXIT, 0),
        ("1 / 0", Cause.EXIT, 1),
        ("os.kill(os.getpid(), signal.SIGSEGV)", Cause.SIGNAL, signal.SIGSEGV),
        ("os.abort()", Cause.SIGNAL, signal.SIGABRT),
        ("os.kill(os.getpid(), signal.SIGKILL)", Cause.SIGNAL, signal.SIGKILL),
        ("os.close(pipe.fileno()); os._exit(3)", Cause.EXIT, 3),
    ],
)
def test_the_end_of_a_process_is_told_as_it_was(code: str, cause: Cause, number: int) -> None:
    """Exit codes and signals come out as they went in, after every line that was written before."""
    lines, end = heard(program("pipe.write(b'one\\ntwo\\n' + request + b'\\n')\n" + code))

    assert lines == [b"one", b"two", b"asked"]
    assert (end.cause, end.code) == (cause, number)


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\nwhile True: time.sleep(1)",
        "os.kill(os.getpid(), signal.SIGSTOP)",
        "pipe.close(); os.close(1); os.close(2)\nwhile True: time.sleep(1)",
        "while True: os.write(1, b'x' * 65536)",
        "while True: pipe.write(b'x\\n' * 1000)",
    ],
    ids=["busy", "deaf", "stopped", "all pipes closed", "flooding", "talking"],
)
def test_a_process_that_goes_on_is_ended_at_its_deadline(code: str) -> None:
    """Whatever it does or ignores, a process that does not end is ended."""
    deadline = time.monotonic() + 0.5
    with program(code) as child:
        while isinstance(line := child.line(deadline), bytes):
            pass
        pid = child.pid

    assert line.cause is Cause.TIMEOUT
    assert gone(pid)


def test_a_flood_is_drained_and_its_end_is_kept() -> None:
    """A process may print any amount: it is never blocked, and what it printed last is known."""
    _, end = heard(
        program("os.write(2, b'first')\nfor _ in range(300): os.write(1, b'x' * 65536)\nos.write(2, b'last')")
    )

    assert (end.cause, end.code) == (Cause.EXIT, 0)
    assert end.output.endswith("xlast")
    assert len(end.output) < 100_000


def test_a_line_without_end_is_not_collected_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that grows beyond any message of ours ends the process."""
    monkeypatch.setattr("tree_oracle.run.child_process.MAX_LINE", 2**20)
    lines, end = heard(program("while True: pipe.write(b'x' * 65536)"))

    assert (lines, end.cause) == ([], Cause.NONSENSE)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("who", ["itself", "its child"])
def test_memory_is_counted_for_all_that_was_started(who: str) -> None:
    """A limit holds for the sum of a process and its children, and both are gone afterwards."""
    hoard = "x = b'y' * 2**28; time.sleep(1000)"
    code = hoard if who == "itself" else f"os.fork() and time.sleep(1000)\n{hoard}"
    lines, end = heard(program(f"pipe.write(b'%d\\n' % os.getpid())\n{code}", memory=128))

    assert end.cause is Cause.MEMORY
    assert gone(int(lines[0]))


@pytest.mark.parametrize("code", ["os._exit(0)", "os.kill(os.getpid(), signal.SIGSEGV)", "time.sleep(1000)"])
def test_what_a_process_started_goes_with_it(code: str) -> None:
    """A grandchild that holds both pipes open neither keeps the parent waiting nor lives on."""
    born = "child = os.fork()\nif child == 0: time.sleep(1000)\npipe.write(b'%d\\n' % child)\n"
    with program(born + code) as child:
        grandchild = child.line(time.monotonic() + SOON)
        child.line(time.monotonic() + (0.5 if "sleep" in code else SOON))

    assert isinstance(grandchild, bytes)
    assert gone(int(grandchild))


STACK = """tail of its output
Fatal Python error: Segmentation fault

Current thread 0x1 (most recent call first):
  File "/home/somebody/decoder/step.py", line 7 in inner
  File "C:\\decoder\\main.py", line 3 in step
  File "/place/tree_oracle/checks/guard.py", line 36 in call
  File "/place/other.py", line 1 in main
"""


def test_last_words_are_the_decoders_own_frames_without_their_folders() -> None:
    """Of a stack only the frames below ours are kept, innermost first, each by the name of its file alone."""
    said = last_words(STACK).splitlines()

    assert said[:2] == ["tail of its output", "Fatal Python error: Segmentation fault"]
    assert said[2:] == ["at step.py line 7 in inner", "at main.py line 3 in step"]


@given(output=st.text(st.characters(exclude_categories=["Cs"])))
def test_last_words_are_few_whatever_was_printed(output: str) -> None:
    """Any output at all gives a few short lines."""
    said = last_words(output).splitlines()

    assert len(said) <= 20
    assert all(len(line) <= 250 for line in said)


HEAD = Head("d", "exact", "A", {})


def done(check: str, status: Status = Status.PASSED) -> Done:
    (found,) = choose(ids=[check])
    return Done(Finished(bare_result(found, status, cases=1)))


def of_check(check: str) -> list[Message]:
    return [Started(check, {"trees": "0"}), Driving("accept", CASE), Driven(), done(check)]


class Stub:
    """Programs in the place of children: each says some of what a right child would say, then ends in its own way."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, script: Callable[[Request], tuple[list[Message], str]]) -> None:
        self.requests: list[Request] = []
        self.script = script
        monkeypatch.setattr(child_run, "ChildProcess", self.start)

    def start(self, command: object, request: bytes, *, memory: int | None) -> ChildProcess:
        self.requests.append(decode_request(request))
        messages, code = self.script(self.requests[-1])
        said = b"".join(map(encode, messages))
        return program(f"pipe.write({said!r})\n{code}\ntime.sleep(1000)")

    def run(self, caps: Caps = PATIENT, plan: Plan = PLAN) -> Report:
        tally = Tally(CHECKS)
        child_run.run_isolated(plan, tally, caps)
        return tally.report()


SEGFAULT = "os.kill(os.getpid(), signal.SIGSEGV)"
WHOLE: list[Message] = [Opened(HEAD), Ready()]


@settings(max_examples=12, deadline=None)  # each example starts up to six programs
@given(
    deaths=st.lists(
        st.tuples(st.integers(0, 9), st.sampled_from([SEGFAULT, "os._exit(0)", "pipe.write(b'?\\n')"])), max_size=9
    )
)
def test_every_check_gets_a_result_however_often_children_die(deaths: list[tuple[int, str]]) -> None:
    """Wherever children die, every check is done once, and none of them costs more than one child."""
    left, died = iter(deaths), []

    def script(request: Request) -> tuple[list[Message], str]:
        messages: list[Message] = [*WHOLE, *(message for check in request.missing for message in of_check(check))]
        cut, death = next(left, (len(messages), ""))
        if len(WHOLE) + cut >= len(messages):
            return [*messages, Ended()], ""
        died.append(death)
        return messages[: len(WHOLE) + cut], death

    with pytest.MonkeyPatch.context() as monkeypatch:
        stub = Stub(monkeypatch, script)
        report = stub.run()

    assert [result.check for result in report.results] == list(PLAN.checks)
    assert {result.status for result in report.results} <= {Status.PASSED, Status.FAILED}
    assert len(stub.requests) <= len(CHECKS)
    asked = [request.missing for request in stub.requests]
    assert all(set(later) < set(earlier) for earlier, later in zip(asked, asked[1:], strict=False))
    assert report.counts[Status.FAILED] == len(died)


@pytest.mark.parametrize("deaths", [0, 1, 2])
def test_power_is_measured_by_a_child_of_its_own_where_the_last_check_killed_one(
    monkeypatch: pytest.MonkeyPatch, deaths: int
) -> None:
    """A child that dies in the last check leaves the measuring to another; where that one dies too, each plant says so."""
    measured = Measured((Planted(seam="accept", wrong="w", check="GREEDY-01", catch=Catch.CAUGHT),))

    def script(request: Request) -> tuple[list[Message], str]:
        messages: list[Message] = [*WHOLE, *(message for check in request.missing for message in of_check(check))]
        if len(stub.requests) > deaths:
            return [*messages, measured, Ended()], ""
        return messages[: -1 if request.missing else None], SEGFAULT

    stub = Stub(monkeypatch, script)
    report = stub.run(plan=msgspec.structs.replace(PLAN, power=True))
    assert report.power == (
        measured.power if deaths < 2 else unmeasured("the decoder ended its process while power was measured")
    )
    assert [len(request.missing) for request in stub.requests] == [len(CHECKS), 0][: deaths + 1]


def test_a_case_that_killed_is_told_to_later_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a death the next child hears of the seam, the case and what it did."""

    def script(request: Request) -> tuple[list[Message], str]:
        first = request.missing[0]
        return [*WHOLE, Started(first, {}), Driving("accept", CASE)], SEGFAULT

    stub = Stub(monkeypatch, script)
    stub.run()

    assert [len(request.deadly) for request in stub.requests[:2]] == [0, 1]
    (deadly,) = stub.requests[1].deadly
    assert (deadly.seam, deadly.sentence) == (
        "accept",
        "the decoder's process ended in accept by SIGSEGV (Segmentation fault)",
    )


def test_a_failure_that_is_already_known_outlives_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that dies while it makes a failure smaller leaves that failure, with a note that it is not the smallest."""
    check = CHECKS[0]
    known = bare_result(check, Status.FAILED, cases=3, failed_at=3, reason="first reason")

    def script(request: Request) -> tuple[list[Message], str]:
        if request.missing[0] != check.id:
            return [*WHOLE, *(m for name in request.missing for m in of_check(name)), Ended()], ""
        return [*WHOLE, Started(check.id, {}), Failing(known), Driving("accept", CASE)], SEGFAULT

    result = Stub(monkeypatch, script).run().results[0]

    assert (result.status, result.cases, result.failed_at) == (Status.FAILED, 3, 3)
    assert result.reason == "not made smaller: the decoder's process ended in accept by SIGSEGV (Segmentation fault)"


@pytest.mark.parametrize("driving", [True, False])
def test_a_limit_in_our_own_work_decides_nothing(monkeypatch: pytest.MonkeyPatch, driving: bool) -> None:
    """A check that runs out of time fails if the decoder is at work, and is undecided if the oracle is."""
    handed: list[Message] = [Driving("accept", CASE)] if driving else [Driving("accept", CASE), Driven()]

    def script(request: Request) -> tuple[list[Message], str]:
        if len(request.missing) < len(CHECKS):
            return [*WHOLE, *(m for name in request.missing for m in of_check(name)), Ended()], ""
        return [*WHOLE, Started(request.missing[0], {}), *handed], ""

    result = Stub(monkeypatch, script).run(Caps(timeout=2, setup=SOON)).results[0]

    assert result.status is (Status.FAILED if driving else Status.UNDECIDED)
    assert "2 s" in result.reason
    assert ("in accept" in result.reason) is driving


def test_a_child_that_cannot_load_the_target_is_nobodys_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A death before the decoder's own code began is an error of the run, even if an earlier child came further."""
    count = iter(range(9))

    def script(request: Request) -> tuple[list[Message], str]:
        return ([*WHOLE, Started(request.missing[0], {})] if next(count) == 0 else []), "print('no space')\nos._exit(4)"

    with pytest.raises(TreeOracleError, match="no child process came as far as the decoder .*4.*no space"):
        Stub(monkeypatch, script).run()


@pytest.mark.parametrize(("kind", "error"), [("DecoderError", DecoderError), ("Unheard", TreeOracleError)])
def test_a_refusal_is_raised(monkeypatch: pytest.MonkeyPatch, kind: str, error: type[Exception]) -> None:
    """A refusal is raised as the error of that name, or as the base of all ours."""
    with pytest.raises(TreeOracleError, match="^words$") as caught:
        Stub(monkeypatch, lambda request: ([Refused(kind, "words")], "")).run()
    assert type(caught.value) is error


def test_an_interrupt_leaves_no_child_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the parent ends the child too, which does not get it from the terminal."""
    child = program("time.sleep(1000)")

    def press(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(child, "_read", press)
    with pytest.raises(KeyboardInterrupt), child:
        child.line(time.monotonic() + SOON)

    assert gone(child.pid)


@given(
    messages=st.lists(
        st.sampled_from(
            [
                Opened(HEAD),
                Ready(),
                *of_check(CHECKS[0].id),
                Failing(done(CHECKS[0].id).finished.result),
                Measured((Planted(seam="open", wrong="w", check="A", catch=Catch.NOT_PLANTED, reason="r"),)),
                Refused("a", "b\nc"),
                Ended(),
            ]
        )
    )
)
def test_messages_come_back_as_they_were_sent(messages: list[Message]) -> None:
    """A line holds one message, whatever is in it."""
    lines = b"".join(map(encode, messages)).splitlines()
    assert [decode(line) for line in lines] == messages


def test_a_request_comes_back_as_it_was_sent() -> None:
    """A plan survives the way to a child, budget and cases included."""
    plan = Plan(decoder="d", target="tiny:gpt2", checks=("A",), budget=Budget(cases=3, seed=2**40), as_found=("A",))
    request = Request(plan, ("A",), "words", cases=(CASE,))
    assert decode_request(encode(request)) == request


@pytest.mark.skipif(os.name != "posix", reason="no POSIX")
def test_other_systems_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where processes have no groups, or nothing tells their memory, isolation is refused with the way out."""
    monkeypatch.setattr("tree_oracle.run.child_process._PROC", Path("/nowhere"))
    with pytest.raises(UsageError, match="a memory limit needs /proc"):
        program("", memory=1)
    monkeypatch.setattr("os.name", "nt")
    with pytest.raises(UsageError, match="isolated on POSIX systems only; run it in process"):
        program("")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((None, None, None, None), None),
        (("m:d", None, None, None), Caps()),
        (("m:d", False, None, None), None),
        ((None, True, None, None), Caps()),
        ((None, None, 3.0, None), Caps(timeout=3.0)),
        (("m:d", None, None, 512), Caps(memory=512)),
    ],
)
def test_the_command_line_isolates_what_is_not_ours(arguments: Any, expected: Caps | None) -> None:
    """A decoder that is named, or a limit that is given, asks for a child process; our own decoders need none."""
    assert caps_of(*arguments) == expected


def test_limits_and_in_process_exclude_each_other() -> None:
    """A limit that could not be held to is refused."""
    with pytest.raises(UsageError, match="--timeout and --memory need a child process; take --in-process away"):
        caps_of("m:d", False, 3.0, None)
