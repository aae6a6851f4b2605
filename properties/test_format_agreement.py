"""Every encoding says the same of every tree: who sees whom, read off it entry by entry, and the tree comes back from it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

import pytest
from format_oracle import READERS, SIZES, grown, grown_batch, suits, visible
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.record import Unsupported, UsageError
from tree_oracle.strategies import candidate_trees
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.formats import FORMATS, find_format, holds, in_level_order

prefix_lens = st.integers(1, 20)


seen_in = cache(lambda tree: visible(tree.parents.tolist()))


def pairs(n: int, *, every: bool) -> list[tuple[int, int]]:
    """Every pair of nodes, or two hundred of them."""
    if every:
        return [(v, u) for v in range(n) for u in range(n)]
    chance = random.Random(n)
    return [(chance.randrange(n), chance.randrange(n)) for _ in range(200)]


def test_every_encoding_has_an_independent_reader() -> None:
    """No encoding is registered that these tests cannot read."""
    assert set(READERS) == set(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("requests", [1, 2, 3, 4])
def test_it_says_who_sees_whom(name: str, requests: int) -> None:
    """At sizes on both sides of every word, one to four requests with ragged prefixes: the pairs are those of the parents."""
    encoding = FORMATS[name]
    for n in (size for size in SIZES if suits(encoding, size)):
        trees, lens = grown_batch(n, requests)
        documents = encoding.encode(trees, lens)
        for request, tree in enumerate(trees):
            expected = seen_in(tree)
            sees = READERS[name](documents, request, [length - 1 for length in lens], [n] * requests)
            assert all(sees(v, u) == expected[v][u] for v, u in pairs(n, every=n <= 33 and request + 1 == requests)), (
                n,
                request,
            )
        assert encoding.decode(documents, lens) == tuple(trees)


def says(name: str, trees: Sequence[CandidateTree], lens: Sequence[int]) -> bool:
    """Whether an encoding of these trees is read as theirs, by the reader and by its own decoder."""
    documents, cached, sizes = FORMATS[name].encode(trees, lens), [length - 1 for length in lens], list(map(len, trees))
    read = [
        [[sees(v, u) for u in range(n)] for v in range(n)]
        for sees, n in ((READERS[name](documents, b, cached, sizes), n) for b, n in enumerate(sizes))
    ]
    return read == [seen_in(tree) for tree in trees] and FORMATS[name].decode(documents, lens) == tuple(trees)


@given(st.data())
def test_ragged_trees_come_back(data: st.DataObject) -> None:
    """Requests of different sizes, shapes and prefixes survive the way there and back, in their own order of storage."""
    drawn = candidate_trees(vocab_size=4, distinct_siblings=data.draw(st.booleans()))
    trees = data.draw(st.lists(drawn, min_size=1, max_size=4))
    lens = data.draw(st.lists(prefix_lens, min_size=len(trees), max_size=len(trees)))
    by_levels = [in_level_order(tree)[0] for tree in trees]
    wrong = []
    for name, encoding in FORMATS.items():
        batch = by_levels if encoding.demands.level_order else trees
        if encoding.demands.one_size or not all(holds(encoding, tree) for tree in batch):
            continue
        if not says(name, batch, lens):
            wrong.append(name)
    assert wrong == []


@given(st.data())
def test_rectangular_batches_come_back(data: st.DataObject) -> None:
    """Encodings without padding hold several trees of one size, and refuse several sizes."""
    n = data.draw(st.integers(1, 9))
    of_one_size = candidate_trees(vocab_size=4, min_nodes=n, max_nodes=n)
    trees = data.draw(st.lists(of_one_size, min_size=1, max_size=4))
    lens = data.draw(st.lists(prefix_lens, min_size=len(trees), max_size=len(trees)))
    rectangular = [name for name, one in FORMATS.items() if one.demands.one_size]
    assert [name for name in rectangular if not says(name, trees, lens)] == []
    for name in rectangular:
        with pytest.raises(UsageError, match="expected one size"):
            FORMATS[name].encode([*trees, grown(n + 1, 0)], [*lens, 1])


def test_what_a_tree_must_meet_is_asked_before() -> None:
    """``holds`` is false where the encoder refuses: too many nodes or siblings, equal siblings, another order."""
    trees = {
        "sglang-packed": grown(33, 0),
        "flexflow": grown(65, 0),
        "medusa": CandidateTree([0] * 12, [-1] + [0] * 11),
        "pool": CandidateTree([0] * 12, [-1] + [0] * 11),
        "child-maps": CandidateTree([0, 1, 1], [-1, 0, 0]),
        "choices": CandidateTree([0, 1, 2, 3], [-1, 0, 1, 0]),
    }
    for name, tree in trees.items():
        assert not holds(FORMATS[name], tree)
        with pytest.raises((UsageError, Unsupported)):
            FORMATS[name].encode([tree], [1])
        assert holds(FORMATS["parents"], tree)


@pytest.mark.parametrize("parents", [range(-1, 1199), [-1] + [0] * 1199], ids=["chain", "star"])
def test_deep_and_wide_trees_come_back(parents: Sequence[int]) -> None:
    """A chain deeper than Python's stack and a node of 1,199 children go through every encoding that can hold them."""
    tree = CandidateTree(range(1200), parents)
    held = [encoding for encoding in FORMATS.values() if holds(encoding, tree)]
    assert len(held) >= len(FORMATS) - 4
    assert [one.name for one in held if one.decode(one.encode([tree], [3]), [3]) != (tree,)] == []


@pytest.mark.parametrize("name", FORMATS)
def test_a_batch_without_its_lengths_is_refused(name: str) -> None:
    """No tree, no prefix, or not one prefix length for each tree is a usage error in whatever asks for lengths."""
    encoding, tree = FORMATS[name], grown(3, 0)
    documents = encoding.encode([tree], [1])
    with pytest.raises(UsageError):
        encoding.encode([], [])
    if name in ("tensorrt", "links-global", "links-local"):
        return  # neither their tensors nor their tables depend on the prefix
    for trees, lens in (([tree, tree], [1]), ([tree], [0]), ([tree], [1, 1])):
        with pytest.raises(UsageError):
            encoding.encode(trees, lens)
    for lens in ([], [0], [1, 1]):
        with pytest.raises(UsageError):
            encoding.decode(documents, lens)


def test_an_unknown_name_is_refused_with_those_that_exist() -> None:
    """Asking for an encoding that is none names all that are."""
    with pytest.raises(UsageError, match="no encoding is named 'medussa'; expected one of bool, bool-hides"):
        find_format("medussa")
    assert find_format("medusa") is FORMATS["medusa"]
