"""The sign-off sheet: two questions, answered apart, each against the golden rows of the CPU.

    1. Is the tree pass as good as the sequential one *on this device*?   tree / plain, and the rule of ``tolerance``
    2. Is this device as good as another one?                            tree / tree and plain / plain, same dtype and kernel

A limit is first tried on a correct plain pass: for question 1 the chain one token at a time over the chain in one pass, for
question 2 the plain pass of both devices. What a plain pass does not meet is infeasible and judges nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from tree_oracle.numerics.bundle import standalone
from tree_oracle.numerics.bundle.head import BundleHead, SiteHead, read_bundle, read_site
from tree_oracle.numerics.distance import Rows
from tree_oracle.numerics.operator_words import LIMITS, Ratios, Words, above, ratios, words
from tree_oracle.record import UsageError, gaps

PASSES = {"tree": "tree", "plain": "tree", "decode": "chain", "wide": "chain"}  # each with its golden rows


class SiteFigures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One site against the golden rows."""

    site: SiteHead
    words: dict[str, Words]  # by pass
    gap: dict[str, float]  # largest, by pass
    again: int  # tree rows that differ when the pass is repeated
    width: float  # largest change of a chain row between one at a time and all at once
    lost: int  # rows that are not finite; nothing else is said then

    @property
    def allowed(self) -> float:
        """The rule on this site: 2 x largest plain error + largest change with the width."""
        return 2 * self.gap["plain"] + self.width

    @property
    def holds(self) -> bool:
        """The tree pass is within it."""
        return not self.lost and self.gap["tree"] <= self.allowed


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One comparison under one level of limits."""

    question: int  # 1 or 2
    site: str
    other: str  # the site it is held against; empty for question 1
    ratios: Ratios
    limits: dict[str, str]  # by level: met, infeasible, or what is above


class Sheet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that a person signs."""

    bundle: BundleHead
    sites: tuple[SiteFigures, ...]
    answers: tuple[Answer, ...]


def compare_sites(bundle: Path, sites: Sequence[Path]) -> Sheet:
    """Join the sites of one bundle.

    Raises:
        UsageError: no site, a site of another bundle, or a file that is not the one that was written.
        FileError: something cannot be read.
    """
    if not sites:
        raise UsageError("no site to compare; expected at least one folder that `bundle run` wrote")
    head = read_bundle(bundle)
    golden = _arrays(bundle / "golden.safetensors")
    found = [_figures(folder, bundle, golden, head.instances) for folder in sites]
    whole = [one for one in found if not one.lost]
    answers = [_tree_against_plain(one) for one in whole]
    pairs = [(one, other) for at, one in enumerate(whole) for other in whole[:at]]
    answers += [_against(one, other) for one, other in pairs if _alike(one.site, other.site)]
    return Sheet(head, tuple(found), tuple(answers))


def _arrays(path: Path) -> dict[str, Rows]:
    return {name: one.to(standalone.DTYPES["float64"]).numpy() for name, one in standalone.read_tensors(path).items()}


def _figures(folder: Path, bundle: Path, golden: dict[str, Rows], count: int) -> SiteFigures:
    site = read_site(folder, bundle)
    rows = _arrays(folder / "rows.safetensors")
    joined = {
        name: np.concatenate([rows[f"{number}.{name}"] for number in range(count)]) for name in (*PASSES, "again")
    }
    lost = sum(int((~np.isfinite(joined[name]).all(axis=1)).sum()) for name in PASSES)
    if lost:
        return SiteFigures(site, {}, {}, 0, 0.0, lost)
    true = {
        name: np.concatenate([golden[f"{site.dtype}.{number}.{name}"] for number in range(count)])
        for name in ("tree", "chain")
    }
    return SiteFigures(
        site=site,
        words={name: words(joined[name], true[of], site.dtype) for name, of in PASSES.items()},
        gap={name: float(gaps(joined[name], true[of]).max()) for name, of in PASSES.items()},
        again=int((joined["tree"] != joined["again"]).any(axis=1).sum()),
        width=float(gaps(joined["decode"], joined["wide"]).max()),
        lost=0,
    )


def _alike(one: SiteHead, other: SiteHead) -> bool:
    return (one.dtype, one.kernel) == (other.dtype, other.kernel)


def _tree_against_plain(found: SiteFigures) -> Answer:
    tried = ratios(found.words["decode"], found.words["wide"]), ratios(found.words["wide"], found.words["decode"])
    return _answer(1, found.site.name, "", ratios(found.words["tree"], found.words["plain"]), tried)


def _against(one: SiteFigures, other: SiteFigures) -> Answer:
    tried = (ratios(one.words["plain"], other.words["plain"]),)
    return _answer(2, one.site.name, other.site.name, ratios(one.words["tree"], other.words["tree"]), tried)


def _answer(question: int, site: str, other: str, found: Ratios, tried: Sequence[Ratios]) -> Answer:
    return Answer(
        question, site, other, found, {level: _judged(found, tried, limits) for level, limits in LIMITS.items()}
    )


def _judged(found: Ratios, tried: Sequence[Ratios], limits: Ratios) -> str:
    """The words on one level. Only figures that every plain pass meets are asked of the tree pass."""
    infeasible = {name for plain in tried for name in above(plain, limits)}
    broken = [name for name in above(found, limits) if name not in infeasible]
    told = f"above: {', '.join(broken)}" if broken else "met"
    if not infeasible:
        return told
    left = "nothing left to ask" if len(infeasible) == 4 else told
    return f"{left}; infeasible, since a plain pass exceeds it: {', '.join(sorted(infeasible))}"
