"""Text for a file or a pipe: no blanks before a new line, with which tables and paragraphs are padded on a terminal."""

from __future__ import annotations

import re
from io import TextIOBase
from typing import TextIO

_TRAILING = re.compile(r"[ \t]+\n")


class Trimmed(TextIOBase):
    """Hands on to another stream what is written, whole lines at a time as rich does, without blanks at their ends."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, text: str) -> int:
        """Write ``text``; the answer is the number of characters that were written."""
        return self._out.write(_TRAILING.sub("\n", text))

    def flush(self) -> None:
        """Flush the stream."""
        self._out.flush()
