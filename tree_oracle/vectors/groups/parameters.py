"""Parameters for each policy, drawn so that small drafts meet its bounds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TypeAlias

from tree_oracle.vectors.chance import Chance
from tree_oracle.vectors.model import Path, Value

Parameters: TypeAlias = dict[str, Value]
ROOT: Path = ()
Draw: TypeAlias = Callable[[Chance, int, int], Parameters]  # the draft's depth, the largest budget


def _treespark(chance: Chance, depth: int, most: int) -> Parameters:
    return {
        "branching": chance.between(1, 4),
        "frontier": chance.between(1, 4),
        "budget": chance.between(1, most),
        "depth": depth,
    }


def _calibrated(chance: Chance, depth: int, most: int) -> Parameters:
    return {
        "budget": chance.between(1, most),
        "depth": depth,
        "branching": chance.between(1, 4),
        "slope": chance.between(1, 2),
        "odds": chance.pick([(1, 1), (2, 3), (5, 3)]),
        "threshold": chance.pick([(0, 1), (1, 30), (1, 7)]),
    }


def _choices(chance: Chance, depth: int, most: int) -> Parameters:
    """A prefix-closed set of rank paths, in which a rank may come without the smaller ones."""
    chosen: set[Path] = {(chance.below(2),)}
    for _ in range(chance.below(most)):
        above = chance.pick([ROOT, *(path for path in sorted(chosen) if len(path) < depth)])
        chosen.add((*above, chance.below(3)))
    ordered: list[Path] = sorted(chosen, key=lambda path: (len(path), path))
    return {"choices": tuple(ordered)}


def _widths(chance: Chance, depth: int, most: int) -> Parameters:
    fitting = [widths for widths in product((1, 2, 3), repeat=depth) if _size(widths) <= most]
    return {"widths": chance.pick(fitting)}


def _size(widths: tuple[int, ...]) -> int:
    level, total = 1, 0
    for width in widths:
        level *= width
        total += level
    return total


def _budgeted(chance: Chance, depth: int, most: int) -> Parameters:
    return {"branching": chance.between(1, 4), "budget": chance.between(1, most), "depth": depth}


def _opt_tree(chance: Chance, depth: int, most: int) -> Parameters:
    threshold = chance.pick([(0, 1), (1, 10), (3, 10)])
    return {"budget": chance.between(1, most), "depth": depth, "threshold": threshold}


def _sequoia(chance: Chance, depth: int, most: int) -> Parameters:
    """Chances over a power of two, so that the reference's table of values is exact."""
    acceptance = sorted((chance.between(1, 60) for _ in range(3)), reverse=True)
    budget = chance.between(1, min(most, 3 if depth == 1 else 5))
    return {"acceptance": tuple(acceptance), "total": 128, "budget": budget, "depth": depth}


def _ddtree(chance: Chance, depth: int, most: int) -> Parameters:
    return {"budget": chance.between(1, most), "depth": depth}


def _caddtree(chance: Chance, depth: int, most: int) -> Parameters:
    """Convex costs, with primes in them that no sum of the draft's probabilities divides evenly by."""
    costs, step = [1009], 0
    for _ in range(most + 1):
        step += chance.pick([17, 41, 83, 131])
        costs.append(costs[-1] + step)
    budget = chance.between(1, most)
    return {"budget": budget, "depth": depth, "draft_cost": chance.pick([251, 499]), "verify_costs": tuple(costs)}


def _taps(chance: Chance, depth: int, most: int) -> Parameters:
    return {
        "budget": chance.between(1, most),
        "depth": depth,
        "branching": chance.between(1, 4),
        "pool": chance.pick([3, 5, 100]),
        "costs": chance.pick([(1, 1, 1), (3, 7, 5), (7, 3, 5)]),
        "threshold": chance.pick([(0, 1), (1, 31)]),
    }


def _dspark(chance: Chance, depth: int, most: int) -> Parameters:
    return {
        "depth": depth,
        "confidence": tuple(chance.between(0, 10) for _ in range(depth)),
        "total": 10,
        "threshold": chance.pick([(0, 1), (1, 2), (3, 10)]),
    }


def _block(chance: Chance, depth: int, most: int) -> Parameters:
    return {"block": depth + 1}


def _depth(chance: Chance, depth: int, most: int) -> Parameters:
    return {"depth": depth}


CHAINS: dict[str, Draw] = {
    "dflash": _block,
    "dspark": _dspark,
    "blockwise": _depth,
    "draft-model-chain": _depth,
    "specdec": _depth,
}

PARAMETERS: dict[str, Draw] = {
    "treespark": _treespark,
    "calibrated-treespark": _calibrated,
    "medusa": _choices,
    "eagle1": _choices,
    "specinfer": _widths,
    "eagle2": _budgeted,
    "opt-tree": _opt_tree,
    "sequoia": _sequoia,
    "ddtree": _ddtree,
    "caddtree": _caddtree,
    "taps": _taps,
    "jetspec": _budgeted,
    **CHAINS,
}


def comparable(policy: str, parameters: Parameters) -> Parameters:
    """The same, where the reference's predicate knows every right tree over three tokens that tie.

    Halvings are ln 2 to 16 bits, and a slope of 2 with even odds makes ties out of what they are: p(1/4)^2 = p(1/2) p(1/8).
    Of equal children at the cut of K, TAPS's predicate knows the tree's own and those of the smallest ids.
    """
    match policy:
        case "calibrated-treespark" if parameters["odds"] == (1, 1):
            return parameters | {"slope": 1}
        case "taps":
            return parameters | {"branching": 3}
    return parameters
