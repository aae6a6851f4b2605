"""Which code judged: a digest over the files of the installed package, since a version number does not tell a changed copy.

Rule: SHA-256 over the sorted lines ``path sha256``, a line for every file of the package, bytecode apart. Two installations
with the same digest run the same code.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

FILES = "tree-oracle files"  # its name in the environment block of a report


@cache
def package_digest() -> str:
    """The digest of the installed package, in hex."""
    return digest_of_tree(files("tree_oracle"))


def digest_of_tree(folder: Traversable) -> str:
    """The digest of all files below a folder, in hex."""
    return hashlib.sha256("\n".join(sorted(_lines(folder, ""))).encode()).hexdigest()


def _lines(folder: Traversable, under: str) -> list[str]:
    found = []
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name != "__pycache__":
            found += _lines(entry, f"{under}{entry.name}/")
        elif entry.is_file() and not entry.name.endswith(".pyc"):
            found.append(f"{under}{entry.name} {hashlib.sha256(entry.read_bytes()).hexdigest()}")
    return found
