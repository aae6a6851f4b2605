"""What can be wrong with an encoding handed in from outside: the encoding, its field, and the index at fault."""

from __future__ import annotations

from tree_oracle.record import TreeOracleError

Index = tuple[int, ...]


class InvalidEncoding(TreeOracleError, ValueError):
    """An encoding that describes no tree, or contradicts itself."""

    def __init__(self, encoding: str, field: str, index: Index | None, detail: str) -> None:
        where = field if index is None else f"{field}[{', '.join(map(str, index))}]"
        super().__init__(f"{encoding}: {where} {detail}")
        self.encoding = encoding
        self.field = field
        self.index = index  # into the field as handed in; None: no single entry is at fault
        self.detail = detail

    def __reduce__(self) -> tuple[type[InvalidEncoding], tuple[str, str, Index | None, str]]:
        return type(self), (self.encoding, self.field, self.index, self.detail)


class MalformedEncoding(InvalidEncoding):
    """A field of another type, dtype or shape, or an entry that its form has no meaning for: nothing can be read there.

    Any other ``InvalidEncoding`` was read, and says something that no tree says.
    """
