"""Every published encoding in plain Python, written from its description, and what it takes for a document to be none.

Nothing of the project is imported. A tree is a pair of lists, tokens and parents; documents are JSON values as the vectors hold
them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

Tree = tuple[list[int], list[int]]
LOWEST, MINUS_INFINITY = "lowest", "-inf"


def path_to(parents: Sequence[int], node: int) -> list[int]:
    """From the root to the node."""
    found = [node]
    while parents[found[0]] >= 0:
        found.insert(0, parents[found[0]])
    return found


def depths_of(parents: Sequence[int]) -> list[int]:
    return [len(path_to(parents, node)) - 1 for node in range(len(parents))]


def sees(parents: Sequence[int], v: int, u: int) -> bool:
    """Whether node v attends node u."""
    return u in path_to(parents, v)


def children_of(parents: Sequence[int], node: int) -> list[int]:
    return [other for other, parent in enumerate(parents) if parent == node]


def rank_paths(parents: Sequence[int]) -> list[list[int]]:
    """The ranks among siblings along the path to each node, the root's empty."""
    rank = [0 if parent < 0 else children_of(parents, parent).index(node) for node, parent in enumerate(parents)]
    return [[rank[node] for node in path_to(parents, node)[1:]] for node in range(len(parents))]


def packed(bits: Sequence[bool], unit: int) -> list[int]:
    """Whole numbers of ``unit`` bits, lowest bit first."""
    return [sum(bit << place for place, bit in enumerate(bits[at : at + unit])) for at in range(0, len(bits), unit)]


def leaf_rows(parents: Sequence[int]) -> list[list[int]]:
    """The padded path to each leaf."""
    leaves = [node for node in range(len(parents)) if not children_of(parents, node)]
    return padded([path_to(parents, leaf) for leaf in leaves])


def padded(rows: list[list[int]]) -> list[list[int]]:
    width = max(map(len, rows))
    return [row + [-1] * (width - len(row)) for row in rows]


def intervals(parents: Sequence[int]) -> tuple[list[int], list[int]]:
    """Depth-first numbers, and where each subtree ends."""
    order: list[int] = []

    def visit(node: int) -> None:
        order.append(node)
        for child in children_of(parents, node):
            visit(child)

    visit(0)
    size = [sum(sees(parents, v, u) for v in range(len(parents))) for u in range(len(parents))]
    return [order.index(node) for node in range(len(parents))], [
        order.index(node) + size[node] for node in range(len(parents))
    ]


def dense(one: Any, zero: Any, *, prefix: bool = True, keys_first: bool = False) -> Callable[..., list[Any]]:
    """A rectangle for each request: prefixes end together, padding rows and columns see and are seen by nothing."""

    def encode(trees: Sequence[Tree], lens: Sequence[int]) -> list[Any]:
        before = max(lens) - 1 if prefix else 0
        rows = max(len(tokens) for tokens, _ in trees)

        def entry(b: int, q: int, k: int) -> Any:
            (tokens, parents), node = trees[b], k - before
            inside = q < len(tokens) and (k >= before - (lens[b] - 1) if node < 0 else node < len(tokens))
            return one if inside and (node < 0 or sees(parents, q, node)) else zero

        mask = [[[entry(b, q, k) for k in range(before + rows)] for q in range(rows)] for b in range(len(trees))]
        if keys_first:
            mask = [[list(column) for column in zip(*square, strict=True)] for square in mask]
        return [{"tokens": [tokens for tokens, _ in trees], "mask": mask}]

    return encode


def sglang(*, prefix: bool) -> Callable[..., list[Any]]:
    def encode(trees: Sequence[Tree], lens: Sequence[int]) -> list[Any]:
        flat: list[int] = []
        for (tokens, parents), length in zip(trees, lens, strict=True):
            for v in range(len(tokens)):
                flat += [1] * (length - 1 if prefix else 0) + [int(sees(parents, v, u)) for u in range(len(tokens))]
        return [{"tokens": [tokens for tokens, _ in trees], "mask": flat}]

    return encode


def sglang_packed(trees: Sequence[Tree], lens: Sequence[int]) -> list[Any]:
    n = len(trees[0][0])
    wide = 8 if n <= 8 else 16 if n <= 16 else 32
    flat: list[int] = []
    for _, parents in trees:
        for v in range(n):
            flat += packed([u < n and sees(parents, v, u) for u in range(wide)], 8)
    return [{"tokens": [tokens for tokens, _ in trees], "mask": flat}]


def flashinfer(trees: Sequence[Tree], lens: Sequence[int]) -> list[Any]:
    parts = []
    for (tokens, parents), length in zip(trees, lens, strict=True):
        n = len(tokens)
        parts.append(
            packed(
                [bit for v in range(n) for bit in [True] * (length - 1) + [sees(parents, v, u) for u in range(n)]], 8
            )
        )
    ends = [sum(map(len, parts[:at])) for at in range(len(parts) + 1)]
    return [
        {"tokens": [tokens for tokens, _ in trees], "packed": [byte for part in parts for byte in part], "indptr": ends}
    ]


def tensorrt(trees: Sequence[Tree], lens: Sequence[int]) -> list[Any]:
    rows = max(len(tokens) for tokens, _ in trees)
    words = (rows + 31) // 32
    deep = 1 + max(max(depths_of(parents)) for _, parents in trees)
    mask, offsets, paths = [], [], []
    for tokens, parents in trees:
        n = len(tokens)
        table = [[v < n and u < n and sees(parents, v, u) for u in range(32 * words)] for v in range(rows)]
        # The words are signed.
        mask.append([[word - 2**32 if word >= 2**31 else word for word in packed(row, 32)] for row in table])
        offsets.append(depths_of(parents) + [0] * (rows - n))
        listed = [path_to(parents, node) for node in range(n)] + [[] for _ in range(rows - n)]
        paths.append([row + [-1] * (deep - len(row)) for row in listed])
    return [{"tokens": [tokens for tokens, _ in trees], "mask": mask, "offsets": offsets, "paths": paths}]


def single(make: Callable[..., Any]) -> Callable[..., list[Any]]:
    """An encoding with a document for each request."""

    def encode(trees: Sequence[Tree], lens: Sequence[int]) -> list[Any]:
        return [
            make(list(tokens), list(parents), length) for (tokens, parents), length in zip(trees, lens, strict=True)
        ]

    return encode


def square(parents: Sequence[int], one: Any, zero: Any) -> list[list[Any]]:
    n = len(parents)
    return [[one if sees(parents, v, u) else zero for u in range(n)] for v in range(n)]


def eagle(tokens: list[int], parents: list[int], _: int) -> Any:
    return {
        "tokens": tokens,
        "retrieve_indices": leaf_rows(parents),
        "position_ids": depths_of(parents),
        "attn_mask": [[square(parents, 1, 0)]],
    }


def eagle_sampling(tokens: list[int], parents: list[int], length: int) -> Any:
    return {**eagle(tokens, parents, length), "retrieve_indices": sorted(leaf_rows(parents))}


def medusa_of(tokens: list[int], choices: list[list[int]]) -> Any:
    """The buffers that follow from a list of choices."""
    ordered = [[], *sorted(choices, key=lambda choice: (len(choice), choice))]
    parents = [-1, *(ordered.index(choice[:-1]) for choice in ordered[1:])]
    return {
        "tokens": tokens,
        "choices": choices,
        "tree_indices": [0, *(1 + 10 * (len(choice) - 1) + choice[-1] for choice in ordered[1:])],
        "retrieve_indices": leaf_rows(parents)[::-1],
        "position_ids": depths_of(parents),
        "attn_mask": [[square(parents, 1, 0)]],
    }


def vllm_of(tokens: list[int], choices: list[list[int]]) -> Any:
    ordered = [[], *sorted(choices, key=lambda choice: (len(choice), choice))]
    parents = [-1, *(ordered.index(choice[:-1]) for choice in ordered[1:])]
    return {"tokens": tokens, "choices": choices, "bias": square(parents, 0, MINUS_INFINITY)}


def predicate(trees: Sequence[Tree], lens: Sequence[int]) -> list[Any]:
    before, rows = max(lens) - 1, max(len(tokens) for tokens, _ in trees)
    query, enter, leave = [], [], []
    for (tokens, parents), length in zip(trees, lens, strict=True):
        first, last = intervals(parents)
        rest, hidden, n = rows - len(tokens), before - (length - 1), len(tokens)
        query.append(first + [-1] * rest)
        enter.append([0] * before + first + [0] * rest)
        leave.append([0] * hidden + [n] * (length - 1) + last + [0] * rest)
    return [{"tokens": [tokens for tokens, _ in trees], "enter_query": query, "enter_key": enter, "leave_key": leave}]


def links(*, across_batch: bool) -> Callable[..., list[Any]]:
    def encode(trees: Sequence[Tree], lens: Sequence[int]) -> list[Any]:
        n = len(trees[0][0])
        first, following = [], []
        for _, parents in trees:
            families = [children_of(parents, node) for node in range(n)]
            first.append([family[0] if family else -1 for family in families])
            after = {family[at]: family[at + 1] for family in families for at in range(len(family) - 1)}
            following.append([after.get(node, -1) for node in range(n)])
        return [{
            "tokens": [tokens for tokens, _ in trees],
            "retrieve_index": [[node + (n * b if across_batch else 0) for node in range(n)] for b in range(len(trees))],
            "next_token": first,
            "next_sibling": following,
        }]  # fmt: skip

    return encode


def pool(tokens: list[int], parents: list[int], _: int) -> Any:
    """As if the inner nodes had been expanded one after another, each into ten."""
    inner = sorted(set(parents[1:]))
    place = {
        node: 10 * inner.index(parent) + children_of(parents, parent).index(node)
        for node, parent in enumerate(parents)
        if parent >= 0
    }
    return {
        "tokens": tokens,
        "selected": [place[node] for node in range(1, len(tokens))],
        "parent_list": [-1, *(place[node] for node in inner if node)],
    }


def sequences(tokens: list[int], parents: list[int], length: int) -> Any:
    leaves = [node for node in range(len(tokens)) if not children_of(parents, node)]
    rows = [[number for number, leaf in enumerate(leaves) if sees(parents, leaf, node)] for node in range(len(tokens))]
    return {
        "tokens": tokens,
        "positions": [length - 1 + depth for depth in depths_of(parents)],
        "starts": [sum(map(len, rows[:node])) for node in range(len(tokens) + 1)],
        "ids": [number for row in rows for number in row],
    }


def child_maps(tokens: list[int], parents: list[int], _: int) -> Any:
    maps = [{str(tokens[child]): child for child in children_of(parents, node)} for node in range(len(tokens))]
    return {"root": tokens[0], "maps": maps}


def _listed(change: Callable[[list[int]], list[int]]) -> Callable[..., list[Any]]:
    return single(lambda tokens, parents, _: {"tokens": tokens, "parents": change(parents)})


def _intervals(tokens: list[int], parents: list[int], _: int) -> Any:
    enter, leave = intervals(parents)
    return {"tokens": tokens, "enter": enter, "leave": leave}


ENCODERS: dict[str, Callable[..., list[Any]]] = {
    "bool": dense(1, 0),
    "bool-hides": dense(0, 1),
    "int8": dense(1, 0),
    "added-lowest": dense(0, LOWEST),
    "added-sum": dense(0, LOWEST),
    "block-by-key": dense(1, 0, prefix=False, keys_first=True),
    "block-narrows": dense(1, 0, prefix=False),
    "sglang-full": sglang(prefix=True),
    "sglang-qlen": sglang(prefix=False),
    "sglang-packed": sglang_packed,
    "flashinfer": flashinfer,
    "tensorrt": tensorrt,
    "flexflow": single(lambda tokens, parents, _: {
        "tokens": tokens,
        "mask": [sum(sees(parents, v, u) << v for v in range(len(tokens))) for u in range(len(tokens))],
    }),
    "medusa": single(lambda tokens, parents, _: medusa_of(tokens, rank_paths(parents)[1:])),
    "eagle": single(eagle),
    "eagle-sampling": single(eagle_sampling),
    "vllm": single(lambda tokens, parents, _: vllm_of(tokens, rank_paths(parents)[1:])),
    "predicate": predicate,
    "parents": _listed(lambda parents: parents),
    "parents-itself": _listed(lambda parents: [0, *parents[1:]]),
    "parents-unlisted": _listed(lambda parents: [parent - 1 for parent in parents[1:]]),
    "parents-unlisted-itself": _listed(
        lambda parents: [parent - 1 if parent else at for at, parent in enumerate(parents[1:])]
    ),
    "child-maps": single(child_maps),
    "successors": single(lambda tokens, parents, _: {
        "tokens": tokens, "successors": [children_of(parents, node) for node in range(len(tokens))]
    }),
    "links-global": links(across_batch=True),
    "links-local": links(across_batch=False),
    "pool": single(pool),
    "choices": single(lambda tokens, parents, _: {"tokens": tokens, "choices": rank_paths(parents)[1:]}),
    "choices-as-listed": single(lambda tokens, parents, _: {"tokens": tokens, "choices": rank_paths(parents)[1:]}),
    "leaf-paths": single(lambda tokens, parents, _: {"tokens": tokens, "rows": leaf_rows(parents)}),
    "node-paths": single(lambda tokens, parents, _: {
        "tokens": tokens, "rows": padded([path_to(parents, node) for node in range(len(tokens))])
    }),
    "sequence-ids": single(sequences),
    "intervals": single(_intervals),
    "json": single(lambda tokens, parents, _: json.dumps({"format": "tree", "version": 1, "tokens": tokens, "parents": parents})),
}  # fmt: skip

LEVEL_ORDER = {"medusa", "vllm", "pool", "choices", "choices-as-listed"}


def trees_of(n: int, name: str) -> Iterator[list[int]]:
    """The parents of every tree of n nodes that the encoding holds."""
    for rest in product(*(range(node) for node in range(1, n))):
        if name not in LEVEL_ORDER or list(rest) == sorted(rest):
            yield [-1, *rest]
