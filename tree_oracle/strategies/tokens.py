"""Token ids and prefixes. Small ids are drawn far more often than their share: labels repeat in any vocabulary."""

from __future__ import annotations

from hypothesis import strategies as st

from tree_oracle.record import UsageError

# Three ids are enough for a node to have a sibling that differs, a sibling that is equal and a cousin that is equal.
_FEW = 3


def token_ids(vocab_size: int) -> st.SearchStrategy[int]:
    """A token of the vocabulary, often one of the first three; shrinks to 0.

    Raises:
        UsageError: ``vocab_size`` is below 1.
    """
    if vocab_size < 1:
        raise UsageError(f"vocab_size is {vocab_size}; expected at least 1")
    return st.integers(0, min(_FEW, vocab_size) - 1) | st.integers(0, vocab_size - 1)


def prefixes(*, vocab_size: int, min_size: int = 1, max_size: int = 8) -> st.SearchStrategy[tuple[int, ...]]:
    """Committed tokens, the root last; shrinks to ``min_size`` zeros.

    Raises:
        UsageError: not 1 <= min_size <= max_size, or ``vocab_size`` is below 1.
    """
    if not 1 <= min_size <= max_size:
        raise UsageError(f"prefixes of {min_size} to {max_size} tokens; expected 1 <= min_size <= max_size")
    return st.lists(token_ids(vocab_size), min_size=min_size, max_size=max_size).map(tuple)
