"""Documents of the published encodings as JSON of integers, and back.

    truth values              0 and 1
    the lowest finite number  "lowest"     of the mask's own type
    minus infinity            "-inf"
    other floats              integers, which is all they are in masks
    token -> child maps       objects whose keys are decimal tokens

A document read back is of the encoder's own types where its entries allow that, and otherwise left as it came: it is the
decoder that must refuse it.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from tree_oracle.record import UsageError
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.formats import find_format

LOWEST, MINUS_INFINITY = "lowest", "-inf"
_EXAMPLE = CandidateTree([1, 0, 0, 1], [-1, 0, 1, 1])  # something in every field of every encoding


def plain(document: Any) -> Any:
    """A document of an encoder as JSON holds it.

    Raises:
        UsageError: it is none.
    """
    if is_dataclass(document) and not isinstance(document, type):
        return {field.name: plain(getattr(document, field.name)) for field in fields(document)}
    if isinstance(document, np.ndarray):
        return _entries(document)
    if isinstance(document, dict):
        return {str(key): plain(value) for key, value in document.items()}
    if isinstance(document, tuple | list):
        return [plain(entry) for entry in document]
    if isinstance(document, str | int):
        return document
    raise UsageError(f"a {type(document).__name__} is no part of an encoding; expected what an encoder returns")


def documents_of(name: str, documents: list[Any]) -> tuple[Any, ...]:
    """What the encoding's decoder takes.

    Raises:
        UsageError: there is no such encoding.
        KeyError, TypeError, ValueError: a document lacks a member, or is of another kind altogether.
    """
    (example,) = find_format(name).encode([_EXAMPLE], [2])
    return tuple(_like(example, document) for document in documents)


def _entries(values: np.ndarray) -> Any:
    if values.dtype.kind != "f":
        return values.astype(np.int64).tolist() if values.dtype.kind == "b" else values.tolist()
    words = {float(np.finfo(values.dtype).min): LOWEST, -np.inf: MINUS_INFINITY}
    found = [words[value] if value in words else int(value) for value in values.ravel().tolist()]
    return _shaped(found, values.shape)


def _shaped(flat: list[Any], shape: tuple[int, ...]) -> list[Any]:
    if len(shape) == 1:
        return flat
    step = len(flat) // shape[0]
    return [_shaped(flat[row * step : (row + 1) * step], shape[1:]) for row in range(shape[0])]


def _like(example: Any, value: Any) -> Any:
    if is_dataclass(example) and not isinstance(example, type):
        kind: Any = type(example)
        return kind(**{field.name: _like(getattr(example, field.name), value[field.name]) for field in fields(example)})
    if isinstance(example, np.ndarray):
        return _array(example.dtype, value)
    if isinstance(example, tuple) and example and isinstance(example[0], dict | np.ndarray):
        return tuple(_like(example[0], entry) for entry in value)
    if isinstance(example, dict):
        return {int(key): entry for key, entry in value.items()}
    return _frozen(value)


def _array(dtype: np.dtype[Any], value: Any) -> Any:
    numbers = _numbers(value, dtype) if dtype.kind == "f" else value
    try:
        found = np.array(numbers, dtype=object)
        right = all(_fits(entry, dtype) for entry in found.ravel().tolist())
    except ValueError:  # rows of unequal length
        return value
    return found.astype(dtype) if right else value


def _fits(entry: Any, dtype: np.dtype[Any]) -> bool:
    if dtype.kind == "f":
        return isinstance(entry, int | float)
    if dtype.kind == "b":
        return type(entry) is int and entry in (0, 1)
    return type(entry) is int and np.iinfo(dtype).min <= entry <= np.iinfo(dtype).max


def _numbers(value: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(value, list):
        return [_numbers(entry, dtype) for entry in value]
    words = {LOWEST: float(np.finfo(dtype).min), MINUS_INFINITY: -np.inf}
    return words.get(value, value) if isinstance(value, str) else value


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
