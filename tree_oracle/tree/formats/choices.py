"""Choice tuples (Medusa, vLLM, TensorRT-LLM, economize): a node is the ranks on its path.

(0, 2) is the third choice below the first. The root is the empty tuple and is not listed. Sorted by
(length, ranks) the list is a level order; node i + 1 is choice i.
Medusa and vLLM sort what they are given; TensorRT-LLM numbers it as listed, and then levels must stand together. Ranks may
have gaps: (1,) without (0,) is a tree. Size: one rank for each edge on each path, the sum of all depths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.convention import Listing
from tree_oracle.tree.formats.field import Field
from tree_oracle.tree.formats.levels import check_level_order, ranks_of

_CHOICES = Field("choices", "choices")
Choice = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """Tokens of all nodes, the root first, in the order that the listing gives them; the rank paths of the candidates."""

    tokens: Any
    choices: Sequence[Sequence[int]]


def encode_choices(tree: CandidateTree) -> Choices:
    """The rank paths of a tree in level order, which is right under both listings.

    Raises:
        UsageError: the tree is stored in another order.
    """
    check_level_order(tree)
    return Choices(tree.tokens, tuple(rank_paths(tree)))


def decode_choices(encoded: Choices, listing: Listing) -> CandidateTree:
    """The tree.

    Raises:
        InvalidEncoding: a choice is listed twice, lacks its beginning, or has something else than ranks in it.
    """
    parents, _ = choice_parents(encoded.choices, listing)
    tokens = _CHOICES.named("tokens").integers(encoded.tokens, (len(parents),))
    return _CHOICES.tree(tokens, parents)


def rank_paths(tree: CandidateTree) -> list[Choice]:
    """The ranks on the path to each candidate of a tree in level order."""
    ranks = ranks_of(tree).tolist()
    paths: list[Choice] = [()]
    for node, parent in enumerate(tree.parents.tolist()[1:], start=1):
        paths.append((*paths[parent], ranks[node]))
    return paths[1:]


def choice_parents(choices: Sequence[Sequence[int]], listing: Listing) -> tuple[Int[np.ndarray, " n"], list[Choice]]:
    """The parents of all nodes, the root first, and the choices in their order.

    Raises:
        InvalidEncoding: as for ``decode_choices``; the index is that of the list as handed in.
    """
    checked = [_checked(index, choice) for index, choice in enumerate(_CHOICES.sequence(choices))]
    order = list(range(len(checked)))
    if listing is Listing.SORTED:
        order.sort(key=lambda index: (len(checked[index]), checked[index]))
    nodes: dict[Choice, int] = {(): 0}
    parents, depth = [-1], 1
    for index in order:
        choice = checked[index]
        if choice in nodes:
            raise _CHOICES.error((index,), f"is {choice}; expected each choice once")
        if choice[:-1] not in nodes:
            raise _CHOICES.error((index,), f"is {choice}; expected its beginning {choice[:-1]} {_where(listing)}")
        if len(choice) < depth:
            raise _CHOICES.error((index,), f"is {choice}; expected {depth} ranks or more, as levels stand together")
        depth = len(choice)
        parents.append(nodes[choice[:-1]])
        nodes[choice] = len(nodes)
    return np.array(parents, dtype=np.int64), [checked[index] for index in order]


def _where(listing: Listing) -> str:
    return "in the list" if listing is Listing.SORTED else "earlier in the list"


def _checked(index: int, choice: Any) -> Choice:
    if isinstance(choice, str | bytes) or not isinstance(choice, Sequence) or not choice:
        raise _CHOICES.error((index,), f"is a {type(choice).__name__}; expected a sequence of at least one rank")
    if set(map(type, choice)) == {int} and min(choice) >= 0:  # a chain of thousands has millions of ranks
        return tuple(choice)
    for place, rank in enumerate(choice):
        if isinstance(rank, bool | np.bool_) or not isinstance(rank, int | np.integer) or rank < 0:
            raise _CHOICES.error((index, place), "is no rank; expected an integer from 0 on")
    return tuple(map(int, choice))
