"""What a process that died had said, cut down to what a reader needs."""

from __future__ import annotations

import re
from itertools import takewhile

_FRAME = re.compile(r'  File "(?:[^"]*[/\\])?([^"/\\]+)", (line \d+ in .+)')
_OURS = re.compile(r'  File "[^"]*[/\\]tree_oracle[/\\](checks|run)[/\\]')
_STACK = "(most recent call first)"
_LINES = 5
_WIDTH = 200


def last_words(output: str) -> str:
    """The innermost frames of the decoder's stack if the process wrote one, otherwise the last lines of its output."""
    before, found, stack = output.rpartition(_STACK)
    if not found:
        return _last_lines(output)
    theirs = takewhile(lambda line: not _OURS.match(line), stack.splitlines()[1:])
    frames = [" ".join(match.groups()) for match in map(_FRAME.match, theirs) if match]
    said = _last_lines("\n".join(before.splitlines()[:-1]))
    return "\n".join([said, *(f"at {frame}" for frame in frames[:_LINES])]).strip()


def _last_lines(text: str) -> str:
    lines = [line.rstrip()[:_WIDTH] for line in text.splitlines() if line.strip()]
    return "\n".join(lines[-_LINES:])
