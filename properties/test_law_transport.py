"""The optimal-transport bound, and the rule that meets it."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from law_grounds import Numbers, fractions, overlap, pairs

from tree_oracle.record import UsageError
from tree_oracle.verify.coin import SeededCoin
from tree_oracle.verify.law import GOLDEN, ROUNDED, exact_law, scheme_of
from tree_oracle.verify.probabilities import Law
from tree_oracle.verify.rules import (
    PROPOSALS,
    RULES,
    ByDepth,
    Models,
    NoCoupling,
    Siblings,
    Transport,
    hub_pairs,
    joint_of,
    most_accepted,
    spec_hub,
)
from tree_oracle.verify.rules.transport import couple


@pytest.mark.parametrize(
    ("proposal", "bound"),
    [
        ("independent", Fraction(37, 50)),
        ("without-replacement", Fraction(659, 840)),
        ("deterministic", Fraction(3, 10)),
    ],
)
def test_the_golden_bounds(proposal: str, bound: Fraction) -> None:
    """On the golden instance the bounds are the fractions written down."""
    joint = joint_of(PROPOSALS[proposal], GOLDEN.models.draft(()), 2)
    assert most_accepted(GOLDEN.models.target(()), joint) == bound


@given(pairs(2, 4), st.integers(1, 3), st.sampled_from(["deterministic", "independent", "without-replacement"]))
def test_the_bound_is_the_smallest_over_all_sets(laws: tuple[Numbers, Numbers], siblings: int, proposal: str) -> None:
    """Summing bit patterns gives what looking at every set of tokens in turn gives."""
    p, q = laws
    joint = joint_of(PROPOSALS[proposal], Law(q), siblings)
    gaps = []
    for members in product((False, True), repeat=len(p)):
        inside = sum(
            (Fraction(share) for tokens, share in joint.items() if all(members[x] for x in tokens)), Fraction(0)
        )
        mass = sum((share for share, member in zip(p, members, strict=True) if member), Fraction(0))
        gaps.append(mass - inside)
    assert most_accepted(Law(p), joint) == 1 + min(gaps)


@given(pairs())
def test_with_one_draft_the_bound_is_the_overlap(laws: tuple[Numbers, Numbers]) -> None:
    """One draft from q: no rule accepts more than sum min(p, q)."""
    p, q = laws
    assert most_accepted(Law(p), joint_of(PROPOSALS["independent"], Law(q), 1)) == overlap(p, q)


@given(pairs(2, 4), st.integers(1, 3), st.sampled_from(sorted(PROPOSALS)))
def test_the_coupling_is_exact_and_meets_the_bound(laws: tuple[Numbers, Numbers], siblings: int, proposal: str) -> None:
    """For whatever joint law it was built: distance and gap below 1e-12, in floats."""
    siblings = 2 if proposal == "hub-pairs" else siblings
    scheme = scheme_of(RULES["transport"], PROPOSALS[proposal], ByDepth((siblings,)))
    law = exact_law(scheme, Models.constant(*laws), tokens=1, rounds=1)
    assert law.total_variation <= ROUNDED
    assert law.bound is not None
    assert abs(float(law.acceptance - law.bound)) <= ROUNDED
    assert law.meets_bound


def test_a_coupling_is_for_its_own_drafts() -> None:
    """Drafts that the joint law cannot propose are refused, by the coupling and by SpecHub alike."""
    p, q = Law(fractions(1, 1, 1)), Law(fractions(2, 1, 1))
    with pytest.raises(UsageError, match=r"siblings \(1, 2\) have probability 0 under the joint law"):
        Transport(hub_pairs)(SeededCoin(0), p, Siblings((1, 2), q))
    with pytest.raises(UsageError, match=r"siblings \(1, 2\) are no pair that SpecHub's joint law proposes"):
        spec_hub(SeededCoin(0), p, Siblings((1, 2), q))
    with pytest.raises(UsageError, match="SpecHub was asked for 3 drafts of 3 tokens; expected 2 of 2 or more"):
        hub_pairs(q, 3)


def test_a_program_that_is_not_solved_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """What HiGHS says is passed on, with the size of the program."""
    from scipy import optimize  # type: ignore[import-untyped, unused-ignore]

    failed = optimize.OptimizeResult(success=False, message="out of time")
    monkeypatch.setattr(optimize, "linprog", lambda *_, **__: failed)
    with pytest.raises(NoCoupling, match="HiGHS did not solve the coupling of 1 drafts and 2 tokens: out of time"):
        couple(Law(fractions(1, 1)), {(0,): Fraction(1)})


def test_an_equal_sibling_has_no_share() -> None:
    """In a coupling of drafts with duplicates the first of equals holds all of the token's share."""
    p, q = Law(fractions(1, 1)), Law(fractions(3, 1))
    plan = couple(p, joint_of(PROPOSALS["independent"], q, 2))
    assert plan.shares[0, 0][1] == 0
    assert plan.shares[1, 1][0] == 1


def test_the_bound_refuses_large_vocabularies() -> None:
    """Seventeen tokens have too many sets, and the message says so."""
    with pytest.raises(UsageError, match="17 tokens are more than 16"):
        most_accepted(Law(fractions(*[1] * 17)), {(0,): Fraction(1)})


def test_scipy_is_loaded_by_the_coupling_alone() -> None:
    """Importing the rules and the exact law loads neither scipy nor torch."""
    program = (
        "import sys, tree_oracle.verify.law, tree_oracle.verify.rules\n"
        "assert not {'scipy', 'torch'} & set(sys.modules), 'heavy'"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
