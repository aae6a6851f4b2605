"""Makes the corpus from the reference: ``python -m tree_oracle.vectors.generate [FOLDER]``, byte for byte the same."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tree_oracle.vectors.corpus import SCHEMA, read_bytes, text_of
from tree_oracle.vectors.flags import FLAGS
from tree_oracle.vectors.groups import MAKERS
from tree_oracle.vectors.model import FORMAT, VERSION, AnyGroup, Group
from tree_oracle.vectors.schema import schema_json


def made(name: str) -> AnyGroup:
    """One group, made anew."""
    kit = MAKERS[name]()
    used = sorted({flag for vector in kit.vectors for flag in vector.flags})
    flags = {flag: FLAGS[flag] for flag in used}
    return Group(FORMAT, VERSION, name, kit.operation, kit.about, flags, tuple(kit.vectors))


def texts() -> Iterator[tuple[str, str]]:
    """The name and the text of every file."""
    for name in MAKERS:
        yield f"{name}.json", text_of(made(name))
    yield SCHEMA, schema_json()


def differing() -> list[str]:
    """The installed files that are not what the reference makes."""
    return [name for name, text in texts() if read_bytes(name) != text.encode()]


def main() -> None:
    """Write all files to the folder given, by default where they are installed."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "data"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
