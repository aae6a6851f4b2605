"""A certificate as JSON Schema 2020-12, with the report inside it.

Rule: the committed file is what ``schema_json`` returns, byte for byte. ``python -m tree_oracle.report.certificate.schema``
writes it anew.
"""

from __future__ import annotations

from pathlib import Path

from tree_oracle.record.schema import document_schema, write_schema
from tree_oracle.report.certificate.model import CERTIFICATE_FORMAT, CERTIFICATE_VERSION, Certificate

FILE = Path(__file__).parent / "schemas" / f"certificate-{CERTIFICATE_VERSION}.schema.json"


def schema_json() -> str:
    """The text of the schema."""
    return document_schema(Certificate, CERTIFICATE_FORMAT, CERTIFICATE_VERSION)


def main() -> None:
    """Write the committed file anew."""
    write_schema(FILE, schema_json())


if __name__ == "__main__":
    main()
