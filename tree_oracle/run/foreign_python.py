"""Another Python interpreter: whether there is one at a path, and whether it is new enough to run the recorder.

It is asked by a line that Python 2 understands too, so that an old one says its version instead of a syntax error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from tree_oracle.record import UsageError

OLDEST = (3, 8)
INTERPRETER = "decoder's python"  # in the environment of a report: implementation and version, never a path

_QUESTION = "import sys; sys.stdout.write('tree-oracle:%d.%d.%d' % tuple(sys.version_info[:3]))"
_ANSWER = re.compile(r"tree-oracle:(\d+)\.(\d+)\.(\d+)")
_PATIENCE = 60  # seconds for an interpreter to start


def find_python(given: str) -> str:
    """The absolute path of the interpreter that ``given`` names, a path or a command. It is not resolved further: a link in a
    virtual environment is what makes it that environment's.

    Raises:
        UsageError: there is nothing of the kind, it cannot be run, is no Python, or is older than 3.8.
    """
    found = shutil.which(given)
    if found is None:
        raise UsageError(_why_not(given))
    try:
        done = subprocess.run(
            [found, "-c", _QUESTION], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=_PATIENCE, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"python {given!r} cannot be run: {error}") from error
    said = done.stdout.decode("utf-8", "replace")
    answer = _ANSWER.search(said)
    if answer is None:
        raise UsageError(f"python {given!r} is no Python interpreter: asked for its version, it said {_short(said)}")
    version = tuple(map(int, answer.groups()))
    if version < OLDEST:
        raise UsageError(
            f"python {given!r} is Python {'.'.join(answer.groups())}; the recorder needs {OLDEST[0]}.{OLDEST[1]} or newer"
        )
    return os.path.abspath(found)


def _why_not(given: str) -> str:
    if os.path.isdir(given):
        inside = os.path.join(given, "bin", "python")
        return f"python {given!r} is a directory; expected the interpreter in it, such as {inside}"
    if os.path.exists(given):
        return f"python {given!r} cannot be executed; expected a Python interpreter"
    return f"python {given!r} is not there; expected a Python interpreter, such as .venv/bin/python"


def _short(said: str) -> str:
    text = " ".join(said.split())[:100]
    return repr(text) if text else "nothing"
