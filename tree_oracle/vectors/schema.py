"""The corpus as JSON Schema 2020-12: what a program in any language may rely on."""

from __future__ import annotations

import json

import msgspec

from tree_oracle.record.schema import DIALECT
from tree_oracle.vectors.model import FORMAT, GROUPS, VERSION


def schema_json() -> str:
    """The text of the committed schema: one file of the corpus is an object of one of these kinds."""
    references, parts = msgspec.json.schema_components(GROUPS.values(), ref_template="#/$defs/{name}")
    kinds = []
    for name, reference in zip(GROUPS, references, strict=True):
        kinds.append({"allOf": [reference, {"properties": {"group": {"const": name}}}]})
    head = {"$schema": DIALECT, "$id": f"urn:{FORMAT}:{VERSION}", "title": f"{FORMAT}, version {VERSION}"}
    return json.dumps({**head, "oneOf": kinds, "$defs": parts}, indent=1) + "\n"
