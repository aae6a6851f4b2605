"""Measure how long each policy takes to build a tree: ``python reports/construct_benchmark.py``. Prints Markdown.

Every policy builds trees of about N = 32, 128 and 1,024 nodes over vocabularies of 1,000 and 151,936 tokens. The draft's laws
are made beforehand and only looked up, so that what is measured is construction: finding the best tokens, scoring, choosing.
Times are medians of processor time, which other programs do not add to. Growth is the quotient of two of them, and growth is
what may be quoted: N grows by 32, V by 152.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from itertools import count

import numpy as np
from jaxtyping import Float

from tree_oracle.construct import (
    AnyDraft,
    CaDDTree,
    CalibratedTreeSpark,
    Chain,
    DDTree,
    Eagle2,
    History,
    JetSpec,
    MarginalDraft,
    OptTree,
    Programme,
    RankTree,
    ReferencePolicy,
    Sequoia,
    Taps,
    TreeSpark,
    WithoutReplacement,
    expansion,
)

NODES = (32, 128, 1024)
VOCABULARIES = (1_000, 151_936)
DEPTH = 15
ENOUGH = 2.0  # seconds after which a measurement is not repeated
REPEATS = 5
ACCEPTANCE = (0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625)
Laws = Float[np.ndarray, "laws vocab"]


class ByParent:
    """A draft that sees depth and parent, as a Markov head does: one of a few laws for each pair."""

    def __init__(self, laws: Laws) -> None:
        self._laws = laws

    def log_probs(self, depth: int, parent_token: int) -> Float[np.ndarray, " vocab"]:
        law: Float[np.ndarray, " vocab"] = self._laws[(depth + parent_token) % len(self._laws)]
        return law


class ByPath:
    """A draft that sees the whole path, as a draft model does: one of a few laws for each history."""

    def __init__(self, laws: Laws) -> None:
        self._laws = laws

    def log_probs_after(self, history: History) -> Float[np.ndarray, " vocab"]:
        law: Float[np.ndarray, " vocab"] = self._laws[sum(history) % len(self._laws)]
        return law


def width(nodes: int, levels: int, least: int) -> int:
    """The smallest beam whose pool holds as many candidates."""
    return next(k for k in count(least) if k + (levels - 1) * k * k >= nodes)


def shape(nodes: int) -> RankTree:
    """A static tree of this size, found beforehand."""
    return RankTree(Programme(ACCEPTANCE, nodes + 1, 9).choices(nodes + 1, 9))


def treespark(nodes: int) -> ReferencePolicy:
    """The published depth, and a beam that fills the budget."""
    k = width(nodes, 7, 4)
    return TreeSpark(k, k, nodes, 7)


def never_cut(nodes: int) -> ReferencePolicy:
    """CaDDTree with a cost that hardly grows, so that the budget ends the tree."""
    return CaDDTree(nodes, DEPTH, verify_cost=lambda count: 1 + 1e-12 * count)


MARGINAL, PARENT, PATH = MarginalDraft, ByParent, ByPath
# The policy of a size, the draft that it is made for, and whether making it is part of the construction.
POLICIES: dict[str, tuple[Callable[[int], ReferencePolicy], Callable[[Laws], AnyDraft], bool]] = {
    "TreeSpark": (treespark, PARENT, False),
    "calibrated TreeSpark": (lambda n: CalibratedTreeSpark(n, 7), PARENT, False),
    "static ranks (Medusa, EAGLE-1)": (shape, MARGINAL, False),
    "SpecInfer <2, 2, ...>": (lambda n: expansion(*[2] * (n.bit_length() - 1)), PATH, False),
    "EAGLE-2": (lambda n: Eagle2(width(n, 8, 10), n, 8), PATH, False),
    "OPT-Tree": (lambda n: OptTree(n, 10, 0.05), PATH, False),
    "Sequoia, programme and draws": (lambda n: Sequoia(ACCEPTANCE, n, 8), PATH, True),
    "DDTree": (lambda n: DDTree(n, DEPTH), MARGINAL, False),
    "CaDDTree": (never_cut, MARGINAL, False),
    "TAPS, pool of 4 N": (lambda n: Taps(budget=n, pool=4 * n, branching=32, depth=DEPTH), MARGINAL, False),
    "JetSpec": (lambda n: JetSpec(8, n, DEPTH), MARGINAL, False),
    "chain of N, best tokens": (Chain, PATH, False),
    "chain of N, drawn": (lambda n: Chain(n, WithoutReplacement(0)), PATH, False),
}


def laws(vocab: int) -> Laws:
    """Log-probabilities of logits with the spread of a language model's."""
    logits = np.random.default_rng(vocab).normal(size=(DEPTH, vocab)) * 3
    logits -= logits.max(axis=1, keepdims=True)
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))


def seconds(make: Callable[[int], ReferencePolicy], draft: AnyDraft, nodes: int, making: bool) -> float:
    """Median time of one construction."""
    make(NODES[0]).build(draft, 1)  # warms up
    times: list[float] = []
    while len(times) < REPEATS and sum(times) < ENOUGH:
        policy = make(nodes)
        start = time.process_time()
        (make(nodes) if making else policy).build(draft, 1)
        times.append(time.process_time() - start)
    return statistics.median(times)


def main() -> None:
    """Measure everything and print it."""
    tables = {vocab: laws(vocab) for vocab in VOCABULARIES}
    heads = [f"N = {nodes}, V = {vocab:,}" for vocab in VOCABULARIES for nodes in NODES]
    print("| policy |", " | ".join(heads), "| N x 32, small V | N x 32, large V | V x 152, N = 128 |")
    print("| --- |", " | ".join("---:" for _ in range(len(heads) + 3)), "|")
    for name, (make, draft, making) in POLICIES.items():
        times = {
            (vocab, nodes): seconds(make, draft(table), nodes, making)
            for vocab, table in tables.items()
            for nodes in NODES
        }
        small, large = ([times[vocab, nodes] for nodes in NODES] for vocab in VOCABULARIES)
        cells = [f"{1000 * taken:.1f} ms" for taken in (*small, *large)]
        growth = [small[2] / small[0], large[2] / large[0], large[1] / small[1]]
        print(f"| {name} |", " | ".join([*cells, *(f"{quotient:.1f}" for quotient in growth)]), "|", flush=True)


if __name__ == "__main__":
    main()
