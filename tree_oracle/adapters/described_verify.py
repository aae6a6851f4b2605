"""A project's own verification, described: a pure function of a tree and of rows that are handed over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from tree_oracle.adapters.arguments import TREE, ask, taken, tree_offers
from tree_oracle.adapters.chance import TorchChance
from tree_oracle.adapters.convention import Convention, pair
from tree_oracle.tree import CandidateTree

_GREEDY = (*TREE, "rows", "logits", "argmax")
_SAMPLED = (*TREE, "target", "draft", "coins")


@dataclass(frozen=True, slots=True)
class Verified:
    """``verify``: gives ``(accepted, bonus)``, or something with these names.

    It may ask for ``rows`` (numpy, n x vocabulary), ``logits`` (the same as a tensor) or ``argmax`` (a list): always of all
    nodes, root first, row v the law of the token after node v.
    """

    function: Callable[..., Any]
    convention: Convention

    def accept(self, tree: CandidateTree, rows: Any) -> tuple[list[int], Any]:
        """As the seam has it."""
        offers = tree_offers(tree, self.convention)
        offers |= {
            "rows": lambda: rows,
            "logits": lambda: torch.from_numpy(np.array(rows)),
            "argmax": lambda: np.asarray(rows).argmax(axis=1).tolist(),
        }
        return decided(ask(self.function, greedy_taken(self.function), offers), self.convention)


@dataclass(frozen=True, slots=True)
class VerifiedByChance:
    """``verify_sampled``: as ``verify``, from ``target`` and ``draft`` (numpy, probabilities at all nodes) and chance.

    Without a parameter ``coins`` it is taken to draw from torch's generators, which are scripted while it runs.
    """

    function: Callable[..., Any]
    convention: Convention

    def accept_sampled(
        self, tree: CandidateTree, target: Any, draft: Any, coins: Iterator[float]
    ) -> tuple[list[int], Any]:
        """As the seam has it."""
        wanted, offers = sampled_taken(self.function), tree_offers(tree, self.convention)
        offers |= {"target": lambda: target, "draft": lambda: draft, "coins": lambda: coins}
        if "coins" in wanted:
            return decided(ask(self.function, wanted, offers), self.convention)
        with TorchChance(coins):
            return decided(ask(self.function, wanted, offers), self.convention)


def greedy_taken(function: Callable[..., Any]) -> frozenset[str]:
    """What a greedy verification takes.

    Raises:
        UsageError: it needs something that is not known here.
    """
    return taken("verify", function, _GREEDY)


def sampled_taken(function: Callable[..., Any]) -> frozenset[str]:
    """What a verification by chance takes.

    Raises:
        UsageError: it needs something that is not known here.
    """
    return taken("verify_sampled", function, _SAMPLED)


def decided(given: Any, convention: Convention) -> tuple[list[int], Any]:
    """The accepted nodes in our numbers, and the bonus token.

    Raises:
        AdapterError: neither is there.
    """
    accepted, bonus = pair(given, "accepted", "bonus", "verify")
    return convention.path(accepted), bonus
