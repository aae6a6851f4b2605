"""Processors: what they do to a row, whoever applies them, and which of them nobody can mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from grounds import ground
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float

from tree_oracle.decoder.path_state import Rules, follow, shaped, start
from tree_oracle.record import Bias, FileError, Limits, Processors, UsageError, read_case
from tree_oracle.target import processed_rows

VOCAB = 8
LIMITS = Limits(64)
tokens = st.integers(0, VOCAB - 1)
sequence = st.lists(tokens, min_size=1, max_size=3).map(tuple)
sequences = st.lists(sequence, max_size=4, unique=True).map(tuple)
halves = st.integers(-8, 8).map(lambda whole: whole / 2)  # exact in every float type, and so is what becomes of them
powers = st.sampled_from([0.25, 0.5, 1.0, 2.0, 4.0])
states = st.integers(0, 1) | st.none()
grammars = st.sampled_from([()]) | st.lists(st.lists(states, min_size=3, max_size=3).map(tuple), min_size=2, max_size=2)


@st.composite
def processors(draw: st.DrawFn) -> Processors:
    """Any processors with exact values, whose grammar allows something in each state."""
    grammar = tuple(state if any(move is not None for move in state) else (0, None, 1) for state in draw(grammars))
    return Processors(
        repetition=draw(powers),
        frequency=draw(halves),
        presence=draw(halves),
        bias=tuple(Bias(one, draw(halves)) for one in draw(sequences)),
        banned=draw(sequences),
        grammar=grammar,
    )


rows = st.lists(halves, min_size=VOCAB, max_size=VOCAB).map(lambda row: np.array(row, dtype=np.float32))
texts = st.lists(tokens, max_size=6).map(tuple)
prompts = st.lists(tokens, min_size=3, max_size=5).map(tuple)
minimums = st.builds(
    lambda eos, least: Limits(64, tuple(eos), min_new=least), st.lists(tokens, max_size=2), st.integers(0, 4)
)


def by_hand(
    row: Sequence[float], prompt: tuple[int, ...], text: tuple[int, ...], limits: Limits, given_: Processors
) -> list[float]:
    """The formulas of ``record.processors``, token by token."""
    whole, found = [*prompt, *text], list(map(float, row))
    state: Any = 0
    for token in text:
        state = given_.grammar[state][token % 3] if given_.grammar and state is not None else state

    def completes(sequence: tuple[int, ...], token: int) -> bool:
        return [*whole, token][-len(sequence) :] == list(sequence)

    for token in range(VOCAB):
        found[token] += sum(bias.value for bias in given_.bias if completes(bias.sequence, token))
        if token in whole:
            found[token] *= given_.repetition if found[token] < 0 else 1 / given_.repetition
        found[token] -= given_.frequency * text.count(token) + given_.presence * (token in text)
        closed = given_.grammar and state is not None and given_.grammar[state][token % 3] is None
        early = token in limits.eos_ids and len(text) < limits.min_new
        if closed or early or any(completes(sequence, token) for sequence in given_.banned):
            found[token] = -math.inf
    return found


@given(row=rows, prompt=prompts, text=texts, limits=minimums, own=processors())
def test_rows_are_processed_by_the_formulas(
    row: Float[np.ndarray, " v"], prompt: tuple[int, ...], text: tuple[int, ...], limits: Limits, own: Processors
) -> None:
    """Transformers' processors on the whole text, and the reference's states token by token, give what the formulas give."""
    due = by_hand(row.tolist(), prompt, text, limits, own)
    (found,) = processed_rows(row[None], [(*prompt, *text)], len(prompt), limits, own)
    rules = Rules.of(limits, own)
    state = start(prompt, rules)
    for token in text:
        state = follow(state, token, rules)

    assert found.dtype == row.dtype
    assert found.tolist() == due
    assert shaped(row, state, rules).tolist() == due


@given(prompt=prompts, some=tokens, other=tokens, own=processors())
def test_a_state_that_was_followed_is_still_there(
    prompt: tuple[int, ...], some: int, other: int, own: Processors
) -> None:
    """Two branches from one state know nothing of each other: whatever is followed first, the other comes out the same."""
    rules = Rules.of(LIMITS, own)
    root = start(prompt, rules)
    alone = follow(root, other, rules)
    follow(root, some, rules)
    assert follow(root, other, rules) == alone
    assert root == start(prompt, rules)


def test_rows_of_the_exact_model_lose_no_bit() -> None:
    """What the cases ask for is exact in float32: processing the same row in float64 gives the same numbers."""
    from tree_oracle.checks.path_cases import WAYS
    from tree_oracle.checks.scene import Stage

    prompt, truth = (5, 7, 11), ground().truth
    history = (*prompt, 7, 5, 7)
    wide = truth.rows([history])
    for how, make in WAYS:
        own = make(Stage(truth), prompt)
        single = processed_rows(wide.astype(np.float32), [history], len(prompt), LIMITS, own)
        assert single.tolist() == processed_rows(wide, [history], len(prompt), LIMITS, own).tolist(), how


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"repetition": 0.0}, "repetition is 0.0; expected a number above 0"),
    ({"repetition": 2}, "repetition is 2; expected a finite float"),
    ({"presence": math.nan}, "presence is nan; expected a finite float"),
    ({"frequency": math.inf}, "frequency is inf; expected a finite float"),
    ({"bias": (Bias((1,), -math.inf),)}, "a bias is -inf; expected a finite float"),
    ({"bias": (Bias((1,), 1.0), Bias((1,), 2.0))}, r"bias names the sequence \(1,\) twice"),
    ({"banned": ((),)}, r"banned holds the sequence \(\); expected a tuple of one token or more"),
    ({"banned": ((3, -1),)}, r"banned holds the sequence \(3, -1\)"),
    ({"banned": ((3,), (4,), (3,))}, r"banned names the sequence \(3,\) twice"),
    ({"grammar": ((0, None), (1,))}, r"state 1 of the grammar is \(1,\); expected one move per class"),
    ({"grammar": ((None, None),)}, "state 0 of the grammar allows nothing"),
    ({"grammar": ((0, 2),)}, r"state 0 of the grammar moves to \[0, 2\]; there are states 0 to 0"),
]


@pytest.mark.parametrize(("values", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_no_processor_takes_is_refused(values: dict[str, Any], message: str) -> None:
    """Each value that cannot be meant is named, with what was expected instead."""
    with pytest.raises(UsageError, match=message):
        Processors(**values)


@pytest.mark.parametrize(
    "text",
    [
        '{"repetition":0}',
        '{"penalty":2.0}',
        '{"bias":[{"sequence":[],"value":1}]}',
        '{"bias":[{"sequence":[1],"value":1},{"sequence":[1],"value":2}]}',
        '{"grammar":[[null]]}',
        '{"banned":[[-1]]}',
    ],
)
def test_a_case_file_is_held_to_the_same(text: str, tmp_path: Path) -> None:
    """A file that holds such a value, or a name that is none, is no case file."""
    path = tmp_path / "case.json"
    case = f'{{"prefix":[1,2,3],"limits":{{"max_new_tokens":3}},"processors":{text}}}'
    head = '"format":"tree-oracle-case","version":1,"check":"PATHSTATE-02","target":"exact","decoder":"d"'
    path.write_text(f'{{{head},"case":{case}}}', encoding="utf-8")
    with pytest.raises(FileError, match="is not a tree-oracle-case file"):
        read_case(path)
