"""METRIC: figures of speculative decoding, each by its own formula, against counts taken apart from them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.metrics import (
    LENGTHS,
    MetricError,
    Proposes,
    acceptance_length,
    gain,
    per_request_rate,
    position_rates,
    rate,
    reproduced_by,
    single_rate,
    system_rate,
)
from tree_oracle.record import EndReason, Round
from tree_oracle.strategies import candidate_trees
from tree_oracle.tree import CandidateTree


@st.composite
def rounds(draw: st.DrawFn, *, may_end: bool = True) -> Round:
    """A round on some tree that accepts the path to some node, and may be cut short by a limit."""
    tree: CandidateTree = draw(candidate_trees(vocab_size=9, max_nodes=10))
    accepted = tuple(tree.path(draw(st.integers(0, len(tree) - 1)))[1:])
    ended = may_end and draw(st.booleans())
    emitted = draw(st.integers(1, len(accepted) + 1)) if ended else len(accepted) + 1
    return Round(
        emitted=(0,) * emitted,
        tokens=tuple(tree.tokens.tolist()),
        parents=tuple(tree.parents.tolist()),
        accepted=accepted,
        end=EndReason.CAP if ended else None,
    )


def timed(start: int, end: int, tokens: int = 1, rank: int = 0) -> Round:
    return Round(emitted=(0,) * tokens, started_ns=start, ended_ns=end, rank=rank)


ROOT = Round(emitted=(1,), tokens=(0,), parents=(-1,), accepted=())


requests = st.lists(st.lists(rounds(), min_size=1, max_size=5), min_size=1, max_size=4)


def depth(parents: tuple[int, ...], node: int) -> int:
    """Written apart: steps up to the root."""
    steps = 0
    while parents[node] >= 0:
        node, steps = parents[node], steps + 1
    return steps


def shape(round_: Round) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    assert round_.parents is not None
    assert round_.accepted is not None
    return round_.parents, round_.accepted, len(round_.emitted)


@given(requests=requests)
def test_each_convention_is_its_formula(requests: list[list[Round]]) -> None:
    """Every acceptance length equals the fraction that its formula gives when the sums are written out."""
    every = [shape(round_) for rounds in requests for round_ in rounds]
    count, emitted = len(every), sum(e for _, _, e in every)
    matched = sum(len(path) for _, path, _ in every)
    levels = sum(max(depth(parents, v) for v in range(len(parents))) for parents, _, _ in every)
    drafts = sum(len(parents) > 1 for parents, _, _ in every)
    last = sum(len(r.emitted) == len(r.accepted or ()) + 1 for rounds in requests for r in rounds if r.end is not None)
    per_request = [Fraction(sum(len(r.emitted) for r in rounds), len(rounds)) for rounds in requests]
    expected = {
        "committed per round": Fraction(emitted, count),
        "mean of responses": sum(per_request, Fraction()) / len(per_request),
        "matched plus one": Fraction(matched, count) + 1,
        "without the last bonus": Fraction(emitted - last, count),
        "drafts only": Fraction(matched, count),
    }
    if drafts:
        expected |= {"per draft": Fraction(matched, drafts) + 1, "share of levels": Fraction(matched, levels)}
    for name, value in expected.items():
        assert acceptance_length(requests, name) == value
    assert set(expected) | {"per draft", "share of levels"} == set(LENGTHS)


@given(requests=st.lists(st.lists(rounds(may_end=False), min_size=1), min_size=1))
def test_an_ordinary_round_is_worth_its_matched_tokens_and_one(requests: list[list[Round]]) -> None:
    """Where no limit cuts a round, committed per round, matched plus one and drafts only plus one are the same number."""
    value = acceptance_length(requests)
    assert value == acceptance_length(requests, "matched plus one") == acceptance_length(requests, "drafts only") + 1
    assert value >= 1


@given(requests=requests)
def test_position_rates_count_rounds(requests: list[list[Round]]) -> None:
    """Position j is accepted by the rounds that match j tokens or more, and proposed by those that have a node there."""
    every = [shape(round_) for rounds in requests for round_ in rounds]
    in_tree = position_rates(requests)
    on_path = position_rates(requests, Proposes.ON_PATH)
    for j, pair in enumerate(in_tree, start=1):
        assert pair == (
            sum(len(path) >= j for _, path, _ in every),
            sum(any(depth(parents, v) == j for v in range(len(parents))) for parents, _, _ in every),
        )
    for j, pair in enumerate(on_path, start=1):
        at = [(parents, ([0, *path])[j - 1]) for parents, path, _ in every if len(path) >= j - 1]
        assert pair == (sum(len(path) >= j for _, path, _ in every), sum(v in parents for parents, v in at))
    assert all(0 <= rate(pair) <= 1 for pair in (*in_tree, *on_path))


@given(requests=requests)
def test_accepted_tokens_are_the_sum_over_positions(requests: list[list[Round]]) -> None:
    """The rounds that accept each position add up to all accepted tokens, under both readings."""
    matched = sum(len(round_.accepted or ()) for rounds in requests for round_ in rounds)
    for reading in Proposes:
        assert sum(accepting for accepting, _ in position_rates(requests, reading)) == matched


def test_the_two_readings_differ_where_a_branch_ends_early() -> None:
    """A round that ends at a leaf above the deepest node proposes one position more in the tree than on its path."""
    stopped = Round(emitted=(1, 5), tokens=(0, 1, 2, 3), parents=(-1, 0, 0, 2), accepted=(1,))
    assert position_rates([[stopped]]) == ((1, 1), (0, 1))
    assert position_rates([[stopped]], Proposes.ON_PATH) == ((1, 1),)


@given(requests=requests, places=st.integers(0, 6))
def test_a_claim_names_the_conventions_that_give_it(requests: list[list[Round]], places: int) -> None:
    """A figure rounded from one convention is reproduced by it, and by no convention that is a whole digit away."""
    values = {
        name: acceptance_length(requests, name)
        for name in LENGTHS
        if any(r.parents is not None and len(r.parents) > 1 for rounds in requests for r in rounds)
        or name not in ("per draft", "share of levels")
    }
    unit = Fraction(1, 10**places)
    for name, value in values.items():
        claim = f"{float(round(value, places)):.{places}f}"
        found = reproduced_by(claim, requests)
        assert name in found
        assert all(abs(values[other] - value) <= unit for other in found)


def test_a_claim_of_another_convention_is_told_apart() -> None:
    """Rounds that accept 2 of 2 and 0 of 1 claim 2.00, 1.00 or 66.67%: each by its own convention."""
    one = Round(emitted=(1, 2, 3), tokens=(0, 1, 2), parents=(-1, 0, 1), accepted=(1, 2))
    two = Round(emitted=(9,), tokens=(0, 1), parents=(-1, 0), accepted=())
    assert reproduced_by("1.00", [[one, two]]) == ("drafts only",)
    assert reproduced_by("0.6667", [[one, two]]) == ("share of levels",)
    assert "committed per round" in reproduced_by("2.0", [[one, two]])
    assert reproduced_by("7.3", [[one, two]]) == ()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: acceptance_length([]), "a request without rounds has no acceptance length"),
        (lambda: acceptance_length([[ROOT], []]), "a request without rounds has no"),
        (lambda: acceptance_length([[Round(emitted=(1,))]]), "a round does not show parents; figures need"),
        (lambda: acceptance_length([[ROOT]], "speed"), "no convention 'speed' for the acceptance length; there are"),
        (lambda: acceptance_length([[ROOT]], "per draft"), "no round has a draft"),
        (
            lambda: position_rates([[Round(emitted=(1, 2), parents=(-1,), accepted=())]]),
            "a round emits 2 tokens and accepts 0; expected at most one more",
        ),
        (lambda: reproduced_by("fast", [[ROOT]]), "claim 'fast'; expected a decimal number such as 3.42"),
        (lambda: reproduced_by("NaN", [[ROOT]]), "claim 'NaN'; expected a finite number"),
        (lambda: reproduced_by("1" * 99, [[ROOT]]), "expected a finite number of at most 30 digits"),
        (lambda: single_rate([]), "no rounds, so no throughput"),
        (lambda: single_rate([ROOT]), "round 0 has no timestamps"),
        (lambda: single_rate([timed(5, 3)]), "round 0 ends at 3 ns, before it starts at 5 ns"),
        (lambda: single_rate([timed(5, 5)]), "1 tokens in 0 ns; expected some time to pass"),
        (lambda: per_request_rate([timed(0, 3)]), "expected two rounds or more"),
        (lambda: gain([[1.0]], []), "0 benchmarks against 1; expected the same ones"),
        (lambda: gain([[1.0]], [[]]), r"rates \[\] of one benchmark; expected positive"),
        (lambda: gain([[1.0]], [[float("inf")]]), "expected positive, finite numbers, at least one"),
    ],
)
def test_what_gives_no_figure_is_refused(call: Callable[[], object], message: str) -> None:
    """A figure that the rounds do not allow is an error that says what is missing."""
    with pytest.raises(MetricError, match=message):
        call()


def test_throughput_is_tokens_over_the_time_that_its_convention_names() -> None:
    """Two requests on two workers have three different rates, each worked out by hand."""
    one = [timed(0, 10**9, 3), timed(10**9, 2 * 10**9, 4)]
    other = [timed(10**9, 4 * 10**9, 5, rank=1), timed(4 * 10**9, 5 * 10**9, 1, rank=1)]
    assert single_rate(one) == Fraction(7, 2)
    assert per_request_rate(one) == 4
    assert system_rate([one, other]) == Fraction(13, 4)


def test_the_mean_of_gains_is_not_the_ratio_of_means() -> None:
    """Benchmarks of unequal speed give two different gains, and without repeats no uncertainty is stated."""
    found = gain([[100.0], [10.0]], [[110.0], [15.0]])
    assert found.mean_of_gains == pytest.approx((0.1 + 0.5) / 2)
    assert found.ratio_of_means == pytest.approx(125 / 110 - 1)
    assert found.uncertainty is None


def test_repeats_are_averaged_first_and_give_an_uncertainty() -> None:
    """With repeats on both sides the error is that of a mean: a benchmark that never varies adds none."""
    same = gain([[10.0, 10.0]], [[12.0, 12.0]])
    assert same.mean_of_gains == pytest.approx(0.2)
    assert same.uncertainty == 0
    # Means 10 and 12, their standard errors 1 and 2: sqrt((2/12)^2 + (1/10)^2) of the ratio 1.2.
    spread = gain([[9.0, 11.0]], [[10.0, 14.0]])
    assert spread.uncertainty == pytest.approx(1.2 * (1 / 36 + 1 / 100) ** 0.5)
    assert gain([[9.0, 11.0]], [[10.0]]).uncertainty is None
