"""What a scene draws, as JSON: whole numbers, tokens, shapes, orders of the vocabulary and rows, none of it tied to a target.

A scene makes a case from draws and from what it asks the target. Only the draws are frozen. They were made for the smallest
vocabulary that a target may have; for a larger one an order of it goes on in order, and a row with its most frequent value.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from tree_oracle.record import DraftData, UsageError
from tree_oracle.strategies import ScriptedTree

VOCAB = 60  # of the targets that the draws were made for


def frozen(value: Any) -> Any:
    """The JSON of one drawn value.

    Raises:
        UsageError: a value that cannot be frozen.
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, DraftData):
        return {"draft": [list(below) for below in value.laws]}
    if isinstance(value, ScriptedTree):
        tree = [list(value.parents), list(value.tokens), value.goal, value.distinct_siblings]
        return {"shape": tree}
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[1] == VOCAB:
        return {"rows": ["".join(str(int(entry)) for entry in row) for row in value]}
    if isinstance(value, list) and sorted(map(repr, value)) == sorted(map(repr, range(VOCAB))):
        return {"order": value}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [frozen(entry) for entry in value]}
    raise UsageError(f"a scene drew {type(value).__name__} {value!r}, which cannot be frozen")


def thawed(value: Any, vocab_size: int) -> Any:
    """The value again, for a target with ``vocab_size`` tokens."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "shape":
        parents, tokens, goal, distinct = content
        return ScriptedTree(tuple(parents), tuple(tokens), goal, distinct)
    if kind == "draft":
        return DraftData(tuple(map(tuple, content)))
    if kind == "rows":
        return np.array([_widened(row, vocab_size) for row in content])
    if kind == "order":
        return [*content, *range(VOCAB, vocab_size)]
    entries = [thawed(entry, vocab_size) for entry in content]
    return tuple(entries) if kind == "tuple" else entries


def _widened(row: str, vocab_size: int) -> list[float]:
    ((usual, _),) = Counter(row).most_common(1)
    return [float(entry) for entry in row.ljust(vocab_size, usual)]
