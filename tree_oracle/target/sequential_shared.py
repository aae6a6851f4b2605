"""Layer 2 of the truth: the rows of layer 1 for less work, still without any tree mask.

Histories are sorted as token lists. One that is a prefix of its successor needs no run of its own, because one forward pass
gives every row of one sequence. What all remaining ones begin with is run once; its cache is repeated over them; the rest
of each is padded on the right and run in one maskless causal pass. Padding after a sequence's last token cannot be seen by
it. A model whose cache cannot be repeated runs all sequences padded from scratch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from tree_oracle.record import Unsupported
from tree_oracle.target.compat import forward_with_cache, layer_tensors, new_cache
from tree_oracle.target.sequential_naive import History, ids_of, plain_logits, widened

# Tokens in one batch, prefix included: keeps the logits of a batch of long sequences within memory.
BATCH_TOKENS = 2**15

_PADDING = 0  # any token: nothing sees it

Runs = Mapping[History, Sequence[History]]  # each sequence to be run, with the histories to be read off it


def shared_rows(model: Any, histories: Sequence[History], *, cached: bool = True) -> Float[np.ndarray, "k vocab"]:
    """The row after each history, in the model's own dtype, widened to float64. ``cached=False`` pads from scratch."""
    rows: dict[History, Float[np.ndarray, " vocab"]] = {}
    for runs in _batches(_runs(histories)):
        rows.update(_run(model, runs, cached=cached))
    return np.stack([rows[history] for history in histories])


def _runs(histories: Sequence[History]) -> dict[History, list[History]]:
    """The histories that are no prefix of another one, in order, each with those that are a prefix of it, itself included."""
    runs: dict[History, list[History]] = {}
    longest: History = ()
    for history in sorted(set(histories), reverse=True):  # extensions of a history stand right after it in order
        if longest[: len(history)] != history:
            longest = history
        runs.setdefault(longest, []).append(history)
    return runs


def _batches(runs: Runs) -> Iterator[dict[History, Sequence[History]]]:
    batch: dict[History, Sequence[History]] = {}
    for sequence, read in runs.items():
        if batch and (len(batch) + 1) * max(map(len, [*batch, sequence])) > BATCH_TOKENS:
            yield batch
            batch = {}
        batch[sequence] = read
    yield batch


def _run(model: Any, runs: Runs, *, cached: bool) -> dict[History, Float[np.ndarray, " vocab"]]:
    sequences = list(runs)
    common = _common_prefix(sequences[0], sequences[-1]) if len(sequences) > 1 and cached else ()
    prefilled = _prefill(model, common) if common else None
    if prefilled is None:
        return _read(runs, plain_logits(model, ids_of(model, _padded(sequences))), skipped=0)
    prefix_logits, cache = prefilled
    cache.batch_repeat_interleave(len(sequences))
    logits = forward_with_cache(model, ids_of(model, _padded([s[len(common) :] for s in sequences])), cache=cache)
    return _read({common: _within(common, runs)}, prefix_logits, skipped=0) | _read(runs, logits, skipped=len(common))


def _prefill(model: Any, prefix: History) -> tuple[Float[Tensor, "1 n vocab"], Any] | None:
    """One pass over the prefix with a cache, or None where the cache is not one row of keys and values per token and layer."""
    cache = new_cache()
    try:
        logits = forward_with_cache(model, ids_of(model, [prefix]), cache=cache)
        rows = layer_tensors(cache)
    except (TypeError, Unsupported):  # the model takes no such cache, or keeps something else in it
        return None
    whole = len(rows) == model.config.num_hidden_layers and all(
        keys.shape[2] == values.shape[2] == len(prefix) for keys, values in rows
    )
    return (logits, cache) if whole else None


def _read(
    runs: Runs, logits: Float[Tensor, "k n vocab"], *, skipped: int
) -> dict[History, Float[np.ndarray, " vocab"]]:
    """The wanted rows of a pass over ``runs`` less their first ``skipped`` tokens."""
    wanted = [(at, history) for at, read in enumerate(runs.values()) for history in read if len(history) > skipped]
    if not wanted:
        return {}
    rows = widened(logits[[at for at, _ in wanted], [len(history) - 1 - skipped for _, history in wanted]])
    return {history: row for (_, history), row in zip(wanted, rows, strict=True)}


def _within(prefix: History, runs: Runs) -> list[History]:
    return [history for read in runs.values() for history in read if len(history) <= len(prefix)]


def _common_prefix(first: History, last: History) -> History:
    """What all sequences between two sorted ones begin with."""
    pairs = zip(first, last, strict=False)
    return first[: next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(first), len(last)))]


def _padded(sequences: Sequence[History]) -> list[History]:
    longest = max(map(len, sequences))
    return [sequence + (_PADDING,) * (longest - len(sequence)) for sequence in sequences]
