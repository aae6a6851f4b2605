"""The reference's answers: what this library itself says to each operation, and the whole set of right answers.

An answer is what a program under test gives; what a vector expects may be more than one tree or outcome. The stop rule is
written out here: the decoder that uses it stands above the vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np

from tree_oracle.construct import paths_of
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.formats import find_format
from tree_oracle.tree.layout import lay_out
from tree_oracle.tree.merge import merge
from tree_oracle.vectors.counts import CountDraft
from tree_oracle.vectors.joined import joined
from tree_oracle.vectors.model import (
    AnyInput,
    Bounds,
    Build,
    Decode,
    Decoded,
    Encode,
    Encoded,
    Joined,
    Laid,
    LayOut,
    Merge,
    MergeDraws,
    Outcome,
    Path,
    Stop,
    Stopped,
    Tree,
    Walk,
)
from tree_oracle.vectors.neutral import documents_of, plain
from tree_oracle.vectors.policies import policy_of
from tree_oracle.verify import walk

Cut: TypeAlias = Literal["cap", "context"]
Answer: TypeAlias = Laid | Encoded | Decoded | Tree | Joined | Outcome | Stopped

# What a program under test has to say to each operation.
ANSWERS: dict[str, type[Answer]] = {
    "lay_out": Laid,
    "encode": Encoded,
    "decode": Decoded,
    "build": Tree,
    "merge": Tree,
    "merge_draws": Joined,
    "walk": Outcome,
    "stop": Stopped,
}


def answer(asked: AnyInput) -> Answer:
    """One right answer.

    Raises:
        InvalidTree, InvalidEncoding: the input is to be refused.
    """
    match asked:
        case LayOut():
            return _laid(asked)
        case Encode():
            trees = [CandidateTree(tree.tokens, tree.parents) for tree in asked.trees]
            return Encoded(plain(find_format(asked.format).encode(trees, asked.prefix_lens)))
        case Decode():
            documents = documents_of(asked.format, asked.documents)
            return Decoded(tuple(map(tree_of, find_format(asked.format).decode(documents, asked.prefix_lens))))
        case Build():
            policy = policy_of(asked.policy, asked.parameters)
            return tree_of(policy.build(CountDraft(asked.draft), asked.root).tree)
        case Merge():
            return tree_of(merge([CandidateTree(tree.tokens, tree.parents) for tree in asked.trees]).tree)
        case MergeDraws():
            return joined(asked)
        case Walk():
            return outcome(asked)
        case Stop():
            return stopped(asked)


def tree_of(tree: CandidateTree) -> Tree:
    """Plain data of a tree."""
    return Tree(tuple(tree.tokens.tolist()), tuple(tree.parents.tolist()))


def canonical(tree: CandidateTree) -> tuple[Path, ...]:
    """Its paths, shorter ones first."""
    return tuple(sorted(paths_of(tree), key=lambda path: (len(path), path)))


def outcome(asked: Walk) -> Outcome:
    """The walk; of equal siblings the first by slot is followed."""
    vocab = len(asked.rows[0])
    # The reference takes the smallest of equal maxima. Told backwards, the smallest is the largest.
    turned = asked.tie_rule == "largest id"
    tokens = [vocab - 1 - token for token in asked.tree.tokens] if turned else list(asked.tree.tokens)
    rows = np.array([[-np.inf if score is None else score for score in row] for row in asked.rows], dtype=np.float64)
    found = walk(CandidateTree(tokens, asked.tree.parents), rows[:, ::-1].copy() if turned else rows)
    bonus = vocab - 1 - found.bonus if turned else found.bonus
    return Outcome(found.accepted, (*(asked.tree.tokens[node] for node in found.accepted), bonus))


def outcomes(asked: Walk) -> tuple[Outcome, ...]:
    """The outcomes of all choices among equal siblings, the reference's first.

    A choice among them is a choice of which one is left: the walk over the tree without the others.
    """
    first, found = outcome(asked), dict[Outcome, None]()
    for kept in _one_of_each(CandidateTree(asked.tree.tokens, asked.tree.parents)):
        tree, slots = CandidateTree(asked.tree.tokens, asked.tree.parents).keep(kept)
        rows = tuple(asked.rows[slot] for slot in slots.tolist())
        there = outcome(Walk(tree_of(tree), rows, asked.tie_rule))
        found[Outcome(tuple(int(slots[node]) for node in there.accepted), there.emitted)] = None
    return first, *sorted(found.keys() - {first}, key=lambda one: (one.accepted, one.emitted))


def _one_of_each(tree: CandidateTree) -> Iterator[tuple[int, ...]]:
    """Every way to keep one of equal siblings, everywhere."""
    for node in range(1, len(tree)):
        same = [other for other in tree.children(int(tree.parents[node])) if tree.tokens[other] == tree.tokens[node]]
        if len(same) > 1:
            for one in same:
                gone = {slot for other in same if other != one for slot in tree.subtree(other)}
                rest, slots = tree.keep(set(range(len(tree))) - gone)
                yield from (tuple(slots[list(kept)].tolist()) for kept in _one_of_each(rest))
            return
    yield tuple(range(len(tree)))


def stopped(asked: Stop) -> Stopped:
    """Up to and including the first end token, cut to the room that is left; at one token the first reason counts."""
    rooms = room_left(asked.length, asked.emitted, asked.limits)
    room, reason = min(rooms, key=lambda one: one[0])  # of equal rooms the first
    end = next((at for at, token in enumerate(asked.proposed) if token in asked.limits.eos_ids), len(asked.proposed))
    if end < min(room, len(asked.proposed)):
        return Stopped(asked.proposed[: end + 1], "eos")
    return Stopped(asked.proposed[:room], reason if len(asked.proposed) >= room else None)


def room_left(length: int, emitted: int, limits: Bounds) -> list[tuple[int, Cut]]:
    """How many tokens each limit still allows."""
    rooms: list[tuple[int, Cut]] = [(max(limits.max_new_tokens - emitted, 0), "cap")]
    if limits.max_length is not None:
        rooms.append((max(limits.max_length - length, 0), "context"))
    return rooms


def _laid(asked: LayOut) -> Laid:
    tree = CandidateTree(asked.tokens, asked.parents)
    layout = lay_out(tree, asked.prefix_len)
    visible = tuple("".join("01"[bit] for bit in row) for row in layout.visible.astype(int).tolist())
    return Laid(
        tuple(tree.depths.tolist()), tuple(layout.positions.tolist()), tuple(layout.score_rows.tolist()), visible
    )
