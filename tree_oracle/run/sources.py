"""A digest of a decoder's own source: of the files that a name stands for, or of the one file that an object was written in.

By name nothing is imported: all Python files of the top-level module or package that the name begins with. What these import
from elsewhere is not looked at. The digest of one file is that of its bytes, which any other program gives too; that of several
is over theirs, in the order of their names. Our own decoders have none: they go with the digest of the package.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from tree_oracle.run.environment import DECODER_FILE


def sources_digest(decoder: str) -> str:
    """SHA-256 in hex for ``module:attribute``; empty for the built-in decoders and where no source is found."""
    top = decoder.partition(":")[0].partition(".")[0]
    spec = PathFinder.find_spec(top, [str(Path.cwd()), *sys.path]) if _is_foreign(decoder) else None
    if spec is None:
        return ""
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    files = [file for folder in folders for file in sorted(folder.rglob("*.py"))]
    return _digest(files if folders or spec.origin is None else [Path(spec.origin)])


def decoder_file(factory: Any) -> dict[str, str]:
    """The line on the file in which a decoder or its factory is written; none where it has no file, and for our own."""
    made = factory if inspect.isclass(factory) or inspect.isfunction(factory) else type(factory)
    if made.__module__.partition(".")[0] == __package__.partition(".")[0]:
        return {}
    with suppress(OSError, TypeError):
        path = inspect.getsourcefile(made)
        return {DECODER_FILE: _digest([Path(path)])} if path else {}
    return {}


def _digest(files: Sequence[Path]) -> str:
    each = [hashlib.sha256(file.read_bytes()) for file in files]
    return each[0].hexdigest() if len(each) == 1 else hashlib.sha256(b"".join(one.digest() for one in each)).hexdigest()


def _is_foreign(decoder: str) -> bool:
    return decoder != "reference" and not decoder.startswith("fault:")
