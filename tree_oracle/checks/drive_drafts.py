"""What a decoder asks of a drafter, and the rounds that this shows: no knowledge of the decoder is needed.

Every draft is asked for with everything committed so far, so two requests in a row show what the round between them emitted,
and the tree that was handed over is the tree of that round. What stood there before the first request came without a draft.
"""

from __future__ import annotations

from collections.abc import Sequence

from tree_oracle.checks.handing import Draft
from tree_oracle.record import Round
from tree_oracle.tree import CandidateTree

Asked = tuple[tuple[int, ...], CandidateTree]


class Watched:
    """A drafter that remembers what it was asked and what it answered."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self.asked: list[Asked] = []

    def __call__(self, prefix: Sequence[int]) -> CandidateTree:
        committed = tuple(int(token) for token in prefix)
        tree = self._draft(committed)
        self.asked.append((committed, tree))
        return tree


def rounds_by_requests(
    asked: Sequence[Asked], prompt: tuple[int, ...], text: tuple[int, ...]
) -> tuple[Round, ...] | None:
    """The rounds behind a text; None where the requests do not lie along it, one after the other."""
    whole, starts = (*prompt, *text), [len(committed) for committed, _ in asked]
    along = all(committed == whole[: len(committed)] for committed, _ in asked)
    if not asked or not along or starts[0] < len(prompt) or starts != sorted(set(starts)):
        return None
    before = whole[len(prompt) : starts[0]]
    rounds = [Round(emitted=before, prefix=prompt)] if before else []
    for (committed, tree), end in zip(asked, [*starts[1:], len(whole)], strict=True):
        shown = tree.to_data()
        emitted = whole[len(committed) : end]
        if emitted:  # a round that was asked for and not run emits nothing, and shows nothing
            rounds.append(Round(emitted=emitted, prefix=committed, tokens=shown.tokens, parents=shown.parents))
    return tuple(rounds)
