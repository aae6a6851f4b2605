"""Files that commands write: whole, where they were asked for, and never over somebody else's."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from report_grounds import FAILING, HOLDING, reports, storable

from tree_oracle.cli import main
from tree_oracle.record import Report, write_file
from tree_oracle.report import html_page, junit_xml, markdown_summary
from tree_oracle.report.outputs import KINDS


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_file(Path("r.json"), FAILING)
    return tmp_path


def run(*words: str) -> Any:
    return CliRunner().invoke(main, ["report", "r.json", *words])


def test_a_saved_report_is_written_in_every_form() -> None:
    """One command writes page, summary and JUnit file, prints what it prints without them, and exits with the report's code."""
    done = run("--html", "a.html", "--markdown", "a.md", "--junit", "a.xml")
    assert done.exit_code == FAILING.exit_code == 1
    assert done.stdout == run().stdout
    assert Path("a.html").read_text(encoding="utf-8") == html_page(FAILING)
    assert Path("a.md").read_text(encoding="utf-8") == markdown_summary(FAILING)
    assert Path("a.xml").read_bytes() == junit_xml(FAILING)


@pytest.mark.parametrize("kind", ["html", "markdown", "junit"])
def test_our_own_file_is_written_over_and_no_other(kind: str) -> None:
    """A second run replaces what the first one wrote, and an empty file; anything else stays and is named."""
    path = Path("kept")
    path.touch()
    for _ in range(2):
        assert run(f"--{kind}", "kept").exit_code == 1
    for content in (b"my notes", path.read_bytes()[5000:] or b"x", b"\xff" * 9):
        path.write_bytes(content)
        refused = run(f"--{kind}", "kept")
        assert refused.exit_code == 2
        assert f"kept is there and is no {KINDS[kind].name} of tree-oracle; it is not written over" in refused.stderr
        assert path.read_bytes() == content


@pytest.mark.parametrize("kind", ["output", "html", "markdown", "junit"])
def test_a_check_refuses_before_it_runs(kind: str) -> None:
    """No decoder is looked for, and nothing is written, if a result could not be kept."""
    Path("notes").write_text("my notes", encoding="utf-8")
    done = CliRunner().invoke(main, ["check", "--decoder", "no_such_module:Decoder", f"--{kind}", "notes"])
    assert done.exit_code == 2
    assert "notes is there and is no " in done.stderr
    assert "no_such_module" not in done.stderr


@pytest.mark.parametrize(("words", "code", "message"), [
    (["--html", "."], 2, "cannot write .: "),
    (["--html", "x", "--markdown", "./x"], 2, "two outputs have the same file; expected a file of its own for each"),
    (["--html", "r.json"], 2, "r.json is there and is no HTML report"),
    (["--html", "r.json/x"], 2, "cannot write r.json/x: r.json is no folder"),
    (["--html", "nowhere/at/all/x"], 2, "cannot write nowhere/at/all/x: nowhere/at/all is no folder; make it first"),
    (["--html", "\x00"], 3, "cannot write \x00: embedded null"),
])  # fmt: skip
def test_what_cannot_be_written_is_named(words: list[str], code: int, message: str) -> None:
    """A folder, a file under a file or under nothing, one file for two outputs: each is one line, and no traceback."""
    done = run(*words)
    assert done.exit_code == code
    assert message in done.stderr
    assert isinstance(done.exception, SystemExit)
    assert not Path("nowhere").exists()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # the folder is only where the command runs
@given(found=reports(storable))
def test_a_terminal_is_commanded_by_nobody(tmp_path_factory: pytest.TempPathFactory, found: Report) -> None:
    """Whatever a saved report holds, printing it sends no control character and nothing that turns the line round."""
    path = tmp_path_factory.mktemp("saved") / "r.json"
    write_file(path, found)
    done = CliRunner().invoke(main, ["report", str(path)])
    assert done.exit_code == found.exit_code
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", done.output)


def test_saved_reports_are_read_without_torch() -> None:
    """Nobody who reads reports needs what ran the decoder."""
    write_file(Path("h.json"), HOLDING)
    program = """
import sys
from click.testing import CliRunner
from tree_oracle.cli import main
for words in (["report", "h.json", "--html", "h.html", "--markdown", "h.md"], ["compare", "h.json", "r.json"],
              ["certificate", "make", "h.json", "--output", "c.json"], ["certificate", "verify", "c.json"]):
    done = CliRunner().invoke(main, words)
    assert isinstance(done.exception, SystemExit | None), (words, done.exception)
    assert done.exit_code in (0, 1), (words, done.output)
heavy = {"torch", "transformers"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
