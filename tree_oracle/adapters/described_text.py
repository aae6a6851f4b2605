"""A project's own generation, described: a function of one prompt, with a callback for its rounds if it has one.

What the function has no parameter for, it cannot be asked for: limits that it does not take are refused, and a bound on the
whole length is handed over as a number of new tokens. Nothing is cut: a text that goes on after its end is the project's own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tree_oracle.adapters.arguments import Offers, ask, one_row, taken
from tree_oracle.adapters.chains import room_of
from tree_oracle.adapters.convention import Convention
from tree_oracle.adapters.described_rounds import Recorder
from tree_oracle.decoder import HalfRightDraft
from tree_oracle.record import EndReason, Limits, Unsupported
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree

Draft = Callable[[Sequence[int]], CandidateTree]
_ENDS = ("eos_ids", "eos_token_id")
_TEXT = (
    "prompt",
    "input_ids",
    "attention_mask",
    "max_new_tokens",
    "max_length",
    *_ENDS,
    "stop",
    "min_new_tokens",
    "model",
    "draft",
    "on_round",
)


def text_taken(function: Callable[..., Any]) -> frozenset[str]:
    """What a generating function takes.

    Raises:
        UsageError: it needs something that is not known here.
    """
    return taken("text", function, _TEXT)


@dataclass(frozen=True, slots=True)
class Generated:
    """``text``: gives the tokens of one prompt's text, a list or one row of a tensor."""

    function: Callable[..., Any]
    convention: Convention
    rounds: Mapping[str, str] | Callable[[Any], Any]
    target: Target

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[Any]:
        """As the seam has it: the rounds where there is a callback, otherwise the tokens."""
        return [self._one(list(prompt), limits, None) for prompt in prompts]

    def generate_on(self, prompts: Sequence[Sequence[int]], limits: Limits, draft: Draft | None = None) -> list[Any]:
        """The same on drafts that are handed over, where the function takes a ``draft``."""
        return [self._one(list(prompt), limits, draft) for prompt in prompts]

    def _one(self, prompt: list[int], limits: Limits, draft: Draft | None) -> Any:
        wanted = text_taken(self.function)
        _refuse(limits, wanted)
        recorder = Recorder(self.convention, self.rounds, prompt, cap=_cap(limits, prompt, wanted))
        offers: Offers = {
            **_bounds(limits, prompt, wanted),
            "prompt": lambda: list(prompt),
            "input_ids": lambda: one_row(prompt, self.target.model),
            "attention_mask": lambda: torch.ones_like(one_row(prompt, self.target.model)),
            "eos_ids": lambda: list(limits.eos_ids),
            "eos_token_id": lambda: next(iter(limits.eos_ids), None),
            "stop": lambda: [list(sequence) for sequence in limits.stop],
            "min_new_tokens": lambda: limits.min_new,
            "model": lambda: self.target.model,
            "draft": lambda: HalfRightDraft(self.target) if draft is None else draft,
            "on_round": lambda: recorder,
        }
        text = self.convention.text(ask(self.function, wanted, offers), prompt)
        return recorder.rounds(text) if "on_round" in wanted else text


def _bounds(limits: Limits, prompt: Sequence[int], wanted: Collection[str]) -> Offers:
    """The caps, each as it is where both are taken, and both as one where one is."""
    if "max_length" not in wanted:
        room = room_of(Limits(limits.max_new_tokens, max_length=limits.max_length), prompt)
        return {"max_new_tokens": lambda: room}
    if "max_new_tokens" in wanted:
        return {"max_new_tokens": lambda: limits.max_new_tokens, "max_length": lambda: limits.max_length}
    whole = len(prompt) + room_of(Limits(limits.max_new_tokens, max_length=limits.max_length), prompt)
    return {"max_length": lambda: whole}


def _cap(limits: Limits, prompt: Sequence[int], wanted: Collection[str]) -> EndReason:
    """What a cap is that the function says it has met: where it is handed one bound, this may be that of the whole length."""
    whole = limits.max_length is not None and limits.max_length - len(prompt) < limits.max_new_tokens
    return EndReason.CONTEXT if whole and not {"max_new_tokens", "max_length"} <= set(wanted) else EndReason.CAP


def _refuse(limits: Limits, wanted: Collection[str]) -> None:
    """Return if the function takes what the limits ask for."""
    if limits.eos_ids and not set(_ENDS) & set(wanted):
        raise Unsupported("this function takes no end tokens")
    if len(limits.eos_ids) > 1 and "eos_ids" not in wanted:
        raise Unsupported("this function takes one end token")
    if limits.stop and "stop" not in wanted:
        raise Unsupported("this function takes no stop sequences")
    if limits.min_new and "min_new_tokens" not in wanted:
        raise Unsupported("this function takes no minimum number of tokens")
    if not {"max_new_tokens", "max_length"} & set(wanted):
        raise Unsupported("this function takes no bound on its text")
