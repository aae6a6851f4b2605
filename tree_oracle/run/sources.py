"""A digest of a decoder's own source files, found without importing anything.

All Python files of the top-level module or package that the name begins with. What it imports from elsewhere is not looked at.
"""

from __future__ import annotations

import hashlib
import sys
from importlib.machinery import PathFinder
from pathlib import Path


def sources_digest(decoder: str) -> str:
    """SHA-256 in hex for ``module:attribute``; empty for the built-in decoders and where no source is found."""
    top = decoder.partition(":")[0].partition(".")[0]
    spec = PathFinder.find_spec(top, [str(Path.cwd()), *sys.path]) if _is_foreign(decoder) else None
    if spec is None:
        return ""
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    files = [file for folder in folders for file in sorted(folder.rglob("*.py"))]
    if not folders and spec.origin is not None:
        files = [Path(spec.origin)]
    digest = hashlib.sha256()
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _is_foreign(decoder: str) -> bool:
    return decoder != "reference" and not decoder.startswith("fault:")
