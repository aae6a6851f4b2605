"""Keys and values under which every bit of a mask, every key and every value stands out in half precision too.

Half precision is relative: among 2,000 keys the weight of one is lost beside 1, and is large beside nearly nothing. So values
are made for every row to be due nearly nothing. Every key is *light* or *heavy*: its score is -a or +a with a near 1/2, by its
sign in a key that all columns share; in every other head the query is turned round, and with it who is heavy. Values are codes
of 0, +1 and -1, drawn along the positions so that in every coordinate the running sums S- over light and S+ over heavy columns
never leave {-1, 0, 1}: a coordinate that is touched when its sum is 0 takes either sign, and else the sign that brings it back.
Through the nodes of a tree this goes on from each node's parent. The row of node v is then

    out = (e^-a S-  +  e^a S+) / Z,   Z the sum of all weights,   |S-|, |S+| <= 1, and <= 2 where a window cuts the path,

and so is small. Rounding, being relative, moves it by a small part of e^a / Z, while one key too many or too few, or another
key or value in its place, moves some of its coordinates by at least about (e^a - 1) / Z where the key is heavy. Two columns
have the same code with chance (3/8)^width, so which column it was can be read off (``attend_bits``).

All entries are powers of two, exact in every dtype in use.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from tree_oracle.checks.attend_arrays import Inputs, raw_bits
from tree_oracle.record import AttendData

_SCORE = 0.5  # that a score is at most: light keys must weigh enough to be told, and heavy ones must differ from a key of zeros


def balanced(sizes: AttendData, parents: tuple[int, ...]) -> Inputs:
    """The arrays over the first tree's nodes."""
    columns = sizes.prefix_len - 1 + len(parents)
    shape = (sizes.groups, columns, sizes.width)
    bits = raw_bits(sizes.salt, sizes.groups * (columns + sizes.width) + 2 * int(np.prod(shape)))
    heavy, shared, touched, signs = np.split(
        bits, np.cumsum([sizes.groups * columns, sizes.groups * sizes.width, int(np.prod(shape))])
    )
    weighty = heavy.reshape(sizes.groups, columns)
    common = _signs(shared).reshape(sizes.groups, 1, sizes.width)
    drawn = _signs(signs).reshape(shape)
    v = np.stack(
        [_codes(weighty[group], touched.reshape(shape)[group], drawn[group], parents) for group in range(sizes.groups)]
    )
    k = _signs(weighty)[:, :, None] * common
    strength = np.float32(2.0 ** np.floor(np.log2(_SCORE / np.sqrt(sizes.width))))
    turned = _signs(np.arange(sizes.heads) % 2 == 0)
    q = strength * turned[:, None, None] * common[np.arange(sizes.heads) * sizes.groups // sizes.heads]
    return Inputs(np.repeat(q, len(parents), axis=1), k, v)


def _codes(
    weighty: Int[np.ndarray, " columns"],
    touched: Int[np.ndarray, "columns width"],
    signs: Float[np.ndarray, "columns width"],
    parents: tuple[int, ...],
) -> Float[np.ndarray, "columns width"]:
    """Codes whose sums, of light and of heavy columns, stay within one along every path."""
    columns, width = touched.shape
    cached = columns - len(parents)
    codes = np.zeros((columns, width), dtype=np.float32)
    sums = np.zeros(
        (columns + 1, 2, width), dtype=np.float32
    )  # along the path to each column; the last: before the first
    for column in range(columns):
        before = column - 1 if column <= cached else cached + parents[column - cached]
        sums[column] = sums[before]
        mine = sums[column, weighty[column]]
        codes[column] = touched[column] * np.where(mine == 0, signs[column], -mine)
        mine += codes[column]
    return codes


def _signs(bits: np.ndarray) -> Float[np.ndarray, "*shape"]:
    return (2.0 * bits - 1.0).astype(np.float32)
