"""Made-up rows for ``accept``: a decision then depends on nothing but the decider.

*Marked* rows: the choices of all rows are different tokens, so that every token of an answer tells which row it was chosen
with. *Close* rows: marked ones, each choice less above its neighbours than half precision can tell. *Tied* rows: along the
branch to the goal the right token is the smallest of several bit-equal maxima.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from tree_oracle.checks.view import branch
from tree_oracle.record import TreeData

_HIGH = 8.0  # above every other entry of a made-up row; small integers are exact in every dtype
# At 8 a float16 has steps of 2^-7 and a bfloat16 of 2^-4; a float32 of 2^-20, so that a softmax in it keeps the difference.
_CLOSE = 2.0**-10


def marks(tree: TreeData, goal: int, order: Sequence[int]) -> tuple[int, ...]:
    """Per node the token that its row chooses, all different as far as the vocabulary allows.

    On the branch to the goal each row chooses the next node of the branch. All other rows take, in ``order``, tokens that no
    row has taken; the tokens of the tree come first, since a row that chooses some node's token is what misleads.
    """
    path = branch(tree.parents, goal)
    chosen = {above: tree.tokens[below] for above, below in zip(path, path[1:], strict=False)}
    ranked = [t for t in order if t in tree.tokens] + [t for t in order if t not in tree.tokens]
    free = [t for t in ranked if t not in chosen.values()]
    for node in range(len(tree.tokens)):
        if node not in chosen:
            below = {tree.tokens[v] for v in range(len(tree.tokens)) if tree.parents[v] == node}
            token = next((t for t in free if t not in below), free[0])
            free.remove(token)
            chosen[node] = token
    return tuple(chosen[node] for node in range(len(tree.tokens)))


def marked_rows(choices: Sequence[int], vocab_size: int) -> Float[np.ndarray, "n vocab"]:
    """Rows whose maximum stands at the given tokens; the rest is a gentle slope without ties."""
    rows = np.tile(np.linspace(0.0, 1.0, vocab_size, dtype=np.float32), (len(choices), 1))
    rows[np.arange(len(choices)), list(choices)] = _HIGH
    return rows


def close_rows(choices: Sequence[int], vocab_size: int) -> Float[np.ndarray, "n vocab"]:
    """Marked rows in which the tokens before and after the choice come so close that they tie in half precision."""
    rows = marked_rows(choices, vocab_size)
    for row, choice in zip(rows, choices, strict=True):
        row[max(choice - 1, 0) : choice + 2] = _HIGH
        row[choice] += _CLOSE
    return rows


def tied_rows(tree: TreeData, goal: int, vocab_size: int) -> Float[np.ndarray, "n vocab"]:
    """Rows in which the next token of the branch to the goal ties with every larger token id."""
    rows = np.zeros((len(tree.tokens), vocab_size), dtype=np.float32)
    path = branch(tree.parents, goal)
    for above, below in zip(path, path[1:], strict=False):
        rows[above, tree.tokens[below] :] = _HIGH
    return rows
