"""Runs the examples of a Markdown file.

Convention, for whoever writes one. The blocks of a file run in order, in one fresh folder:

- ``python`` blocks share one namespace, like one program.
- ``console`` blocks hold commands, ``$ command``, each followed by what it prints; ``...`` stands for any text. A command
  followed by nothing may print anything. It must exit with 0. Commands of ``tree-oracle`` run in this process, which has
  torch loaded already; ``.ci/run`` runs the installed program. The first ``check --decoder`` of the README has a child
  process, as the command would have; all others do without one, which would load torch again.
- A command may end with `` || echo "exit code $?"``, and is still run in this process.
- A comment on the line before the fence changes that: ``<!-- file: NAME -->`` saves the block as NAME instead of running it;
  ``<!-- output -->`` makes it what the python block before it printed; ``<!-- exit: N -->`` asks every command in it for
  another exit code; ``<!-- not run: REASON -->`` leaves it alone.
- Blocks in any other language are only read. ``.ci/run`` runs the blocks marked ``<!-- test-command -->`` and
  ``<!-- use-command -->``.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tree_oracle.cli import main

_BLOCK = re.compile(
    r"^(?:<!-- (?P<word>[a-z -]+)(?:: (?P<value>.*))? -->\n)?```(?P<language>\w*)\n(?P<text>(?:.*\n)*?)```$", re.M
)
_TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1"}
_SAID = ' || echo "exit code $?"'
_NEEDS_A_CHILD = frozenset(("--isolate", "--timeout", "--memory", "--python"))
_WORDS = ("file", "output", "exit", "not run", "test-command", "use-command")


@dataclass(frozen=True)
class Block:
    """One fenced block, the line where its text starts, and the comment before it."""

    at: str
    line: int
    language: str
    text: str
    word: str | None = None
    value: str | None = None


def blocks(document: str, name: str) -> Iterator[Block]:
    """The fenced blocks of a document in order.

    Raises:
        AssertionError: a comment right before a block is none of the convention's, or gives no reason.
    """
    for found in _BLOCK.finditer(document):
        line = document.count("\n", 0, found.start("text")) + 1
        block = Block(f"{name}, line {line}", line, found["language"], found["text"], found["word"], found["value"])
        assert block.word is None or block.word in _WORDS, f"{block.at}: {block.word!r} is none of {', '.join(_WORDS)}"
        assert block.value or block.word not in ("file", "exit", "not run"), (
            f"{block.at}: nothing follows {block.word!r}"
        )
        yield block


class Runner:
    """Runs documents in ``folder``, which must be the working folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.namespace: dict[str, Any] = {"__name__": "__main__"}
        self.printed = ""
        self.may_have_a_child = False

    def run(self, document: str, name: str) -> None:
        """Run every block of ``document``; ``name`` stands in messages and tracebacks."""
        self.may_have_a_child = name == "README.md"
        for block in blocks(document, name):
            self._run(block)

    def _run(self, block: Block) -> None:
        match block:
            case Block(word="not run"):
                pass
            case Block(word="file", value=str(name)):
                (self.folder / name).write_text(block.text, encoding="utf-8")
            case Block(word="output"):
                _compare(block.at, block.text, self.printed)
            case Block(language="python"):
                self._python(block)
            case Block(language="console"):
                self._console(block)

    def _python(self, block: Block) -> None:
        code = compile("\n" * (block.line - 1) + block.text, block.at.partition(",")[0], "exec")  # real line numbers
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(code, self.namespace)
        self.printed = out.getvalue()

    def _console(self, block: Block) -> None:
        before, *commands = re.split(r"^\$ ", block.text, flags=re.M)
        assert not before.strip(), f"{block.at}: a console block starts with '$ ', not with {before!r}"
        for command, _, expected in (text.partition("\n") for text in commands):
            code, printed = self._shell(command)
            assert str(code) == (block.value or "0"), f"{block.at}: `{command}` ended with exit code {code}:\n{printed}"
            if expected.strip():
                _compare(block.at, expected, printed)

    def _shell(self, command: str) -> tuple[int, str]:
        if command.endswith(_SAID):
            code, printed = self._shell(command.removesuffix(_SAID))
            return 0, printed + (f"exit code {code}\n" if code else "")
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        program, *words = shlex.split(command)
        if program == "tree-oracle" and not set(command) & set("|;&<>"):
            done = CliRunner(env={"PATH": path, **_TERMINAL}).invoke(main, self._sparing(words))
            return done.exit_code, done.output
        ended = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, env={**os.environ, "PATH": path, **_TERMINAL}, text=True, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        return ended.returncode, ended.stdout

    def _sparing(self, words: list[str]) -> list[str]:
        """The words of a command, with one child process for all checks that need none."""
        if words[0] != "check" or "--decoder" not in words or _NEEDS_A_CHILD.intersection(words):
            return words
        may_have_one, self.may_have_a_child = self.may_have_a_child, False
        return words if may_have_one else [*words, "--in-process"]


def _compare(at: str, expected: str, printed: str) -> None:
    expected, printed = _trimmed(expected), _trimmed(printed)
    assert OutputChecker().check_output(expected, printed, ELLIPSIS), (
        f"{at} shows:\n{expected}\nprinted was:\n{printed}"
    )


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
