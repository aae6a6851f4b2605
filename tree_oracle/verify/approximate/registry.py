"""Every approximate mode, with parameters that its system ships or that show what it does. None is ever reported as exact.

``REDUCED`` holds the same modes with the parameters that make exact rules of them, which ``tree_oracle.verify.law`` proves.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from tree_oracle.record.names import by_name
from tree_oracle.verify.approximate.best_available import best_path, best_step
from tree_oracle.verify.approximate.lenience import Lenience
from tree_oracle.verify.approximate.longest_row import longest_row
from tree_oracle.verify.approximate.thresholds import Thresholds
from tree_oracle.verify.approximate.top_beta import TopBeta
from tree_oracle.verify.approximate.typical import Typical
from tree_oracle.verify.rules.card import Card
from tree_oracle.verify.rules.registry import ALL, DISTINCT, ONE_DRAW, always

_NONE = frozenset[str]()

_CARDS = (
    Card(
        "best-step",
        "",
        "go to the child of largest p until there is none",
        "search policies over drafted branches",
        (),
        _NONE,
        node=always(best_step),
        approximate=True,
    ),
    Card(
        "best-path",
        "",
        "go to the leaf of largest product of p",
        "search policies over drafted branches",
        (),
        _NONE,
        tree=always(best_path),
        approximate=True,
    ),
    Card(
        "typical",
        "",
        "accept x with p(x) > min(0.3, 0.09 exp(-H(p))); the longest prefix",
        "Medusa",
        (),
        _NONE,
        tree=always(Typical()),
        approximate=True,
    ),
    Card(
        "top-beta",
        "",
        "accept x among the 5 most probable and within 3 nats of the first; else emit the first",
        "Xia et al., SpecDec",
        ("greedy decoding, exactly, with beta = 1",),
        _NONE,
        node=always(TopBeta()),
        approximate=True,
    ),
    Card(
        "thresholds",
        "",
        "accept the first x_i with u < (p(x_1) + .. + p(x_i)) / (3/4) or p(x_i) >= 3/4",
        "SGLang with thresholds below 1",
        ("the single-coin rule with both thresholds 1",),
        _NONE,
        node=always(Thresholds(Fraction(3, 4), Fraction(3, 4))),
        approximate=True,
    ),
    Card(
        "lenience",
        "",
        "accept x with min(1, 2 p(x) / q(x)); draw from norm((p - q)_+)",
        "Leviathan et al., appendix; DistillSpec",
        ("the ratio rule of a chain with factor 1",),
        _NONE,
        node=always(Lenience(Fraction(1, 2))),
        siblings=1,
        approximate=True,
    ),
    Card(
        "longest-row",
        "",
        "resample every path on its own, emit the longest",
        "Medusa's nucleus mode",
        ("sample-match with a single path",),
        _NONE,
        tree=always(longest_row),
        exact_alone=ALL,
        approximate=True,
    ),
)
APPROXIMATE: Mapping[str, Card] = MappingProxyType(by_name(_CARDS))

_REDUCED = (
    Card(
        "top-beta-of-one",
        "",
        "accept x if it is the most probable token; else emit that one",
        "Xia et al., SpecDec with beta = 1; blockwise parallel decoding",
        ("greedy decoding",),
        ALL,
        node=always(TopBeta(beta=1)),
        ignores_draft=True,
        greedy=True,
    ),
    Card(
        "thresholds-of-one",
        "",
        "the single-coin rule",
        "SGLang with both thresholds 1",
        ("siblings are distinct",),
        DISTINCT,
        node=always(Thresholds()),
        exact_alone=ALL,
        ignores_draft=True,
    ),
    Card(
        "lenience-of-one",
        "",
        "the ratio rule of a chain",
        "Leviathan et al.",
        ("one child",),
        ONE_DRAW,
        node=always(Lenience()),
        siblings=1,
    ),
)
REDUCED: Mapping[str, Card] = MappingProxyType(by_name(_REDUCED))
