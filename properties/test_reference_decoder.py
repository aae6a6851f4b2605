"""The reference decoder over several rounds: what it emits, what it keeps, and where it stops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tree_oracle.decoder import HalfRightDraft, ReferenceDecoder
from tree_oracle.record import Continuation, EndReason, Limits, Round, UsageError
from tree_oracle.strategies import candidate_trees, prefixes
from tree_oracle.target import SequentialTruth, Target, load_target
from tree_oracle.tree import CandidateTree

VOCAB = 61
PLENTY = Limits(max_new_tokens=1000)

prompts = prefixes(vocab_size=VOCAB)
trees = candidate_trees(vocab_size=VOCAB, max_nodes=8)


@cache
def truth(spec: str = "exact") -> SequentialTruth:
    return SequentialTruth(load_target(spec))


@cache
def target(spec: str = "exact") -> Target:
    return load_target(spec)


def plain(prompt: Sequence[int], count: int) -> list[int]:
    """The next greedy tokens, from rows of ordinary runs."""
    text = list(prompt)
    for _ in range(count):
        text.append(int(truth().rows([text])[0].argmax()))
    return text[len(prompt) :]


def helped(tree: CandidateTree, committed: Sequence[int], nodes: int) -> CandidateTree:
    """The tree over ``committed``, the first ``nodes`` nodes of its last branch holding the target's own choices."""
    tokens = [committed[-1], *tree.tokens[1:].tolist()]
    path = tree.path(len(tree) - 1)[1 : nodes + 1]
    for node, token in zip(path, plain(committed, len(path)), strict=True):
        tokens[node] = token
    return CandidateTree(tokens, tree.parents)


@given(prompts, st.lists(st.tuples(trees, st.integers(0, 4)), min_size=1, max_size=4))
def test_a_round_emits_the_accepted_tokens_and_one_more(
    prompt: tuple[int, ...], drafts: list[tuple[CandidateTree, int]]
) -> None:
    """Each round emits between one token and depth plus one: its accepted ones and the bonus, as plain decoding goes on."""
    session = ReferenceDecoder(target()).open([prompt], PLENTY)
    committed = list(prompt)
    for drawn, nodes in drafts:
        tree = helped(drawn, committed, nodes)
        (round_,) = session.step([tree])
        assert round_.accepted is not None
        assert 1 <= len(round_.emitted) == len(round_.accepted) + 1 <= tree.max_depth + 1
        assert list(round_.emitted) == plain(committed, len(round_.emitted))
        assert [int(tree.tokens[node]) for node in round_.accepted] == list(round_.emitted[:-1])
        assert round_.bonus == round_.emitted[-1]
        assert (round_.prefix, round_.end) == (tuple(committed), None)
        committed += round_.emitted


@given(prompts, st.lists(st.tuples(trees, st.integers(0, 4)), min_size=1, max_size=3))
def test_the_cache_holds_the_committed_tokens_but_the_newest(
    prompt: tuple[int, ...], drafts: list[tuple[CandidateTree, int]]
) -> None:
    """After every round the cache is, bit for bit, that of a cold run over ``committed[:-1]``."""
    session = ReferenceDecoder(target()).open([prompt], PLENTY)
    committed = list(prompt)
    for drawn, nodes in drafts:
        (round_,) = session.step([helped(drawn, committed, nodes)])
        committed += round_.emitted
        assert session.cache() == [truth().cache(committed[:-1])]


def text_of(rounds: Sequence[Round]) -> list[int]:
    return [token for round_ in rounds for token in round_.emitted]


@given(prompts, st.integers(0, 12))
def test_generation_is_plain_greedy_decoding(prompt: tuple[int, ...], count: int) -> None:
    """What ``generate`` emits over all rounds is plain greedy decoding, token for token, and ends for the same reason."""
    (rounds,) = ReferenceDecoder(target()).generate([prompt], Limits(count))
    due = truth().greedy(prompt, Limits(count))
    assert Continuation(tuple(text_of(rounds)), rounds[-1].end) == due
    assert text_of(rounds) == plain(prompt, count)


@given(prompts, st.integers(0, 6), st.integers(1, 4), st.integers(1, 12), st.integers(1, 16))
def test_generation_stops_with_its_first_stop_sequence(
    prompt: tuple[int, ...], start: int, size: int, cap: int, length: int
) -> None:
    """Rounds stop in the middle, or across two of them, exactly where plain greedy decoding stops, and for the same reason."""
    text = plain(prompt, start + size)
    limits = Limits(cap, (text[0],) if start == 6 else (), length + len(prompt), stop=(tuple(text[start:]), (1, 1, 1)))
    (rounds,) = ReferenceDecoder(target()).generate([prompt], limits)
    assert Continuation(tuple(text_of(rounds)), rounds[-1].end) == truth().greedy(prompt, limits)


@pytest.mark.parametrize("spec", ["tiny:qwen3", "tiny:llama"])
@settings(max_examples=4)  # ten plain passes of a real architecture per round
@given(prompt=prompts)
def test_generation_is_plain_greedy_decoding_on_real_architectures(spec: str, prompt: tuple[int, ...]) -> None:
    """On float32 models too the text is that of plain greedy decoding, where no two tokens nearly tie."""
    (rounds,) = ReferenceDecoder(target(spec)).generate([prompt], Limits(12))
    rows = truth(spec).rows([(*prompt, *text_of(rounds)[:i]) for i in range(12)])
    chosen = rows[np.arange(12), text_of(rounds)]
    assert (rows.max(axis=1) - chosen <= 2 * truth(spec).noise().allowed).all()


def test_drafts_are_right_and_wrong() -> None:
    """The built-in draft makes rounds that accept nothing, something and everything, through scattered slots."""
    rounds = [
        round_
        for first in range(12)
        for round_ in ReferenceDecoder(target()).generate([(first,)], Limits(24))[0]
        if round_.end is None
    ]
    lengths = {len(round_.accepted or ()) for round_ in rounds}
    assert lengths == set(range(HalfRightDraft(target()).depth + 1))
    assert all(
        list(round_.accepted) != list(range(1, len(round_.accepted) + 1)) for round_ in rounds if round_.accepted
    )


# ------------------------------------------------------------------------------------------------------- where it ends


def due(prompt: Sequence[int], limits: Limits) -> tuple[list[int], EndReason]:
    """The text one token at a time, each limit tested after each token, in the order in which they are documented."""
    text: list[int] = []
    while True:
        if text and text[-1] in limits.eos_ids:
            return text, EndReason.EOS
        if len(text) == limits.max_new_tokens:
            return text, EndReason.CAP
        if limits.max_length is not None and len(prompt) + len(text) >= limits.max_length:
            return text, EndReason.CONTEXT
        text += plain([*prompt, *text], 1)


def perfect(target: Target, branching: int) -> Callable[[Sequence[int]], CandidateTree]:
    """A draft of three levels that is always right, its tokens last among ``branching`` siblings."""

    def draft(prefix: Sequence[int]) -> CandidateTree:
        tokens, parents, above = [prefix[-1]], [-1], 0
        for token in plain(prefix, 3):
            siblings = [(token + step) % target.vocab_size for step in range(branching - 1, -1, -1)]
            parents += [above] * branching
            tokens += siblings
            above = len(tokens) - 1
        return CandidateTree(tokens, parents)

    return draft


@pytest.mark.parametrize("branching", [1, 3])
@pytest.mark.parametrize("place", range(8))
def test_an_end_token_ends_the_text_wherever_it_stands(place: int, branching: int) -> None:
    """Whether the end token is an accepted draft, the bonus or deep in a later round, it is emitted and is the last."""
    prompt = (7, 1 + branching, 3)
    decoder = ReferenceDecoder(target(), draft=perfect(target(), branching))
    end = plain(prompt, place + 1)[place]
    for limits in (
        Limits(30, (end,)),
        Limits(30, (60 if end != 60 else 59, end)),
        Limits(place + 1, (end,)),
        Limits(place, (end,)),
    ):
        (rounds,) = decoder.generate([prompt], limits)
        assert (text_of(rounds), rounds[-1].end) == due(prompt, limits)
        assert all(round_.end is None for round_ in rounds[:-1])


@given(prompts, st.integers(0, 8), st.none() | st.integers(0, 16), st.none() | st.integers(0, 8))
def test_limits_are_those_of_a_plain_loop(
    prompt: tuple[int, ...], cap: int, length: int | None, place: int | None
) -> None:
    """Caps from 0, contexts below and above the prompt, and end tokens, alone and together, end the text as a plain loop."""
    eos = () if place is None else (plain(prompt, place + 1)[place],)
    limits = Limits(cap, eos, length)
    (rounds,) = ReferenceDecoder(target(), draft=perfect(target(), 2)).generate([prompt], limits)
    assert (text_of(rounds), rounds[-1].end) == due(prompt, limits)


@given(prompts, st.integers(0, 6), trees)
def test_a_round_that_is_cut_keeps_what_it_emitted(prompt: tuple[int, ...], cap: int, drawn: CandidateTree) -> None:
    """A round cut by a limit leaves the cache of the tokens that were emitted, not of those that were accepted."""
    session = ReferenceDecoder(target()).open([prompt], Limits(cap))
    (round_,) = session.step([helped(drawn, prompt, 8)])
    committed = (*prompt, *round_.emitted)
    assert len(round_.emitted) <= cap
    if committed[:-1]:
        assert session.cache() == [truth().cache(committed[:-1])]


@given(st.lists(prompts, min_size=1, max_size=2))
def test_requests_side_by_side_do_not_meet(texts: list[tuple[int, ...]]) -> None:
    """Several prompts give the texts that each gives alone."""
    decoder = ReferenceDecoder(target())
    together = [text_of(rounds) for rounds in decoder.generate(texts, Limits(4))]
    assert together == [plain(text, 4) for text in texts]


def ended() -> Any:
    session = ReferenceDecoder(target()).open([(1, 2)], Limits(1))
    session.step([CandidateTree([2], [-1])])
    return session


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "no prompt": (lambda: ReferenceDecoder(target()).open([()], PLENTY), "an empty prompt has no last token"),
    "another root": (
        lambda: ReferenceDecoder(target()).open([(1, 2)], PLENTY).step([CandidateTree([3], [-1])]),
        "the root holds token 3; expected the last committed token, 2",
    ),
    "too many trees": (
        lambda: ReferenceDecoder(target()).open([(1, 2)], PLENTY).step([CandidateTree([2], [-1])] * 2),
        "2 trees for 1 requests; expected one each",
    ),
    "after the end": (
        lambda: ended().step([CandidateTree([2], [-1])]),
        "1 trees for 0 requests; .* none for a request that has ended",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_makes_no_round_is_refused(what: str) -> None:
    """Empty prompts, foreign roots, a wrong number of trees and rounds after the end are named."""
    ask, message = WRONG[what]
    with pytest.raises(UsageError, match=message):
        ask()
