"""A project's own function called by the names of its parameters: they say what it takes.

``verify(tokens, parents, rows)`` is handed these three, in whatever order they stand. A parameter named after an encoding of
``tree_oracle.tree.formats`` (``child_maps``, ``leaf_paths``, ``links_global``: with underscores for dashes) is handed the tree
in it. Parameters with defaults that are not among the names keep their defaults.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch

from tree_oracle.adapters.convention import Convention
from tree_oracle.decoder.encoded import Writer
from tree_oracle.record import UsageError
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.formats import FORMATS

Offers = Mapping[str, Callable[[], Any]]

ENCODINGS = {name.replace("-", "_"): name for name in FORMATS if name != "parents"}
TREE = ("tree", "tokens", "parents", "depths", "root", *ENCODINGS)
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def taken(what: str, function: Callable[..., Any], names: Collection[str]) -> frozenset[str]:
    """Which of ``names`` the function takes.

    Raises:
        UsageError: it is none, its parameters cannot be read, or it needs one that is not among the names.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise UsageError(f"{what} is {function!r}, whose parameters cannot be read; wrap it in a lambda") from error
    for one in parameters:
        needed = one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        if needed and (one.name not in names or one.kind is one.POSITIONAL_ONLY):
            shown = [name for name in names if name not in ENCODINGS]
            more = ", or an encoding such as child_maps" if len(shown) < len(names) else ""
            raise UsageError(f"{what} takes {one.name!r}, which cannot be handed over; known: {', '.join(shown)}{more}")
    return frozenset(one.name for one in parameters if one.name in names and one.kind in _BY_NAME)


def ask(function: Callable[..., Any], wanted: Collection[str], offers: Offers) -> Any:
    """What the function gives, called by name."""
    return function(**{name: offers[name]() for name in wanted})


def tree_offers(tree: CandidateTree, convention: Convention, prefix_len: int = 1) -> dict[str, Callable[[], Any]]:
    """A tree under every name that a function may ask for it by; ``prefix_len`` counts the root.

    ``tokens``, ``parents`` and ``depths`` are lists as the convention has them.
    """
    tokens, parents, depths = convention.listed(tree)
    plain = {"tree": tree, "tokens": tokens, "parents": parents, "depths": depths, "root": int(tree.tokens[0])}
    offers = {name: (lambda value=value: value) for name, value in plain.items()}
    written = {name: (lambda kind=kind: Writer(kind)(tree, prefix_len)) for name, kind in ENCODINGS.items()}
    return {**offers, **written}


def one_row(tokens: Any, model: Any) -> torch.Tensor:
    """Token ids as a batch of one."""
    return torch.tensor([list(tokens)], device=getattr(model, "device", "cpu"))
