"""The record of a kit as JSON Schema 2020-12.

Rule: the committed file is what ``schema_json`` returns, byte for byte. ``python -m tree_oracle.kit.schema`` writes it anew.
"""

from __future__ import annotations

from pathlib import Path

from tree_oracle.kit.model import KIT_FORMAT, KIT_VERSION, Kit
from tree_oracle.record.schema import document_schema, write_schema

FILE = Path(__file__).parent / "schemas" / f"kit-{KIT_VERSION}.schema.json"


def schema_json() -> str:
    """The text of the schema."""
    return document_schema(Kit, KIT_FORMAT, KIT_VERSION)


def main() -> None:
    """Write the committed file anew."""
    write_schema(FILE, schema_json())


if __name__ == "__main__":
    main()
