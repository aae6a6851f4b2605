"""A chain is one branch of best or drawn tokens, and where it is cut depends on nothing that was drawn below the cut."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import policy_oracle as oracle
import pytest
import treespark_oracle
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.construct import Chain, MarginalDraft, TableDraft, WithoutReplacement
from tree_oracle.record import DraftData, UsageError
from tree_oracle.strategies import draft_tables

Path = oracle.Path


def confidence(history: tuple[int, ...]) -> float:
    """Something that looks at the whole history and is often below one half."""
    return (sum((place + 2) * token for place, token in enumerate(history)) % 7) / 6


def every_chain(data: DraftData, depth: int, threshold: float | None) -> set[oracle.Paths]:
    """The chain of every choice among equally probable tokens, by exact fractions."""
    found = set[oracle.Paths]()
    growing: list[Path] = [()]
    for path in growing:
        children = [(*path, token) for token in range(data.vocab_size)]
        chances = [treespark_oracle.probability(data, 0, child) for child in children]
        ends = threshold is not None and confidence((0, *path)) < threshold
        if len(path) == depth or ends or not any(chances):
            found.add(frozenset(path[:end] for end in range(1, len(path) + 1)))
        else:
            growing += [child for child, chance in zip(children, chances, strict=True) if chance == max(chances)]
    return found


thresholds = st.sampled_from([None, 0.3, 0.6])


def chain(depth: int, threshold: float | None) -> Chain:
    return Chain(depth) if threshold is None else Chain(depth, None, confidence, threshold)


@given(data=draft_tables(max_vocab=4), depth=st.integers(1, 4), threshold=thresholds)
def test_the_chain_takes_the_best_token_of_smallest_id(data: DraftData, depth: int, threshold: float | None) -> None:
    """Token by token the most probable one, the smallest id among equals, up to the cut."""
    tree = chain(depth, threshold).build(TableDraft.of(data), 0).tree
    path: Path = ()
    while len(path) < depth and (threshold is None or confidence((0, *path)) >= threshold):
        children = [(*path, token) for token in range(data.vocab_size)]
        path = max(children, key=lambda child: (treespark_oracle.probability(data, 0, child), -child[-1]))
    assert oracle.paths_in_order(tree) == [path[:end] for end in range(1, len(path) + 1)]


@given(data=oracle.pairs(), depth=st.integers(1, 2), threshold=thresholds)
def test_a_chain_is_admitted_exactly_when_some_choice_of_equals_gives_it(
    data: DraftData, depth: int, threshold: float | None
) -> None:
    """Over two tokens and two levels every closed set is decided right, branching ones and wrong lengths included."""
    listed, policy, draft = every_chain(data, depth, threshold), chain(depth, threshold), TableDraft.of(data)
    for paths in oracle.closed_sets(2, 2):
        assert policy.admits(oracle.tree_of(paths), draft, 0) == (paths in listed)


@given(data=draft_tables(max_vocab=4), depth=st.integers(1, 4), threshold=thresholds, seed=st.integers(0, 9))
def test_a_drawn_chain_is_the_beginning_of_the_uncut_one(
    data: DraftData, depth: int, threshold: float | None, seed: int
) -> None:
    """The cut removes tokens from the end and changes none, and only the chain that these coins draw is admitted."""
    draw, draft = WithoutReplacement(seed), TableDraft.of(data)
    whole = oracle.paths_in_order(Chain(depth, draw).build(draft, 0).tree)
    policy = Chain(depth, draw) if threshold is None else Chain(depth, draw, confidence, threshold)
    cut = policy.build(draft, 0).tree
    paths = oracle.paths_in_order(cut)
    assert paths == whole[: len(paths)]
    assert whole[-1] in oracle.prefixes(data, 0, depth)
    assert policy.admits(cut, draft, 0)
    other = (*paths[-1][:-1], (paths[-1][-1] + 1) % data.vocab_size) if paths else (0,)
    assert not policy.admits(oracle.tree_of([*paths[:-1], other]), draft, 0)


def test_a_confidence_is_asked_before_its_token_exists() -> None:
    """Every question is a history that ends above the token in question; none holds the token itself."""
    asked: list[tuple[int, ...]] = []

    def note(history: tuple[int, ...]) -> float:
        asked.append(history)
        return 1.0

    draft = TableDraft.of(DraftData((("1234-4",),)))
    tree = Chain(3, WithoutReplacement(3), note).build(draft, 0).tree
    whole = tuple(tree.tokens.tolist())
    assert asked == [whole[:length] for length in (1, 2, 3)]


P, Q = (Fraction(7, 10), Fraction(3, 10)), (Fraction(1, 2), Fraction(1, 2))


def committed(keeps: Callable[[int], bool]) -> list[Fraction]:
    """The law of the first committed token where one token is drawn from Q, kept or not, and tested by min(1, p/q)."""
    law = [Fraction(0), Fraction(0)]
    residual = [max(p - q, Fraction(0)) for p, q in zip(P, Q, strict=True)]
    for token, q in enumerate(Q):
        accept = min(Fraction(1), P[token] / q) if keeps(token) else Fraction(0)
        law[token] += q * accept
        rest = residual if keeps(token) else list(P)
        for other in range(2):
            law[other] += q * (1 - accept) * rest[other] / sum(rest)
    return law


def test_a_cut_that_sees_its_token_changes_the_law() -> None:
    """DSpark's appendix A: keeping only token 0 turns (0.7, 0.3) into (0.85, 0.15); keeping all or none changes nothing."""
    assert committed(lambda token: token == 0) == [Fraction(85, 100), Fraction(15, 100)]
    assert committed(lambda token: True) == committed(lambda token: False) == list(P)


@given(laws=st.lists(st.permutations(range(5)), min_size=3, max_size=3))
def test_dflash_takes_the_argmax_of_every_depth(laws: list[list[int]]) -> None:
    """Over marginals the chain is the best token of each depth, and a block of b has b - 1 of them."""
    table = np.log(np.array([[2, 3, 5, 7, 11]])[0][np.array(laws)] / 28)
    tree = Chain.dflash(block=4).build(MarginalDraft(table), 9).tree
    assert tree.tokens.tolist() == [9, *(law.index(4) for law in laws)]
    assert tree.parents.tolist() == [-1, 0, 1, 2]


def test_drawn_chains_have_the_drafts_law() -> None:
    """Over 2,000 fixed seeds the two drawn tokens come as often as their product law says, to five standard deviations."""
    first, then = [0.5, 0.25, 0.25], [[0.25, 0.25, 0.5], [0.5, 0.5, 0.0], [0.25, 0.5, 0.25]]
    with np.errstate(divide="ignore"):
        draft = TableDraft(np.log(np.array([[first] * 3, then])))
    seeds, counts = 2_000, dict[tuple[int, ...], int]()
    for seed in range(seeds):
        path = tuple(Chain(2, WithoutReplacement(seed)).build(draft, 0).tree.tokens[1:].tolist())
        counts[path] = counts.get(path, 0) + 1
    for a, b in product(range(3), repeat=2):
        due = first[a] * then[a][b]
        assert abs(counts.get((a, b), 0) - seeds * due) <= 5 * (seeds * due * (1 - due)) ** 0.5


def test_where_nothing_is_possible_the_chain_ends() -> None:
    """A law of nothing but impossible tokens proposes none, drawn or not."""
    draft = MarginalDraft(np.array([[0.0, -np.inf], [-np.inf, -np.inf]]))
    for draw in (None, WithoutReplacement(0)):
        tree = Chain(2, draw).build(draft, 0).tree
        assert tree.tokens.tolist() == [0, 0]
        assert Chain(2, draw).admits(tree, draft, 0)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "depth": (lambda: Chain(0), "depth is 0; expected an integer of at least 1"),
    "block": (lambda: Chain.dflash(block=1), "block is 1; expected an integer of at least 2"),
    "threshold": (lambda: Chain(1, threshold=2.0), "threshold is 2.0; expected a probability"),
    "confidence": (
        lambda: Chain(1, None, lambda history: 1.25).build(TableDraft.of(DraftData((("11",),))), 0),
        "the confidence after (0,) is 1.25; expected a probability",
    ),
}


@pytest.mark.parametrize(("act", "message"), WRONG.values(), ids=WRONG)
def test_what_is_no_bound_or_confidence_is_refused_by_name(act: Callable[[], object], message: str) -> None:
    """Each wrong input is refused with its value and what was expected."""
    with pytest.raises(UsageError) as caught:
        act()
    assert message in str(caught.value)
