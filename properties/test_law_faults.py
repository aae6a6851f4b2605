"""Planted faults of laws: each has the distance that is on record, its twin has none, and some hide from weaker tests."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from law_grounds import Source, fractions, model

from tree_oracle.faults.laws import LAW_FAULTS
from tree_oracle.faults.laws.proposals import Distinct, Sorted
from tree_oracle.faults.laws.trees import filtered, most_probable
from tree_oracle.record import UsageError
from tree_oracle.verify.coin import SeededCoin
from tree_oracle.verify.law import GOLDEN, INSTANCES, NodeScheme, exact_law
from tree_oracle.verify.rules import (
    PROPOSALS,
    ByDepth,
    Models,
    Walk,
    find_rule,
    multi_round,
    point_mass,
    ratio_chain,
    without_replacement,
)

ON_RECORD = {
    "top-k-with-ratio": "1/2",
    "top-k-with-ratio-on-equal-laws": "49/100",
    "top-k-with-raw-ratio": "133/240",
    "independent-with-raw-ratio": "17/100",
    "without-replacement-with-raw-ratio": "3187/13440",
    "duplicates-skipped": "31/1600",
    "independent-as-without-replacement": "31/1600",
    "without-replacement-as-independent": "107/3360",
    "siblings-sorted": "1497/8960",
    "likelier-of-two": "347/2016",
    "single-coin-on-duplicates": "534/26125",
}
NOISE = [name for name in LAW_FAULTS if name.endswith("-kept") and name.split("-")[0] not in ("rejected", "second")]


@pytest.mark.parametrize("name", LAW_FAULTS)
def test_every_fault_is_seen_and_every_twin_passes(name: str) -> None:
    """The fault's distance is a positive fraction, reported at a context that is reached; the twin's is exactly 0."""
    fault = LAW_FAULTS[name]
    law, twin = fault.law(), fault.twin_law()
    assert law.exact
    assert law.total_variation > 0
    assert law.worst.total_variation > 0
    assert law.worst.reached > 0
    assert (twin.exact, twin.total_variation) == (True, 0)


@pytest.mark.parametrize("name", ON_RECORD)
def test_the_distances_on_record(name: str) -> None:
    """On the golden instance, or p = q, the distance is the fraction that is written down."""
    assert str(LAW_FAULTS[name].law().total_variation) == ON_RECORD[name]


def test_the_laws_on_record() -> None:
    """Three of the wrong laws are written down token by token."""

    def emitted(name: str) -> tuple[Fraction | float, ...]:
        return LAW_FAULTS[name].law().worst.emitted

    assert emitted("top-k-with-ratio") == (Fraction(1, 8), 0, Fraction(7, 8), 0)
    assert emitted("top-k-with-ratio-on-equal-laws") == (1, 0)
    assert emitted("cut-after-seeing") == (Fraction(85, 100), Fraction(15, 100))


def test_deterministic_drafts_fail_under_either_residual() -> None:
    """With R4's residual the distance of the ratio test on the most probable tokens is 1/2 as well."""
    scheme = NodeScheme(without_replacement, PROPOSALS["deterministic"], ByDepth((2,)))
    assert exact_law(scheme, GOLDEN.models, tokens=1, rounds=1).total_variation == Fraction(1, 2)


@pytest.mark.parametrize("rule", [without_replacement, point_mass])
@pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance.name)
def test_distinct_independent_draws_are_draws_without_replacement(rule: object, instance: object) -> None:
    """Leaving out duplicates before R4 or R1 repairs independent draws on every instance."""
    scheme = NodeScheme(rule, Distinct(), ByDepth((instance.siblings,)))  # type: ignore[arg-type, attr-defined]
    assert exact_law(scheme, instance.models, tokens=1, rounds=1).total_variation == 0  # type: ignore[attr-defined]


def test_an_unscaled_residual_shows_in_pairs_only() -> None:
    """Block verification with the ratio rule's residual has a right first token and a wrong second one."""
    fault = LAW_FAULTS["unscaled-block-residual"]
    assert exact_law(fault.scheme, fault.models, tokens=1, rounds=1).total_variation == 0
    law = fault.law()
    assert law.total_variation > 0
    assert len(law.worst.context) == 1


@pytest.mark.parametrize("name", NOISE)
def test_kept_noise_passes_every_one_round_test(name: str) -> None:
    """One round alone has the right law, whatever follows; two rounds together do not."""
    fault = LAW_FAULTS[name]
    assert exact_law(fault.scheme, fault.models, tokens=3, rounds=1).total_variation == 0
    assert exact_law(fault.scheme, fault.models, tokens=3, rounds=2).total_variation > 0


@pytest.mark.parametrize("name", NOISE)
def test_kept_noise_gives_every_token_its_right_share(name: str) -> None:
    """Where laws do not depend on the context each token alone looks right: only the joint law shows it."""
    fault = LAW_FAULTS[name]
    p, q = fractions(2, 3, 5), fractions(8, 1, 1)
    alone = exact_law(fault.scheme, Models.constant(p, q), tokens=2, rounds=2)
    assert alone.total_variation > 0
    assert alone.worst.context != ()
    first = exact_law(fault.scheme, Models.constant(p, q), tokens=1, rounds=2)
    assert first.total_variation == 0


def test_noise_of_the_second_round_passes_every_test_of_two_rounds() -> None:
    """What is kept from the second round on shows in the third: nothing of one or two rounds tells."""
    fault = LAW_FAULTS["second-noise-kept"]
    for rounds in (1, 2):
        assert exact_law(fault.scheme, fault.models, tokens=3, rounds=rounds).total_variation == 0
    assert fault.law().total_variation > 0


def test_a_text_goes_on_behind_its_end_in_the_same_round_alone() -> None:
    """Behind an end token the due law is certain of it; the fault emits others there, and its first token is right."""
    fault = LAW_FAULTS["text-after-its-end"]
    worst = fault.law().worst
    assert 0 in worst.context
    assert (worst.target[0], sum(worst.emitted[1:]) > 0) == (1, True)
    assert exact_law(fault.scheme, fault.models, tokens=1, rounds=1).total_variation == 0


@pytest.mark.parametrize("seed", range(8))
def test_pruning_after_the_draw_is_biased_and_point_masses_are_immune(seed: int) -> None:
    """On toy models the cut trees are wrong under R4 and exactly right under R1."""
    models = Models.of(skewed(seed), skewed(seed + 100))
    proposal, widths = PROPOSALS["without-replacement"], ByDepth((2, 2))
    pruned = filtered(Walk(without_replacement), proposal, widths, most_probable(3))
    assert exact_law(pruned, models, tokens=2, rounds=1).total_variation > Fraction(1, 1000)
    right = filtered(Walk(point_mass), proposal, widths, most_probable(3))
    assert exact_law(right, models, tokens=2, rounds=1).total_variation == 0


def skewed(seed: int) -> Source:
    law = model(seed, 3)
    return lambda context: tuple(
        (2 * share + mass) / 3 for share, mass in zip(law(context), fractions(1, 2, 4), strict=True)
    )


def test_sorted_siblings_are_right_for_rules_that_ignore_the_order() -> None:
    """R3 on independent draws is exact in an order that the values do not decide; sorting by value is not such an order."""
    backwards = NodeScheme(multi_round, Reversed(), ByDepth((2,)))
    assert exact_law(backwards, GOLDEN.models, tokens=1, rounds=1).total_variation == 0
    by_value = NodeScheme(multi_round, Sorted(PROPOSALS["independent"]), ByDepth((2,)))
    assert exact_law(by_value, GOLDEN.models, tokens=1, rounds=1).total_variation > 0


class Reversed:
    """Independent draws, the last one first."""

    declared = PROPOSALS["independent"].declared

    def __call__(self, coin: object, draft: object, count: int) -> tuple[int, ...]:
        return PROPOSALS["independent"](coin, draft, count)[::-1]  # type: ignore[arg-type]


def test_rules_refuse_what_they_are_not_defined_for() -> None:
    """A chain rule refuses siblings, and an unknown rule is named with those that exist."""
    scheme = NodeScheme(ratio_chain, PROPOSALS["independent"], ByDepth((2,)))
    with pytest.raises(UsageError, match="the ratio rule of a chain was given 2 siblings; expected one"):
        scheme.play(SeededCoin(0), GOLDEN.models, (), None)
    fault = LAW_FAULTS["unscaled-block-residual"].twin
    with pytest.raises(UsageError, match="block verification was given 2 siblings after node 0; expected a chain"):
        type(fault)(fault.rule, PROPOSALS["independent"], ByDepth((2,))).play(SeededCoin(0), GOLDEN.models, (), None)  # type: ignore[attr-defined, call-arg]
    with pytest.raises(UsageError, match=re.escape("there is no rule 'r2'; expected one of sample-match")):
        find_rule("r2")


def test_the_catalogue_says_what_it_is() -> None:
    """Every fault has its sentence, the condition that wakes it, where it was seen, and a twin that is another scheme."""
    for name, fault in LAW_FAULTS.items():
        assert name == fault.name
        assert all((fault.sentence, fault.wakes, fault.seen_in, fault.twin_sentence))
        assert fault.scheme != fault.twin
