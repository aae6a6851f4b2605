"""Figures of rounds that are none, of claims that are none, and of times that no clock has."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tree_oracle.checks.witness import witness_of
from tree_oracle.metrics import LENGTHS, MetricError, acceptance_length, gain, position_rates, rate, reproduced_by
from tree_oracle.record import Round

links = st.lists(st.integers(-2, 5), max_size=5).map(tuple)
nodes = st.lists(st.integers(-2, 6), max_size=4).map(tuple)


def is_path(parents: tuple[int, ...], accepted: tuple[int, ...]) -> bool:
    """Written out: the root, earlier parents, and each accepted node below the one before."""
    if not parents or parents[0] != -1 or any(not 0 <= parents[node] < node for node in range(1, len(parents))):
        return False
    below = [(parent, node) for node, parent in enumerate(parents)]
    return all(pair in below[1:] for pair in zip((0, *accepted), accepted, strict=False))


@given(parents=links, accepted=nodes)
@example(parents=(), accepted=())
@example(parents=(-1, 0, 0), accepted=(1, 2))
@example(parents=(-1, 0), accepted=(-1,))
def test_rounds_are_counted_exactly_where_they_hold_a_path(parents: tuple[int, ...], accepted: tuple[int, ...]) -> None:
    """Anything else is refused under every convention, and is left out of the witness, which must not raise."""
    round_ = Round(emitted=(1,) * (len(accepted) + 1), tokens=(0,) * len(parents), parents=parents, accepted=accepted)
    witness = witness_of([round_])
    if is_path(parents, accepted):
        assert acceptance_length([[round_]], "drafts only") == len(accepted)
        assert sum(witness.reached) == len(accepted)
        return
    assert not witness.proposed
    for name in LENGTHS:
        with pytest.raises(MetricError, match="expected"):
            acceptance_length([[round_]], name)
    with pytest.raises(MetricError, match="expected"):
        position_rates([[round_]])


def requests(above: int, below: int) -> list[list[Round]]:
    """``above`` tokens in ``below`` rounds, so far as each round can emit; its first convention gives their ratio."""
    counts = [above // below + (index < above % below) for index in range(below)]
    return [[Round(emitted=(1,) * n, parents=tuple(range(-1, n)), accepted=tuple(range(1, n))) for n in counts]]


@given(
    above=st.integers(1, 60),
    below=st.integers(1, 12),
    places=st.integers(0, 28),
    mode=st.sampled_from([ROUND_HALF_UP, ROUND_HALF_EVEN]),
)
def test_a_claim_is_reproduced_at_any_number_of_places(above: int, below: int, places: int, mode: str) -> None:
    """A figure rounded half up or half to even to any number of places is recognised, and the next number is not."""
    above = max(above, below)
    with localcontext(prec=60):
        claim = (Decimal(above) / Decimal(below)).quantize(Decimal(1).scaleb(-places), mode)
        other = claim + 2 * Decimal(1).scaleb(-places)
    found = requests(above, below)
    assert acceptance_length(found) == Fraction(above, below)
    assert "committed per round" in reproduced_by(f"{claim:f}", found)
    assert "committed per round" not in reproduced_by(f"{other:f}", found)


@pytest.mark.parametrize(
    "claim",
    [
        "1E-100",
        "1e400",
        "1e999999999999999999",
        "1e-999999999999999999",
        "0." + "0" * 99 + "1",
        "nan",
        "sNaN",
        "-inf",
        "",
        "1,5",
        "15%",
        "1.5\0",
        1.5,
        None,
    ],
)
def test_what_is_no_figure_is_refused(claim: str) -> None:
    """The claim is shown, and none of the decimal module's own errors gets out."""
    with pytest.raises(MetricError, match="claim .*expected a"):
        reproduced_by(claim, requests(3, 2))


GAINS: dict[str, tuple[list[list[float]], list[list[float]]]] = {
    "a mean beyond floats": ([[1e308, 1e308]], [[1.0, 1.0]]),
    "a gain beyond floats": ([[1e-308]], [[1e308]]),
    "a spread beyond floats": ([[1e-300, 2e-300]], [[1e300, 2e300]]),
    "a rate beyond floats": ([[10**400]], [[1.0]]),
    "a variance below floats": ([[1e-320, 1e-320]], [[1.0, 1.0]]),
}


@pytest.mark.parametrize(("baseline", "measured"), GAINS.values(), ids=GAINS)
def test_a_gain_that_floats_cannot_hold_is_refused(baseline: list[list[float]], measured: list[list[float]]) -> None:
    """It is neither infinite nor an arithmetic error of Python's."""
    with pytest.raises(MetricError, match="is no float; expected rates that are comparable"):
        gain(baseline, measured)


def test_a_position_that_no_round_proposes_has_no_rate() -> None:
    """Nothing over nothing is refused."""
    act: Callable[[], object] = lambda: rate((0, 0))  # noqa: E731
    with pytest.raises(MetricError, match="0 of 0 rounds"):
        act()
