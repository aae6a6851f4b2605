"""The rule: twice the plain pass's error plus the largest change of a control, made from one half and tried on the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tree_oracle.numerics.cell import Effect, Verdict
from tree_oracle.numerics.distance import spread
from tree_oracle.numerics.signs import (
    EMPTY,
    EXPLAINED,
    NEIGHBOURS,
    REPEAT,
    STATE,
    TREE,
    WIDTH,
    Shown,
    despite,
    signs,
    signs_of_loss,
)
from tree_oracle.numerics.tolerance import Evidence, effects, tolerance, verdict
from tree_oracle.record import UsageError, counted

EIGHTHS = st.integers(0, 64).map(lambda n: n / 8)  # sums are exact


def gaps(least: int = 1, most: int = 12) -> st.SearchStrategy[np.ndarray]:
    return npst.arrays(np.float64, st.integers(least, most), elements=EIGHTHS)


@st.composite
def evidence(draw: st.DrawFn) -> Evidence:
    """Any gaps: nothing says that they come from a right pass."""
    tree = draw(gaps())
    plain = draw(npst.arrays(np.float64, len(tree), elements=EIGHTHS))
    return Evidence(draw(gaps()), draw(gaps(0)), tree, plain, {"token": draw(gaps()), "added": draw(gaps(0))})


@given(evidence())
def test_the_tolerance_is_the_rule(found: Evidence) -> None:
    """Allowed is 2 x largest plain error + largest change; every count is the count of gaps above it."""
    rule = tolerance(found)
    allowed = 2 * max(found.sequential.tolist()) + max(found.control.tolist(), default=0.0)
    assert rule.allowed == allowed
    assert rule.exceeded == sum(gap > allowed for gap in found.tree.tolist())
    assert rule.plain_exceeded == sum(gap > allowed for gap in found.plain.tolist())
    own = (2 * found.plain + rule.floor).tolist()
    assert rule.unexplained == sum(g > max(allowed, room) for g, room in zip(found.tree.tolist(), own, strict=True))
    assert rule.by_chance == len(found.tree) / (len(found.sequential) + 1)


@given(evidence())
def test_only_a_feasible_tolerance_with_power_is_called_usable(found: Evidence) -> None:
    """Usable means: enough controls, no plain row and no unexplained tree row above it, and every wrong history above it."""
    rule = tolerance(found)
    moved = effects(found.effects, rule.allowed)
    said, reason = verdict(rule, moved, exact=False)
    enough = len(found.tree) <= len(found.sequential) + 1
    right = (found.plain <= rule.allowed).all() and not rule.unexplained
    power = all((kind > rule.allowed).all() for kind in found.effects.values())
    assert (said is Verdict.USABLE) == (enough and right and power)
    assert reason
    if said is Verdict.USABLE and rule.allowed > 0:
        assert rule.separation > 1


@given(count=st.integers(1, 40), judged=st.integers(1, 200))
def test_one_more_than_the_largest_of_n_is_met_by_chance(count: int, judged: int) -> None:
    """With n controls about N / (n + 1) of N rows exceed the largest by chance; more than one such row is undecided."""
    found = Evidence(np.full(count, 1.0), np.zeros(1), np.zeros(judged), np.zeros(judged), {"token": np.full(3, 9.0)})
    rule = tolerance(found)
    said, reason = verdict(rule, effects(found.effects, rule.allowed), exact=False)
    assert (said is Verdict.UNDECIDED) == (judged > count + 1)
    if said is Verdict.UNDECIDED:
        assert f"{counted(count, 'control row')} for {judged} judged:" in reason


def of(**changed: object) -> Evidence:
    """Right rows, one off, two changed, whose wrong histories are far away; with ``changed`` parts."""
    parts = {
        "sequential": np.ones(4),
        "control": np.zeros(1),
        "tree": np.ones(4),
        "plain": np.ones(4),
        "effects": {"token": np.full(4, 9.0)},
    }
    return Evidence(**(parts | changed))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "said", "words"),
    [
        (of(), Verdict.USABLE, "the least of 4 wrong histories is 4.5 times as far off"),
        (of(plain=np.array([1.0, 1, 1, 3])), Verdict.INFEASIBLE, "the plain pass exceeds 2 logits in 1 of 4 rows"),
        (of(tree=np.array([1.0, 1, 1, 3])), Verdict.EXCEEDED, "1 of 4 tree rows are off by more than 2 logits"),
        (of(effects={"token": np.array([9.0, 2])}), Verdict.OVERLAP, "1 of 2 wrong histories move a row by no more"),
        (of(effects={}), Verdict.OVERLAP, "0 of 0 wrong histories"),
        (of(sequential=np.ones(2)), Verdict.UNDECIDED, "about 1.3 exceed by chance"),
    ],
    ids=["usable", "infeasible", "exceeded", "overlap", "no wrong history", "undecided"],
)
def test_each_verdict_has_its_reason(found: Evidence, said: Verdict, words: str) -> None:
    """One gap in the wrong place changes the verdict to the one that names it."""
    rule = tolerance(found)
    decided, reason = verdict(rule, effects(found.effects, rule.allowed), exact=False)
    assert decided is said
    assert words in reason


def test_on_the_exact_model_one_bit_is_too_much() -> None:
    """Exact only if nothing differs anywhere; the smallest difference of a tree row, or of a plain one, is exceeded."""
    none = {"sequential": np.zeros(4), "tree": np.zeros(4), "plain": np.zeros(4)}
    for changed, said in (({}, Verdict.EXACT), ({"tree": np.array([0, 0, 0, 5e-324])}, Verdict.EXCEEDED)):
        found = of(**(none | changed))
        rule = tolerance(found)
        decided, _ = verdict(rule, effects(found.effects, rule.allowed), exact=True)
        assert decided is said
    noisy = tolerance(of())
    assert verdict(noisy, {"token": Effect(1, 9.0, 9.0, 1)}, exact=True)[0] is Verdict.EXCEEDED


def test_a_rule_from_nothing_is_refused() -> None:
    """Without a plain row there is no rule, and every tree row needs its plain row beside it."""
    with pytest.raises(UsageError, match="0 plain rows to make a rule from"):
        tolerance(of(sequential=np.zeros(0)))
    with pytest.raises(UsageError, match="4 tree rows with 3 plain ones"):
        tolerance(of(plain=np.ones(3)))


def shown(**changed: float) -> Shown:
    """Four passes that are equally far off, but for those named, which are off by that many times as much."""
    plain, cached, decode, wide = (
        spread(np.full(3, changed.get(name, 1.0))) for name in ("plain", "cached", "decode", "wide")
    )
    repeated, beside, unexplained = (changed.get(name, 0) for name in ("repeated", "beside", "unexplained"))
    return Shown(plain, cached, decode, wide, repeated, int(beside), int(unexplained))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, ()),
        ({"wide": 2.0, "cached": 2.0}, ()),
        ({"wide": 2.5}, (WIDTH,)),
        ({"wide": 2.5, "unexplained": 1}, (WIDTH,)),
        ({"cached": 2.5}, (STATE,)),
        ({"unexplained": 1}, (TREE,)),
        ({"wide": 2.5, "repeated": 1.0}, (REPEAT,)),
        ({"beside": 1, "unexplained": 1}, (NEIGHBOURS,)),
    ],
    ids=["nothing", "rounding", "width", "width in the tree", "state", "tree", "repeat", "neighbours"],
)
def test_each_sign_stands_for_one_broken_sentence(changed: dict[str, float], expected: tuple[str, ...]) -> None:
    """Errors up to twice as large are rounding; above that the passes that differ say what is wrong."""
    assert signs(shown(**changed)) == expected


def test_one_row_far_off_is_no_other_arithmetic() -> None:
    """A single row that goes to other experts moves the largest error and no median, and shows no sign."""
    few, one = spread(np.ones(9)), spread(np.array([1.0] * 8 + [99.0]))
    assert signs(Shown(few, one, few, one, repeated=0.0, beside=0, unexplained=0)) == ()


@given(found=evidence(), names=st.sets(st.sampled_from(sorted(EXPLAINED))))
def test_a_sign_takes_the_number_whatever_the_verdict_was(found: Evidence, names: set[str]) -> None:
    """Without a sign the verdict stays; with one it is "not rounding" and names it, unless the tree pass is at fault already."""
    rule, shows = tolerance(found), tuple(sorted(names))
    before = verdict(rule, effects(found.effects, rule.allowed), exact=False)
    said, reason = despite(shows, *before)
    if not shows or before[0] is Verdict.EXCEEDED:
        assert (said, reason) == before
    else:
        assert said is Verdict.NOT_ROUNDING
        assert all(name in reason for name in (*shows, before[0].value))


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        ({"tree": 1, "plain": 0}, (EMPTY,)),
        ({"wide": 3, "tree": 0}, (EMPTY,)),
        ({"tree": 1, "plain": 1}, ()),
        ({"tree": 1, "decode": 1}, ()),
        ({"tree": 0}, ()),
    ],
    ids=["tree", "wide", "plain too", "decode too", "none"],
)
def test_only_wide_passes_that_lose_rows_lose_them_to_an_empty_row(
    lost: dict[str, int], expected: tuple[str, ...]
) -> None:
    """Where a row at a time is lost as well, the dtype overflows and no row was empty."""
    assert signs_of_loss(lost) == expected


def test_every_sign_is_explained() -> None:
    """The page has a sentence for each."""
    assert set(EXPLAINED) == {REPEAT, NEIGHBOURS, WIDTH, STATE, EMPTY, TREE}
