"""What a judge sees of an attention operator, beside ordinary attention of every node over its own keys in float64.

No mask has a part here: the keys of a node are listed by following parents, cut by the window, and summed over. The room that
an error has is measured for every case:

    room = 2 * (error of ordinary attention in the operator's dtype) + (what another way to compute it changes) + unit

in float64 on the same numbers, over the nodes that rounding moves most. The ways are those of real kernels: dividing before or
after the weighted sum, in one piece or in blocks, scaling the scores or the queries and keys before them, in several orders of
sums. The unit is one in the last place of the dtype at the largest number that is due in the case: two right answers may always
differ by that. The operator's own answers have no part in it, since a fault in them would make room for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import numpy as np
from jaxtyping import Float, Int

from tree_oracle.checks.attend_aimed import Aimed
from tree_oracle.checks.attend_arrays import Inputs
from tree_oracle.checks.attend_inputs import inputs_of
from tree_oracle.checks.view import View, branch, relation
from tree_oracle.record import Case, Round

Outputs = Float[np.ndarray, "heads n width"]
Own = list[Int[np.ndarray, " own"]]  # per node the columns that it may see
_BLOCK = 64  # keys summed at a time by the second order of sums; any size that cuts the keys will do
_UNITS = {"float64": 2.0**-52, "float32": 2.0**-23, "bfloat16": 2.0**-7, "float16": 2.0**-10}
_SAMPLED = 8  # nodes by which the noise of ordinary attention is measured
_ROWS = 64  # about how many rows of all heads these may be


@dataclass(frozen=True, slots=True)
class SeenAttention:
    """One call: what was answered and what is due."""

    index: int  # of the round
    parents: tuple[int, ...]
    inputs: Inputs
    own: Own
    out: Outputs
    due: Outputs
    room: float  # the largest error of a number that is no fault

    @property
    def cached(self) -> int:
        """Columns before the nodes."""
        return int(self.inputs.k.shape[1]) - len(self.parents)

    def wrong_rows(self) -> Iterator[tuple[int, int]]:
        """Heads and nodes of the rows that are off by more than rounding, by node."""
        off = np.abs(self.out - self.due).max(axis=-1)
        yield from ((head, node) for node, head in np.argwhere(~(self.room >= off.T)).tolist())

    def column(self, column: int, node: int) -> str:
        """In words, what a column is to a node."""
        if column < self.cached:
            return f"column {column} of the prefix"
        return f"node {column - self.cached}, {relation(self.parents, node, column - self.cached)}"


def seen_attention(view: View) -> Iterator[SeenAttention]:
    """The calls of one case, one per tree."""
    encoded = msgspec.json.encode(view.case)
    due = _due(encoded)
    for index, (round_, (own, outputs)) in enumerate(zip(view.rounds, due.trees, strict=True)):
        assert round_.parents is not None and round_.attended is not None
        room = room_of(encoded, round_.attended.dtype)
        yield SeenAttention(index, round_.parents, due.inputs, own, answered(round_), outputs, room)


def answered(round_: Round) -> Outputs:
    """What the operator answered, in float64."""
    assert round_.attended is not None
    return np.asarray(round_.attended.out.numpy(), dtype=np.float64)


def own_columns(case: Case, parents: Sequence[int]) -> Own:
    """Per node the cached prefix and its own branch, of which a window keeps the newest positions."""
    assert case.attend is not None
    cached, window = case.attend.prefix_len - 1, case.attend.window
    found = []
    for node in range(len(parents)):
        path = [cached + other for other in branch(parents, node)]
        every = np.concatenate([np.arange(cached), path])  # in the order of positions
        found.append(every[-window:] if window else every)
    return found


def ordinary(inputs: Inputs, own: Own) -> Outputs:
    """Softmax attention of every node over its own columns, in float64 and without a mask."""
    heads, n, width = inputs.q.shape
    groups = [inputs.group(head) for head in range(heads)]
    scores = inputs.q.astype(np.float64) @ inputs.k.astype(np.float64)[groups].transpose(0, 2, 1) / np.sqrt(width)
    values = inputs.v.astype(np.float64)[groups]
    out = np.empty((heads, n, width))
    for node, columns in enumerate(own):
        weights = _softmax(scores[:, node, columns])
        out[:, node] = (weights[:, None] @ values[:, columns])[:, 0]
    return out


class Way(StrEnum):
    """One way in which kernels compute attention."""

    DIVIDED = "weights divided first, one sum"
    BLOCKS = "sums over blocks, divided at the end by a total that grew key by key"
    SCALED = "queries and keys scaled before their product, which grew element by element"


def in_dtype(inputs: Inputs, own: Own, nodes: Sequence[int], dtype: str, way: Way) -> Outputs:
    """Attention of some nodes as a kernel may compute it: weights and outputs in the dtype, sums in float32 at least."""
    kind: Any = np.float64 if dtype == "float64" else np.float32
    groups = [inputs.group(head) for head in range(len(inputs.q))]
    root = float(inputs.q.shape[-1]) ** -0.25
    out = []
    for node in nodes:
        keys, values = (np.asarray(rows[:, own[node]][groups], dtype=kind) for rows in (inputs.k, inputs.v))
        query = np.asarray(inputs.q[:, node, None], dtype=kind)
        if way is Way.SCALED:
            scores = np.cumsum(keys * root * (query * root), axis=-1)[None, ..., -1].transpose(1, 0, 2)
        else:
            scores = query @ keys.transpose(0, 2, 1) * root**2
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        if way is Way.BLOCKS:
            total = np.cumsum(weights, axis=-1)[..., -1:]
            pieces = (slice(first, first + _BLOCK) for first in range(0, weights.shape[-1], _BLOCK))
            out.append(
                np.asarray(sum(rounded(weights[..., piece], dtype) @ values[:, piece] for piece in pieces) / total)
            )
        else:
            out.append(rounded(weights / weights.sum(axis=-1, keepdims=True), dtype) @ values)
    return rounded(np.concatenate(out, axis=1), dtype).astype(np.float64)


def rounded(numbers: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers that the dtype holds nearest to these (ties to even), in the array's own type."""
    if dtype == "bfloat16":
        bits = np.ascontiguousarray(numbers, dtype=np.float32).view(np.uint32)
        bits = (bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
        return bits.view(np.float32)
    return numbers.astype(np.float16).astype(numbers.dtype) if dtype == "float16" else numbers


class _Due(NamedTuple):
    """What is due in one case: the same for every check and every operator."""

    inputs: Inputs
    trees: list[tuple[Own, Outputs]]


@lru_cache(maxsize=128)
def _due(encoded: bytes) -> _Due:
    case = msgspec.json.decode(encoded, type=Case)
    inputs = inputs_of(case)
    every = [own_columns(case, tree.parents) for tree in case.trees]
    return _Due(inputs, [(own, ordinary(inputs, own)) for own in every])


@lru_cache(maxsize=256)
def room_of(encoded: bytes, dtype: str) -> float:
    """The largest error of a number that is no fault, for a case (its JSON) and a dtype."""
    due = _due(encoded)
    own, outputs = due.trees[0]
    most = max(1, min(_SAMPLED, _ROWS // len(outputs)))
    nodes = np.argsort(-_moved(due.inputs, outputs))[:most].tolist()
    ways = np.stack([in_dtype(due.inputs, own, nodes, dtype, way) for way in Way])
    unit = _UNITS[dtype] * max(_largest(rows) for _, rows in due.trees)
    return 2 * _largest(ways - outputs[:, nodes]) + _largest(ways - ways[0]) + unit


def _moved(inputs: Inputs, outputs: Outputs) -> Float[np.ndarray, " n"]:
    """How much rounding may move a node: by errors of scores where outputs are weights, else in proportion to its outputs."""
    each = outputs * (1 - outputs) if isinstance(inputs, Aimed) else np.abs(outputs)
    return np.asarray(each.max(axis=(0, 2)))


def _largest(differences: np.ndarray) -> float:
    return float(np.abs(differences).max())


def _softmax(scores: Float[np.ndarray, "heads own"]) -> Float[np.ndarray, "heads own"]:
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    # The smallest first: beside a key that takes nearly everything the others would be rounded away one by one.
    return np.asarray(weights / np.sort(weights, axis=-1).sum(axis=-1, keepdims=True))
