"""The commands `tree-oracle vectors list | show | run | verify`: what they print, and the exit codes."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from vectors_peer import IDS, peer_command

from tree_oracle.cli import main
from tree_oracle.record import Status
from tree_oracle.vectors.runner import VectorReport

ROOT = Path(__file__).parent.parent
CHOSEN = [word for name in IDS for word in ("--id", name)]


def cli(*words: str) -> Result:
    return CliRunner().invoke(main, ["vectors", *words], catch_exceptions=False)


SERVE = f"{sys.executable} -m tree_oracle.vectors.serve"


def test_the_reference_passes_through_the_command() -> None:
    """The reference as a program passes whole groups, prints counts and digest, and the exit code is 0."""
    done = cli("run", SERVE, "--group", "stop", "--group", "merge", "--timeout", "60")
    assert done.exit_code == 0, done.output
    assert "228 passed, 0 failed, 0 undecided, 0 not observable, 0 not applicable, 0 error" in done.output
    assert "verdict   every vector that was asked passed (exit code 0)" in done.output


def test_a_run_as_json_has_every_result(tmp_path: Path) -> None:
    """With --json the whole report is printed, and the exit code is the same."""
    done = cli(
        "run",
        shlex.join(peer_command(tmp_path, "wrong")),
        *CHOSEN,
        "--json",
    )
    assert done.exit_code == 1
    report = msgspec.json.decode(done.stdout, type=VectorReport)
    assert [result.status for result in report.results] == [Status.PASSED, Status.FAILED, Status.PASSED]
    assert report.results[1].flags == ("EndInside",)


def test_a_failing_run_says_what_the_failures_share(tmp_path: Path) -> None:
    """The text of a run names each failure, the flags that the failures have in common, and what was not seen."""
    done = cli("run", shlex.join(peer_command(tmp_path, "cut")), *CHOSEN)
    assert done.exit_code == 3
    assert "stop-0010             error" in done.output
    assert "not seen  1 vectors: not asked: the program broke the protocol before" in done.output
    done = cli("run", shlex.join(peer_command(tmp_path, "wrong")), *CHOSEN)
    assert "flags     EndInside 1" in done.output


def test_a_program_that_does_nothing_of_it_decides_nothing(tmp_path: Path) -> None:
    """Where no vector passed the exit code is 4: no evidence is not a pass."""
    script = tmp_path / "idle.py"
    script.write_text(
        'print(\'{"protocol": "tree-oracle-vectors", "version": 1, "operations": []}\')\n', encoding="utf-8"
    )
    done = cli("run", f"{sys.executable} -I -S {script}", "--group", "stop")
    assert done.exit_code == 4
    assert "161 not observable" in done.output
    assert "verdict   nothing was shown (exit code 4)" in done.output


def test_the_lists_and_a_vector_are_shown() -> None:
    """`list` shows groups, or the vectors that a flag chooses; `show` prints the vector and explains its flags."""
    assert "construct-ties   build      " in cli("list").output
    chosen = cli("list", "--flag", "WideWord", "--group", "encode").output.splitlines()
    assert chosen
    assert all("flexflow" in line and "WideWord" in line for line in chosen)
    assert len(json.loads(cli("list", "--flag", "WideWord", "--json").output)) >= len(chosen)
    shown = cli("show", "stop-0010").output
    assert "EndInside: only the last token tested for the end" in shown
    assert json.loads(cli("show", "stop-0010", "--json").output)["id"] == "stop-0010"


@pytest.mark.parametrize(("words", "message"), [
    (("show", "x"), "no vector 'x'"),
    (("list", "--flag", "x"), "no flag 'x'; expected one of RootAlone, "),
    (("list", "--group", "x"), "no group 'x'; expected one of trees, "),
    (("run", "'"), "is no command line: No closing quotation"),
    (("run", "/no/such/program"), "cannot start '/no/such/program'"),
])  # fmt: skip
def test_a_usage_error_is_one_line(words: tuple[str, ...], message: str) -> None:
    """What does not exist is named in one line, with exit code 2."""
    done = cli(*words)
    assert done.exit_code == 2
    assert message in done.output
    assert len(done.output.splitlines()) == 1


def test_a_corpus_that_is_not_the_references_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify` names the files that differ from what the reference makes, and exits with 3; otherwise with 0."""
    monkeypatch.setattr("tree_oracle.vectors.generate.texts", lambda: iter([("stop.json", "{}")]))
    done = cli("verify")
    assert done.exit_code == 3
    assert done.output.startswith("stop.json is not what this installation's reference makes\n")
    assert json.loads(cli("verify", "--json").output)["differing"] == ["stop.json"]
    text = (ROOT / "tree_oracle" / "vectors" / "data" / "stop.json").read_text(encoding="utf-8")
    monkeypatch.setattr("tree_oracle.vectors.generate.texts", lambda: iter([("stop.json", text)]))
    done = cli("verify")
    assert done.exit_code == 0
    assert ": as the reference makes them" in done.output
