"""What an encoding says, read entry by entry in plain Python, and what it should say, by following parents one at a time.

A reader turns documents into a question: does node v of a request see node u? It knows the published meaning of the encoding and
nothing of the code under test. Both sides are slow and obvious.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tree_oracle.tree import CandidateTree
from tree_oracle.tree.formats import Format

SIZES = (1, 8, 9, 31, 32, 33, 64, 65, 256)
Sees = Callable[[int, int], bool]
Reader = Callable[[Any, int, Sequence[int], Sequence[int]], Sees]  # documents, request, cached tokens, numbers of nodes


def grown(n: int, seed: int, *, widest: int = 8) -> CandidateTree:
    """A tree of n nodes in level order with distinct siblings, at most ``widest`` of them, and repeated tokens elsewhere."""
    chance = random.Random(1000 * n + seed)
    tokens, parents, left = [chance.randrange(widest)], [-1], [widest]
    while len(tokens) < n:
        parent = max(parents[-1], len(tokens) - 1 - chance.randrange(4)) if len(tokens) > 1 else 0
        parent = next((node for node in range(parent, len(tokens)) if left[node]), len(tokens) - 1)
        used = {tokens[node] for node in range(1, len(tokens)) if parents[node] == parent}
        tokens.append(chance.choice([token for token in range(widest) if token not in used]))
        parents.append(parent)
        left[parent] -= 1
        left.append(widest)
    return CandidateTree(tokens, parents)


def path(parents: Sequence[int], node: int) -> list[int]:
    """The node and its ancestors, the root last."""
    found = [node]
    while parents[found[-1]] != -1:
        found.append(parents[found[-1]])
    return found


def grown_batch(n: int, requests: int) -> tuple[list[CandidateTree], list[int]]:
    """Trees of n nodes and ragged prefix lengths."""
    return [_cached_tree(n, seed) for seed in range(requests)], [1 + (7 * b + n) % 11 for b in range(requests)]


_cached_tree = cache(grown)


def visible(parents: Sequence[int]) -> list[list[bool]]:
    """``[v][u]``: whether v sees u."""
    return [
        [other in seen for other in range(len(parents))]
        for seen in (set(path(parents, v)) for v in range(len(parents)))
    ]


def suits(encoding: Format, n: int) -> bool:
    """Whether trees as ``grown`` makes them fit the encoding."""
    return encoding.demands.most_nodes is None or n <= encoding.demands.most_nodes


def _by_parents(parent: Callable[[int], int]) -> Sees:
    """Ancestry by parents that are asked for one by one; -1 above the root."""
    parent = cache(parent)

    def sees(v: int, u: int) -> bool:
        while v != u and v > 0:
            v = parent(v)
        return v == u

    return sees


def _dense(attends: Callable[[Any], bool], *, keys_first: bool = False, prefix: bool = True) -> Reader:
    def reader(documents: Any, b: int, cached: Sequence[int], _: Sequence[int]) -> Sees:
        mask, before = documents[0].mask, max(cached) if prefix else 0
        return lambda v, u: attends(mask[b][before + u][v] if keys_first else mask[b][v][before + u])

    return reader


def _sglang_flat(*, prefix: bool) -> Reader:
    def reader(documents: Any, b: int, cached: Sequence[int], sizes: Sequence[int]) -> Sees:
        columns = [c if prefix else 0 for c in cached]
        n, start = sizes[0], sum(sizes[0] * (c + sizes[0]) for c in columns[:b])
        return lambda v, u: bool(documents[0].mask[start + v * (columns[b] + n) + columns[b] + u])

    return reader


def _sglang_packed(documents: Any, b: int, _: Sequence[int], sizes: Sequence[int]) -> Sees:
    n = sizes[0]
    width = 1 if n <= 8 else 2 if n <= 16 else 4
    return lambda v, u: bool(int(documents[0].mask[(b * n + v) * width + u // 8]) >> (u % 8) & 1)


def _flashinfer(documents: Any, b: int, cached: Sequence[int], sizes: Sequence[int]) -> Sees:
    start, columns = int(documents[0].indptr[b]), cached[b] + sizes[b]

    def sees(v: int, u: int) -> bool:
        bit = v * columns + cached[b] + u
        return bool(int(documents[0].packed[start + bit // 8]) >> (bit % 8) & 1)

    return sees


def _buffers(name: str, attends: Callable[[Any], bool]) -> Reader:
    def reader(documents: Any, b: int, *_: Any) -> Sees:
        mask = getattr(documents[b], name)
        square = mask[0][0] if mask.ndim == 4 else mask
        return lambda v, u: attends(square[v][u])

    return reader


def _predicate(documents: Any, b: int, cached: Sequence[int], _: Sequence[int]) -> Sees:
    tables, before = documents[0], max(cached)

    def sees(v: int, u: int) -> bool:
        entered = tables.enter_query[b][v]
        return bool(tables.enter_key[b][before + u] <= entered < tables.leave_key[b][before + u])

    return sees


def _parents(root: Callable[[list[int], int], int]) -> Reader:
    def reader(documents: Any, b: int, *_: Any) -> Sees:
        listed = list(map(int, documents[b].parents))
        return _by_parents(lambda v: root(listed, v))

    return reader


def _unlisted_itself(listed: list[int], v: int) -> int:
    return 0 if listed[v - 1] == v - 1 else listed[v - 1] + 1


def _child_maps(documents: Any, b: int, *_: Any) -> Sees:
    maps = documents[b].maps
    return _by_parents(lambda v: next(node for node, here in enumerate(maps) if v in here.values()))


def _successors(documents: Any, b: int, *_: Any) -> Sees:
    lists = documents[b].successors
    return _by_parents(lambda v: next(node for node, here in enumerate(lists) if v in here))


def _links(documents: Any, b: int, *_: Any) -> Sees:
    first, following = list(documents[0].next_token[b]), list(documents[0].next_sibling[b])

    def parent(v: int) -> int:
        while v in following:
            v = following.index(v)
        return first.index(v)

    return _by_parents(parent)


def _pool(documents: Any, b: int, *_: Any) -> Sees:
    selected, owners = list(documents[b].selected), list(documents[b].parent_list)

    def parent(v: int) -> int:
        group = selected[v - 1] // 10
        return 0 if group == 0 else selected.index(owners[group]) + 1

    return _by_parents(parent)


def _choices(documents: Any, b: int, *_: Any) -> Sees:
    ordered = [(), *sorted(map(tuple, documents[b].choices), key=lambda choice: (len(choice), choice))]
    return lambda v, u: ordered[v][: len(ordered[u])] == ordered[u]


def _listed_choices(documents: Any, b: int, *_: Any) -> Sees:
    listed = [(), *map(tuple, documents[b].choices)]
    return lambda v, u: listed[v][: len(listed[u])] == listed[u]


def _paths(documents: Any, b: int, *_: Any) -> Sees:
    rows = [[node for node in map(int, row) if node != -1] for row in documents[b].rows]

    @cache
    def seen(v: int) -> list[int]:
        row = next(row for row in rows if v in row)
        return row[: row.index(v) + 1]

    return lambda v, u: u in seen(v)


def _sequences(documents: Any, b: int, *_: Any) -> Sees:
    found = documents[b]

    @cache
    def ids(v: int) -> set[int]:
        return set(map(int, found.ids[found.starts[v] : found.starts[v + 1]]))

    return lambda v, u: bool(ids(v) & ids(u)) and bool(found.positions[u] <= found.positions[v])


def _intervals(documents: Any, b: int, *_: Any) -> Sees:
    enter, leave = documents[b].enter, documents[b].leave
    return lambda v, u: bool(enter[u] <= enter[v] < leave[u])


def _json(documents: Any, b: int, *_: Any) -> Sees:
    parents = json.loads(documents[b])["parents"]
    return _by_parents(lambda v: int(parents[v]))


def _is_one(value: Any) -> bool:
    return bool(value == 1)


def _is_zero(value: Any) -> bool:
    return bool(value == 0)


READERS: dict[str, Reader] = {
    "bool": _dense(_is_one),
    "bool-hides": _dense(_is_zero),
    "int8": _dense(_is_one),
    "added-lowest": _dense(_is_zero),
    "added-sum": _dense(_is_zero),
    "block-by-key": _dense(_is_one, keys_first=True, prefix=False),
    "block-narrows": _dense(_is_one, prefix=False),
    "sglang-full": _sglang_flat(prefix=True),
    "sglang-qlen": _sglang_flat(prefix=False),
    "sglang-packed": _sglang_packed,
    "flashinfer": _flashinfer,
    "tensorrt": lambda documents, b, *_: lambda v, u: bool(int(documents[0].mask[b][v][u // 32]) >> (u % 32) & 1),
    "flexflow": lambda documents, b, *_: lambda v, u: bool(int(documents[b].mask[u]) >> v & 1),
    "medusa": _buffers("attn_mask", _is_one),
    "eagle": _buffers("attn_mask", _is_one),
    "eagle-sampling": _buffers("attn_mask", _is_one),
    "vllm": _buffers("bias", _is_zero),
    "predicate": _predicate,
    "parents": _parents(lambda listed, v: listed[v]),
    "parents-itself": _parents(lambda listed, v: listed[v]),
    "parents-unlisted": _parents(lambda listed, v: listed[v - 1] + 1),
    "parents-unlisted-itself": _parents(_unlisted_itself),
    "child-maps": _child_maps,
    "successors": _successors,
    "links-global": _links,
    "links-local": _links,
    "pool": _pool,
    "choices": _choices,
    "choices-as-listed": _listed_choices,
    "leaf-paths": _paths,
    "node-paths": _paths,
    "sequence-ids": _sequences,
    "intervals": _intervals,
    "json": _json,
}
