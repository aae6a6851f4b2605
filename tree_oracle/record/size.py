"""Which of two cases is the smaller one: the one that is easier to follow by hand."""

from __future__ import annotations

from tree_oracle.record.case import Case


def size_of(case: Case) -> tuple[int, ...]:
    """What counts as smaller: fewer requests, rounds, nodes, prefix tokens, then a lower cap, a shorter draft, smaller ids.

    A move has nodes too, and the elements of its pools count as a draft's length does; so do the keys of an attention, and the
    rounds of sessions by chance.
    """
    trees = [*case.trees, *(tree for request in case.batch for tree in request.trees)]
    prompts = [case.prefix, *(request.prompt for request in case.batch)]
    nodes = sum(len(tree.tokens) for tree in trees) + (len(case.move.slots) if case.move is not None else 0)
    ids = sum(map(sum, prompts)) + sum(sum(tree.tokens) for tree in trees)
    cap = case.limits.max_new_tokens if case.limits is not None else 0
    draft = sum(len(law) for below in case.draft.laws for law in below) if case.draft is not None else 0
    if case.move is not None:
        draft += case.move.pool_pages * case.move.page_size * case.move.layers * case.move.heads * case.move.width
    if case.attend is not None:
        draft += case.attend.prefix_len + case.attend.heads * case.attend.width + case.attend.window
    if case.law is not None:
        draft += len(case.law.target) + case.law.rounds * (case.law.sessions + len(case.law.scripts))
    return (len(case.batch), len(trees), nodes, sum(map(len, prompts)), cap, draft, ids)
