"""Drafts over few tokens, full of exact ties, tokens that are never proposed and edges of probability 1.

A law comes from probability 1 on one token by halving: one token gives half of its probability to a token that has none. So
every law sums to one, and every probability is a power of two. Laws are drawn few and used often: nodes with equal children
below different parents are what wakes faults. Shrinks to one certain token.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tree_oracle.record import DraftData, UsageError

_LARGEST = 8  # tokens; a law over more than ten could need more halvings than a digit can say
_LAWS = 3


def draft_tables(*, max_vocab: int = _LARGEST, max_depth: int = 3) -> st.SearchStrategy[DraftData]:
    """A draft of two to ``max_vocab`` tokens with laws of its own for up to ``max_depth`` depths.

    Raises:
        UsageError: not 2 <= max_vocab <= 8, or ``max_depth`` is below 1.
    """
    if not 2 <= max_vocab <= _LARGEST or max_depth < 1:
        raise UsageError(f"max_vocab {max_vocab} and max_depth {max_depth}; expected 2 to {_LARGEST}, and at least 1")
    return st.integers(2, max_vocab).flatmap(lambda vocab: _tables(vocab, max_depth))


@st.composite
def _tables(draw: st.DrawFn, vocab: int, max_depth: int) -> DraftData:
    laws = draw(st.lists(_laws(vocab), min_size=1, max_size=_LAWS))
    below = st.lists(st.sampled_from(laws), min_size=1, max_size=vocab).map(tuple)
    return DraftData(tuple(draw(st.lists(below, min_size=1, max_size=max_depth))))


@st.composite
def _laws(draw: st.DrawFn, vocab: int) -> str:
    order = draw(st.permutations(range(vocab)))
    halvings = {order[0]: 0}
    for taker, pick in zip(order[1:], draw(st.lists(st.integers(0, vocab - 1), max_size=vocab - 1)), strict=False):
        giver = order[min(pick, len(halvings) - 1)]
        halvings[giver] += 1
        halvings[taker] = halvings[giver]
    return "".join(str(halvings.get(token, "-")) for token in range(vocab))
