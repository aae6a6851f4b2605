"""Rows at the border of verification: one row of scores per node, that a choice can be read off.

A NaN compares false with everything, so an argmax over it accepts by accident; a row that is -inf everywhere forbids
every token and its argmax is an accident too. Both are refused. Single -inf are forbidden tokens. +inf is an
overflow: it is larger than every finite score, and the true order among several of them is lost, so they are equal.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from tree_oracle.record import TreeOracleError
from tree_oracle.tree import CandidateTree


class InvalidRows(TreeOracleError, ValueError):
    """Rows that do not fit the tree or choose nothing."""

    def __init__(self, node: int | None, detail: str) -> None:
        super().__init__(detail)
        self.node = node  # whose row is at fault; None: the whole array

    def __reduce__(self) -> tuple[type[InvalidRows], tuple[int | None, str]]:
        return InvalidRows, (self.node, str(self))


def check_rows(tree: CandidateTree, rows: Float[np.ndarray, "n vocab"]) -> None:
    """Refuse rows that no choice can be read off for every node of ``tree``.

    Raises:
        InvalidRows: not an n x vocab array of floats; a NaN; a row of -inf alone; a token of the tree outside the
        vocabulary.
    """
    _check_shape(len(tree), rows)
    _refuse(np.isnan(rows).any(axis=1), "holds NaN; expected scores that can be ordered")
    _refuse((rows == -np.inf).all(axis=1), "is -inf everywhere; expected at least one token that is not forbidden")
    outside = tree.tokens >= rows.shape[1]
    if outside.any():
        node = int(outside.argmax())
        raise InvalidRows(node, f"node {node} has token {tree.tokens[node]}, but rows have {rows.shape[1]} columns")


def _check_shape(n: int, rows: Float[np.ndarray, "n vocab"]) -> None:
    if not isinstance(rows, np.ndarray) or rows.dtype.kind != "f":
        kind = rows.dtype if isinstance(rows, np.ndarray) else type(rows).__name__
        raise InvalidRows(None, f"rows are {kind}; expected a numpy array of floats")
    if rows.ndim != 2 or len(rows) != n or rows.shape[1] == 0:
        raise InvalidRows(None, f"rows have shape {rows.shape}; expected ({n}, vocabulary), one row per node")


def _refuse(at_fault: np.ndarray, reason: str) -> None:
    if at_fault.any():
        node = int(at_fault.argmax())
        raise InvalidRows(node, f"row of node {node} {reason}")
