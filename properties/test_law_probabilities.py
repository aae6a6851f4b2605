"""Laws at the border, and what is derived from them."""

from __future__ import annotations

import math
import pickle
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from law_grounds import Numbers, fractions, left_over, overlap, pairs

from tree_oracle.tree import CandidateTree
from tree_oracle.verify.probabilities import InvalidLaw, Law, laws_of, ratio, total_variation
from tree_oracle.verify.rules import GivenTree, Models

HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("values", "detail"),
    [
        ([], "has no values; expected one probability per token"),
        ([HALF, Fraction(1, 3)], "sums to 5/6; expected 1 exactly"),
        ([0.5, 0.25], "sums to 0.75; expected 1 within 1e-07"),
        ([Fraction(3, 2), -HALF], "gives token 1 probability -1/2; expected a finite number from 0 to 1"),
        ([1.5, -0.5], "gives token 1 probability -0.5"),
        ([math.nan, 1.0], "gives token 0 probability nan"),
        ([0.5, math.inf], "gives token 1 probability inf"),
        ([HALF, 0.5], "mixes fractions and floats"),
        ([1, "0"], "gives token 1 '0'; expected a Fraction, an integer or a float"),
        ([True, 0], "gives token 0 True; expected"),
    ],
)
def test_what_is_no_law_is_refused_by_name(values: list[object], detail: str) -> None:
    """Unnormalised, negative, NaN, mixed and empty rows are refused; the message names the row and the value."""
    with pytest.raises(InvalidLaw, match=re.escape(f"the target law of node 3 {detail}")) as refused:
        Law(values, "the target law of node 3")  # type: ignore[arg-type]
    assert refused.value.row == "the target law of node 3"
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)


def test_a_row_of_an_array_is_named_by_its_index() -> None:
    """Rows from a decoder are refused one by one, with the index of the first that is no law."""
    rows = np.array([[0.5, 0.5], [0.5, 0.4]])
    with pytest.raises(InvalidLaw, match="row 1 sums to 0.9"):
        laws_of(rows)
    for shape in ((2,), (1, 2, 1)):
        with pytest.raises(
            InvalidLaw, match=re.escape(f"rows are float64 of shape {shape}; expected an array of floats")
        ):
            laws_of(np.ones(shape))
    with pytest.raises(InvalidLaw, match="rows are int64 of shape"):
        laws_of(np.eye(2, dtype=np.int64))
    assert [law.values for law in laws_of(np.eye(2))] == [(1.0, 0.0), (0.0, 1.0)]


def test_a_softmax_in_float32_is_a_law() -> None:
    """Rounding of a long float32 softmax stays within what is allowed, and a missing percent does not."""
    logits = np.random.default_rng(0).normal(size=32_000).astype(np.float32)
    row = np.exp(logits - logits.max())
    row /= row.sum()
    (law,) = laws_of(row[None])
    assert sum(law.values) == pytest.approx(1, abs=32_000 * 2.0**-53, rel=0)
    with pytest.raises(InvalidLaw, match="sums to 0.99"):
        laws_of((row * np.float32(0.99))[None])


def test_a_model_is_named_with_the_context() -> None:
    """A model that gives no law after some context is refused with that context."""
    models = Models.of(
        lambda context: fractions(1, 1) if not context else (HALF, Fraction(0)), lambda _: fractions(1, 1)
    )
    models.target(())
    with pytest.raises(InvalidLaw, match=re.escape("the target law after (0,) sums to 1/2; expected 1 exactly")):
        models.target((0,))


@pytest.mark.parametrize("wrong", [(True, False), ([1], [0])], ids=["bools", "lists"])
def test_no_law_passes_for_one_that_was_known_before(wrong: Any) -> None:
    """What equals a law that was met, or cannot be looked up at all, is refused after every context."""
    models = Models.of(lambda context: wrong if context else (1, 0), lambda _: (1, 0))
    models.target(())
    with pytest.raises(InvalidLaw, match=re.escape("the target law after (0,) gives token 0")):
        models.target((0,))


def test_a_given_tree_needs_a_law_of_each_kind_for_every_node() -> None:
    """Missing rows, rows of another length and tokens outside the vocabulary are refused by node."""
    tree, law, longer = CandidateTree([0, 1], [-1, 0]), Law(fractions(1, 1)), Law(fractions(1, 1, 1))
    with pytest.raises(InvalidLaw, match="the draft laws are 1; expected one for each of 2 nodes"):
        GivenTree(tree, [law, law], [law])
    with pytest.raises(InvalidLaw, match="the draft law of node 1 has 3 tokens; expected 2"):
        GivenTree(tree, [law, law], [law, longer])
    with pytest.raises(InvalidLaw, match="the target law of node 0 has 2 tokens; .* more than the token 2"):
        GivenTree(CandidateTree([0, 2], [-1, 0]), [law, law], [law, law])


@given(pairs())
def test_the_residual_is_what_the_draft_does_not_cover(laws: tuple[Numbers, Numbers]) -> None:
    """Mass and law of (p - q)_+ are those of the sum over tokens; the mass is the distance of the laws."""
    p, q = map(Law, laws)
    mass, residual = p.excess(q)
    assert residual.values == left_over(*laws)
    assert mass == total_variation(*laws) == 1 - overlap(*laws)
    assert p.minus(q) is residual


@given(pairs(), st.integers(0, 4), st.fractions(0, 1))
def test_derived_laws_are_laws(laws: tuple[Numbers, Numbers], token: int, scale: Fraction) -> None:
    """Whatever is taken away, what is left sums to 1 exactly, and nothing is taken from a law that has nothing else."""
    p, q = map(Law, laws)
    token %= len(p)
    for derived in (p.minus(q), p.excess(q, scale).law, p.untried(frozenset({token}))):
        assert sum(derived.values) == 1
        assert min(derived.values) >= 0
    assert p.untried(frozenset({token}))[token] == 0
    assert p.untried(frozenset(range(len(p)))) is p


def test_an_exhausted_draft_goes_on_uniformly() -> None:
    """Once every token of the draft has been tried, the untried ones are equally likely."""
    assert Law(fractions(1, 0, 0)).untried(frozenset({0})).values == (0, HALF, HALF)


def test_a_ratio_of_zero_to_zero_never_accepts() -> None:
    """A token of target probability 0 is never accepted; one of draft probability 0 always is, if the target allows it."""
    zero = Fraction(0)
    assert [ratio(zero, zero), ratio(HALF, zero), ratio(zero, HALF), ratio(HALF, HALF)] == [0, 1, 0, 1]
    assert ratio(Fraction(1, 4), HALF) == HALF


def test_the_most_probable_tokens_break_ties_by_id() -> None:
    """Among equals the smaller token id comes first."""
    assert Law(fractions(1, 3, 3, 0)).top(3) == (1, 2, 0)
