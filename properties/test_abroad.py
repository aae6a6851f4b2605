"""A decoder under another interpreter is judged as one here: by what it answers, and by every way in which it gives none."""

from __future__ import annotations

import ast
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

import msgspec
import pytest
from abroad_grounds import bare_python, write_decoder
from click.testing import CliRunner
from grounds import ground, with_methods
from hypothesis import given
from hypothesis import strategies as st
from test_child_survives import by_id, gone
from test_trace_recorder import OLDEST, OTHERS

from tree_oracle import check_decoder
from tree_oracle.checks import Stage, choose
from tree_oracle.cli import main
from tree_oracle.record import AdapterError, Case, DecoderError, Limits, Report, Status, UsageError
from tree_oracle.run import Budget, Caps, Plan
from tree_oracle.run.child_process import Cause, End
from tree_oracle.run.foreign import prompts_of, run_abroad
from tree_oracle.run.foreign_messages import Broken, Driven, Driving, Ended, Message, Misfit, Ready, Refused, Started
from tree_oracle.run.foreign_python import INTERPRETER, find_python
from tree_oracle.run.foreign_visit import ForeignVisit
from tree_oracle.run.stock import Stock
from tree_oracle.target import SequentialTruth, load_target

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

PLENTY = Caps(timeout=60.0, setup=60.0)
SHOWN = ("GREEDY-01", "GREEDY-02", "METRIC-01", "SEQUENCE-01", "STOP-01", "STOP-02", "STOP-04")
TEXTS = ("SEQUENCE-01", "STOP-01", "STOP-02")


@pytest.fixture(scope="module")
def cases() -> tuple[Case, ...]:
    """A few prompts of each scene, ends and stop sequences among them."""
    stock = Stock(Stage(SequentialTruth(load_target("exact"))), cases=0)
    found = {name: some for check in choose(ids=[*SHOWN, "STOP-05"]) for name, some in prompts_of(check, stock).items()}
    return tuple(case for some in found.values() for case in some[:6])


@pytest.fixture(scope="module")
def files_of(tmp_path_factory: pytest.TempPathFactory, cases: tuple[Case, ...]) -> Path:
    folder = tmp_path_factory.mktemp("files")
    write_decoder(folder, cases, SequentialTruth(load_target("exact")))
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files_of: Path) -> Path:
    """A folder with the decoder, and no path that leads to this package."""
    shutil.copytree(files_of, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    return bare_python(tmp_path_factory.mktemp("bare"))


def judged(python: str, name: str, cases: tuple[Case, ...], *ids: str, caps: Caps = PLENTY) -> Report:
    plan = Plan(decoder=f"abroad:{name}", target="exact", checks=ids or SHOWN)
    return run_abroad(plan, python, caps=caps, cases=cases)


@pytest.mark.parametrize("other", ["bare", *OTHERS], ids=lambda path: Path(path).name)
def test_a_right_decoder_holds_under_any_python(here: Path, python: str, cases: tuple[Case, ...], other: str) -> None:
    """Nothing but the standard library is needed there, from 3.8 on; what its rounds show is judged, and it passes."""
    report = judged(python if other == "bare" else other, "Right", cases)
    assert {result.check: result.status for result in report.results} == dict.fromkeys(SHOWN, Status.PASSED), report
    assert report.exit_code == 0
    assert report.witness.rounds > 20
    assert report.environment[INTERPRETER].startswith("CPython 3.")
    assert "for each prompt" in report.environment["isolation"]
    assert sorted(path.name for path in here.iterdir() if path.name != "__pycache__") == ["abroad.py", "texts.json"]


def test_a_wrong_text_fails_and_its_case_shows_it_again(here: Path, python: str, cases: tuple[Case, ...]) -> None:
    """A last token that is not greedy's fails, and the case of the finding alone fails again."""
    (found,) = judged(python, "Wrong", cases, "SEQUENCE-01").results
    assert found.status is Status.FAILED
    case = found.findings[0].case
    assert case in cases
    assert case is not None
    again = judged(python, "Wrong", (case,), "SEQUENCE-01").results[0]
    assert (again.status, again.findings[0].replay) == (Status.FAILED, found.findings[0].replay)


def test_without_rounds_a_right_text_is_no_evidence(here: Path, python: str, cases: tuple[Case, ...]) -> None:
    """A decoder that shows tokens alone is not observable: nothing says that it speculated."""
    report = judged(python, "Plain", cases, *TEXTS)
    assert {result.status for result in report.results} == {Status.NOT_OBSERVABLE}
    assert report.exit_code == 4


def test_rounds_that_are_recorded_are_judged(here: Path, python: str, cases: tuple[Case, ...]) -> None:
    """A decoder that names a parameter `trace` writes its rounds as it would with the recorder alone, and they are judged."""
    report = judged(python, "Recorded", cases, *SHOWN, "WITNESS-01")
    assert {result.status for result in report.results} == {Status.PASSED}
    assert report.witness.rounds > 20
    (found,) = judged(python, "Stops", cases[:1], "GREEDY-02").results
    assert found.status is Status.FAILED
    assert found.findings[0].sentence.startswith("generate raised RuntimeError: fell behind its last round")
    assert found.cases > 1  # those rounds, and the fall


def test_a_round_has_the_same_number_in_every_check(here: Path, python: str, cases: tuple[Case, ...]) -> None:
    """A round at fault is counted over its request, whether a check is shown the text, the round or two of them."""
    long = msgspec.structs.replace(cases[0], limits=Limits(max_new_tokens=6))
    report = judged(python, "Wrong", (long,), "SEQUENCE-01", "GREEDY-01")
    rounds = {result.check: result.findings[0].round for result in report.results if result.findings}
    assert rounds == {"SEQUENCE-01": 2, "GREEDY-01": 2}
    assert {f.sentence.split(":")[0] for r in report.results for f in r.findings} == {"round 2"}


@pytest.mark.parametrize("kept", [True, False])
def test_a_line_is_named_where_there_is_a_file(here: Path, python: str, cases: tuple[Case, ...], kept: bool) -> None:
    """A finding names a line of the recording if that is kept, and there the line is; else nothing that nobody can look up."""
    long = msgspec.structs.replace(cases[0], limits=Limits(max_new_tokens=6))
    plan = Plan(decoder="abroad:Wrong", target="exact", checks=("GREEDY-01",))
    path = here / "kept.jsonl"
    (found,) = run_abroad(plan, python, caps=PLENTY, cases=(long,), trace=path if kept else None).results
    place, _, said = found.findings[0].sentence.partition(": ")
    assert place == ("line 5, request 0, round 2" if kept else "round 2")
    assert ("line" in said, found.findings[0].case) == (False, long)
    if kept:
        assert b'"kind":"round"' in path.read_bytes().splitlines()[4]


def test_a_program_asks_for_another_python_too(here: Path, python: str, cases: tuple[Case, ...]) -> None:
    """`check_decoder(python=...)` is the same run as the command line's, and as strict about what it is given."""
    with pytest.raises(UsageError, match="python='p' needs the decoder by name"):
        check_decoder(object(), target="exact", python="p")
    with pytest.raises(UsageError, match="needs a target"):
        check_decoder("abroad:Right", python=python)
    with pytest.raises(UsageError, match="take isolate=True away"):
        check_decoder("abroad:Right", target="exact", python=python, isolate=True)
    with pytest.raises(UsageError, match="^python 'nowhere' is not there"):
        check_decoder("abroad:Right", target="exact", python="nowhere")
    report = check_decoder("abroad:Number", target="exact", python=python, checks=["STOP-02"], cases=0, name="theirs")
    assert (report.decoder, report.exit_code) == ("theirs", 3)
    assert report.environment[INTERPRETER].startswith("CPython 3.")


@pytest.mark.parametrize(
    ("name", "status", "sentence"),
    [
        ("Raises", Status.FAILED, "generate raised ValueError: no \\ud800 today (abroad.py:64)"),
        ("Exits", Status.FAILED, "generate raised SystemExit: 0 (abroad.py:69)"),
        ("Dies", Status.FAILED, "the decoder's process ended in generate with exit code 7"),
        ("Falls", Status.FAILED, "the decoder's process ended in generate by SIGSEGV (Segmentation fault)"),
        ("Meddles", Status.FAILED, "generate changed its input: the prompts that it was handed"),
        ("Unsteady", Status.FAILED, "generate answered differently the second time, on the same input"),
        ("Scribbles", Status.FAILED, "the decoder wrote in generate to the pipe that is the oracle's"),
        ("Floods", Status.FAILED, "the decoder wrote in generate to the pipe that is the oracle's"),
        ("Misrecorded", Status.ERROR, "generate answered ["),
        ("Mistaken", Status.ERROR, "generate raised AttributeError: 'str' object has no attribute 'model' (abroad.py:"),
        ("Number", Status.ERROR, "generate answered with 7; expected a list with one entry per prompt, here 1"),
        ("Unknown", Status.ERROR, "RecordError: a round has no field 'acepted'; it has"),
    ],
)
def test_every_mishap_becomes_a_result(
    here: Path, python: str, cases: tuple[Case, ...], name: str, status: Status, sentence: str
) -> None:
    """What a trace cannot tell is laid over it: a failure with its case, or an error of the adapter."""
    report = judged(python, name, cases, *TEXTS)
    for result in report.results:
        assert result.status is status
        said = [finding for finding in result.findings if finding.sentence.startswith(sentence)]
        assert said, result.findings
        assert said[0].case in cases
    assert report.exit_code == (1 if status is Status.FAILED else 3)


@pytest.mark.parametrize(
    ("name", "caps", "sentence"),
    [
        ("Hangs", Caps(timeout=1.5, setup=60.0), "the decoder was still at work in generate after 1.5 s"),
        ("Hoards", Caps(60.0, 500, 60.0), "the decoder took more memory in generate than the 500 MiB that are allowed"),
    ],
)
def test_limits_are_held_to(
    here: Path, python: str, cases: tuple[Case, ...], name: str, caps: Caps, sentence: str
) -> None:
    """A decoder that never answers, or that takes too much, has failed, and nothing of it lives on."""
    (result,) = judged(python, name, cases[:2], "SEQUENCE-01", caps=caps).results
    assert (result.status, result.findings[0].sentence) == (Status.FAILED, sentence)
    if name == "Hangs":
        assert any("abroad.py" in finding.seen for finding in result.findings)
        assert gone(int((here / "grandchild").read_text(encoding="utf-8")))


def test_a_mishap_is_never_lost(here: Path, python: str, cases: tuple[Case, ...]) -> None:
    """Where no check that was asked for has prompts of its own, all of them fail."""
    report = judged(python, "Dies", cases, "GREEDY-02")
    assert by_id(report, "GREEDY-02").status is Status.FAILED


def test_a_death_in_the_set_up_fails_every_check(here: Path, python: str, cases: tuple[Case, ...]) -> None:
    """A module that ends its process is no passing one, and the reason is told."""
    (here / "stillborn").touch()
    report = judged(python, "Right", cases, *TEXTS)
    assert {result.status for result in report.results} == {Status.FAILED}
    assert report.results[0].findings[0].sentence == "the decoder's process ended in its set-up with exit code 9"


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("elsewhere:Right", UsageError, "under CPython .*: no module 'elsewhere' can be imported"),
        ("abroad:Rihgt", UsageError, "'abroad' has no attribute 'Rihgt'"),
        ("abroad:Mute", UsageError, "Mute has no method generate"),
        ("abroad:broken", DecoderError, "the factory, called with 'exact', raised RuntimeError: no weights"),
        ("abroad:mistaken", AdapterError, "'exact' is text: under another interpreter a factory is handed the name of"),
    ],
)
def test_what_cannot_begin_says_why(here: Path, python: str, name: str, kind: type[Exception], words: str) -> None:
    """A missing module, attribute or method is a usage error; a factory that raises is the decoder's, and one that takes the
    name of the target for a target the adapter's."""
    with pytest.raises(kind, match=words):
        run_abroad(Plan(decoder=name, target="exact", checks=TEXTS), python, caps=PLENTY, cases=())


REFUSING: dict[
    str, tuple[tuple[str, ...], Callable[[Limits], str]]
] = {  # by a decoder: checks all of whose prompts it refuses, and how
    "Stopless": (("STOP-04", "STOP-05", "STOP-06"), lambda limits: "only caps and end tokens"),
    "Unwilling": (
        ("CONSTRUCT-01", "GATHER-01", "GREEDY-01", "METRIC-01", "SEQUENCE-01", "STOP-01", "STOP-05"),
        lambda limits: f"no text of {limits.max_new_tokens} tokens",
    ),
}


@pytest.mark.parametrize("name", REFUSING)
def test_refusals_are_told_as_in_this_process(here: Path, python: str, name: str) -> None:
    """A check all of whose prompts are refused there has the status and the reason that it has where the decoder runs here."""
    checks, said = REFUSING[name]

    def refuses(prompts: object, limits: Limits) -> object:
        raise NotImplementedError(said(limits))

    plan = Plan(decoder=f"abroad:{name}", target="exact", checks=checks, budget=Budget(cases=0))
    abroad = run_abroad(plan, python, caps=PLENTY)
    inside = ground().report(lambda target: with_methods(generate=refuses), *checks)
    assert [(r.check, r.status, r.reason) for r in abroad.results] == [
        (r.check, r.status, r.reason) for r in inside.results
    ]
    assert {r.status for r in abroad.results} == {Status.NOT_APPLICABLE}
    assert all("refused: " in r.reason for r in abroad.results)
    assert abroad.exit_code == inside.exit_code


def test_some_refusals_take_nothing_from_the_rest(here: Path, python: str, cases: tuple[Case, ...]) -> None:
    """A check of which some prompts are answered is judged by these, and says nothing of the others."""
    report = judged(python, "Stopless", cases, "SEQUENCE-01", "STOP-01", "STOP-05")
    assert {r.check: r.status for r in report.results} == {
        "SEQUENCE-01": Status.PASSED, "STOP-01": Status.PASSED, "STOP-05": Status.NOT_APPLICABLE,
    }  # fmt: skip
    assert by_id(report, "STOP-05").reason == "refused: only caps and end tokens"


def program(folder: Path, text: str) -> str:
    path = folder / "python"
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_what_is_no_new_enough_python_is_refused(tmp_path: Path) -> None:
    """Each path that leads to no interpreter of 3.8 or newer is named with what is wrong with it."""
    with pytest.raises(UsageError, match="'nowhere' is not there; expected a Python interpreter"):
        find_python("nowhere")
    with pytest.raises(UsageError, match="is a directory; expected the interpreter in it, such as .*bin/python"):
        find_python(str(tmp_path))
    with pytest.raises(UsageError, match="is no Python interpreter: asked for its version, it said 'hello'"):
        find_python(program(tmp_path, "#!/bin/sh\necho hello\n"))
    with pytest.raises(UsageError, match="is Python 2.7.18; the recorder needs 3.8 or newer"):
        find_python(program(tmp_path, "#!/bin/sh\nprintf tree-oracle:2.7.18\n"))
    with pytest.raises(UsageError, match="cannot be run: .*Exec format error"):
        find_python(program(tmp_path, "\x7fELF nothing"))
    os.chmod(tmp_path / "python", 0o600)
    with pytest.raises(UsageError, match="cannot be executed"):
        find_python(str(tmp_path / "python"))


def test_the_runner_is_written_for_the_oldest_python() -> None:
    """Its syntax is that of 3.8, and it imports nothing but that version's standard library."""
    text = (files("tree_oracle.run") / "foreign_runner.py").read_text(encoding="utf-8")
    tree = ast.parse(text, feature_version=OLDEST)
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    taken = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {
        "faulthandler", "importlib", "importlib.util", "inspect", "json", "os", "platform", "resource", "signal", "sys", "traceback",
    }  # fmt: skip
    assert taken == {"__future__", "collections.abc", "typing"}


def test_the_command_line_records_judges_and_shows_again(here: Path, python: str) -> None:
    """`check --python` keeps its trace, `trace check` judges that the same, and `replay --python` sees a failure again."""
    words = ["--decoder", "abroad:Wrong", "--python", python, "--target", "exact"]
    (here / "texts.json").write_text("[[[36], [1, 2, 3]]]", encoding="utf-8")  # of all other prompts it knows nothing
    asked = [
        "check",
        *words,
        "--check",
        "SEQUENCE-01",
        "--cases",
        "0",
        "--trace",
        "kept.jsonl",
        "--output",
        "report.json",
    ]
    first = CliRunner().invoke(main, asked)
    assert first.exit_code == 1, first.output
    report = msgspec.json.decode((here / "report.json").read_bytes(), type=Report)
    (result,) = report.results
    assert f"tree-oracle replay --python {python} --decoder abroad:Wrong --target exact" in " ".join(
        first.output.split()
    )
    again = CliRunner().invoke(main, ["replay", *words, f"SEQUENCE-01-{result.findings[0].replay}"])
    assert again.exit_code == 1, again.output
    judged = CliRunner().invoke(main, ["trace", "check", "kept.jsonl", "--target", "exact", "--check", "SEQUENCE-01"])
    assert judged.exit_code == 1, judged.output
    twice = CliRunner().invoke(main, asked)
    assert (twice.exit_code, twice.output) == (
        2, "tree-oracle: 'kept.jsonl' is there already; a trace is never overwritten\n",
    )  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("Right", 0, ["answered under CPython", "rounds show accepted, parents, tokens", "is noticed by SEQUENCE-01"]),
        ("Plain", 0, ["nothing says that it speculates", "is noticed by SEQUENCE-01"]),
        ("Dies", 3, ["the decoder's process ended in generate with exit code 7"]),
        ("Rootless", 3, ["ADAPTER generate rounds show", "it looks as if the trees leave their root out"]),
        ("Unwilling", 4, ["- generate under CPython", ", every prompt is refused: no text of 1 tokens"]),
    ],
)
def test_the_doctor_looks_there_too(here: Path, python: str, name: str, code: int, said: list[str]) -> None:
    """`doctor --python` says whether it runs, what is shown, and that a planted wrong token is noticed."""
    _know_all(here)
    result = CliRunner().invoke(
        main, ["doctor", "--decoder", f"abroad:{name}", "--python", python, "--target", "exact"]
    )
    assert result.exit_code == code, result.output
    assert all(words in " ".join(result.output.split()) for words in said), result.output


def _know_all(here: Path) -> None:
    """Texts for the prompts of the doctor."""
    truth = SequentialTruth(load_target("exact"))
    found = prompts_of(choose(ids=["SEQUENCE-01"])[0], Stock(Stage(truth), cases=0))
    write_decoder(here, tuple(case for some in found.values() for case in some[:6]), truth)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--decoder", "a:b"], "--python needs --target"),
        (["--target", "exact"], "--python needs --decoder MODULE:ATTRIBUTE"),
        (["--decoder", "a:b", "--target", "exact", "--in-process"], "take --in-process away"),
        (["--decoder", "a:b", "--target", "exact", "--resume"], "with --python a run is begun anew"),
    ],
)
def test_options_that_exclude_each_other_are_named(python: str, words: list[str], said: str) -> None:
    """A command that cannot be meant ends with code 2 and one line."""
    result = CliRunner().invoke(main, ["check", *words, "--python", python])
    assert result.exit_code == 2
    assert said in result.output


class Script:
    """Lines in the place of a process; after them it has ended by itself."""

    def __init__(self, messages: list[Message]) -> None:
        self._lines: Iterator[bytes] = iter([msgspec.json.encode(message) for message in messages])

    def line(self, deadline: float) -> bytes | End:
        return next(self._lines, End(Cause.EXIT))

    def stop(self, cause: Cause) -> End:
        return End(cause)


MESSAGES: list[Message] = [
    Started("CPython 3.8.1"), Ready(None), Driving(0), Driven(0), Driving(1), Driven(1), Broken(1, "x"), Misfit(0, "y"), Ended(),
]  # fmt: skip


def allowed(messages: list[Message]) -> bool:
    """Whether these are the first messages of a run over two prompts, told by their kinds alone."""
    word = "".join(
        {"Started": "s", "Ready": "r", "Driving": "d", "Ended": "e"}.get(type(m).__name__, "a") for m in messages
    )
    numbers = [getattr(m, "case", None) for m in messages]
    return "srdadae".startswith(word) and all(n is None or n == place // 4 for place, n in enumerate(numbers))


@given(st.lists(st.sampled_from(MESSAGES), max_size=8) | st.integers(0, 7).map(lambda n: [*MESSAGES[:6], Ended()][:n]))
def test_messages_out_of_turn_are_nonsense(messages: list[Message]) -> None:
    """A run goes on exactly as long as every message is the next one that a right runner could send."""
    end = ForeignVisit("d", PLENTY, 2).follow(Script(messages))  # type: ignore[arg-type]
    whole = next((n for n in range(len(messages) + 1) if not allowed(messages[:n])), len(messages) + 1)
    ended = next((n for n, m in enumerate(messages, 1) if isinstance(m, Ended)), len(messages) + 1)
    if ended < whole:
        assert end is None
    else:
        assert end is not None
        assert end.cause is (Cause.NONSENSE if whole <= len(messages) else Cause.EXIT)


@pytest.mark.parametrize(
    "line", [b"", b"{}", b'{"type":"Driving"}', b'{"type":"Ready","tie_rule":null,"more":1}', b"\x80"]
)
def test_a_line_that_is_no_message_is_nonsense(line: bytes) -> None:
    """Anything but one of the messages, with all of its fields and no others, ends the run."""
    script = Script([Started("CPython 3.8.1")])
    script._lines = iter([*script._lines, line])
    end = ForeignVisit("d", PLENTY, 1).follow(script)  # type: ignore[arg-type]
    assert end == End(Cause.NONSENSE)


def test_a_refusal_is_raised_as_its_kind() -> None:
    """Whose fault it is that nothing can begin, the runner says, and the error is of that kind."""
    script = Script([Started("CPython 3.8.1"), Refused("usage", "no such thing")])
    with pytest.raises(UsageError, match="decoder 'd' under CPython 3.8.1: no such thing"):
        ForeignVisit("d", PLENTY, 1).follow(script)  # type: ignore[arg-type]


def test_what_the_runner_is_told_of_limits_is_all_of_them(cases: tuple[Case, ...]) -> None:
    """Every field of the limits has a place in what a decoder is handed there."""
    from tree_oracle.run import foreign_runner

    assert set(foreign_runner.Limits._fields) == set(Limits.__struct_fields__)
