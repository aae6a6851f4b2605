"""The policies of the ``build`` operation, made from parameters that are integers, lists of integers and ratios."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import log
from typing import Any

from tree_oracle.construct import (
    CaDDTree,
    CalibratedTreeSpark,
    Chain,
    DDTree,
    Eagle2,
    History,
    JetSpec,
    OptTree,
    RankTree,
    ReferencePolicy,
    Sequoia,
    Taps,
    TreeSpark,
    expansion,
)
from tree_oracle.record import UsageError
from tree_oracle.vectors.model import Ratio, Value


def _ratio(value: Ratio) -> float:
    return float(Fraction(*value))


def _calibrated(
    budget: int, depth: int, branching: int, slope: int, odds: Ratio, threshold: Ratio
) -> CalibratedTreeSpark:
    """p / (1 - p) = odds * (q / (1 - q)) ** slope."""
    return CalibratedTreeSpark(budget, depth, branching, float(slope), log(Fraction(*odds)), _ratio(threshold))


def _opt_tree(budget: int, depth: int, threshold: Ratio) -> OptTree:
    return OptTree(budget, depth, _ratio(threshold))


def _sequoia(acceptance: tuple[int, ...], total: int, budget: int, depth: int) -> Sequoia:
    """The best shape, filled with the most probable tokens."""
    return Sequoia(tuple(chance / total for chance in acceptance), budget, depth, draw=None)


def _caddtree(budget: int, depth: int, draft_cost: int, verify_costs: tuple[int, ...]) -> CaDDTree:
    """``verify_costs[n]`` is the cost of a pass over n nodes without the root."""
    return CaDDTree(budget, depth, float(draft_cost), lambda nodes: float(verify_costs[nodes]))


def _taps(budget: int, depth: int, branching: int, pool: int, costs: tuple[int, ...], threshold: Ratio) -> Taps:
    """The scorer is the draft's own probability; ``costs[d - 1]`` is the cost of depth d."""
    return Taps(
        budget=budget,
        pool=pool,
        branching=branching,
        depth=depth,
        cost=lambda at: float(costs[at - 1]),
        threshold=_ratio(threshold),
    )


def _confident(depth: int, confidence: tuple[int, ...], total: int, threshold: Ratio) -> Chain:
    """``confidence[d - 1]`` of ``total`` is the confidence that the token of depth d will be accepted."""

    def chance(history: History) -> float:
        return confidence[len(history) - 1] / total

    return Chain(depth, confidence=chance, threshold=_ratio(threshold))


MAKERS: dict[str, Callable[..., ReferencePolicy]] = {
    "treespark": TreeSpark,
    "calibrated-treespark": _calibrated,
    "medusa": RankTree,
    "eagle1": RankTree,
    "specinfer": lambda widths: expansion(*widths),
    "eagle2": Eagle2,
    "opt-tree": _opt_tree,
    "sequoia": _sequoia,
    "ddtree": DDTree,
    "caddtree": _caddtree,
    "taps": _taps,
    "jetspec": JetSpec,
    "dflash": Chain.dflash,
    "dspark": _confident,
    "blockwise": Chain,
    "draft-model-chain": Chain,
    "specdec": Chain,
}


def policy_of(name: str, parameters: dict[str, Value]) -> ReferencePolicy:
    """The reference policy.

    Raises:
        UsageError: no such policy, or parameters that it does not take.
    """
    if name not in MAKERS:
        raise UsageError(f"no policy {name!r}; expected one of {', '.join(MAKERS)}")
    arguments: dict[str, Any] = dict(parameters)
    try:
        return MAKERS[name](**arguments)
    except TypeError as error:
        raise UsageError(f"policy {name} with parameters {sorted(parameters)}: {error}") from error
