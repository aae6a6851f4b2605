"""The border for answers in a published encoding: what cannot be read is the adapter's fault, what was read is judged.

    another type, dtype or shape, or an entry without meaning    AdapterError, which names field and index
    a mask or positions that are not this tree's                 the layout, as the buffers show it bit by bit: a matter for
                                                                 VISIBLE and POSITION
    anything else that is no tree, or another one                DecoderError: an orphan, a node that no link leads to, a
                                                                 path that is not the tree's, other tokens

What a right layout is comes from the judges' own walk along the parents, not from the code that reads the encodings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from tree_oracle.checks.answers import array, field, integers, short
from tree_oracle.checks.view import branch
from tree_oracle.record import AdapterError, DecoderError, TreeData, UsageError, counted
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.formats import Format, InvalidEncoding, MalformedEncoding, Shown, find_format


@dataclass(frozen=True, slots=True)
class _Answer:
    """One request in an encoding."""

    encoding: Format
    document: Any
    what: str

    def tree(self, prefix_len: int) -> CandidateTree:
        """The tree that it holds.

        Raises:
            AdapterError: it cannot be read.
            InvalidEncoding: what was read is no tree.
        """
        try:
            (found,) = self.encoding.decode((self.document,), [prefix_len])
        except MalformedEncoding as error:
            raise AdapterError(f"{self.what} cannot be read as {self.encoding.name}: {error}") from error
        return found

    def shown(self, prefix_len: int) -> Shown | None:
        """The mask as it stands there, if the encoding holds one.

        Raises:
            AdapterError: it cannot be read.
        """
        try:
            return self.encoding.shows(self.document, prefix_len) if self.encoding.shows else None
        except MalformedEncoding as error:
            raise AdapterError(f"{self.what} cannot be read as {self.encoding.name}: {error}") from error

    def of_no_tree(self, error: InvalidEncoding) -> DecoderError:
        """That the encoding is read and holds no tree, with all that it holds."""
        found = DecoderError(f"{self.what} answered an encoding of no tree: {error}")
        if is_dataclass(self.document):
            parts = {one.name: getattr(self.document, one.name) for one in fields(self.document)}
            lists = {name: part.tolist() if isinstance(part, np.ndarray) else part for name, part in parts.items()}
            found.answered = f"{self.encoding.name}: {lists}"
        return found


def laid_out(answer: Any, tree: TreeData, prefix_len: int) -> Any:
    """``answer``, or where it is in an encoding, the mask and the positions that its buffers show (``Shown``).

    Raises:
        AdapterError: no such encoding, or buffers that cannot be read.
        DecoderError: buffers of no tree, or of another one, where neither mask nor positions show it.
    """
    encoded = _encoded(answer, "lay_out")
    if encoded is None:
        return answer
    due = _due(tree, prefix_len)
    said = field(answer, "positions")
    try:
        found = encoded.tree(prefix_len)
    except InvalidEncoding as error:
        seen = encoded.shown(prefix_len)
        if seen is None or seen.visible.shape != due.visible.shape or _same(seen, due):
            raise encoded.of_no_tree(error) from error
        return _layout(seen, said)
    _refuse_another(found, tree)
    parents = found.parents.tolist()
    return _layout(encoded.shown(prefix_len) or _due(TreeData(tree.tokens, tuple(parents)), prefix_len, False), said)


def built(answer: Any) -> Any:
    """``answer``, or where it is in an encoding, the tokens and parents that this holds.

    Raises:
        AdapterError: no such encoding, or buffers that cannot be read.
        DecoderError: buffers of no tree.
    """
    encoded = _encoded(answer, "build_tree")
    if encoded is None:
        return answer
    try:
        tree = encoded.tree(1)
    except InvalidEncoding as error:
        raise encoded.of_no_tree(error) from error
    return tree.tokens, tree.parents


def _encoded(answer: Any, what: str) -> _Answer | None:
    name, document = field(answer, "format"), field(answer, "document")
    if name is None or isinstance(answer, str):  # text has a method of that name
        return None
    if not isinstance(name, str):
        raise AdapterError(f"{what} names the encoding {short(name)}; expected a string")
    try:
        encoding = find_format(name)
    except UsageError as error:
        raise AdapterError(f"{what}: {error}") from error
    if document is None:
        raise AdapterError(f"{what} answered the encoding {name} without a document")
    return _Answer(encoding, _document(encoding, document, what), what)


def _document(encoding: Format, given: Any, what: str) -> Any:
    """What the encoder returns, made of a mapping of its fields where it is one; tensors become arrays."""
    kind = _kind(encoding.name)
    if not is_dataclass(kind):
        return given
    names = [one.name for one in fields(kind)]
    missing = [name for name in names if field(given, name) is None]
    if missing or (isinstance(given, Mapping) and set(given) != set(names)):
        have = f"a mapping with {', '.join(map(str, given))}" if isinstance(given, Mapping) else short(given)
        raise AdapterError(f"the document of {what} is {have}; expected {', '.join(names)} for {encoding.name}")
    return kind(**{name: _plain(field(given, name), f"the document's {name}") for name in names})


@cache
def _kind(name: str) -> type[Any]:
    """The type of an encoding's documents."""
    return type(find_format(name).encode([CandidateTree([0], [-1])], [1])[0])


def _plain(value: Any, what: str) -> Any:
    """A tensor as an array."""
    if isinstance(value, list | tuple):
        return type(value)(_plain(entry, what) for entry in value) if type(value) in (list, tuple) else value
    return array(value, what) if hasattr(value, "detach") else value


def _due(tree: TreeData, prefix_len: int, placed: bool = True) -> Shown:
    """The mask of a tree, and its positions, by the judges' walk."""
    branches = [branch(tree.parents, node) for node in range(len(tree.parents))]
    visible: Bool[np.ndarray, "n columns"] = np.zeros((len(branches), prefix_len - 1 + len(branches)), dtype=np.bool_)
    visible[:, : prefix_len - 1] = True
    for node, above in enumerate(branches):
        visible[node, [prefix_len - 1 + other for other in above]] = True
    positions: Int[np.ndarray, " n"] = np.array([prefix_len - 2 + len(above) for above in branches])
    return Shown(visible, positions if placed else None)


def _same(seen: Shown, due: Shown) -> bool:
    """Whether neither the mask nor the positions show what is wrong."""
    placed = seen.positions is None or due.positions is None or np.array_equal(seen.positions, due.positions)
    return placed and bool((seen.visible == due.visible).all())


def _layout(seen: Shown, said: Any) -> Shown:
    """The layout; positions that are told beside it count where the encoding holds none."""
    if seen.positions is not None or said is None:
        return seen
    return replace(seen, positions=integers(said, "layout.positions", len(seen.visible)))


def _refuse_another(found: CandidateTree, tree: TreeData) -> None:
    if len(found) != len(tree.tokens):
        raise DecoderError(
            f"lay_out answered an encoding of {counted(len(found), 'node')}; expected the {len(tree.tokens)} of the tree"
        )
    for node, (seen, due) in enumerate(zip(found.tokens.tolist(), tree.tokens, strict=True)):
        if seen != due:
            raise DecoderError(f"lay_out answered an encoding whose node {node} holds token {seen}; expected {due}")
