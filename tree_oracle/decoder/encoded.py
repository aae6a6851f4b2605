"""Answers in a published encoding: a tree and its layout as the buffers of an engine, and the engine's own reading of them.

An answer of ``lay_out`` or ``build_tree`` may be an object or mapping with

    format      the name of an encoding of ``tree_oracle.tree.formats``
    document    what its encoder returns for one request, or a mapping of the same fields
    positions   n integers, where the encoding holds none (``lay_out`` only)

With ``LaidOutAs`` as its ``lay_out`` the reference decoder does as an engine does: it packs, and the target pass runs on
what is read back from the buffers, so that a wrong bit shows in the rows too. Buffers of another number of nodes, or in which
neither a mask nor a tree can be read, leave a node nothing but the prefix and itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool

from tree_oracle.construct import Draft, TreePolicy
from tree_oracle.decoder.parts import Parts
from tree_oracle.decoder.reference import ReferenceDecoder
from tree_oracle.record import Unsupported
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree, Layout, lay_out
from tree_oracle.tree.formats import FORMATS, Format, InvalidEncoding, Shown, find_format, holds

Write = Callable[[CandidateTree, int], Any]  # the tree and the number of committed tokens: the document of one request


@dataclass(frozen=True, slots=True)
class Encoded:
    """A tree in an encoding."""

    format: str
    document: Any


@dataclass(frozen=True, slots=True, eq=False)
class EncodedLayout(Layout):
    """A layout in an encoding; ``positions`` and ``visible`` are what the pass reads in it."""

    format: str
    document: Any


@dataclass(frozen=True, slots=True)
class Writer:
    """The document of a tree in one encoding, by its reference encoder.

    Raises:
        UsageError: there is no such encoding.
    """

    format: str

    def __post_init__(self) -> None:
        find_format(self.format)

    def __call__(self, tree: CandidateTree, prefix_len: int) -> Any:
        """The document.

        Raises:
            Unsupported: the encoding cannot hold this tree.
        """
        _refuse_unfit(self.format, tree)
        (document,) = FORMATS[self.format].encode([tree], [prefix_len])
        return document


def _refuse_unfit(name: str, tree: CandidateTree) -> None:
    if not holds(FORMATS[name], tree):
        raise Unsupported(f"{name} cannot hold this tree of {len(tree)} nodes")


@dataclass(frozen=True, slots=True)
class LaidOutAs:
    """The part ``lay_out``, or ``encode``, that answers in an encoding; ``write`` may write other documents than the reference
    encoder."""

    format: str
    write: Write | None = None

    def __call__(self, tree: CandidateTree, prefix_len: int) -> EncodedLayout:
        """The layout.

        Raises:
            Unsupported: the encoding cannot hold this tree.
        """
        _refuse_unfit(self.format, tree)
        document = (self.write or Writer(self.format))(tree, prefix_len)
        own, read = lay_out(tree, prefix_len), _read(FORMATS[self.format], document, prefix_len, len(tree))
        positions = own.positions if read.positions is None else read.positions
        return EncodedLayout(positions, read.visible, own.score_rows, self.format, document)


@dataclass(frozen=True, slots=True)
class BuiltAs:
    """The part ``build`` that answers in an encoding."""

    format: str
    write: Write | None = None

    def __call__(self, policy: TreePolicy, draft: Draft, root: int) -> Encoded:
        """The policy's tree. It is encoded as after a prefix that is nothing but the root.

        Raises:
            Unsupported: the encoding cannot hold this tree.
        """
        tree = policy.build(draft, root).tree
        return Encoded(self.format, (self.write or Writer(self.format))(tree, 1))


def encoded_decoder(target: Target, encoding: str) -> ReferenceDecoder:
    """The reference decoder with trees and layouts in an encoding; what that cannot hold is refused.

    Raises:
        UsageError: there is no such encoding.
    """
    name = find_format(encoding).name
    return ReferenceDecoder(target, Parts(build=BuiltAs(name), lay_out=LaidOutAs(name)))


def _read(encoding: Format, document: Any, prefix_len: int, count: int) -> Shown:
    """What the pass sees of the nodes that it was handed, whatever the document says of their number."""
    try:
        if encoding.shows is not None:
            shown = encoding.shows(document, prefix_len)
        else:
            (tree,) = encoding.decode((document,), [prefix_len])
            shown = Shown(lay_out(tree, prefix_len).visible)
    except InvalidEncoding:
        return Shown(_alone(count, prefix_len))
    return shown if len(shown.visible) == count else Shown(_alone(count, prefix_len))


def _alone(count: int, prefix_len: int) -> Bool[np.ndarray, "n columns"]:
    return np.hstack([np.ones((count, prefix_len - 1), dtype=np.bool_), np.eye(count, dtype=np.bool_)])
