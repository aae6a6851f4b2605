"""One encoding as the registry lists it: what it asks of trees, how large it is, and both ways through it.

A document is what an encoder returns: one for the whole batch, or one for each request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from tree_oracle.record import UsageError
from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.batch import Trees, cached_of
from tree_oracle.tree.formats.shape import Part
from tree_oracle.tree.formats.shown import Shows

Documents = tuple[Any, ...]
Encode = Callable[[Trees, Sequence[int]], Documents]
Decode = Callable[[Documents, Sequence[int]], tuple[CandidateTree, ...]]


@dataclass(frozen=True, slots=True)
class Demands:
    """What an encoding cannot hold."""

    level_order: bool = False  # stores level order only
    one_size: bool = False  # all trees of a batch have the same number of nodes
    most_nodes: int | None = None
    most_siblings: int | None = None
    distinct_siblings: bool = False


@dataclass(frozen=True, slots=True)
class Format:
    """An encoding with the parameters that its systems use."""

    name: str
    holds: str
    systems: tuple[str, ...]  # names in ``systems``
    parts: tuple[Part, ...]
    encode: Encode  # as the module's encoder, and raises what it raises
    decode: Decode  # InvalidEncoding for documents that are no trees after these prefixes
    demands: Demands = Demands()
    shows: Shows | None = None  # how its mask is read entry by entry; None: it holds none


def of_batch(encode: Callable[[Trees, Sequence[int]], Any], decode: Callable[..., Any]) -> tuple[Encode, Decode]:
    """One document for the batch; ``decode(document, prefix_lens)``."""

    def write(trees: Trees, prefix_lens: Sequence[int]) -> Documents:
        return (encode(trees, prefix_lens),)

    def read(documents: Documents, prefix_lens: Sequence[int]) -> tuple[CandidateTree, ...]:
        if len(documents) != 1:
            raise UsageError(f"{len(documents)} documents; expected one for the whole batch")
        return tuple(decode(documents[0], prefix_lens))

    return write, read


def of_request(
    encode: Callable[[CandidateTree, int], Any], decode: Callable[[Any], CandidateTree]
) -> tuple[Encode, Decode]:
    """One document for each request; ``decode(document)``."""

    def write(trees: Trees, prefix_lens: Sequence[int]) -> Documents:
        cached_of(prefix_lens, len(trees))
        return tuple(encode(tree, length) for tree, length in zip(trees, prefix_lens, strict=True))

    def read(documents: Documents, prefix_lens: Sequence[int]) -> tuple[CandidateTree, ...]:
        cached_of(prefix_lens, len(documents))
        return tuple(map(decode, documents))

    return write, read


def as_plain(document: Any) -> Any:
    """A document as lists, numbers and strings, as JSON holds it; entries of minus infinity become null.

    Raises:
        UsageError: the document is none that an encoder here returns.
    """
    if is_dataclass(document) and not isinstance(document, type):
        return {field.name: as_plain(getattr(document, field.name)) for field in fields(document)}
    if isinstance(document, np.ndarray):
        return as_plain(document.tolist()) if document.dtype.kind == "f" else document.tolist()
    if isinstance(document, dict):
        return {str(key): as_plain(value) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [as_plain(entry) for entry in document]
    if isinstance(document, str | int | float):
        return None if document == -np.inf else document
    raise UsageError(f"a {type(document).__name__} is no encoding; expected what an encoder returns")
