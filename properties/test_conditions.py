"""The conditions that wake every known class of fault, each held against the listed cases of the scenes that are made for it.

Numbers as in the table of conditions of the collection of real faults. Nothing is driven here: what is asked is whether the
cases hold the condition. What comes of them is the ledger's (``test_ledger``). Not here, since no scene of a check holds them:

    5    window edges depend on the target: the ledger asks for them on targets that have windows
    10   orphans and cycles, which must be refused: the test vectors' malformed trees, and ``test_tree_validation``
    13   penalties, bias and grammar per path
    14   coins at their edges: the scene ``ways`` plans them while it is driven, from the tests that a decoder makes
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from grounds import ground

from tree_oracle.checks import CHECKS
from tree_oracle.checks.due import ending
from tree_oracle.record import Case, TreeData

Holds = Callable[[Case], bool]


def cases(scene: str) -> list[Case]:
    found = next(s.scene for check in CHECKS.values() for s in check.sources if s.scene.name == scene)
    return found.listed(ground().stock.stage)


def depths(tree: TreeData) -> list[int]:
    found: list[int] = []
    for parent in tree.parents:
        found.append(found[parent] + 1 if found else 0)
    return found


def path(case: Case, tree: TreeData, prefix: tuple[int, ...]) -> list[int]:
    """The nodes that plain greedy decoding follows."""
    found, text = list[int](), prefix
    while True:
        (token,) = ground().stock.stage.choices(text, 1)
        here = found[-1] if found else 0
        below = [v for v in range(1, len(tree.tokens)) if tree.parents[v] == here and tree.tokens[v] == token]
        if not below:
            return found
        found.append(below[0])
        text = (*text, token)


def first_path(case: Case) -> list[int]:
    return path(case, case.trees[0], case.prefix)


def is_chain(tree: TreeData) -> bool:
    return tree.parents == tuple(range(-1, len(tree.parents) - 1))


def other_depth_before(case: Case) -> bool:
    deep, kept = depths(case.trees[0]), first_path(case)
    return any(deep[v] != deep[node] for node in kept for v in range(1, node) if v not in kept)


def later_rank(case: Case) -> bool:
    kept = first_path(case)
    return any(rank < slot <= len(kept) for rank, slot in enumerate(kept, 1))


def leaf_above_the_deepest(case: Case) -> bool:
    deep, kept = depths(case.trees[0]), first_path(case)
    return bool(kept) and kept[-1] not in case.trees[0].parents and deep[kept[-1]] < max(deep)


def accepts(count: int) -> Holds:
    return lambda case: len(first_path(case)) == count


def whole(case: Case) -> bool:
    return len(case.trees[0].tokens) > 2 and len(first_path(case)) == max(depths(case.trees[0]))


def page(size: Callable[[int], bool], *, crossing: bool = False, side: bool = False) -> Holds:
    def holds(case: Case) -> bool:
        move = case.move
        assert move is not None
        crosses = move.length // move.page_size < (move.length + len(move.accepted)) // move.page_size
        return size(move.page_size) and crosses >= crossing and move.side >= side

    return holds


def columns(case: Case) -> int:
    return len(case.prefix) - 1 + len(case.trees[-1].tokens)


def trees_of_steps(case: Case, step: int) -> list[int]:
    """How many nodes the trees of one step have, those of all requests that are there."""
    found = [(r.trees, step - r.joins) for r in case.batch]
    return [len(trees[at].tokens) for trees, at in found if 0 <= at < len(trees)]


def tree_plain_smaller(case: Case) -> bool:
    widest = [max(trees_of_steps(case, step), default=0) for step in range(3)]
    return widest[0] > widest[2] > 1 == widest[1]


def tied(case: Case) -> bool:
    assert case.rows is not None
    rows = np.asarray(case.rows.numpy())
    return bool(((rows == rows.max(axis=1, keepdims=True)).sum(axis=1) > 1).any())


def near_tied(case: Case) -> bool:
    (row,) = ground().truth.rows([case.prefix])
    best, second = np.sort(row)[::-1][:2]
    return bool(0 < best - second < (row.max() - row.min()) / 64)


def end_at(place: int) -> Holds:
    def holds(case: Case) -> bool:
        assert case.limits is not None
        text = ground().stock.stage.choices(case.prefix, place + 1)
        return text[place] in case.limits.eos_ids and not set(text[:place]) & set(case.limits.eos_ids)

    return holds


def cap_of(count: int) -> Holds:
    return lambda case: case.limits is not None and case.limits.max_new_tokens == count


def context_of(count: int) -> Holds:
    return lambda case: case.limits is not None and case.limits.max_length == len(case.prefix) + count


def stop_and_cap(case: Case) -> bool:
    assert case.limits is not None
    cap = case.limits.max_new_tokens
    text = ground().stock.stage.choices(case.prefix, cap) if cap else ()
    due = ending(text, case.limits, len(case.prefix))
    return bool(text) and due is not None and due[0] == cap and text[-1] in case.limits.eos_ids


def changes_one_node(case: Case) -> bool:
    old, new = case.trees
    return old.parents == new.parents and sum(a != b for a, b in zip(old.tokens, new.tokens, strict=True)) == 1


def shares_a_prompt(case: Case) -> bool:
    prompts = [r.prompt for r in case.batch if r.prompt]
    return len({p[:3] for p in prompts}) < len(prompts)


CONDITIONS: dict[str, tuple[str, Holds]] = {
    "1 a node at another depth precedes the accepted one": ("rounds", other_depth_before),
    "2 a kept slot is equal to a later rank": ("rounds", later_rank),
    "3 two rounds and more over one cache": ("rounds", lambda case: len(case.trees) > 1),
    "4 nothing is accepted": ("rounds", lambda case: len(case.trees[0].tokens) > 1 and not first_path(case)),
    "4 one node is accepted": ("rounds", accepts(1)),
    "4 a whole tree is accepted": ("rounds", whole),
    "4 the path ends in a leaf above the deepest": ("rounds", leaf_above_the_deepest),
    "6 pages of one row": ("moves", page(lambda size: size == 1)),
    "6 a path across a page": ("moves", page(lambda size: size > 1, crossing=True)),
    "6 side buffers": ("moves", page(lambda size: size > 1, side=True)),
    "7 mask bits that fill no byte": ("wide", lambda case: len(case.trees[-1].tokens) * columns(case) % 8 != 0),
    "7 a node below a tile": ("wide", lambda case: any(len(tree.tokens) == 31 for tree in case.trees)),
    "7 as many nodes as a tile": ("wide", lambda case: any(len(tree.tokens) == 32 for tree in case.trees)),
    "7 a node above a tile": ("wide", lambda case: any(len(tree.tokens) == 33 for tree in case.trees)),
    "8 two requests, and three": ("batches", lambda case: len(case.batch) in (2, 3)),
    "8 unequal trees": ("batches", lambda case: len(set(trees_of_steps(case, 0))) > 1),
    "8 as many nodes as requests times a whole number": (
        "batches",
        lambda case: len(set(t := trees_of_steps(case, 0))) > 1 and sum(t) % len(t) == 0,
    ),
    "8 a request is dropped before others": ("batches", lambda case: len({len(r.trees) for r in case.batch}) > 1),
    "8 a request joins": ("batches", lambda case: any(r.joins for r in case.batch)),
    "8 prompts share a beginning": ("batches", shares_a_prompt),
    "9 tree, plain round, smaller tree": ("batches", tree_plain_smaller),
    "10 a root alone": ("trees", lambda case: len(case.trees[0].tokens) == 1),
    "10 depth one": ("trees", lambda case: max(depths(case.trees[0])) == 1),
    "10 width one": ("trees", lambda case: len(case.trees[0].tokens) > 2 and is_chain(case.trees[0])),
    "11 exact ties": ("ties", tied),
    "11 a near tie of a known gap": ("near", near_tied),
    **{f"12 end token at place {place}": ("ends", end_at(place)) for place in range(4)},
    **{f"12 a cap of {count}": ("ends" if count else "prompt ends", cap_of(count)) for count in range(5)},
    **{
        f"12 the context ends {count} tokens away": ("ends" if count else "prompt ends", context_of(count))
        for count in range(5)
    },
    "12 stop and cap in one token": ("ends", stop_and_cap),
    "15 the draft is the target's own text": ("full drafts", whole),
    "16 the tree is a chain": ("chains", lambda case: all(is_chain(tree) for tree in case.trees)),
    "17 one node is changed": ("pairs", changes_one_node),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_condition_is_met_by_a_listed_case(name: str) -> None:
    """Some listed case of the scene holds the condition, and not every case of the battery does."""
    scene, holds = CONDITIONS[name]
    assert any(holds(case) for case in cases(scene))
