"""A tolerance report as JSON Schema 2020-12, the contract that outlives this library.

Rule: the committed file is what ``schema_json`` returns, byte for byte. ``python -m tree_oracle.numerics.schema``
writes it anew.
"""

from __future__ import annotations

from pathlib import Path

from tree_oracle.numerics.document import FORMAT, VERSION, ToleranceReport
from tree_oracle.record.schema import document_schema, write_schema

SCHEMA = Path(__file__).parent / "schemas" / f"tolerance-{VERSION}.schema.json"


def schema_json() -> str:
    """The text of the schema file."""
    return document_schema(ToleranceReport, FORMAT, VERSION)


def main() -> None:
    """Write the committed file anew."""
    write_schema(SCHEMA, schema_json())


if __name__ == "__main__":
    main()
