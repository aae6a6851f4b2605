"""What adapters of chain decoders share: a tree read as a chain, laws read as models, drafts that are right in part."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tree_oracle.record import Limits, Unsupported
from tree_oracle.tree import CandidateTree

NextLaw = Callable[[Sequence[int]], Any]


def chain_tokens(tree: CandidateTree) -> list[int]:
    """The tokens below the root of a tree with one branch.

    Raises:
        Unsupported: it has several branches.
    """
    if any(int(parent) != node - 1 for node, parent in enumerate(tree.parents)):
        raise Unsupported("this engine verifies chains; the tree has branches")
    return [int(token) for token in tree.tokens[1:]]


def drafted_tokens(tree: CandidateTree) -> list[int]:
    """The same of a tree that has any: an engine's step verifies one token at least.

    Raises:
        Unsupported: it has several branches, or a root alone.
    """
    tokens = chain_tokens(tree)
    if not tokens:
        raise Unsupported("a step of this engine verifies one token at least")
    return tokens


def chain_path(count: int) -> list[int]:
    """The first ``count`` nodes of a chain."""
    return list(range(1, count + 1))


def room_of(limits: Limits, prompt: Sequence[int]) -> int:
    """How many tokens the caps allow; what an engine has one bound for.

    Raises:
        Unsupported: stop sequences, which few engines know, or a minimum.
    """
    refuse_minimum(limits)
    if limits.stop:
        raise Unsupported("this engine has no stop sequences of tokens")
    room = limits.max_new_tokens
    return room if limits.max_length is None else max(min(room, limits.max_length - len(prompt)), 0)


def refuse_minimum(limits: Limits) -> None:
    """Return if no end token is ruled out; to emit one all the same would be held against the engine.

    Raises:
        Unsupported: a minimum is asked for.
    """
    if limits.min_new:
        raise Unsupported("this adapter hands no minimum number of tokens to its engine")


class LawModel:
    """A law as an engine asks a model for it: the logits after every prefix of one row of token ids.

    The first token stands for a prompt, which the laws do not know.
    """

    def __init__(self, law: NextLaw) -> None:
        self._law = law

    def __call__(self, input_ids: Tensor, **_: Any) -> SimpleNamespace:
        history = input_ids[0].tolist()[1:]
        laws = np.array([self._law(history[:count]) for count in range(len(history) + 1)])
        return SimpleNamespace(logits=torch.from_numpy(laws).log()[None])


class HalfRightChain:
    """The target's own greedy text after one prompt, with a wrong token at every place where a sum of tokens is odd enough.

    For drafters that are asked by position: a draft is right for none, some or all of a block.
    """

    def __init__(self, model: Any, prompt: Sequence[int], count: int, vocab_size: int) -> None:
        self._text = list(prompt)
        self._vocab_size = vocab_size
        with torch.no_grad():
            for _ in range(count):
                ids = torch.tensor([self._text], device=model.device)
                self._text.append(int(model(input_ids=ids).logits[0, -1].argmax()))

    def tokens(self, start: int, count: int) -> list[int]:
        """The draft for the places ``start`` to ``start + count - 1`` of prompt and text."""
        return [self._token(place) for place in range(start, start + count)]

    def _token(self, place: int) -> int:
        known = self._text[place] if place < len(self._text) else 0
        spoiled = sum(self._text[: place + 1]) % 4 == 1
        return (known + 1) % self._vocab_size if spoiled else known


def spoiled(model: Any) -> Any:
    """A copy whose last row is moved by one token wherever its choice is a multiple of three."""
    drafter = copy.deepcopy(model)

    def spoil(_: Any, given: Any, output: Any) -> Any:
        last = output.logits[..., -1, :]
        output.logits[..., -1, :] = last.roll(int(last.argmax() % 3 == 0), -1)
        return output

    drafter.register_forward_hook(spoil)
    return drafter
