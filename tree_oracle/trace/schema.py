"""The lines of a trace as JSON Schema 2020-12, the contract for writers in other languages.

Rule: the committed file is what ``schema_json`` returns, byte for byte. ``python -m tree_oracle.trace.schema`` writes it anew.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from tree_oracle.record.schema import DIALECT, write_schema
from tree_oracle.trace.lines import TRACE_FORMAT, TRACE_VERSION, Line

FILE = Path(__file__).parent / "schemas" / f"trace-{TRACE_VERSION}.schema.json"


def schema_json() -> str:
    """The text of the schema of one line."""
    (found,), parts = msgspec.json.schema_components([Line], ref_template="#/$defs/{name}")
    parts["Head"]["properties"] |= {"format": {"const": TRACE_FORMAT}, "version": {"const": TRACE_VERSION}}
    title = f"one line of a {TRACE_FORMAT}, version {TRACE_VERSION}"
    head = {"$schema": DIALECT, "$id": f"urn:{TRACE_FORMAT}:{TRACE_VERSION}", "title": title}
    return json.dumps({**head, **found, "$defs": parts}, indent=2) + "\n"


def main() -> None:
    """Write the committed file anew."""
    write_schema(FILE, schema_json())


if __name__ == "__main__":
    main()
