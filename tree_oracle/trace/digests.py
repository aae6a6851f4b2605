"""Which arrays lie beside a trace: SHA-256 over the lines ``name sha256`` of its array files, in the order of their names.

That of the trace itself is taken while it is read (``TraceReader.sha256``), so that it is of the very bytes that were judged.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from tree_oracle.trace.reader import open_plain

_NAME = re.compile(r"[0-9]{9}\.safetensors")


def arrays_digest(trace: Path) -> str:
    """The digest, in hex; empty if no array file lies there. A link is none, as for the reader.

    Raises:
        NotATrace: a file cannot be read.
    """
    folder = Path(f"{trace}.arrays")
    if folder.is_symlink() or not folder.is_dir():
        return ""
    names = sorted(one.name for one in os.scandir(folder) if _NAME.fullmatch(one.name) and not one.is_symlink())
    return (
        hashlib.sha256("".join(f"{name} {_digest(folder / name)}\n" for name in names).encode()).hexdigest()
        if names
        else ""
    )


def _digest(path: Path) -> str:
    with open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
