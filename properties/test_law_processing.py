"""Processed laws: what each processing does, exactly."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from law_grounds import Numbers, fractions, laws

from tree_oracle.record import UsageError
from tree_oracle.verify.law import EndsAt, MinP, PresencePenalty, Temperature, TopK, TopP, Vocabulary, processed
from tree_oracle.verify.probabilities import InvalidLaw, Law
from tree_oracle.verify.rules import Models

P = Law(fractions(1, 4, 3, 2))
HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("processing", "expected"),
    [
        (Temperature(HALF), fractions(1, 16, 9, 4)),
        (Temperature(Fraction(1)), fractions(1, 4, 3, 2)),
        (Temperature(Fraction(0)), fractions(0, 1, 0, 0)),
        (TopK(2), fractions(0, 4, 3, 0)),
        (TopP(Fraction(7, 10)), fractions(0, 4, 3, 0)),
        (TopP(Fraction(71, 100)), fractions(0, 4, 3, 2)),
        (MinP(HALF), fractions(0, 4, 3, 2)),
        (PresencePenalty(HALF), fractions(1, 2, 3, 1)),
        (PresencePenalty(HALF, counted=1), fractions(1, 2, 3, 2)),
        (Vocabulary(2), fractions(1, 4, 0, 0)),
        (EndsAt(3), fractions(0, 0, 0, 1)),
        (EndsAt(2), fractions(1, 4, 3, 2)),
    ],
)
def test_worked_examples(processing: object, expected: Numbers) -> None:
    """On weights 1, 4, 3, 2 after the text (1, 3, 3), each processing gives the weights worked out by hand."""
    assert processing(P, (1, 3, 3)).values == expected  # type: ignore[operator]


@given(
    laws(4),
    st.sampled_from(
        [Temperature(HALF), Temperature(Fraction(0)), TopK(2), TopP(HALF), MinP(HALF), PresencePenalty(HALF)]
    ),
)
def test_a_processed_law_is_an_exact_law_on_fewer_tokens(law: Numbers, processing: TopK) -> None:
    """It sums to 1 exactly and allows no token that was forbidden before."""
    found = processing(Law(law), (0,))
    assert found.exact
    assert sum(found.values) == 1
    assert all(new == 0 for new, old in zip(found.values, law, strict=True) if old == 0)


def test_other_temperatures_are_floats() -> None:
    """Where the power is not whole the law is in floats and says so."""
    found = Temperature(Fraction(2))(P, ())
    assert not found.exact
    assert found[1] == pytest.approx(4**0.5 / (1 + 4**0.5 + 3**0.5 + 2**0.5), abs=0, rel=1e-12)


def test_processed_models_are_asked_by_context() -> None:
    """A penalty sees the whole text, and a vocabulary without any allowed token is refused."""
    models = Models.constant(P.values, P.values)
    assert processed(models.target, PresencePenalty(HALF))((1,)).values == fractions(1, 2, 3, 2)
    gone = Models.constant(fractions(0, 0, 1), fractions(1, 1, 1))
    with pytest.raises(InvalidLaw, match="the processed law has no token left"):
        processed(gone.target, Vocabulary(2))(())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Temperature(Fraction(-1)), "temperature is -1; expected a number that is not negative"),
        (lambda: TopK(0), "k is 0; expected 1 or more"),
        (lambda: TopP(Fraction(0)), "mass is 0; expected a number above 0 and up to 1"),
        (lambda: MinP(Fraction(2)), "share is 2; expected a number from 0 to 1"),
        (lambda: PresencePenalty(Fraction(0)), "factor is 0; expected a positive number"),
        (lambda: Vocabulary(0), "size is 0; expected 1 or more"),
        (lambda: EndsAt(-1), "the end token is -1; expected 0 or more"),
    ],
)
def test_parameters_out_of_range_are_refused(make: object, message: str) -> None:
    """The message shows the value and what was expected."""
    with pytest.raises(UsageError, match=re.escape(message)):
        make()  # type: ignore[operator]
