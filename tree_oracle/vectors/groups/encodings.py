"""Groups ``encode`` and ``decode``: each published encoding, alone and in batches, to and from."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tree_oracle.tree import CandidateTree
from tree_oracle.tree.formats import FORMATS, Format, holds
from tree_oracle.vectors.answers import answer
from tree_oracle.vectors.chance import Chance
from tree_oracle.vectors.groups.kit import Kit
from tree_oracle.vectors.model import Decode, Decoded, Encode, Encoded, Tree
from tree_oracle.vectors.shapes import LONG_PREFIX, SHAPES, far_tokens, named, traits

Batch = tuple[str, list[Tree]]
_LARGE = 257  # nodes, where an index of eight bits wraps
_MOST_BYTES = 16_000  # of a document of that many; masks have n bits a node and are left out

_BOUNDARIES = (31, 32, 33, 64, 65)
_SMALL = (1, 2, 3, 4, 5, 7, 8, 9)


def encode() -> Kit:
    """Trees of every size at which an encoding changes its width, and batches of equal and of unequal ones."""
    kit = Kit("encode", "encode", "A batch of trees in a published encoding.")
    for encoding in FORMATS.values():
        chance = Chance("encode", encoding.name)
        for comment, batch in _batches(chance, encoding, _SMALL, _BOUNDARIES):
            asked = _asked(chance, encoding, batch)
            encoded = answer(asked)
            assert isinstance(encoded, Encoded)
            kit.add(f"{encoding.name}: {comment}", _flags(encoding, asked), asked, encoded)
        for comment, asked in _large(chance, encoding):
            encoded = answer(asked)
            assert isinstance(encoded, Encoded)
            if len(msgspec.json.encode(encoded)) < _MOST_BYTES:
                kit.add(f"{encoding.name}: {comment}", _flags(encoding, asked), asked, encoded)
    return kit


def decode() -> Kit:
    """Documents of other trees, to be read."""
    kit = Kit("decode", "decode", "The trees of a published encoding.")
    for encoding in FORMATS.values():
        chance = Chance("decode", encoding.name)
        for comment, batch in _batches(chance, encoding, (1, 2, 5, 8, 9), (33,)):
            asked = _asked(chance, encoding, batch)
            encoded = answer(asked)
            assert isinstance(encoded, Encoded)
            question = Decode(encoding.name, encoded.documents, asked.prefix_lens)
            kit.add(f"{encoding.name}: {comment}", _flags(encoding, asked), question, Decoded(asked.trees))
    return kit


def _batches(chance: Chance, encoding: Format, small: tuple[int, ...], boundaries: tuple[int, ...]) -> Iterator[Batch]:
    most = encoding.demands.most_nodes
    for n in (*small, *(n for n in boundaries if most is None or n <= most)):
        name, tree = _tree(chance, encoding, n)
        yield f"{n} nodes, {name}", [tree]
    for n in (3, 9):
        yield f"two requests of {n} nodes", [_tree(chance, encoding, n)[1] for _ in range(2)]
    if not encoding.demands.one_size:
        yield "three requests of unequal trees", [_tree(chance, encoding, n)[1] for n in (5, 1, 8)]


def _large(chance: Chance, encoding: Format) -> Iterator[tuple[str, Encode]]:
    """Numbers that eight and sixteen bits do not hold: tokens, positions, nodes."""
    wide = far_tokens(_tree(chance, encoding, 6)[1])
    yield "tokens past sixteen bits, a prefix past eight", Encode(encoding.name, (wide,), (LONG_PREFIX,))
    if encoding.demands.most_nodes is None:
        chain = named(chance, SHAPES["chain"](chance, _LARGE))
        yield f"{_LARGE} nodes", Encode(encoding.name, (chain,), (chance.between(1, 6),))


def _tree(chance: Chance, encoding: Format, n: int) -> tuple[str, Tree]:
    """A tree that the encoding can hold; level order always can be."""
    for _ in range(20):
        name = chance.pick(list(SHAPES))
        tree = named(chance, SHAPES[name](chance, n))
        if holds(encoding, CandidateTree(tree.tokens, tree.parents)):
            return name, tree
    raise AssertionError(f"no shape of {n} nodes fits {encoding.name}")


def _asked(chance: Chance, encoding: Format, batch: list[Tree]) -> Encode:
    return Encode(encoding.name, tuple(batch), tuple(chance.between(1, 6) for _ in batch))


def _flags(encoding: Format, asked: Encode) -> set[str]:
    found = set[str]().union(*map(traits, asked.trees))
    sizes = [(len(tree.tokens), length - 1) for tree, length in zip(asked.trees, asked.prefix_lens, strict=True)]
    found |= {"LongPrefix"} if any(cached >= LONG_PREFIX - 1 for _, cached in sizes) else set()
    found |= {"FirstToken"} if any(cached == 0 for _, cached in sizes) else set()
    found |= {"RaggedPrefixes"} if len({cached for _, cached in sizes}) > 1 else set()
    found |= {"UnequalTrees"} if len({n for n, _ in sizes}) > 1 else set()
    found |= (
        {"OddBits"} if encoding.name == "flashinfer" and any(n * (n + cached) % 8 for n, cached in sizes) else set()
    )
    found |= {"WideWord"} if encoding.name == "flexflow" and any(n > 31 for n, _ in sizes) else set()
    return found
