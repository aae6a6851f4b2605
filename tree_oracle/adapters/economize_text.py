"""Whole texts by the decoding loop of ``economize``, read through its drafter and its observers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tree_oracle.adapters.economize_session import HandedOver, draft_of, most_new, stop_of, write_chains
from tree_oracle.adapters.engines import load_engine
from tree_oracle.record import Limits, Round
from tree_oracle.tree import CandidateTree


class Scripted(HandedOver):
    """A drafter that proposes what ``draft`` makes of the committed tokens of each row."""

    layer_span = (1, 0)  # it runs none of the target's layers
    footprint = None

    def __init__(self, draft: Callable[[Sequence[int]], CandidateTree], *, chain: bool) -> None:
        super().__init__(chain=chain)
        self._draft = draft

    def begin(self, *_: Any) -> None:
        """A text begins."""

    def observe(self, *_: Any) -> None:
        """A pass is over."""

    def propose(self, request: Any) -> Any:
        """The next trees."""
        rows = [request.seq[place, :end].tolist() for place, end in enumerate(request.ends)]
        draft = draft_of([self._draft(row) for row in rows], chain=self._chain)
        write_chains(draft, request.seq, request.ends)
        return draft


def generated(runner: Any, drafter: Any, config: Any, prompt: Sequence[int], limits: Limits) -> list[Round]:
    """One text, round by round.

    The first pass is over the prompt and verifies nothing. ``accepted`` is not shown where the text ends inside a path.
    """
    decoding, events = load_engine("economize", "decoding"), list[Any]()
    watched = _Watched(drafter)
    decoder = decoding.CycleDecoder(runner, watched, config, observers=[events.append])
    context = int(runner.adapter.config.max_position_embeddings)
    most = most_new(limits, len(prompt), context)
    with torch.no_grad():
        result = decoder.decode(torch.tensor(prompt), most, stop=stop_of(limits, len(prompt)))
    text, rounds = result.tokens.tolist(), list[Round]()
    for event, draft in zip(events, (None, *watched.drafts), strict=False):
        done = sum(len(round_.emitted) for round_ in rounds)
        rounds.append(_round(event, draft, tuple(prompt) + tuple(text[:done]), text[done:]))
    return rounds


class _Watched:
    """A drafter, noting what it proposes for the one row."""

    def __init__(self, drafter: Any) -> None:
        self._drafter = drafter
        self.drafts: list[CandidateTree] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._drafter, name)

    def propose(self, request: Any) -> Any:
        found = self._drafter.propose(request)
        count = found.lengths[0]
        tokens = found.tokens[0, :count].tolist()
        links = list(range(-1, count - 1)) if found.parents is None else found.parents[0, :count].tolist()
        root = int(request.seq[0, request.ends[0] - 1])
        self.drafts.append(CandidateTree([root, *tokens], [-1, *(link + 1 for link in links)]))
        return found


def _round(event: Any, draft: CandidateTree | None, prefix: tuple[int, ...], left: Sequence[int]) -> Round:
    emitted = tuple(left[: event.accepted + 1])
    if draft is None:
        return Round(emitted=emitted, prefix=prefix)
    tree: dict[str, Any] = {"tokens": tuple(draft.tokens.tolist()), "parents": tuple(draft.parents.tolist())}
    if len(emitted) <= event.accepted:
        return Round(emitted=emitted, prefix=prefix, **tree)
    path, here = list[int](), 0
    for token in emitted[:-1]:
        found = [int(child) for child in draft.children(here) if draft.tokens[child] == token]
        if not found:  # what it accepted is no path of its draft: the text will say whether it is right
            return Round(emitted=emitted, prefix=prefix, **tree)
        here = found[0]
        path.append(here)
    return Round(emitted=emitted, prefix=prefix, **tree, accepted=tuple(path), bonus=emitted[-1])
