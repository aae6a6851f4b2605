"""What a project does with trees alone, described: laying one out, and building one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from tree_oracle.adapters.arguments import TREE, ask, taken, tree_offers
from tree_oracle.adapters.convention import Convention, pair
from tree_oracle.checks import answers
from tree_oracle.construct import Draft
from tree_oracle.decoder.encoded import Encoded, Writer
from tree_oracle.record import Unsupported, UsageError
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.formats import find_format

_HANDED_OVER = ("tokens", "choices", "root")  # fields of a document that a layout is asked about, not asked for
_POSITIONS = ("positions", "position_ids")


@dataclass(frozen=True, slots=True)
class Buffers:
    """A function that gives an encoding's document, whole or as a mapping under names of its own.

    Args:
        encoding: the encoding's name.
        names: the project's name of a field, where it is another one.

    Raises:
        UsageError: there is no such encoding, or it has no such field.
    """

    encoding: str
    names: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = self._known()
        unknown = sorted(set(self.names) - set(known))
        if unknown:
            raise UsageError(f"{self.encoding} has no field {unknown[0]!r}; expected one of {', '.join(known)}")

    def document(self, given: Any, tree: CandidateTree | None, prefix_len: int) -> Any:
        """The document; what the function was handed itself is filled in where it does not give it back."""
        known = self._known()
        if not known or (is_dataclass(given) and not isinstance(given, type)):
            return given
        found = {name: answers.field(given, self.names.get(name, name)) for name in known}
        for name in _HANDED_OVER:
            if tree is not None and name in found and found[name] is None:
                found[name] = getattr(Writer(self.encoding)(tree, prefix_len), name)
        return {name: value for name, value in found.items() if value is not None}

    def _known(self) -> list[str]:
        (blank,) = find_format(self.encoding).encode([CandidateTree([0], [-1])], [1])
        return [one.name for one in fields(blank)] if is_dataclass(blank) else []


@dataclass(frozen=True, slots=True)
class LaidOut:
    """``layout``: gives a mask and positions, as ``(mask, positions)`` or under these names; or buffers."""

    function: Callable[..., Any]
    convention: Convention
    buffers: Buffers | None
    model: Any

    def given(self, tree: CandidateTree, prefix_len: int) -> Any:
        """What the project's function gives.

        Raises:
            Unsupported: a root alone, where the root is not laid out.
        """
        if len(tree) == 1 and not self.convention.root_in_pass:
            raise Unsupported("a tree without candidates is not laid out where the root is not in the pass")
        offers = tree_offers(tree, self.convention, prefix_len)
        offers |= {"prefix_len": lambda: self.convention.prefix_len(prefix_len), "model": lambda: self.model}
        return ask(self.function, layout_taken(self.function), offers)

    def answer(self, given: Any, tree: CandidateTree, prefix_len: int) -> Any:
        """That, as ``lay_out`` answers it."""
        if self.buffers is None:
            mask, positions = stated(given)
            plain = mask["full_attention"] if isinstance(mask, Mapping) and "full_attention" in mask else mask
            return self.convention.layout(plain, positions, prefix_len)
        answer = {
            "format": self.buffers.encoding,
            "document": self.buffers.document(given, tree, prefix_len),
        }
        positions = answers.field(given, "positions")
        return answer if positions is None else {**answer, "positions": positions}


def layout_taken(function: Callable[..., Any]) -> frozenset[str]:
    """What a layout function takes.

    Raises:
        UsageError: it needs something that is not known here.
    """
    return taken("layout", function, (*TREE, "prefix_len", "model"))


def stated(given: Any) -> tuple[Any, Any]:
    """Mask and positions. A mask may be one for each kind of layer, of which the one without a window is read.

    Raises:
        AdapterError: there are none.
    """
    name = next((name for name in _POSITIONS if answers.field(given, name) is not None), _POSITIONS[0])
    return pair(given, "mask", name, "layout")


@dataclass(frozen=True, slots=True)
class Built:
    """``build``: gives ``(tokens, parents)`` or something with these names; or buffers."""

    function: Callable[..., Any]
    convention: Convention
    buffers: Buffers | None

    def build_tree(self, draft: Draft, root: int) -> Any:
        """As the seam has it."""
        offers = {"draft": lambda: draft, "root": lambda: root, "log_probs": lambda: draft.log_probs}
        given = ask(self.function, build_taken(self.function), offers)
        if self.buffers is not None:
            return Encoded(self.buffers.encoding, self.buffers.document(given, None, 1))
        tokens, parents = pair(given, "tokens", "parents", "build")
        return self.convention.built(tokens, parents, root)


def build_taken(function: Callable[..., Any]) -> frozenset[str]:
    """What a building function takes.

    Raises:
        UsageError: it needs something that is not known here.
    """
    return taken("build", function, ("draft", "root", "log_probs"))
