"""Every exact rule and every proposal by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from tree_oracle.record import UsageError
from tree_oracle.record.names import by_name
from tree_oracle.verify.rules.block import block
from tree_oracle.verify.rules.card import Card
from tree_oracle.verify.rules.hybrid import favourites_and_one, hybrid
from tree_oracle.verify.rules.k_seq import k_seq
from tree_oracle.verify.rules.multi_round import multi_round
from tree_oracle.verify.rules.point_mass import point_mass, single_coin
from tree_oracle.verify.rules.proposals import (
    Deterministic,
    Independent,
    Joint,
    Proposal,
    WithoutReplacement,
    joint_of,
)
from tree_oracle.verify.rules.protocol import NodeRule
from tree_oracle.verify.rules.ratio_chain import ratio_chain
from tree_oracle.verify.rules.sample_match import sample_match
from tree_oracle.verify.rules.spec_hub import hub_pairs, spec_hub
from tree_oracle.verify.rules.transport import Transport
from tree_oracle.verify.rules.traversal import traversal
from tree_oracle.verify.rules.without_replacement import without_replacement

PROPOSALS: Mapping[str, Proposal] = MappingProxyType(
    {
        "deterministic": Deterministic(),
        "independent": Independent(),
        "without-replacement": WithoutReplacement(),
        "hub-pairs": Joint(hub_pairs),
        "favourites-and-one": Joint(favourites_and_one),
    }
)

ALL = frozenset(PROPOSALS)
DISTINCT = ALL - {"independent"}
ONE_DRAW = frozenset({"independent", "without-replacement", "favourites-and-one"})  # the same law for one child: x ~ q


T = TypeVar("T")


def always(rule: T) -> Callable[[Proposal], T]:
    """The same rule whatever the proposal."""
    return lambda _: rule


def _transport(proposal: Proposal) -> NodeRule:
    return Transport(partial(joint_of, proposal))


_CARDS = (
    Card(
        "sample-match",
        "R0",
        "t ~ p; accept the child that holds t, else emit t",
        "DFlash, DDTree, CaDDTree, JetSpec, OPT-Tree; SpecInfer's naive sampling",
        ("the candidates do not depend on the draw", "duplicates are harmless"),
        ALL,
        node=always(sample_match),
        ignores_draft=True,
    ),
    Card(
        "point-mass",
        "R1",
        "accept x_i with p_i(x_i); p_{i+1} = norm(p_i, x_i -> 0); draw from p_{m+1}",
        "EAGLE-2, EAGLE-3, HASS, TensorRT-LLM, vLLM",
        ("the candidates do not depend on the target's draw", "duplicates are rejected with certainty"),
        ALL,
        node=always(point_mass),
        ignores_draft=True,
    ),
    Card(
        "single-coin",
        "R1",
        "accept the first x_i with u < p(x_1) + .. + p(x_i); draw from norm(p, x_1..x_m -> 0)",
        "SGLang with both thresholds 1",
        ("the candidates do not depend on the target's draw", "siblings are distinct"),
        DISTINCT,
        node=always(single_coin),
        exact_alone=ALL,
        ignores_draft=True,
    ),
    Card(
        "ratio-chain",
        "R2",
        "accept x with min(1, p(x) / q(x)); draw from norm((p - q)_+)",
        "Leviathan et al. 2023; Chen et al. 2023; DSpark, OSD",
        ("one child", "q is the law that x was sampled from"),
        ONE_DRAW,
        node=always(ratio_chain),
        siblings=1,
    ),
    Card(
        "multi-round",
        "R3",
        "accept x_i with min(1, p_i(x_i) / q(x_i)); p_{i+1} = norm((p_i - q)_+); draw from p_{m+1}",
        "SpecInfer",
        (
            "independent draws, tested in an order that does not depend on their values",
            "duplicates are kept and tested",
        ),
        frozenset({"independent"}),
        node=always(multi_round),
        exact_alone=ONE_DRAW,
    ),
    Card(
        "without-replacement",
        "R4",
        "accept x_i with min(1, p_i(x_i) / q_i(x_i)); p_{i+1} = norm((p_i - q_i)_+); q_{i+1} = norm(q, x_1..x_i -> 0)",
        "Sequoia, EAGLE-1, PopSoda2002/TreeSpark",
        (
            "one draw without replacement, tested in the order of the draw",
            "uniform over the untried once q is exhausted",
        ),
        frozenset({"without-replacement"}),
        node=always(without_replacement),
        exact_alone=ONE_DRAW,
    ),
    Card(
        "k-seq",
        "R5",
        "accept x_i with min(1, p(x_i) / (rho q(x_i))); draw from norm(p - min(q, p / rho) (1 - (1 - beta)^k) / beta)",
        "SpecTr",
        ("independent draws", "1 - (1 - beta)^k <= rho beta"),
        frozenset({"independent"}),
        node=always(k_seq),
        exact_alone=ONE_DRAW,
    ),
    Card(
        "spec-hub",
        "R6",
        "Q(x, a) = q(x), Q(a, x) = q(a) q(x) / (1 - q(a)); fill p(x) from (x, a), (a, x), then p(a) from the rest",
        "SpecHub",
        ("two drafts from exactly that joint law",),
        frozenset({"hub-pairs"}),
        node=always(spec_hub),
        siblings=2,
    ),
    Card(
        "transport",
        "R7",
        "maximise the coupling of drafts and target; else draw from norm(p - what was coupled)",
        "SpecTr; Khisti et al.; Hu et al.",
        ("the joint law that the coupling was built for", "solved in floats"),
        ALL,
        node=_transport,
    ),
    Card(
        "hybrid",
        "R8",
        "R1 on the favourites of q, then R2 on one draw from the rest of q",
        "Hu et al.",
        ("the last child is drawn from q without the others, however those were chosen",),
        frozenset({"favourites-and-one", "without-replacement"}),
        node=always(hybrid),
        exact_alone=ONE_DRAW,
    ),
    Card(
        "block",
        "R9",
        "P_i = min(1, P_{i-1} p_i / q_i); accept the longest prefix whose coin is below h_i; draw from norm((P p - q)_+)",
        "Sun et al.",
        ("a chain drawn from q", "the residual is scaled by P"),
        ONE_DRAW,
        tree=always(block),
        siblings=1,
    ),
    Card(
        "traversal",
        "R10",
        "leaves first with P as in R9; a rejected subtree leaves p <- norm((P p - q)_+), P <- S / (S + 1 - P) to its parent",
        "Weng et al., arXiv 2505.12398",
        ("draws without replacement, siblings in the order of the draw",),
        frozenset({"without-replacement"}),
        tree=always(traversal),
        exact_alone=ONE_DRAW,
    ),
)
RULES: Mapping[str, Card] = MappingProxyType(by_name(_CARDS))


def find_rule(name: str) -> Card:
    """The exact rule of that name.

    Raises:
        UsageError: there is none.
    """
    if name not in RULES:
        raise UsageError(f"there is no rule {name!r}; expected one of {', '.join(RULES)}")
    return RULES[name]
