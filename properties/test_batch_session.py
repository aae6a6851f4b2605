"""The batched reference decoder is the one that runs each request alone, bit for bit, whoever comes and goes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tree_oracle.decoder import BatchSession, Parts, ReferenceDecoder, batch_parts, batch_state
from tree_oracle.decoder.session import ReferenceSession, Request
from tree_oracle.record import Limits, Round, UsageError
from tree_oracle.strategies import candidate_trees, prefixes
from tree_oracle.target import SequentialTruth, Target, load_target
from tree_oracle.tree import CandidateTree

WINDOWED = "exact:layers=full+sliding,window=4"
PLENTY = Limits(1 << 20)
SLOW = max(2, settings().max_examples // 5)  # a session is some twenty passes
FEW = max(2, settings().max_examples // 25)

prompts = prefixes(vocab_size=61)
shapes = candidate_trees(vocab_size=61, max_nodes=10)
Either = ReferenceSession | BatchSession


@cache
def target(spec: str = "exact") -> Target:
    return load_target(spec, dtype="float32" if spec.startswith("exact") else "float64")


@cache
def truth() -> SequentialTruth:
    return SequentialTruth(target())


def both(spec: str, texts: list[tuple[int, ...]], limits: Limits = PLENTY) -> tuple[ReferenceSession, BatchSession]:
    """Each request alone, and all in one batch."""
    return ReferenceSession(target(spec), Parts(), texts, limits), BatchSession(target(spec), Parts(), texts, limits)


def helped(tree: CandidateTree, text: tuple[int, ...], spec: str) -> CandidateTree:
    """The tree over this text; where its first branch goes it holds what plain decoding chooses, so that some is accepted."""
    tokens, here, node = [text[-1], *tree.tokens[1:].tolist()], list(text), 0
    found = SequentialTruth(target(spec)) if spec != "exact" else truth()
    while tree.children(node) and len(here) < len(text) + 2:
        node = tree.children(node)[-1]
        tokens[node] = found.greedy(here, Limits(1)).tokens[0]
        here.append(tokens[node])
    return CandidateTree(tokens, tree.parents)


def same(alone: Round, together: Round, *, exact: bool) -> None:
    """Rows bit for bit where the target is exact, within 1e-9 in double precision; all else equal."""
    assert alone.rows is not None
    assert together.rows is not None
    gap = float(np.abs(np.subtract(alone.rows.numpy(), together.rows.numpy())).max())
    assert gap == 0.0 if exact else gap <= 1e-9
    for name in ("emitted", "prefix", "tokens", "parents", "positions", "accepted", "bonus", "kept", "end"):
        assert getattr(alone, name) == getattr(together, name), name


class Sessions(RuleBasedStateMachine):
    """Requests are admitted, drafted for, dropped and resumed, and end by their cap, in both sessions alike."""

    spec = "exact"

    @initialize(texts=st.lists(prompts, min_size=2, max_size=3), cap=st.integers(1, 12))
    def opened(self, texts: list[tuple[int, ...]], cap: int) -> None:
        self.alone, self.batch = both(self.spec, texts, Limits(cap))
        self.dropped: list[tuple[int, ...]] = []

    @property
    def texts(self) -> list[tuple[int, ...]]:
        return [tuple(request.committed) for request in self.alone.requests if request.ended is None]

    @precondition(lambda self: len(self.texts) < 4)
    @rule(text=prompts, behind=st.none() | st.integers(0, 3))
    def admit(self, text: tuple[int, ...], behind: int | None) -> None:
        """A new prompt, or one that goes on behind what another request has come to."""
        texts = self.texts
        prompt = (*texts[behind % len(texts)], *text) if behind is not None and texts else text
        self.alone.admit([prompt])
        self.batch.admit([prompt])

    @precondition(lambda self: bool(self.dropped) and len(self.texts) < 4)
    @rule()
    def resume(self) -> None:
        prompt = self.dropped.pop()
        self.alone.admit([prompt])
        self.batch.admit([prompt])

    @precondition(lambda self: bool(self.texts))
    @rule(place=st.integers(0, 3))
    def drop(self, place: int) -> None:
        place %= len(self.texts)
        self.dropped.append(self.texts[place])
        self.alone.drop([place])
        self.batch.drop([place])

    @precondition(lambda self: bool(self.texts))
    @rule(drawn=st.lists(shapes, min_size=6, max_size=6))
    def step(self, drawn: list[CandidateTree]) -> None:
        trees = [helped(tree, text, self.spec) for tree, text in zip(drawn, self.texts, strict=False)]
        rounds = zip(self.alone.step(trees), self.batch.step(trees), strict=True)
        for alone, together in rounds:
            same(alone, together, exact=True)
        assert self.batch.cache() == self.alone.cache()


Sessions.TestCase.settings = settings(max_examples=SLOW, stateful_step_count=12)


class WindowedSessions(Sessions):
    """The same on layers that see a window."""

    spec = WINDOWED


WindowedSessions.TestCase.settings = settings(max_examples=FEW, stateful_step_count=12)

TestSessions = Sessions.TestCase
TestWindowedSessions = WindowedSessions.TestCase


@pytest.mark.parametrize("spec", ["tiny:gemma3", "tiny:qwen3"])
@settings(max_examples=FEW)
@given(texts=st.lists(prompts, min_size=2, max_size=3), drawn=st.lists(shapes, min_size=6, max_size=6))
def test_a_batch_on_a_real_architecture_is_each_request_alone(
    spec: str, texts: list[tuple[int, ...]], drawn: list[CandidateTree]
) -> None:
    """In double precision two rounds of a batch differ from the requests run alone by rounding only."""
    alone, batch = both(spec, texts)
    for step in range(2):
        trees = [
            CandidateTree([request.committed[-1], *tree.tokens[1:].tolist()], tree.parents)
            for tree, request in zip(drawn[3 * step :], alone.requests, strict=False)
        ]
        for one, other in zip(alone.step(trees), batch.step(trees), strict=True):
            same(one, other, exact=False)


@settings(max_examples=FEW)
@given(
    texts=st.lists(prompts, min_size=2, max_size=3),
    drawn=st.lists(shapes, min_size=6, max_size=6),
    token=st.integers(0, 60),
)
def test_nothing_depends_on_what_padding_holds(
    texts: list[tuple[int, ...]], drawn: list[CandidateTree], token: int
) -> None:
    """With other poison in the cache and another token in the padding, every round and every cache is the same."""
    shown = []
    for poison, pad in ((batch_state.POISON, batch_parts.PAD_TOKEN), (768.0, token)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(batch_state, "POISON", poison)
            patch.setattr(batch_parts, "PAD_TOKEN", pad)
            session = BatchSession(target(), Parts(), texts, PLENTY)
            trees = [
                CandidateTree([text[-1], *tree.tokens[1:].tolist()], tree.parents)
                for tree, text in zip(drawn, texts, strict=False)
            ]
            rounds = session.step(trees)
            roots = [CandidateTree([round_.emitted[-1]], [-1]) for round_ in rounds]
            shown.append((rounds, session.step(roots), session.cache()))
    assert shown[0] == shown[1]


def test_a_round_is_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many requests there are, a round runs the target once."""
    session, calls = ReferenceDecoder(target()).open([(1, 2, 3), (4,), (5, 6)], PLENTY), list[tuple[int, ...]]()
    forward = type(target().model).forward

    def counted(self: Any, input_ids: Any, *args: Any, **more: Any) -> Any:
        calls.append(tuple(input_ids.shape))
        return forward(self, input_ids, *args, **more)

    monkeypatch.setattr(type(target().model), "forward", counted)
    session.step([CandidateTree([3, 7], [-1, 0]), CandidateTree([4], [-1]), CandidateTree([6, 1, 2], [-1, 0, 0])])
    assert len(calls) == 1
    assert calls[0][0] == 3


def test_buffers_keep_their_place_and_size() -> None:
    """Rounds of larger, no and smaller drafts, and a request that leaves, use the same arrays."""
    session = BatchSession(target(), Parts(), [(1, 2, 3), (4,)], PLENTY)
    session.step([CandidateTree([3], [-1]), CandidateTree([4], [-1])])
    before = session._padded.tokens
    for n in (5, 1, 2):
        trees = [CandidateTree([text.committed[-1], *range(1, n)], [-1] + [0] * (n - 1)) for text in session._texts]
        session.step(trees)
    session.drop([0])
    session.step([CandidateTree([session._texts[0].committed[-1]], [-1])])
    assert session._padded.tokens is before
    assert before.shape[0] == 2


REFUSED: dict[str, tuple[Callable[[Either], Any], str]] = {
    "an empty prompt": (lambda session: session.admit([()]), "an empty prompt has no last token"),
    "too few trees": (lambda session: session.step([CandidateTree([2], [-1])]), "1 trees for 2 requests; expected one"),
    "another root": (
        lambda session: session.step([CandidateTree([2], [-1]), CandidateTree([9], [-1])]),
        "the root holds token 9; expected the last committed token, 3",
    ),
    "a place that nobody has": (lambda session: session.drop([2]), "request 2 is to be dropped; .* requests 0 to 1"),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("kind", [ReferenceSession, BatchSession])
def test_what_makes_no_step_is_refused(kind: Any, what: str) -> None:
    """Empty prompts, a wrong number of trees, foreign roots and unknown places are named, with and without a batch."""
    ask, message = REFUSED[what]
    session = kind(target(), Parts(), [(1, 2), (3,)], PLENTY)
    with pytest.raises(UsageError, match=message):
        ask(session)


def test_a_request_that_has_ended_runs_no_round() -> None:
    """A single request says why it has ended when it is asked for more."""
    request = Request(target(), Parts(), (1, 2), Limits(1))
    request.step(CandidateTree([2], [-1]))
    with pytest.raises(UsageError, match=r"the request has ended \(cap\)"):
        request.step(CandidateTree([2], [-1]))
