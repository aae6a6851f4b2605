"""Rejected rows that stay for several rounds are seen by nobody, and compaction changes nothing but the room they take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from grounds import ground, result_of, sentences, statuses
from hypothesis import given, settings
from hypothesis import strategies as st
from test_paged_cache import FEW, KINDS, LEVELS, first_wrong, prompts, rows_of

from tree_oracle.decoder.caches import DeferredCache, StoredDecoder, deferred_store
from tree_oracle.decoder.caches.stored import MakeStore, Shapes
from tree_oracle.record import Limits, Status, UsageError
from tree_oracle.strategies import ScriptedTree, scripted_trees
from tree_oracle.tree import CandidateTree

POISON = 1e30  # finite, and far from every row


@given(
    every=st.integers(1, 5),
    rounds=st.lists(
        st.lists(st.sets(st.integers(0, 6)), min_size=3, max_size=3).flatmap(
            lambda kept: st.tuples(st.just(kept), st.lists(st.integers(1, 7), min_size=3, max_size=3))
        ),
        max_size=8,
    ),
)
def test_every_request_keeps_its_own_rows(every: int, rounds: list[tuple[list[set[int]], list[int]]]) -> None:
    """With unequal trees and unequal acceptance each request reads its own rows in order, between compactions and after."""
    cache, due, ids = DeferredCache(KINDS, requests=3, every=every, padding=POISON), [list[int]() for _ in range(3)], 0
    for number, (kept, counts) in enumerate(rounds, 1):
        new = []
        for count in counts:
            new.append(list(range(ids, ids + count)))
            ids += count
        paths = [sorted(node for node in path if node < count) for path, count in zip(kept, counts, strict=True)]
        cache.draft([rows_of(found) for found in new])
        cache.commit(paths)
        for request, path in enumerate(paths):
            due[request] += [new[request][node] for node in path]
            held, wanted = cache.read(request), rows_of(due[request])
            assert all(np.array_equal(held[kind], wanted[kind]) for kind in KINDS)
        if number % every == 0:
            assert cache.columns == max(map(len, due))


@pytest.mark.parametrize("every", [1, 2, 99])
def test_a_decoder_with_holes_passes(every: int) -> None:
    """On the exact model, listed cases, rows and cache are bit-equal to cold runs, however late rows are compacted."""
    report = ground().report(lambda target: StoredDecoder(target, deferred_store(every)), *LEVELS)
    assert set(statuses(report).values()) == {Status.PASSED}, sentences(report)


@settings(FEW)
@given(every=st.integers(1, 4), texts=prompts, data=st.data())
def test_a_batch_with_holes_equals_cold_runs(every: int, texts: list[list[int]], data: st.DataObject) -> None:
    """Unequal prompts, trees and acceptance, and padding that is poisoned: every request decodes as if alone."""
    shape = scripted_trees(vocab_size=61, max_nodes=7, distinct_siblings=True)
    rounds = data.draw(st.lists(st.tuples(*[shape] * len(texts)), min_size=2, max_size=3))
    # the exact model works on residues, so its poison is one: no row holds the same residue throughout
    assert first_wrong(deferred_store(every, padding=7), texts, rounds) == ""


class OneMaskForAll(DeferredCache):
    """Fault: a column that one request keeps counts for every request."""

    def commit(self, kept: Sequence[Sequence[int]]) -> None:
        super().commit(kept)
        self.valid[:] = self.valid.any(axis=0)


class RejectedStay(DeferredCache):
    """Fault: the columns of rejected nodes count."""

    def commit(self, kept: Sequence[Sequence[int]]) -> None:
        assert self._counts is not None
        super().commit([range(count) for count in self._counts])


class CompactedByFirst(DeferredCache):
    """Fault: columns are dropped where the rows of the last request end."""

    def compact(self) -> None:
        super().compact()
        fewest = int(self.valid.sum(axis=1).min())
        self._buffers = {kind: buffer[:, :fewest] for kind, buffer in self._buffers.items()}
        self.valid = self.valid[:, :fewest]


class ZeroedTail(DeferredCache):
    """Fault: rejected rows are zeroed instead of hidden."""

    def commit(self, kept: Sequence[Sequence[int]]) -> None:
        assert self._counts is not None
        first = self.columns - max(self._counts)
        for request, (path, count) in enumerate(zip(kept, self._counts, strict=True)):
            rejected = [first + node for node in range(count) if node not in set(path)]
            for buffer in self._buffers.values():
                buffer[request, rejected] = 0
        super().commit([range(count) for count in self._counts])


def store(kind: type[DeferredCache], every: int) -> MakeStore:
    def make(shapes: Shapes, requests: int) -> DeferredCache:
        return kind(shapes, requests=requests, every=every)

    return make


@pytest.mark.parametrize("kind", [RejectedStay, ZeroedTail])
def test_rows_that_should_be_hidden_are_caught(kind: type[DeferredCache]) -> None:
    """A rejected row that counts is found in the cache at once, before the round that would read it."""
    report = ground().report(lambda target: StoredDecoder(target, store(kind, 9)), "COMMIT-01")
    assert set(statuses(report).values()) == {Status.FAILED}
    assert result_of(report, "COMMIT-01").findings[0].sentence.startswith("the cache holds")


@pytest.mark.parametrize("kind", [OneMaskForAll, CompactedByFirst])
def test_masks_of_another_request_show_in_a_batch(kind: type[DeferredCache]) -> None:
    """A fault between requests, woken by unequal acceptance, makes a request's cache another than its cold run's."""
    wide = ScriptedTree((-1, 0, 0, 2), (0, 1, 2, 3), 3, distinct_siblings=True)
    alone = ScriptedTree((-1,), (0,), 0, distinct_siblings=True)
    batch = [[1, 2, 3], [4, 5, 6]], [(wide, alone), (alone, wide)]
    assert first_wrong(store(kind, 1), *batch).startswith("cache of request")
    assert first_wrong(store(DeferredCache, 1), *batch) == ""


def test_bad_input_is_refused() -> None:
    """The messages name what was given and what was expected."""
    with pytest.raises(UsageError, match="0 requests, compacted every 4 rounds; expected at least 1 of each"):
        DeferredCache(KINDS, requests=0)
    cache = DeferredCache(KINDS, requests=2)
    with pytest.raises(UsageError, match="2 paths to keep for no trees; expected one each"):
        cache.commit([[], []])
    with pytest.raises(UsageError, match="rows for 1 requests; the batch has 2"):
        cache.draft([rows_of([1])])
    cache.draft([rows_of([1]), rows_of([2, 3])])
    with pytest.raises(UsageError, match="a round of 2 columns is not committed"):
        cache.draft([rows_of([1]), rows_of([2])])
    with pytest.raises(UsageError, match=r"nodes \[1\] are to be kept; expected ascending ones of 1"):
        cache.commit([[1], [1]])


def test_a_store_that_lost_rows_is_refused() -> None:
    """A session whose store shows another number of rows than were committed says so instead of spreading what is there."""
    session = StoredDecoder(ground().target, store(RejectedStay, 9)).open([[1, 2]], Limits(9))
    (round_,) = session.step([CandidateTree([2, 3, 4], [-1, 0, 0])])
    with pytest.raises(UsageError, match="the store shows 4 rows of a request; expected [23], the committed tokens"):
        session.step([CandidateTree([round_.emitted[-1]], [-1])])
