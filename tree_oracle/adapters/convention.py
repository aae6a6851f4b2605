"""How the functions of a project state trees, masks, positions, accepted paths and texts, and how that becomes our form.

    stated                                          in our form
    root_counted=False         node v               node v + 1; the root, -1, becomes 0
    prefix_counts_root=False   prefix length c      c + 1
    root_in_pass=False         m rows of a mask     a row for the root before them, which sees the prefix and itself
    prefix_columns=False       no prefix columns    visible columns before the others
    keys_first=True            [key, query]         [query, key]
    positions="offset"         depth                len(prefix) - 1 + depth
    mask                       the name of the field, which is its polarity: ``visible``, ``hidden`` or ``additive``
    root_in_path=True          root, a, b           a, b
    padded=True                a, b, -1, -1         a, b
    prompt_in_text=True        prompt and text      text

Nothing is guessed from values: what a project has is said here once, and the doctor tries the others where answers do not fit.
What is not of the form that was said is handed on as it is, to be refused at the border with its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from tree_oracle.checks import answers
from tree_oracle.record import AdapterError, UsageError
from tree_oracle.tree import CandidateTree

_FLAG = (True, False)
_VALUES: dict[str, tuple[Any, ...]] = {"mask": ("visible", "hidden", "additive"), "positions": ("absolute", "offset")}
_ATTENDS = {"visible": 1, "hidden": 0, "additive": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """What a project means by what it takes and gives; by default what this project means.

    Raises:
        UsageError: a value that is none of a field's.
    """

    root_counted: bool = True  # nodes are numbered with the root as node 0; else the first candidate is node 0
    prefix_counts_root: bool = True  # the prefix length that functions take counts the last committed token
    root_in_pass: bool = True  # masks and positions have an entry for the root; else its row is the prefix's last
    mask: str = "visible"
    prefix_columns: bool = True
    keys_first: bool = False
    positions: str = "absolute"
    root_in_path: bool = False
    padded: bool = False
    prompt_in_text: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value, known = getattr(self, field.name), _VALUES.get(field.name, _FLAG)
            if not any(value is one or (value == one and isinstance(value, str)) for one in known):
                raise UsageError(f"{field.name} is {value!r}; expected one of {', '.join(map(repr, known))}")

    def others(self) -> Iterator[tuple[str, Convention]]:
        """Every convention that differs in one field, with that field as one would write it."""
        for field in fields(self):
            for value in _VALUES.get(field.name, _FLAG):
                if value != getattr(self, field.name):
                    yield f"{field.name}={value!r}", replace(self, **{field.name: value})

    def prefix_len(self, length: int) -> int:
        """A number of committed tokens, the root among them, as the project counts it."""
        return length if self.prefix_counts_root else length - 1

    def listed(self, tree: CandidateTree) -> tuple[list[int], list[int], list[int]]:
        """Tokens, parents and depths as the project lists them."""
        first = 0 if self.root_counted else 1
        parents = [int(parent) - first for parent in tree.parents[first:]]
        return tree.tokens[first:].tolist(), parents, tree.depths[first:].tolist()

    def built(self, tokens: Any, parents: Any, root: int) -> tuple[Any, Any]:
        """Tokens and parents of a tree that a project built, below its root."""
        if self.root_counted:
            return tokens, parents
        listed, links = answers.integers(tokens, "tokens"), answers.integers(parents, "parents")
        return [root, *listed.tolist()], [-1, *(links + 1).tolist()]

    def layout(self, mask: Any, positions: Any, prefix_len: int) -> dict[str, Any]:
        """A layout as ``lay_out`` answers it."""
        return {"positions": self.placed(positions, prefix_len), self.mask: self.whole(mask, prefix_len)}

    def placed(self, positions: Any, prefix_len: int) -> np.ndarray:
        """One position per node, root first."""
        found = _flat(answers.array(positions, "positions"), 1)
        if self.positions == "offset":
            found = found + prefix_len - 1
        if self.root_in_pass or found.ndim != 1:
            return found
        return np.concatenate([[prefix_len - 1], found])

    def whole(self, mask: Any, prefix_len: int) -> np.ndarray:
        """One row per node, root first, and all columns, in the polarity that was said."""
        read = answers.array(mask, self.mask)
        found = _flat(_flagged(read) if self.mask != "additive" else read, 2)
        if found.ndim != 2:
            return found
        found = found.T if self.keys_first else found
        before = prefix_len - 1 + (not self.root_in_pass)
        if not self.prefix_columns:
            found = np.hstack([self._cells(found, len(found), before), found])
        if not self.root_in_pass:
            row = self._cells(found, 1, found.shape[1])
            row[:, before:] = self._hidden(found)
            found = np.vstack([row, found])
        return found

    def path(self, accepted: Any) -> list[int]:
        """An accepted path in our nodes.

        Raises:
            AdapterError: it is no list of integers, or does not begin with the root although it was said to.
        """
        path = answers.integers(_squeezed(accepted), "accepted").tolist()
        while self.padded and len(path) > self.root_in_path and path[-1] == -1:  # a root that is not counted is -1 too
            path.pop()
        first = 0 if self.root_counted else 1
        nodes = [node + first for node in path]
        if self.root_in_path:
            if nodes[:1] != [0]:
                raise AdapterError(f"accepted is {path}; expected the root first, as root_in_path=True says")
            nodes = nodes[1:]
        return nodes

    def text(self, output: Any, prompt: Sequence[int]) -> list[int]:
        """The emitted tokens of an output.

        Raises:
            AdapterError: it is no list of integers, or does not begin with the prompt although it was said to.
        """
        found: list[int] = answers.integers(_squeezed(output), "the text").tolist()
        if not self.prompt_in_text:
            return found
        if found[: len(prompt)] != list(prompt):
            raise AdapterError(
                f"the text begins with {found[:8]}; expected the prompt {list(prompt)[:8]}, as prompt_in_text=True says"
            )
        return found[len(prompt) :]

    def _cells(self, like: np.ndarray, rows: int, columns: int) -> np.ndarray:
        return np.full((rows, columns), _ATTENDS[self.mask], dtype=like.dtype)

    def _hidden(self, like: np.ndarray) -> Any:
        return np.finfo(like.dtype).min if like.dtype.kind == "f" else not _ATTENDS[self.mask]


def pair(answer: Any, first: str, second: str, what: str) -> tuple[Any, Any]:
    """Two things that a function gives, as a pair or under these names.

    Raises:
        AdapterError: it gives neither.
    """
    one, other = answers.field(answer, first), answers.field(answer, second)
    if one is not None and other is not None:
        return one, other
    if not isinstance(answer, Sequence) or isinstance(answer, Mapping | str | bytes) or len(answer) != 2:
        raise AdapterError(
            f"{what} gave {answers.short(answer)}; expected ({first}, {second}), or fields of these names"
        )
    return answer[0], answer[1]


def _flagged(mask: np.ndarray) -> np.ndarray:
    """Zeros and ones of any type as booleans: which of them attends has been said."""
    return mask.astype(np.bool_) if bool(((mask == 0) | (mask == 1)).all()) else mask


def _flat(found: np.ndarray, axes: int) -> np.ndarray:
    """Without the axes of size 1 that a batch of one request puts in front."""
    while found.ndim > axes and found.shape[0] == 1:
        found = found[0]
    return found


def _squeezed(values: Any) -> Any:
    """A row of numbers; what is none is left for the border to name."""
    found = answers.array(values, "the answer")
    return _flat(found, 1)
