"""The file formats as JSON Schema 2020-12: the contract that outlives this library.

Rule: the committed files in ``schemas/`` are what ``schema_json`` returns, byte for byte. A change of format changes the
version, and with it the file's name; the old file stays. ``python -m tree_oracle.record.schema`` writes them anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from tree_oracle.record.case_file import CASE_FORMAT, CASE_VERSION, CaseFile
from tree_oracle.record.report import REPORT_FORMAT, REPORT_VERSION, Report

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FOLDER = Path(__file__).parent / "schemas"

_DOCUMENTS: dict[str, tuple[type[msgspec.Struct], str, int]] = {
    f"case-{CASE_VERSION}.schema.json": (CaseFile, CASE_FORMAT, CASE_VERSION),
    f"report-{REPORT_VERSION}.schema.json": (Report, REPORT_FORMAT, REPORT_VERSION),
}
NAMES = tuple(_DOCUMENTS)


def schema_json(name: str) -> str:
    """The text of the schema file ``name``, one of ``NAMES``."""
    return document_schema(*_DOCUMENTS[name])


def document_schema(kind: type[msgspec.Struct], form: str, version: int) -> str:
    """The text of the schema of documents of one type, which name their format and version."""
    (reference,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    _pin_head(parts[kind.__name__], form, version)
    head = {"$schema": DIALECT, "$id": f"urn:{form}:{version}", "title": f"{form}, version {version}"}
    return json.dumps({**head, **reference, "$defs": parts}, indent=2) + "\n"


def _pin_head(schema: dict[str, Any], form: str, version: int) -> None:
    """Ask for the two fields by which a reader knows the file, which have defaults only for those who write it."""
    schema["properties"] |= {"format": {"const": form}, "version": {"const": version}}
    schema["required"] = ["format", "version", *schema["required"]]


def write_schema(file: Path, text: str) -> None:
    """Write one committed file anew."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")


def main() -> None:
    """Write the committed files anew."""
    for name in NAMES:
        write_schema(FOLDER / name, schema_json(name))


if __name__ == "__main__":
    main()
