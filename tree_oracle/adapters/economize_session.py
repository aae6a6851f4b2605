"""The decoding loop of ``economize``, one cycle at a time, on trees that are handed over.

Its nodes are counted without the root: node i there is node i + 1 here. Its loop begins with a pass over the whole prompt,
whose row gives the first token without a draft. A session here begins one token earlier, with the prompt's last token as the
root of the first tree, as it is in every later round: the pass over the prompt leaves that token out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tree_oracle.adapters.chains import chain_tokens, refuse_minimum
from tree_oracle.adapters.engines import load_engine
from tree_oracle.record import EndReason, Limits, Unsupported
from tree_oracle.tree import CandidateTree

CYCLE = 5  # tokens per cycle: drafts of up to four levels
_NODES = 512  # room in its cache for the largest tree


class HandedOver:
    """What its loop asks of a drafter, where drafts come from outside."""

    observed_layers = ()

    def __init__(self, *, chain: bool) -> None:
        self._chain = chain

    def drafts_trees(self, verifier: object) -> bool:
        """Whether its verifier has to take trees."""
        return not self._chain

    def draft_capacity(self, cycle_length: int) -> int:
        """How many nodes its cache must have room for beyond the text."""
        return _NODES

    def reorder(self, rows: object) -> None:
        """Requests leave; nothing is kept by request."""


class EconomizeSession:
    """Requests in one batch; those that end leave it."""

    def __init__(
        self, decoder: Any, context: int, prompts: Sequence[Sequence[int]], limits: Limits, *, chain: bool
    ) -> None:
        self._passes, self._commit = (
            load_engine("economize", "decoding.passes"),
            load_engine("economize", "decoding.commit"),
        )
        self._limits, self._chain, self._lengths = limits, chain, [len(prompt) for prompt in prompts]
        self._batch = _batch_of(decoder, context, prompts, limits)
        self._choices = _Choices(self._batch.verifier)
        self._batch.verifier = self._choices
        self._caches: list[Any] = []
        self._prefill()

    def step(self, trees: Sequence[CandidateTree]) -> list[dict[str, Any]]:
        """One pass, one decision and one commit for every request."""
        batch = self._batch
        draft = draft_of(trees, chain=self._chain)
        write_chains(draft, batch.seq, batch.ends)
        run = self._passes.tree_pass if draft.is_tree else self._passes.chain_pass
        current, before = run(batch, draft), list(batch.ends)
        finished, _ = self._commit.verify_and_commit(batch, current)
        shown = [
            self._round(current, place, len(tree), before[place], finished[place]) for place, tree in enumerate(trees)
        ]
        self._caches = [self._cache(place) for place in range(len(trees))]
        batch.drop(finished)
        return shown

    def drop(self, places: Sequence[int]) -> None:
        """Requests leave before they have ended."""
        self._batch.drop([place in places for place in range(len(self._batch.rows))])

    def cache(self) -> list[Any]:
        """Keys and values of every layer, of every request of the last step."""
        return self._caches

    def _prefill(self) -> None:
        batch, ends = self._batch, list(self._batch.ends)
        if max(ends) > 1:
            if min(ends) == 1:
                raise Unsupported(
                    "its pass over the prompts takes no row without a token, so no prompt of one beside longer"
                )
            batch.prompt_lengths = [end - 1 for end in ends]
            self._passes.prefill(batch)
            batch.prompt_lengths = ends
        batch.starts = [end - 1 for end in ends]

    def _round(self, current: Any, place: int, nodes: int, before: int, finished: bool) -> dict[str, Any]:
        batch = self._batch
        emitted = batch.seq[place, before : batch.ends[place]].tolist()
        accepted, bonus = self._choices.of(place)
        shown = {
            "emitted": emitted,
            "accepted": accepted,
            "bonus": bonus,
            "rows": current.logits[place, :nodes].clone(),
            "positions": current.exact.context.positions[place, :nodes].clone(),
            "visible": _visible(current.exact.context, place, nodes, before - 1),
            "end": self._end(place) if finished else None,
        }
        return {name: value for name, value in shown.items() if value is not None}

    def _end(self, place: int) -> EndReason:
        """It says that a request has ended, and not why."""
        batch, limits = self._batch, self._limits
        length = self._lengths[batch.rows[place]]
        text = tuple(batch.seq[place, length : batch.ends[place]].tolist())
        if text[-1:] and text[-1] in limits.eos_ids:
            return EndReason.EOS
        if any(text[-len(sequence) :] == sequence for sequence in limits.stop):
            return EndReason.STOP
        return EndReason.CAP if len(text) == limits.max_new_tokens else EndReason.CONTEXT

    def _cache(self, place: int) -> list[tuple[Any, Any]]:
        batch = self._batch
        layers = [batch.cache.read(layer) for layer in range(batch.num_layers)]
        return [tuple(part[place, :, : batch.starts[place]].clone() for part in layer) for layer in layers]


class _Choices:
    """Its verifier, noting what it decides."""

    def __init__(self, verifier: Any) -> None:
        self._verifier = verifier
        self._paths: list[list[int]] = []
        self._tokens: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._verifier, name)

    def of(self, place: int) -> tuple[list[int], int]:
        """The decision on one request of the last step."""
        return nodes_of(self._paths[place]), int(self._tokens[place])

    def verify_tree(self, *given: Any) -> Any:
        self._paths, self._tokens = self._verifier.verify_tree(*given)
        return self._paths, self._tokens

    def verify_batch(self, *given: Any) -> Any:
        accepted, tokens = self._verifier.verify_batch(*given)
        self._paths, self._tokens = [list(range(count)) for count in accepted.tolist()], tokens.tolist()
        return accepted, tokens


def draft_of(trees: Sequence[CandidateTree], *, chain: bool) -> Any:
    """Trees as it holds them: one row each, without the root, padded with -1.

    Raises:
        Unsupported: a chain is asked for, and a tree has branches.
    """
    kind = load_engine("economize", "decoding").Draft
    rows = [chain_tokens(tree) if chain else tree.tokens[1:].tolist() for tree in trees]
    width = max(map(len, rows))
    if not width:
        return kind.empty(len(trees), "cpu")
    links = None if chain else _padded([(tree.parents[1:] - 1).tolist() for tree in trees], width)
    return kind(_padded(rows, width), [len(row) for row in rows], links)


def write_chains(draft: Any, text: Any, ends: Sequence[int]) -> None:
    """Its pass over a chain reads the drafts where its drafters write them: in the text, behind what is committed."""
    if not draft.is_tree:
        for place, (count, end) in enumerate(zip(draft.lengths, ends, strict=True)):
            text[place, end : end + count] = draft.tokens[place, :count]


def nodes_of(path: Sequence[int]) -> list[int]:
    """Its path, in nodes counted with the root."""
    return [int(node) + 1 for node in path]


def stop_of(limits: Limits, prompt: int) -> Any:
    """The limits as it takes them: end tokens, or a function of all tokens so far."""
    if not limits.stop:
        return limits.eos_ids

    def stops(row: Any) -> bool:
        text = tuple(row[prompt:].tolist())
        return text[-1] in limits.eos_ids or any(text[-len(sequence) :] == sequence for sequence in limits.stop)

    return stops


def most_new(limits: Limits, prompt: int, context: int) -> int:
    """The number of new tokens that it is allowed, which its cache is sized by.

    Raises:
        Unsupported: a minimum is asked for.
    """
    refuse_minimum(limits)
    length = context if limits.max_length is None else min(context, limits.max_length)
    return max(min(limits.max_new_tokens, length - prompt), 0)


def _batch_of(decoder: Any, context: int, prompts: Sequence[Sequence[int]], limits: Limits) -> Any:
    decoding = load_engine("economize", "decoding")
    state: Callable[..., Any] = load_engine("economize", "decoding.generation").Generation
    selector = decoding.GreedySelector()
    return state(
        decoder,
        [torch.tensor(prompt) for prompt in prompts],
        [most_new(limits, len(prompt), context) for prompt in prompts],
        [selector] * len(prompts),
        [decoding.StopChecker(stop_of(limits, len(prompt))) for prompt in prompts],
        selector,
    )


def _visible(context: Any, place: int, nodes: int, cached: int) -> Any:
    """The mask that full layers were handed; None where there are none.

    Raises:
        RuntimeError: a node sees a slot that holds neither the prefix nor a node.
    """
    adapter = context.adapter
    specs = [adapter.attention_spec(layer) for layer in range(1, adapter.num_layers + 1)]
    spec = next((spec for spec in specs if spec.kind == "full"), None)
    if spec is None:
        return None
    mask = context.mask(spec, context.positions.device)[place, 0, :nodes]
    seen = mask if mask.dtype == torch.bool else mask == 0
    if bool(seen[:, cached + nodes :].any()):
        raise RuntimeError("a node sees slots of the cache that hold nothing of this round")
    return seen[:, : cached + nodes].clone()


def _padded(rows: Sequence[Sequence[int]], width: int) -> Any:
    return torch.tensor([[*row, *[-1] * (width - len(row))] for row in rows])
