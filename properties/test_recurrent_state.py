"""A recurrent layer's state after any rounds is that of a cold run, and every way to keep another one is caught."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from grounds import ground, sentences, statuses
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.checks import Stage, choose
from tree_oracle.decoder.caches import RecurrentCache, RecurrentModel, States
from tree_oracle.decoder.caches.recurrent import P
from tree_oracle.decoder.caches.recurrent_decoder import MakeCache, RecurrentDecoder, layers_of
from tree_oracle.record import Continuation, EndReason, Grade, LayerRows, Limits, Noise, Status, UsageError
from tree_oracle.run import Budget, Subject, run_battery
from tree_oracle.run.stock import Stock
from tree_oracle.strategies import ScriptedTree, scripted_trees

pytestmark = pytest.mark.sweep

VOCAB = 61
MODEL = RecurrentModel(VOCAB)
tokens = st.integers(0, VOCAB - 1)
texts = st.lists(tokens, max_size=12)


class ColdTruth:
    """Sequential runs of the recurrent model, token by token, each from nothing."""

    grade, exact, vocab_size = Grade.INDEPENDENT, True, VOCAB

    def rows(self, histories: Sequence[Sequence[int]]) -> np.ndarray:
        return np.stack([MODEL.row(MODEL.run(history)) for history in histories]).astype(np.float64)

    def greedy(self, prompt: Sequence[int], limits: Limits) -> Continuation:
        text: list[int] = []
        while len(text) < limits.max_new_tokens:
            if limits.max_length is not None and len(prompt) + len(text) >= limits.max_length:
                return Continuation(tuple(text), EndReason.CONTEXT)
            row = MODEL.row(MODEL.run([*prompt, *text])).astype(np.float64)
            if len(text) < limits.min_new:
                row[list(limits.eos_ids)] = -np.inf
            text.append(int(row.argmax()))
            if text[-1] in limits.eos_ids:
                return Continuation(tuple(text), EndReason.EOS)
            if any(text[-len(sequence) :] == list(sequence) for sequence in limits.stop):
                return Continuation(tuple(text), EndReason.STOP)
        return Continuation(tuple(text), EndReason.CAP)

    def cache(self, text: Sequence[int]) -> tuple[LayerRows, ...]:
        return layers_of(MODEL.run(text))

    def reaches(self) -> tuple[int | None, ...]:
        return (None,)

    def noise(self) -> Noise:
        return Noise()

    def error(self, history: Sequence[int]) -> float:
        return 0.0

    def cache_room(self, tokens: Sequence[int]) -> float:
        return 0.0


TRUTH = ColdTruth()
STOCK = Stock(Stage(TRUTH), cases=0)
LEVELS = ("HISTORY-01", "HISTORY-02", "COMMIT-01", "COMMIT-02", "COMMIT-03", "GREEDY-02", "SEQUENCE-01", "METRIC-01")
ENDS = ("STOP-01", "STOP-02", "STOP-03", "STOP-04", "STOP-05", "STOP-06")


def judged(make_cache: MakeCache, *ids: str) -> tuple[dict[str, Status], list[str]]:
    """The battery on the listed cases of this model."""
    subject = Subject("recurrent", RecurrentDecoder(MODEL, make_cache), ground().target, TRUTH)
    report = run_battery(
        subject, choose(ids=ids or LEVELS), Budget(cases=0, shrink_runs=0, diagnose=False), stock=STOCK
    )
    return statuses(report), sentences(report)


def by_formula(text: Sequence[int]) -> tuple[list[list[int]], list[int]]:
    """The last state of each layer and the logits, from the formula in the module's docstring, in Python's own integers."""
    kernel, decay, output = (w.tolist() for w in (MODEL._kernel, MODEL._decay, MODEL._output))
    inputs = [MODEL._embed[token].tolist() for token in text]
    width, states = MODEL.width, []
    for layer in range(MODEL.layers):
        after, state = [], [0] * width
        for time in range(len(inputs)):
            for place in range(width):
                taps = range(min(MODEL.window, time + 1))
                mixed = sum(kernel[layer][MODEL.window - 1 - j][place] * inputs[time - j][place] for j in taps)
                state[place] = (decay[layer][place] * state[place] + mixed**3 + 1) % P
            after.append(list(state))
        states.append(state)
        inputs = after
    return states, [sum(states[-1][k] * output[k][v] for k in range(width)) % P for v in range(VOCAB)]


@given(text=texts)
def test_the_model_is_what_its_formula_says(text: list[int]) -> None:
    """States and logits are the formula's, computed without numpy from the whole history at once."""
    states, logits = by_formula(text)
    found = MODEL.run(text)
    assert found.states.tolist() == states
    assert MODEL.row(found).tolist() == logits


@given(text=st.lists(tokens, min_size=1, max_size=12), place=st.integers(0, 11), token=tokens)
def test_every_token_of_a_history_matters(text: list[int], place: int, token: int) -> None:
    """Another token anywhere, however far back, moves every logit but a few."""
    place %= len(text)
    other = [*text[:place], token, *text[place + 1 :]]
    if other != text:
        assert (MODEL.row(MODEL.run(text)) != MODEL.row(MODEL.run(other))).mean() > 0.9


@given(prompt=texts, tree=scripted_trees(vocab_size=VOCAB))
def test_every_node_s_row_is_that_of_its_own_history(prompt: list[int], tree: ScriptedTree) -> None:
    """In one pass over a tree each node sees the state after its parent and the inputs along its path, bit for bit."""
    cache = RecurrentCache(MODEL)
    cache.append(prompt)
    rows = cache.draft(tree.tokens, tree.parents)
    for node, row in enumerate(rows):
        path = [node]
        while tree.parents[path[-1]] >= 0:
            path.append(tree.parents[path[-1]])
        assert row.tolist() == MODEL.row(MODEL.run([*prompt, *(tree.tokens[v] for v in path[::-1])])).tolist()


@given(prompt=texts, rounds=st.lists(st.tuples(scripted_trees(vocab_size=VOCAB), st.booleans()), max_size=4))
def test_after_any_rounds_the_state_is_a_cold_run_s(prompt: list[int], rounds: list[tuple[ScriptedTree, bool]]) -> None:
    """However rounds end, with a path, with nothing but the root, or rolled back, what is kept is bit-equal to a cold run."""
    cache, committed = RecurrentCache(MODEL), list(prompt)
    cache.append(prompt)
    for tree, rolled_back in rounds:
        cache.draft(tree.tokens, tree.parents)
        kept = [] if rolled_back else [0, *tree.path]
        cache.commit(kept)
        committed += [tree.tokens[node] for node in kept]
        assert cache.committed.same_as(MODEL.run(committed))


@given(shared=texts, mine=scripted_trees(vocab_size=VOCAB), theirs=scripted_trees(vocab_size=VOCAB), later=texts)
def test_a_forked_state_equals_a_cold_one(
    shared: list[int], mine: ScriptedTree, theirs: ScriptedTree, later: list[int]
) -> None:
    """Two requests that share a prefix go their own ways, whichever commits first, as if each had run alone."""
    first = RecurrentCache(MODEL)
    first.append(shared)
    second = first.fork()
    for cache, tree in ((first, mine), (second, theirs)):
        cache.draft(tree.tokens, tree.parents)
    for cache, tree in ((second, theirs), (first, mine)):
        cache.commit([0, *tree.path])
        cache.append(later)
    for cache, tree in ((first, mine), (second, theirs)):
        path = [tree.tokens[node] for node in (0, *tree.path)]
        assert cache.committed.same_as(MODEL.run([*shared, *path, *later]))


def test_the_right_decoder_passes() -> None:
    """Driven by the battery's own cases, no check of rows, commits, choices or texts finds anything."""
    found, told = judged(RecurrentCache)
    assert set(found.values()) == {Status.PASSED}, told


def test_texts_over_states_end_as_any_other() -> None:
    """End tokens, stop sequences, a minimum length and the caps end a text over recurrent states where they should."""
    found, told = judged(RecurrentCache, *ENDS)
    assert set(found.values()) == {Status.PASSED}, told


class OfRoot(RecurrentCache):
    """Restores the state after the root, whatever was accepted."""

    def commit(self, kept: Sequence[int]) -> None:
        super().commit(kept[:1])


class ByCount(RecurrentCache):
    """Finds the snapshot by the number of accepted nodes."""

    def commit(self, kept: Sequence[int]) -> None:
        super().commit([len(kept) - 1] if kept else [])


class NotRolledBack(RecurrentCache):
    """Keeps the state after the node that was run last."""

    def commit(self, kept: Sequence[int]) -> None:
        super().commit([len(self._nodes) - 1])


class WindowBySlot(RecurrentCache):
    """Every node convolves over the inputs of the slots before it instead of its parents'."""

    def draft(self, tokens: Sequence[int], parents: Sequence[int]) -> Any:
        flat = [self._model.run(tokens[: node + 1], self.committed) for node in range(len(tokens))]
        nodes: list[States] = []
        for node, parent in enumerate(parents):
            before = self.committed if node == 0 else nodes[parent]
            window = self.committed.windows if node == 0 else flat[node - 1].windows
            nodes.append(self._model.step(States(before.states, window), tokens[node]))
        self._nodes = nodes
        return np.stack([self._model.row(after) for after in nodes])


class StateBySlot(RecurrentCache):
    """Runs over the tree as over a chain."""

    def draft(self, tokens: Sequence[int], parents: Sequence[int]) -> Any:
        return super().draft(tokens, range(-1, len(tokens) - 1))


class WindowLost(RecurrentCache):
    """Keeps the right state and forgets the window at each commit."""

    def commit(self, kept: Sequence[int]) -> None:
        super().commit(kept)
        self.committed = States(self.committed.states, np.zeros_like(self.committed.windows))


FAULTY: dict[str, tuple[MakeCache, tuple[str, ...]]] = {
    "snapshot of the root": (OfRoot, ("COMMIT-01", "COMMIT-03")),
    "snapshot by count": (ByCount, ("COMMIT-01", "COMMIT-03")),
    "not rolled back": (NotRolledBack, ("COMMIT-01", "COMMIT-03")),
    "window by slot": (WindowBySlot, ("HISTORY-01",)),
    "state by slot": (StateBySlot, ("HISTORY-01", "HISTORY-02")),
    "window lost": (WindowLost, ("COMMIT-01", "COMMIT-03")),
}


@pytest.mark.parametrize("name", FAULTY)
def test_a_wrong_state_is_caught(name: str) -> None:
    """Each fault of the class STATE fails the checks that are made for it, on listed cases."""
    make_cache, ids = FAULTY[name]
    found, _ = judged(make_cache, *ids)
    assert set(found.values()) == {Status.FAILED}


def test_a_window_of_one_input_has_nothing_to_keep() -> None:
    """A convolution over its own input alone works with an empty window."""
    model = RecurrentModel(window=1)
    cache = RecurrentCache(model)
    cache.draft([1, 2, 3], [-1, 0, 0])
    cache.commit([0, 2])
    assert cache.committed.same_as(model.run([1, 3]))


def test_bad_input_is_refused() -> None:
    """The messages name what was given and what was expected."""
    with pytest.raises(UsageError, match="vocab_size 61, layers 0, width 4, window 4; expected at least 1 of each"):
        RecurrentModel(layers=0)
    with pytest.raises(UsageError, match="token 61; expected 0 to 60"):
        MODEL.run([61])
    cache = RecurrentCache(MODEL)
    with pytest.raises(UsageError, match="node 1 has parent 1; expected -1 for the root, an earlier node for others"):
        cache.draft([1, 2], [-1, 1])
    cache.draft([1, 2], [-1, 0])
    with pytest.raises(UsageError, match="node 2 is to be kept; the round has 2 nodes"):
        cache.commit([0, 2])
    for attempt in (cache.fork, lambda: cache.append([1]), lambda: cache.draft([1], [-1])):
        with pytest.raises(UsageError, match="a round of 2 nodes is not committed"):
            attempt()
    decoder = RecurrentDecoder(MODEL)
    with pytest.raises(UsageError, match="an empty prompt has no last token to be the root of a tree"):
        decoder.open([[1], []], Limits(3))
    with pytest.raises(UsageError, match="0 trees for 1 requests; expected one each"):
        decoder.open([[1]], Limits(3)).step([])
