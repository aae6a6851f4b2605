"""How long exact laws take, and how that grows: ``python reports/law_benchmark.py``. Prints a Markdown table.

Models are tables without a pattern that depend on the whole history, with denominators up to 60, so no two contexts share a law
by design. Each figure is the processor time of one run, first use included; each block begins with the size that is promised.

1. Node rules, node by node: vocabulary 6, depth 3, 3 children, two rounds, the first four tokens; at most 10 s.
2. Whole-tree programs: vocabulary 4, depth 2, 2 children, one round; at most 5 s. The builder that prunes draws every tree.
3. Noise kept between rounds: vocabulary 3, depth 1, 2 children, three rounds; at most 5 s.
"""

from __future__ import annotations

import random
import time
from fractions import Fraction

from tree_oracle.faults.laws.memory import KeptNoise
from tree_oracle.faults.laws.trees import filtered, most_probable
from tree_oracle.verify.law import NodeScheme, Scheme, TreeScheme, exact_law
from tree_oracle.verify.rules import (
    PROPOSALS,
    RULES,
    ByDepth,
    Context,
    Models,
    Walk,
    block,
    multi_round,
    traversal,
    without_replacement,
)

NODE_RULES = (
    ("sample-match", "independent"),
    ("point-mass", "independent"),
    ("multi-round", "independent"),
    ("without-replacement", "without-replacement"),
    ("k-seq", "independent"),
    ("hybrid", "favourites-and-one"),
    ("transport", "without-replacement"),
)
NODE_SIZES = (
    (6, 3, 3, 2),
    (3, 3, 3, 2),
    (4, 3, 3, 2),
    (5, 3, 3, 2),
    (6, 2, 3, 2),
    (6, 3, 2, 2),
    (6, 3, 1, 2),
    (6, 3, 3, 1),
)
TREE_SIZES = ((4, 2, 2), (3, 2, 2), (5, 2, 2), (4, 1, 2))
ROUNDS = (3, 1, 2, 4)


def models(vocab_size: int) -> Models:
    """A target and a draft that know the whole text."""

    def source(name: str, context: Context) -> tuple[Fraction, ...]:
        chance = random.Random(f"{name}: {context}")
        weights = [chance.randrange(1, 11) for _ in range(vocab_size)]
        return tuple(Fraction(weight, sum(weights)) for weight in weights)

    return Models.of(lambda context: source("target", context), lambda context: source("draft", context))


def report(what: str, scheme: Scheme, vocab_size: int, tokens: int, rounds: int, size: str) -> None:
    """Time one law and print it as a row."""
    start = time.process_time()
    law = exact_law(scheme, models(vocab_size), tokens=tokens, rounds=rounds)
    took = time.process_time() - start
    distance = "0" if not law.total_variation else f"{float(law.total_variation):.2g}"
    print(f"| {what} | {size} | {took:.2f} s | {len(law.law)} | {distance} |", flush=True)


def node_rules() -> None:
    """Block 1: every rule at the promised size, then the growth of one."""
    for rule, proposal in NODE_RULES:
        card, (vocab_size, depth, children, rounds) = RULES[rule], NODE_SIZES[0]
        assert card.node is not None
        scheme = NodeScheme(card.node(PROPOSALS[proposal]), PROPOSALS[proposal], ByDepth((children,) * depth))
        report(
            rule, scheme, vocab_size, 4, rounds, f"V {vocab_size}, depth {depth}, {children} children, {rounds} rounds"
        )
    for vocab_size, depth, children, rounds in NODE_SIZES[1:]:
        scheme = NodeScheme(multi_round, PROPOSALS["independent"], ByDepth((children,) * depth))
        size = f"V {vocab_size}, depth {depth}, {children} children, {rounds} rounds"
        report("multi-round", scheme, vocab_size, 4, rounds, size)


def whole_trees() -> None:
    """Block 2."""
    ordered, independent = PROPOSALS["without-replacement"], PROPOSALS["independent"]
    for vocab_size, depth, children in TREE_SIZES:
        size, widths = f"V {vocab_size}, depth {depth}, {children} children, 1 round", ByDepth((children,) * depth)
        report("traversal", TreeScheme(traversal, ordered, widths), vocab_size, depth + 1, 1, size)
        pruned = filtered(Walk(without_replacement), ordered, widths, most_probable(3))
        report("pruned after the draw", pruned, vocab_size, depth + 1, 1, size)
    for depth in (2, 3, 4):
        chain = TreeScheme(block, independent, ByDepth((1,) * depth))
        report("block", chain, 4, depth + 1, 1, f"V 4, depth {depth}, 1 child, 1 round")


def kept_noise() -> None:
    """Block 3."""
    scheme = KeptNoise(NodeScheme(multi_round, PROPOSALS["independent"], ByDepth((2,))), draws=True, tests=True)
    for rounds in ROUNDS:
        report("all noise kept", scheme, 3, 2 * rounds, rounds, f"V 3, depth 1, 2 children, {rounds} rounds")


def main() -> None:
    """Measure everything and print it."""
    print("| law of | size | time | texts | total variation |\n| --- | --- | --- | --- | --- |")
    node_rules()
    whole_trees()
    kept_noise()


if __name__ == "__main__":
    main()
