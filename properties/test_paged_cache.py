"""A paged cache holds, for every request, the rows of a cold run of its committed tokens without the newest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from grounds import ground, sentences, statuses
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tree_oracle.checks import Stage
from tree_oracle.decoder import BlockTable, Part, ReferenceDecoder
from tree_oracle.decoder.caches import PagedCache, StoredDecoder, paged_store
from tree_oracle.decoder.caches.paged import Rows
from tree_oracle.decoder.caches.stored import MakeStore, Shapes
from tree_oracle.record import Limits, Status, UsageError
from tree_oracle.strategies import ScriptedTree, scripted_trees
from tree_oracle.tree import CandidateTree

pytestmark = pytest.mark.sweep

KINDS = {
    (0, Part.KEYS): (2, 3), (0, Part.VALUES): (2, 2), (0, Part.SIDE): (4,), (1, Part.KEYS): (1, 3), (1, Part.VALUES): (1, 3),
}  # fmt: skip
FEW = settings(
    max_examples=max(15, settings().max_examples * 2 // 5)
)  # lives of 25 steps, or rounds of six target passes
LEVELS = ("VISIBLE-03", "POSITION-01", "HISTORY-01", "COMMIT-01", "COMMIT-02", "COMMIT-03", "GREEDY-02", "SEQUENCE-01")


def rows_of(ids: Sequence[int]) -> dict[tuple[int, Part], np.ndarray]:
    """Rows that all hold their id, and in which no two kinds hold the same."""
    return {
        kind: np.array(ids, dtype=np.float32).reshape(-1, *[1] * len(shape)) + np.full(shape, 1000.0 * number)
        for number, (kind, shape) in enumerate(KINDS.items())
    }


class Pages(RuleBasedStateMachine):
    """Requests come, share, draft, commit, go back and leave, in any order; a dict of lists is what they must hold."""

    page_size = 1
    kind: type[PagedCache] = PagedCache
    PAGES = 24

    def __init__(self) -> None:
        super().__init__()
        self.cache = self.kind(KINDS, pages=self.PAGES, page_size=self.page_size)
        self.due: dict[int, list[int]] = {}
        self.ids = 0

    def new(self, count: int) -> list[int]:
        self.ids += count
        return list(range(self.ids - count, self.ids))

    def pick(self, number: int) -> int:
        return sorted(self.due)[number % len(self.due)]

    @precondition(lambda self: len(self.due) < 4)
    @rule()
    def open(self) -> None:
        self.due[self.cache.open()] = []

    @precondition(lambda self: 0 < len(self.due) < 4)
    @rule(number=st.integers(0, 9))
    def fork(self, number: int) -> None:
        request = self.pick(number)
        self.due[self.cache.fork(request)] = list(self.due[request])

    @precondition(lambda self: self.due)
    @rule(number=st.integers(0, 9))
    def close(self, number: int) -> None:
        request = self.pick(number)
        self.cache.close(request)
        del self.due[request]

    @precondition(lambda self: self.due)
    @rule(number=st.integers(0, 9), nodes=st.integers(1, 9), data=st.data())
    def draft(self, number: int, nodes: int, data: st.DataObject) -> None:
        request, ids = self.pick(number), self.new(nodes)
        kept = sorted(data.draw(st.sets(st.integers(0, nodes - 1))))
        try:
            slots = self.cache.draft(request, rows_of(ids))
        except UsageError as full:
            assert "are free" in str(full) or "no page is free" in str(full)
            return
        assert len(set(slots)) == nodes
        self.cache.commit(request, kept)
        self.due[request] += [ids[node] for node in kept]

    @precondition(lambda self: self.due)
    @rule(number=st.integers(0, 9), share=st.floats(0, 1))
    def crop(self, number: int, share: float) -> None:
        request = self.pick(number)
        length = int(share * len(self.due[request]))
        self.cache.crop(request, length)
        del self.due[request][length:]

    @invariant()
    def every_request_holds_its_rows(self) -> None:
        for request, ids in self.due.items():
            held, due = self.cache.read(request), rows_of(ids)
            assert all(np.array_equal(held[kind], due[kind]) for kind in KINDS)

    @invariant()
    def no_page_is_lost(self) -> None:
        held = {page for request in self.due for page in self.cache.table(request).pages}
        assert len(held) + self.cache.free_pages == self.PAGES


@pytest.mark.parametrize("page_size", [1, 2, 16])
def test_any_life_of_many_requests(page_size: int) -> None:
    """Whatever requests do, each holds its own rows in every pool, side buffers included, and every page is accounted for."""
    machine = type("Sized", (Pages,), {"page_size": page_size})
    run_state_machine_as_test(machine, settings=settings(FEW, stateful_step_count=25))


class NoCopyOnWrite(PagedCache):
    """Fault: pages are taken for the request's own, whoever else holds them."""

    def table(self, request: int) -> BlockTable:
        return replace(super().table(request), shared=frozenset())


class PagesKept(PagedCache):
    """Fault: the pages of rejected nodes are not given back."""

    def _trim(self, held: Any) -> None:
        held.pages = held.pages[: -(-held.length // self.page_size)]


class FirstRowsKept(PagedCache):
    """Fault: as many rows as were accepted are kept, but the first ones."""

    def commit(self, request: int, kept: Sequence[int]) -> None:
        super().commit(request, range(len(kept)))


@pytest.mark.parametrize("kind", [NoCopyOnWrite, PagesKept, FirstRowsKept])
def test_a_wrong_cache_does_not_live_long(kind: type[PagedCache]) -> None:
    """The same life brings out a missing copy on write, a lost page and a wrong row."""
    machine = type("Faulty", (Pages,), {"page_size": 2, "kind": kind})
    quick = settings(max_examples=200, phases=[Phase.generate], print_blob=False)  # ends at the first that fails
    with pytest.raises(AssertionError):
        run_state_machine_as_test(machine, settings=quick)


@pytest.mark.parametrize("page_size", [1, 3, 16])
def test_a_decoder_over_pages_passes(page_size: int) -> None:
    """On the exact model, listed cases, the cache after every round is bit-equal to a cold run, whatever the page size."""
    report = ground().report(lambda target: StoredDecoder(target, paged_store(page_size)), *LEVELS)
    assert set(statuses(report).values()) == {Status.PASSED}, sentences(report)


class SharedPages:
    """A store that keeps rows once that several requests begin with: all are forked from the first one and cut back."""

    def __init__(self, shapes: Shapes, requests: int) -> None:
        self.cache = PagedCache(shapes, pages=64, page_size=4)
        self.requests: list[int] = []
        self.prompts: Sequence[Rows] = ()
        self.expected = requests

    def draft(self, rows: Sequence[Rows]) -> None:
        if not self.requests:
            self.prompts = rows
            return
        for request, found in zip(self.requests, rows, strict=True):
            self.cache.draft(request, found)

    def commit(self, kept: Sequence[Sequence[int]]) -> None:
        if not self.requests:
            self.requests = [self._admit(rows, len(path)) for rows, path in zip(self.prompts, kept, strict=True)]
            return
        for request, path in zip(self.requests, kept, strict=True):
            self.cache.commit(request, path)

    def _admit(self, rows: Rows, count: int) -> int:
        rows = {kind: found[:count] for kind, found in rows.items()}
        if not self.requests and self.cache.free_pages == 64:
            first = self.cache.open()
            self.cache.append(first, rows)
            return first
        held, (kind, *_) = self.cache.read(0), rows
        most = min(count, len(held[kind]))
        equal = [all(np.array_equal(held[k][row], rows[k][row]) for k in rows) for row in range(most)]
        common = equal.index(False) if False in equal else most
        request = self.cache.fork(0)
        self.cache.crop(request, common)
        self.cache.append(request, {kind: found[common:] for kind, found in rows.items()})
        return request

    def context(self, request: int) -> tuple[Rows, Any]:
        rows = self.read(request)
        return rows, np.ones(len(next(iter(rows.values()))), dtype=bool)

    def read(self, request: int) -> Rows:
        return self.cache.read(self.requests[request])


def first_wrong(
    make_store: MakeStore, prompts: Sequence[Sequence[int]], shapes: Sequence[Sequence[ScriptedTree]]
) -> str:
    """Rounds over a batch on the exact model: the first request whose cache is not a cold run's, or whose text is not plain
    greedy decoding; nothing if none is."""
    found = ground()
    stage = Stage(found.truth)
    session = StoredDecoder(found.target, make_store).open(prompts, Limits(1 << 20))
    texts = [tuple(prompt) for prompt in prompts]
    for number, round_shapes in enumerate(shapes):
        trees = [stage.script(text, shape) for text, shape in zip(texts, round_shapes, strict=True)]
        rounds = session.step([CandidateTree.from_data(tree) for tree in trees])
        texts = [(*text, *round_.emitted) for text, round_ in zip(texts, rounds, strict=True)]
        for request, (text, held) in enumerate(zip(texts, session.cache(), strict=True)):
            if held != found.truth.cache(text[:-1]):
                return f"cache of request {request} after round {number}"
    for request, (prompt, text) in enumerate(zip(prompts, texts, strict=True)):
        if text[len(prompt) :] != found.truth.greedy(prompt, Limits(len(text) - len(prompt))).tokens:
            return f"text of request {request}"
    return ""


few_tokens = st.integers(0, 60)
prompts = st.lists(st.lists(few_tokens, min_size=2, max_size=9), min_size=2, max_size=3)


@settings(FEW)
@given(shared=st.lists(few_tokens, min_size=1, max_size=9), rest=prompts, data=st.data())
def test_requests_that_share_pages_equal_cold_ones(
    shared: list[int], rest: list[list[int]], data: st.DataObject
) -> None:
    """Requests forked from one prefix, in the middle of a page, decode as if each had been run alone and cold."""
    shape = scripted_trees(vocab_size=61, max_nodes=7, distinct_siblings=True)
    rounds = data.draw(st.lists(st.tuples(*[shape] * len(rest)), min_size=2, max_size=2))
    assert first_wrong(SharedPages, [[*shared, *more] for more in rest], rounds) == ""


def test_a_page_is_given_back_when_only_rejected_nodes_were_in_it() -> None:
    """A rolled back round leaves as many free pages as there were."""
    cache = PagedCache(KINDS, pages=8, page_size=2)
    request = cache.open()
    cache.append(request, rows_of([1, 2, 3]))
    before = cache.free_pages
    cache.draft(request, rows_of(range(10, 17)))
    assert cache.free_pages == before - 3
    cache.commit(request, [])
    assert cache.free_pages == before
    assert cache.read(request)[0, Part.SIDE][:, 0].tolist() == [2001, 2002, 2003]


def test_bad_input_is_refused() -> None:
    """The messages name what was given and what was expected."""
    with pytest.raises(UsageError, match="0 pages of 1 rows; expected at least one of each"):
        PagedCache(KINDS, pages=0, page_size=1)
    with pytest.raises(UsageError, match="the state of layer 0 have no row per token"):
        PagedCache({(0, Part.STATE): (1,)}, pages=1, page_size=1)
    cache = PagedCache(KINDS, pages=2, page_size=2)
    request = cache.open()
    with pytest.raises(UsageError, match=r"no request 9; there are \[0\]"):
        cache.read(9)
    with pytest.raises(UsageError, match="3 pages are needed for 5 rows; 2 are free"):
        cache.draft(request, rows_of(range(5)))
    with pytest.raises(UsageError, match="rows for .*; expected .*SIDE"):
        cache.draft(request, {(0, Part.KEYS): np.zeros((1, 2, 3))})
    with pytest.raises(UsageError, match="the rows are no rows of this cache"):
        cache.draft(request, rows_of([1]) | {(0, Part.KEYS): np.zeros((1, 9))})
    cache.draft(request, rows_of([1, 2]))
    with pytest.raises(UsageError, match="node 2 is to be kept; the round has 2 nodes"):
        cache.commit(request, [0, 2])
    with pytest.raises(UsageError, match="request 0 has a round of 2 nodes that is not committed"):
        cache.fork(request)
    cache.commit(request, [0])
    with pytest.raises(UsageError, match="request 0 is to keep 2 rows; it has 1"):
        cache.crop(request, 2)


def test_bad_sessions_are_refused() -> None:
    """A session over a store names what it was given, as the reference's own does."""
    decoder = StoredDecoder(ground().target, paged_store(4))
    with pytest.raises(UsageError, match="an empty prompt has no last token to be the root of a tree"):
        decoder.open([[]], Limits(3))
    session = decoder.open([[1, 2]], Limits(1))
    with pytest.raises(UsageError, match="0 trees for 1 requests"):
        session.step([])
    with pytest.raises(UsageError, match="the root holds token 3; expected 2, the last committed one"):
        session.step([CandidateTree([3], [-1])])
    (round_,) = session.step([CandidateTree([2], [-1])])
    assert (
        round_.emitted
        == ReferenceDecoder(ground().target).open([[1, 2]], Limits(1)).step([CandidateTree([2], [-1])])[0].emitted
    )
    with pytest.raises(UsageError, match="ended: cap"):
        session.step([CandidateTree([round_.emitted[-1]], [-1])])
