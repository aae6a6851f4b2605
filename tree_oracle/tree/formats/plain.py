"""A tree as plain JSON, for programs that share no library with this one.

    {"format": "tree", "version": 1, "tokens": [7, 4, 2], "parents": [-1, 0, 0], "edge_log_probs": [0.0, -0.5, null]}

Node 0 is the root, parents come first, ``edge_log_probs`` may be absent, and null is a log-probability of minus infinity,
for which JSON has no number. Size: 2 n numbers, or 3 n.
"""

from __future__ import annotations

import json
import math
from typing import Any

from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.field import Field
from tree_oracle.tree.invalid import InvalidTree, TreeFault

FORMAT, VERSION = "tree", 1
_DOCUMENT = Field("tree JSON", "document")
_REQUIRED = {"format", "version", "tokens", "parents"}
_EDGES = "edge_log_probs"


def to_json(tree: CandidateTree) -> str:
    """One line."""
    document: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    document |= {"tokens": tree.tokens.tolist(), "parents": tree.parents.tolist()}
    if tree.edge_log_probs is not None:
        document[_EDGES] = [edge if math.isfinite(edge) else None for edge in tree.edge_log_probs.tolist()]
    return json.dumps(document, allow_nan=False)


def from_json(text: str) -> CandidateTree:
    """The tree.

    Raises:
        InvalidEncoding: no JSON, other or repeated members, another version, or no tree.
    """
    document = _members(_parsed(text))
    tokens = _DOCUMENT.named("tokens").integers(document["tokens"], (None,))
    parents = _DOCUMENT.named("parents").integers(document["parents"], (len(tokens),))
    tree = _DOCUMENT.named("parents").tree(tokens, parents)
    return _with_edges(tree, document[_EDGES]) if _EDGES in document else tree


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unrepeated, parse_constant=_no_constant)
    except RecursionError as error:
        raise _DOCUMENT.malformed(None, "is nested too deeply; expected one object of lists") from error
    except (ValueError, TypeError) as error:
        raise _DOCUMENT.malformed(None, f"is no JSON: {error}") from error


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"member {next(name for name in names if names.count(name) > 1)!r} is given twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _members(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise _DOCUMENT.malformed(None, f"is a {type(document).__name__}; expected an object")
    missing, unknown = sorted(_REQUIRED - document.keys()), sorted(document.keys() - _REQUIRED - {_EDGES})
    if missing or unknown:
        raise _DOCUMENT.malformed(None, f"lacks {missing} and has unknown {unknown}; expected {sorted(_REQUIRED)}")
    for name, wanted in (("format", FORMAT), ("version", VERSION)):
        if document[name] != wanted or isinstance(document[name], bool):
            raise _DOCUMENT.named(name).malformed(None, f"is not what this reads; expected {wanted!r}")
    return document


def _with_edges(tree: CandidateTree, edges: Any) -> CandidateTree:
    field = _DOCUMENT.named(_EDGES)
    if not isinstance(edges, list):
        raise field.malformed(None, f"is a {type(edges).__name__}; expected a list")
    try:
        return CandidateTree(tree.tokens, tree.parents, [-math.inf if edge is None else edge for edge in edges])
    except OverflowError as error:  # an integer beyond the range of floats
        raise field.error(None, f"does not fit: {error}") from error
    except InvalidTree as error:
        index = error.node if error.kind is not TreeFault.LENGTH else None
        raise field.error(None if index is None else (index,), f"does not fit: {error}") from error
