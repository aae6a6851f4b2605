"""Wrong ways to keep the requests of a batch apart, and detours to the right one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from tree_oracle.decoder import Decision
from tree_oracle.decoder.batch_parts import (
    NOWHERE,
    Drafted,
    Padded,
    Rows,
    Tokens,
    advance,
    decide,
    fill,
    keep_rows,
    read,
    share,
    write_row,
)
from tree_oracle.decoder.batch_state import BatchState
from tree_oracle.decoder.parts import Walker
from tree_oracle.tree import CandidateTree

Logits = Float[np.ndarray, "rows n vocab"]
Lengths = Int[np.ndarray, " rows"]


# --------------------------------------------------------------------------------------------- what the pass is handed


def old_slots(padded: Padded, drafted: Sequence[Drafted]) -> None:
    """Fault: padded nodes keep the slots of the last round, and are written there, over rows that were committed since."""
    before = padded.slots.copy()
    fill(padded, drafted)
    np.copyto(padded.slots, before, where=padded.slots == NOWHERE)


def slots_one_by_one(padded: Padded, drafted: Sequence[Drafted]) -> None:
    """Twin: the slots are written a second time, node by node."""
    fill(padded, drafted)
    padded.slots[:] = NOWHERE
    for row, found in enumerate(drafted):
        for node in range(len(found.tree)):
            padded.slots[row, node] = found.cached + node


def old_mask_without_draft(padded: Padded, drafted: Sequence[Drafted]) -> None:
    """Fault: the mask is made only where somebody has a draft, and that of the last round stands where nobody has."""
    before = padded.visible.copy()
    fill(padded, drafted)
    if max(len(found.tree) for found in drafted) == 1:
        padded.visible[:] = before


def mask_cleared_first(padded: Padded, drafted: Sequence[Drafted]) -> None:
    """Twin: all buffers are overwritten with something else before they are filled."""
    padded.visible[:], padded.tokens[:], padded.slots[:] = True, 1, 0
    fill(padded, drafted)


def old_columns(padded: Padded, drafted: Sequence[Drafted]) -> None:
    """Fault: visible columns are set and never cleared, so that a row sees what the request before it in this row saw."""
    before = padded.visible.copy()
    fill(padded, drafted)
    padded.visible[:, :, : padded.columns] |= before[:, :, : padded.columns]


def columns_of_longest(padded: Padded, drafted: Sequence[Drafted]) -> None:
    """Fault: every request sees as many cached columns as the longest one has."""
    fill(padded, drafted)
    longest = max(found.cached for found in drafted)
    for row, found in enumerate(drafted):
        padded.visible[row, : len(found.tree), :longest] = True


def longest_then_hidden(padded: Padded, drafted: Sequence[Drafted]) -> None:
    """Twin: as many columns as the longest has are shown first, and hidden again behind the request's own."""
    columns_of_longest(padded, drafted)
    for row, found in enumerate(drafted):
        padded.visible[row, :, found.cached : padded.columns] = False


def positions_of_longest(padded: Padded, drafted: Sequence[Drafted]) -> None:
    """Fault: positions count from the longest prefix of the batch, as with left padding."""
    fill(padded, drafted)
    longest = max(found.cached for found in drafted)
    for row, found in enumerate(drafted):
        padded.positions[row, : len(found.tree)] += longest - found.cached


def positions_by_depth(padded: Padded, drafted: Sequence[Drafted]) -> None:
    """Twin: positions are counted again, from each request's own cached rows and the depths of its tree."""
    fill(padded, drafted)
    for row, found in enumerate(drafted):
        padded.positions[row, : len(found.tree)] = found.cached + found.tree.depths


def parents_one_late(padded: Padded, drafted: Sequence[Drafted]) -> None:
    """Fault: visibility is built from the parents of all requests laid end to end, each looked up one entry too late."""
    _by_parents(padded, drafted, late=1)


def parents_end_to_end(padded: Padded, drafted: Sequence[Drafted]) -> None:
    """Twin: the same, with each parent looked up where it is."""
    _by_parents(padded, drafted, late=0)


def _by_parents(padded: Padded, drafted: Sequence[Drafted], late: int) -> None:
    fill(padded, drafted)
    flat = np.concatenate([*(found.tree.parents for found in drafted), [-1]])
    start = 0
    for row, found in enumerate(drafted):
        n = len(found.tree)
        block = np.eye(n, dtype=bool)
        for node in range(1, n):
            parent = int(flat[start + node + late])
            block[node] |= block[parent] if 0 <= parent < node else False
        padded.visible[row, :n, padded.columns : padded.columns + n] = block
        start += n


def rows_from_last(padded: Padded, drafted: Sequence[Drafted]) -> None:
    """Twin: the requests are written from the last to the first."""
    fill(padded, ())
    for row in reversed(range(len(drafted))):
        write_row(padded, row, drafted[row])


# -------------------------------------------------------------------------------------------------- whose logits are whose


def equal_shares(logits: Logits, counts: Sequence[int]) -> list[Rows]:
    """Fault: where the number of requests divides all nodes, each gets an equal share of them laid end to end."""
    flat = np.concatenate(read(logits, counts))
    share_, rest = divmod(len(flat), len(counts))
    if rest:
        return read(logits, counts)
    shares = np.pad(flat, ((0, max(counts)), (0, 0)), mode="edge")  # the last request may want more than there is
    return [shares[row * share_ : row * share_ + count] for row, count in enumerate(counts)]


def own_shares(logits: Logits, counts: Sequence[int]) -> list[Rows]:
    """Twin: all nodes are laid end to end and cut where each request ends."""
    return np.split(np.concatenate(read(logits, counts)), np.cumsum(counts)[:-1])


def largest_first(logits: Logits, counts: Sequence[int]) -> list[Rows]:
    """Fault: the rows come back in the order of tree size, largest first, and are not put back."""
    order = sorted(range(len(counts)), key=lambda row: -counts[row])
    return [logits[order[row], :count] for row, count in enumerate(counts)]


def largest_first_and_back(logits: Logits, counts: Sequence[int]) -> list[Rows]:
    """Twin: the rows are taken in the order of tree size, largest first, and put back."""
    order = sorted(range(len(counts)), key=lambda row: -counts[row])
    found = {row: logits[row, : counts[row]] for row in order}
    return [found[row] for row in range(len(counts))]


# ------------------------------------------------------------------------------------------------ whose decision is whose


def shortest_path(walk: Walker, trees: Sequence[CandidateTree], rows: Sequence[Rows]) -> list[Decision]:
    """Fault: every request accepts as many nodes as the one that accepts the fewest; the texts stay right."""
    found = decide(walk, trees, rows)
    count = min(len(decision.accepted) for decision in found)
    return [
        decision if len(decision.accepted) == count else
        Decision(decision.accepted[:count], int(tree.tokens[decision.accepted[count]]))
        for tree, decision in zip(trees, found, strict=True)
    ]  # fmt: skip


def bonus_of_next(walk: Walker, trees: Sequence[CandidateTree], rows: Sequence[Rows]) -> list[Decision]:
    """Fault: the bonus tokens are shifted by one request."""
    found = decide(walk, trees, rows)
    return [replace(one, bonus=other.bonus) for one, other in zip(found, [*found[1:], found[0]], strict=True)]


def decided_from_last(walk: Walker, trees: Sequence[CandidateTree], rows: Sequence[Rows]) -> list[Decision]:
    """Twin: the requests are decided from the last to the first."""
    return decide(walk, trees[::-1], rows[::-1])[::-1]


# -------------------------------------------------------------------------------------------- how far each cache reaches


def counts_of_row_before(lengths: Lengths, kept: Sequence[int]) -> Lengths:
    """Fault: each request's cache grows by what the request before it kept."""
    return advance(lengths, [kept[-1], *kept[:-1]])


def longest_of_batch(lengths: Lengths, kept: Sequence[int]) -> Lengths:
    """Fault: all caches grow by what the request that kept the most kept."""
    return advance(lengths, [max(kept)] * len(kept))


def grown_one_by_one(lengths: Lengths, kept: Sequence[int]) -> Lengths:
    """Twin: the lengths grow one row at a time, each as long as it has something to grow by."""
    for step in range(max(kept)):
        lengths = lengths + np.array([step < count for count in kept])
    return lengths


def longest_then_back(lengths: Lengths, kept: Sequence[int]) -> Lengths:
    """Twin: all caches grow by the most that was kept, and shrink again by what each has not."""
    return np.asarray(longest_of_batch(lengths, kept) - (max(kept) - np.asarray(kept)))


# -------------------------------------------------------------------------------------- what stays when a request leaves


def lengths_not_filtered(state: BatchState, rows: Sequence[int]) -> None:
    """Fault: keys and values move up when a request leaves, and the lengths stay where they were."""
    before = state.lengths[: len(rows)].copy()
    keep_rows(state, rows)
    state.lengths = before


def values_not_filtered(state: BatchState, rows: Sequence[int]) -> None:
    """Fault: keys and lengths move up when a request leaves, and the values stay where they were."""
    before = [values[: len(rows)].clone() for values in state.values]
    keep_rows(state, rows)
    state.values = before


def one_leaves_after_another(state: BatchState, rows: Sequence[int]) -> None:
    """Twin: the requests that leave are taken out one after another, the last first."""
    for gone in sorted(set(range(len(state.lengths))) - set(rows), reverse=True):
        keep_rows(state, [row for row in range(len(state.lengths)) if row != gone])


# -------------------------------------------------------------------------------------- what a new request need not run


def newest_taken_for_cached(place: int, texts: Sequence[Tokens], lengths: Lengths) -> tuple[int, int]:
    """Fault: the newest token of a running request counts as cached, though it has not been run."""
    return share(place, texts, np.where(lengths > 0, lengths + 1, 0))


def cached_before_written(place: int, texts: Sequence[Tokens], lengths: Lengths) -> tuple[int, int]:
    """Fault: the prompts of all new requests count as cached as soon as they are admitted, before they are run."""
    admitted = np.array([0 if row == place else len(text) - 1 for row, text in enumerate(texts)])
    return share(place, texts, admitted)


def any_hit_is_whole(place: int, texts: Sequence[Tokens], lengths: Lengths) -> tuple[int, int]:
    """Fault: a common prefix is taken to be as long as what the other request has cached."""
    donor, count = share(place, texts, lengths)
    return donor, min(int(lengths[donor]), len(texts[place]) - 1) if count else 0


def nothing_shared(place: int, texts: Sequence[Tokens], lengths: Lengths) -> tuple[int, int]:
    """Twin: every prompt is run from its beginning."""
    return place, 0


def all_but_one_shared(place: int, texts: Sequence[Tokens], lengths: Lengths) -> tuple[int, int]:
    """Twin: the last row of the common prefix is run again."""
    donor, count = share(place, texts, lengths)
    return donor, max(count - 1, 0)


def hit_compared_backwards(place: int, texts: Sequence[Tokens], lengths: Lengths) -> tuple[int, int]:
    """Twin: the common prefix is found by making it shorter until it is equal."""
    donor, _ = share(place, texts, lengths)
    count = min(int(lengths[donor]), len(texts[place]) - 1)
    while texts[donor][:count] != texts[place][:count]:
        count -= 1
    return donor, count
