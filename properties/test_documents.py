"""The README and the guides are true: their examples run and print what they show."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from document_runner import Runner, blocks

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# They run several batteries or train a kit, so a plain run leaves them to `.ci/run`.
LONG = frozenset(
    f"{name}.md"
    for name in (
        "plug-in-your-decoder",
        "tutorial-describe-a-decoder",
        "kit",
        "reports",
        "how-to-read-a-failure",
        "tolerances",
    )
)


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield Runner(tmp_path)
    for name in set(sys.modules) - before:  # another document may have a module of the same name
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.name, marks=[pytest.mark.sweep] if path.name in LONG else []) for path in DOCUMENTS],
)
def test_every_example_runs(path: Path, runner: Runner) -> None:
    """Each python and console block of a document runs, in order, and prints what the document shows."""
    runner.run(path.read_text(encoding="utf-8"), path.name)


@pytest.mark.parametrize("word", ["test-command", "use-command"])
def test_the_readme_has_each_command_once_as_one_line(word: str) -> None:
    """`.ci/run` takes the commands from the README, so each is there exactly once and can be pasted."""
    found = [
        block for block in blocks((ROOT / "README.md").read_text(encoding="utf-8"), "README.md") if block.word == word
    ]
    assert len(found) == 1
    assert found[0].text.count("\n") == 1


def fence(language: str, *lines: str, comment: str = "") -> str:
    return "\n".join([*([f"<!-- {comment} -->"] if comment else []), f"```{language}", *lines, "```", ""])


UNTRUE = {
    "result": (fence("python", "x = 1") + fence("python", "assert x == 2, x"), "1"),
    "output": (fence("python", "print(1)") + fence("text", "2", comment="output"), "line 6 shows:\n2\nprinted was:\n1"),
    "console output": (fence("console", "$ echo one", "two"), "line 2 shows:\ntwo\nprinted was:\none"),
    "failing command": (fence("console", "$ exit 3"), "`exit 3` ended with exit code 3"),
    "passing command": (fence("console", "$ true", comment="exit: 1"), "`true` ended with exit code 0"),
    "no prompt": (fence("console", "echo"), "a console block starts with '[$] '"),
    "no reason": (fence("python", "1/0", comment="not run"), "nothing follows 'not run'"),
    "unknown comment": (fence("python", "x = 1", comment="outptu"), "'outptu' is none of file, output"),
}


@pytest.mark.parametrize(("document", "message"), UNTRUE.values(), ids=UNTRUE)
def test_an_untrue_document_is_refused(document: str, message: str, runner: Runner) -> None:
    """A wrong result, output, exit code or comment fails, and the message says at which line and why."""
    with pytest.raises(AssertionError, match=message):
        runner.run(document, "planted.md")


def test_a_true_document_passes(runner: Runner) -> None:
    """Files, earlier names, several commands, other exit codes and shortened output all work as the convention says."""
    runner.run(
        fence("python", "def f():", "    return 7", comment="file: mine.py")
        + fence("python", "from mine import f", "x = f()")
        + fence("python", "print(x)\nprint('end')")
        + fence("text", "7", "...", comment="output")
        + fence(
            "console", "$ python -c 'import mine; print(mine.f())'", "7", "$ echo a; echo b", "...b", "$ echo unseen"
        )
        + fence("console", "$ exit 4", comment="exit: 4")
        + fence("python", "1 / 0", comment="not run: it would fail")
        + fence("bash", "false"),
        "true.md",
    )
