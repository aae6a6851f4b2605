"""A report on a trace says which file was judged, how to judge it again, and what it may be compared with."""

from __future__ import annotations

import hashlib
import shlex
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from trace_grounds import small_trace

from tree_oracle.checks import choose
from tree_oracle.cli import main
from tree_oracle.record import Level, Report, Status, TieRule, read_report
from tree_oracle.record.installed import FILES, package_digest
from tree_oracle.report import compare, html_page, make_console, markdown_summary
from tree_oracle.report.again import check_command, doctor_command, replay_command
from tree_oracle.report.certificate import make_certificate, print_certificate, verify_certificate
from tree_oracle.run.environment import versions
from tree_oracle.run.trace_judge import judge_trace
from tree_oracle.trace import Recorder, TraceReader, arrays_digest
from tree_oracle.trace.arrays import arrays_path

FEW = choose(["GREEDY-02", "METRIC-01", "STOP-02"])


def judged(path: Path, **options: object) -> Report:
    return judge_trace(path, FEW, place=versions(), **options)  # type: ignore[arg-type]


def chain(path: Path, *, prompt: int = 3, most: int = 100, accepted: int = 1, engine: str = "") -> Path:
    """One request of a decoder whose name looks like a module and its attribute; it accepts one draft or none."""
    with Recorder(path, decoder="vllm:0.9", target="none", engine=engine) as trace:
        request = trace.request([prompt], max_new_tokens=most)
        tokens = [7, 9] if accepted else [7]
        trace.round(request, tokens=[prompt, 7, 8], parents=[-1, 0, 1], accepted=[1][:accepted], emitted=tokens)
        trace.done(request)
    return path


def test_the_digest_is_that_of_the_file(tmp_path: Path) -> None:
    """The report holds the SHA-256 of the trace's bytes, whole or broken off, that of its arrays, its path and the versions."""
    path = small_trace(tmp_path / "t.jsonl", vocab=2000)  # large rows, so that there are array files
    place = judged(path).environment
    assert place["trace file 1"] == str(path)
    assert place["trace sha256 1"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert place["trace arrays sha256 1"] == arrays_digest(path)
    assert place[FILES] == package_digest()
    assert place.items() >= versions().items()
    path.write_bytes(path.read_bytes()[:-9])
    cut = judged(path, partial=True)
    assert cut.environment["trace sha256 1"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert check_command(cut).endswith("--partial")


def test_the_digest_of_arrays_covers_names_and_bytes(tmp_path: Path) -> None:
    """Another byte or another name of an array file is another digest; a link and a file of another name are no array files."""
    path = small_trace(tmp_path / "t.jsonl", vocab=2000)
    first, folder = arrays_digest(path), Path(f"{path}.arrays")
    assert len(first) == 64
    (folder / "other.txt").write_text("nothing of ours")
    (folder / "000000099.safetensors").symlink_to(arrays_path(path, 2))
    assert arrays_digest(path) == first
    data = arrays_path(path, 2).read_bytes()
    arrays_path(path, 2).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    second = arrays_digest(path)
    arrays_path(path, 2).rename(arrays_path(path, 98))
    assert len({first, second, arrays_digest(path)}) == 3
    assert arrays_digest(chain(tmp_path / "none.jsonl")) == ""


def test_a_name_in_a_trace_is_no_decoder_on_a_command_line(tmp_path: Path) -> None:
    """Wherever a report on a trace says what to type, it names the file and never a decoder of the trace's head."""
    report = judged(chain(tmp_path / "t.jsonl"))
    assert report.decoder == "vllm:0.9"
    broken = msgspec.structs.replace(report.results[0], level=Level.MUST, status=Status.ERROR, reason="no such thing")
    for one in (report, msgspec.structs.replace(report, results=(broken,))):
        page = StringIO()
        print_certificate(make_console(page, width=200), make_certificate(one))
        said = [check_command(one), replay_command(one), doctor_command(one), page.getvalue()]
        said += [markdown_summary(one), html_page(one)]
        for text in said:
            assert "--decoder" not in text
            assert "given as an object" not in text
            assert f"tree-oracle trace {'show' if text == doctor_command(one) else 'check'} {tmp_path}" in text
            assert "--profile" not in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, []),
        ({"most": 1}, ["--requests", "1"]),
        ({"tie_rule": TieRule.LARGEST}, ["--ties", "largest id"]),
        ({"required": 2}, ["--require", "2"]),
    ],
)
def test_again_judges_the_same(tmp_path: Path, options: dict[str, object], words: list[str]) -> None:
    """The command in a report judges the same file with the same checks and options to the same report."""
    path = small_trace(tmp_path / "a trace.jsonl")
    report = judged(path, **options)
    command = shlex.split(check_command(report))
    asked = ["--family", "METRIC", "--check", "GREEDY-02", "--check", "STOP-02"]
    assert command == ["tree-oracle", "trace", "check", str(path), *asked, *words]
    saved = tmp_path / "again.json"
    CliRunner().invoke(main, [*command[1:], "--output", str(saved)])
    assert read_report(saved) == report


def test_a_target_that_was_named_is_named_again(tmp_path: Path) -> None:
    """Where the target ran stands in the report, and so does it in the command; a path that looks like an option is none."""
    path = chain(tmp_path / "t.jsonl")
    where = versions() | {"device": "cpu", "dtype": "float32", "attention": "sdpa"}
    report = judge_trace(path, FEW, target="tiny:llama", place=where)
    end = ["--target", "tiny:llama", "--device", "cpu", "--dtype", "float32", "--attention", "sdpa"]
    assert shlex.split(check_command(report))[-8:] == end
    dashed = msgspec.structs.replace(report, environment=report.environment | {"trace file 1": "--help"})
    assert shlex.split(check_command(dashed))[3] == "./--help"


def test_a_certificate_of_a_trace_is_verified(tmp_path: Path) -> None:
    """It is what its report makes it, names the command and the digest of the requests, and a changed digest is found."""
    made = make_certificate(judged(chain(tmp_path / "t.jsonl")))
    assert verify_certificate(made) == []
    assert made.again.command.startswith("tree-oracle trace check ")
    assert made.digests.cases == made.report.digest != ""
    assert made.result.rates.startswith("none: nothing says how the requests of the recording were chosen, so no bound")
    other = msgspec.structs.replace(made, place={**made.place, "trace sha256 1": "0" * 64})
    assert {difference.name for difference in verify_certificate(other)} >= {"place.trace sha256 1", "digest"}


def test_traces_of_the_same_requests_are_compared(tmp_path: Path) -> None:
    """Figures of two traces stand side by side where prompts, limits and what ran them are the same, whatever was answered."""
    report = judged(chain(tmp_path / "a.jsonl"))
    slow = compare(judged(chain(tmp_path / "b.jsonl", accepted=0)), report)
    assert slow.obstacles == ()
    assert [(one.before, one.after) for one in slow.figures if one.name == "tokens per round"] == [
        ("1.000 (1/1)", "2.000 (2/1)")
    ]
    for name, options in (("c", {"prompt": 4}), ("d", {"most": 50})):
        other = compare(judged(chain(tmp_path / f"{name}.jsonl", **options)), report)  # type: ignore[arg-type]
        assert other.figures == ()
        assert any(obstacle.startswith("cases (digest): ") for obstacle in other.obstacles)
    engine = compare(judged(chain(tmp_path / "e.jsonl", engine="another")), report)
    assert engine.obstacles == ("engine: another before, not said after",)


def test_the_digest_of_a_file_is_taken_as_it_is_read(tmp_path: Path) -> None:
    """A reader that was not read to the end has no digest of the file yet."""
    path = chain(tmp_path / "t.jsonl")
    reader = TraceReader(path)
    next(iter(reader))
    due = hashlib.sha256(path.read_bytes()).hexdigest()
    assert reader.sha256 != due
    whole = TraceReader(path)
    assert len(list(whole)) == whole.line
    assert whole.sha256 == due
