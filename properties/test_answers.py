"""The border: right answers are read alike in every form, and a wrong one is named with what was expected instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from grounds import with_methods
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from tree_oracle.checks import answers
from tree_oracle.checks.drive import drive
from tree_oracle.decoder import Seam
from tree_oracle.record import AdapterError, Array, Case, DecoderError, LayerRows, Limits, Round, RowKind, TreeData

VOCAB = 7
TREE = TreeData((3, 1, 2), (-1, 0, 0))
PREFIX = (4, 5, 3)
COLUMNS = len(PREFIX) - 1 + 3
CASE = Case(prefix=PREFIX, trees=(TREE,), limits=Limits(9))
FED = Case(prefix=(3,), trees=(TREE,), rows=Array.of(np.eye(3, VOCAB, dtype=np.float32)))
PROMPT = Case(prefix=PREFIX, limits=Limits(9))

MASK = np.ones((3, COLUMNS), dtype=bool)
ROWS = np.arange(3 * VOCAB, dtype=np.float32).reshape(3, VOCAB)

FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "lists": lambda values: values.tolist(),
    "tuple of lists": lambda values: tuple(values.tolist()),
    "numpy": lambda values: values,
    "strided": lambda values: np.repeat(values, 2, axis=0)[::2],
    "torch": torch.tensor,
    "list of tensors": lambda values: [torch.tensor(row) for row in values],
    "tensor that wants a gradient": lambda values: torch.tensor(values, requires_grad=values.dtype.kind == "f"),
    "Array": Array.of,
}

few = st.integers(0, VOCAB - 1)


@pytest.mark.parametrize("form", FORMS)
@given(st.lists(few, max_size=5))
def test_integers_are_read_alike_in_every_form(form: str, values: list[int]) -> None:
    """Token ids come out the same from lists, arrays and tensors."""
    given_as = FORMS[form](np.array(values, dtype=np.int64))
    assert answers.tokens(given_as, "tokens", VOCAB) == tuple(values)
    assert answers.integers(given_as, "tokens", len(values)).tolist() == values


@pytest.mark.parametrize("form", FORMS)
@given(arrays(np.float32, (3, VOCAB), elements=st.floats(width=32, allow_nan=False)))
def test_rows_are_read_alike_in_every_form(form: str, values: np.ndarray) -> None:
    """Rows come out with the same values from lists, arrays and tensors, infinities included."""
    assert np.array_equal(answers.rows(FORMS[form](values), "rows", 3, VOCAB), values)


@given(st.lists(st.integers(0, 2**16 - 1), min_size=1, max_size=20))
def test_half_precision_is_widened_exactly(bits: list[int]) -> None:
    """A bfloat16 is the upper half of the float32 that it becomes; a float16 becomes the float32 of the same value."""
    halves = torch.tensor(bits, dtype=torch.int32).to(torch.int16)
    brain = answers.array(halves.view(torch.bfloat16), "x")
    upper = (np.array(bits, dtype=np.uint32) << 16).view(np.float32)
    assert brain.dtype == np.float32
    assert np.array_equal(brain, upper, equal_nan=True)
    small = np.array(bits, dtype=np.uint16).view(np.float16)
    for half in (answers.array(halves.view(torch.float16), "x"), answers.array(small, "x")):
        assert half.dtype == np.float32
        assert [float(value) for value in half] == pytest.approx([float(value) for value in small], rel=0, nan_ok=True)


@pytest.mark.parametrize("form", FORMS)
@given(arrays(np.bool_, (3, COLUMNS)))
def test_the_name_of_a_mask_states_its_polarity(form: str, mask: np.ndarray) -> None:
    """The same mask can be given as what is visible, as what is hidden, or as what is added to the scores."""
    for low in (-1e4, np.finfo(np.float32).min, -np.inf):
        added = np.where(mask, 0.0, low).astype(np.float32)
        for layout in (
            {"visible": FORMS[form](mask)},
            {"hidden": FORMS[form](~mask)},
            {"additive": FORMS[form](added)},
        ):
            assert np.array_equal(answers.visible(layout, 3, COLUMNS), mask)
            assert np.array_equal(answers.visible(SimpleNamespace(**layout), 3, COLUMNS), mask)


@given(arrays(np.float32, array_shapes(min_dims=3, max_dims=3, min_side=0, max_side=3)))
def test_a_cache_is_read_alike_in_every_form(values: np.ndarray) -> None:
    """Keys and values come out bit for bit from pairs, tuples and ``LayerRows``."""
    keys, other = Array.of(values), Array.of(values + 1)
    for pair in ((values, values + 1), [torch.tensor(values), torch.tensor(values + 1)], LayerRows(keys, other)):
        assert answers.layers([pair, pair], "cache") == (LayerRows(keys, other),) * 2


class Plain:
    """What a decoder answers, by method."""

    def __init__(self, seam: Seam, answer: Any) -> None:
        self.seam, self.answer = seam, answer

    def run(self) -> tuple[Round, ...]:
        session = with_methods(step=lambda trees: self.answer)
        methods: dict[str, Callable[..., Any]] = {
            "lay_out": lambda tree, prefix_len: self.answer,
            "tree_logits": lambda prefix, tree: self.answer,
            "accept": lambda tree, rows: self.answer,
            "open": lambda prompts, limits: session,
            "generate": lambda prompts, limits: self.answer,
        }
        case = {Seam.ACCEPT: FED, Seam.GENERATE: PROMPT}.get(self.seam, CASE)
        return drive(with_methods(**methods), self.seam, case, VOCAB)


def layout(**changes: Any) -> dict[str, Any]:
    return {"positions": [2, 3, 3], "visible": MASK} | changes


def round_(**fields: Any) -> list[dict[str, Any]]:
    return [{"emitted": [1, 2]} | fields]


BOOLS = MASK.astype(int)
WRONG: dict[str, tuple[Seam, Any, str]] = {
    # layouts
    "no layout": (Seam.LAY_OUT, None, "a layout holds no mask; expected one of visible, hidden, additive"),
    "a pair": (Seam.LAY_OUT, ([2, 3, 3], MASK), "a layout holds no mask; expected one of visible, hidden, additive"),
    "two masks": (Seam.LAY_OUT, layout(hidden=~MASK), "a layout holds visible and hidden; expected one of"),
    "no positions": (Seam.LAY_OUT, layout(positions=None), "a layout holds no positions; expected one integer per node"),
    "mask without prefix": (Seam.LAY_OUT, layout(visible=MASK[:, 2:]), "layout.visible has shape (3, 3); expected (3, 5)"),
    "mask of the whole text": (Seam.LAY_OUT, layout(visible=np.ones((5, 5), bool)), "has shape (5, 5); expected (3, 5)"),
    "mask with batch": (Seam.LAY_OUT, layout(visible=MASK[None, None]), "has shape (1, 1, 3, 5); expected (3, 5)"),
    "padded mask": (Seam.LAY_OUT, layout(visible=np.ones((4, 6), bool)), "has shape (4, 6); expected (3, 5)"),
    "mask of numbers": (Seam.LAY_OUT, layout(visible=BOOLS), "layout.visible has dtype int64; expected bool"),
    "hidden of numbers": (Seam.LAY_OUT, {"positions": [2, 3, 3], "hidden": BOOLS.tolist()}, "layout.hidden has dtype int64"),
    "ragged mask": (Seam.LAY_OUT, layout(visible=[[True], [True, True], []]), "layout.visible is ragged or not an array"),
    "additive of 0 and 1": (Seam.LAY_OUT, {"positions": [2, 3, 3], "additive": BOOLS * 1.0}, "additive holds 1.0; expected"),
    "additive too high": (
        Seam.LAY_OUT, {"positions": [2, 3, 3], "additive": MASK * -100.0},
        "layout.additive holds -100.0; expected floats that are 0 or at most -10000",
    ),
    "additive NaN": (Seam.LAY_OUT, {"positions": [2, 3, 3], "additive": MASK * np.nan}, "additive holds nan; expected"),
    "additive whole": (Seam.LAY_OUT, {"positions": [2, 3, 3], "additive": BOOLS * 0}, "additive holds int64; expected floats"),
    "too few positions": (Seam.LAY_OUT, layout(positions=[2, 3]), "layout.positions has shape (2,); expected shape (3,)"),
    "unsigned beyond 2^63": (
        Seam.ACCEPT,
        (np.array([2**63], dtype=np.uint64), 2),
        "accepted holds 9223372036854775808; expected integers up to 9223372036854775807",
    ),
    "real positions": (Seam.LAY_OUT, layout(positions=[2.0, 3.0, 3.0]), "positions has dtype float64; expected integers"),
    "positions with batch": (Seam.LAY_OUT, layout(positions=[[2, 3, 3]]), "has shape (1, 3); expected shape (3,)"),
    # rows
    "no rows": (Seam.TREE_LOGITS, None, "tree_logits is NoneType None; expected numbers in a list, a numpy array or a torch tensor"),
    "rows without root": (Seam.TREE_LOGITS, ROWS[1:], "has shape (2, 7); expected (3, 7): one row per node, root first"),
    "padded rows": (Seam.TREE_LOGITS, np.zeros((8, VOCAB)), "has shape (8, 7); expected (3, 7)"),
    "padded vocabulary": (Seam.TREE_LOGITS, np.zeros((3, 64)), "has shape (3, 64); expected (3, 7)"),
    "rows with batch": (Seam.TREE_LOGITS, torch.zeros(1, 3, VOCAB), "has shape (1, 3, 7); expected (3, 7)"),
    "one row": (Seam.TREE_LOGITS, torch.zeros(VOCAB), "has shape (7,); expected (3, 7)"),
    "ragged rows": (Seam.TREE_LOGITS, [[0.0] * 7, [0.0] * 6, [0.0] * 7], "tree_logits is ragged or not an array"),
    "whole rows": (Seam.TREE_LOGITS, np.zeros((3, VOCAB), int), "tree_logits has dtype int64; expected floating point"),
    "rows of text": (Seam.TREE_LOGITS, [["a"] * VOCAB] * 3, "of dtype <U1; expected numbers"),
    "complex rows": (Seam.TREE_LOGITS, np.zeros((3, VOCAB), complex), "of dtype complex128; expected numbers"),
    "bfloat16 in a list": (Seam.TREE_LOGITS, [torch.zeros(VOCAB, dtype=torch.bfloat16)] * 3, "ragged or not an array"),
    "a dict of rows": (Seam.TREE_LOGITS, {0: ROWS[0]}, "tree_logits is dict"),
    # decisions
    "no decision": (Seam.ACCEPT, None, "accept answered NoneType; expected (accepted nodes, bonus token)"),
    "tokens alone": (Seam.ACCEPT, [1, 2, 3], "accept answered list; expected (accepted nodes, bonus token)"),
    "root accepted": (Seam.ACCEPT, ([0, 1], 2), "accepted is [0, 1]; the root, node 0, is never counted as accepted"),
    "padding accepted": (Seam.ACCEPT, ([1, -1], 2), "accepted[1] is node -1; expected 0 to 2 (no padding)"),
    "foreign node": (Seam.ACCEPT, ([3], 2), "accepted[0] is node 3; expected 0 to 2"),
    "mask of nodes": (Seam.ACCEPT, ([True, False], 2), "accepted has dtype bool; expected integers"),
    "real nodes": (Seam.ACCEPT, ([1.0], 2), "accepted has dtype float64; expected integers"),
    "nested nodes": (Seam.ACCEPT, ([[1]], 2), "accepted has shape (1, 1); expected one axis"),
    "bonus outside": (Seam.ACCEPT, ([1], VOCAB), "bonus[0] is token 7; expected 0 to 6"),
    "negative bonus": (Seam.ACCEPT, ([1], -1), "bonus[0] is token -1; expected 0 to 6"),
    "bonus as a list": (Seam.ACCEPT, ([1], [2]), "bonus has shape (1, 1); expected one axis"),
    "real bonus": (Seam.ACCEPT, ([1], 2.0), "bonus has dtype float64; expected integers"),
    # sessions
    "no rounds": (Seam.SESSION, None, "step is NoneType None; expected a list with 1 entry, one per request"),
    "two rounds": (Seam.SESSION, [{}, {}], "step is list [{}, {}]; expected a list with 1 entry, one per request"),
    "a bare round": (Seam.SESSION, Round(emitted=(1,)), "step is Round Round("),
    "round of tokens": (Seam.SESSION, [[1, 2]], "a round is list; expected a Round or a mapping with its fields"),
    "unknown field": (Seam.SESSION, round_(accept=[1]), "a round has no field 'accept'; it has emitted, prefix, tokens"),
    "nothing emitted": (Seam.SESSION, [{"accepted": [1]}], "a round without emitted tokens"),
    "emitted text": (Seam.SESSION, [{"emitted": "ab"}], "emitted is str 'ab'; expected numbers in a list"),
    "emitted outside": (Seam.SESSION, [{"emitted": [1, 99]}], "emitted[1] is token 99; expected 0 to 6"),
    "padded emission": (Seam.SESSION, [{"emitted": [1, -100]}], "emitted[1] is token -100; expected 0 to 6"),
    "endless integer": (Seam.SESSION, [{"emitted": [10**30]}], "of dtype object; expected numbers"),
    "another prefix": (Seam.SESSION, round_(prefix=[4, 5]), "the round shows prefix [4, 5]; the driver knows [4, 5, 3]"),
    "other tokens": (Seam.SESSION, round_(tokens=[3, 2, 1]), "shows tokens [3, 2, 1]; the driver knows [3, 1, 2]"),
    "other parents": (Seam.SESSION, round_(parents=[-1, 0, 1]), "shows parents [-1, 0, 1]; the driver knows [-1, 0, 0]"),
    "accepted root": (Seam.SESSION, round_(accepted=[0, 1]), "the root, node 0, is never counted as accepted"),
    "foreign kept": (Seam.SESSION, round_(kept=[0, 5]), "kept[1] is node 5; expected 0 to 2"),
    "few scores": (Seam.SESSION, round_(scores=[0.0]), "scores has shape (1,); expected (3,), one per node, root first"),
    "depths of text": (Seam.SESSION, round_(depths=["0", "1", "1"]), "of dtype <U1; expected numbers"),
    "visible inside out": (Seam.SESSION, round_(visible=MASK.T), "layout.visible has shape (5, 3); expected (3, 5)"),
    "rows as a layer": (Seam.SESSION, round_(rows=ROWS[:, :5]), "rows has shape (3, 5); expected (3, 7)"),
    "unknown end": (Seam.SESSION, round_(end="done"), "end is str 'done'; expected one of eos, stop, cap, context"),
    "unknown kind": (Seam.SESSION, round_(row_kind="logit"), "row_kind is str 'logit'; expected one of logits, log-prob"),
    "rank as text": (Seam.SESSION, round_(rank="0"), "rank is str '0'; expected int"),
    "coins as text": (Seam.SESSION, round_(coins="0"), "coins is str '0'; expected numbers"),
    "flat cache": (Seam.SESSION, round_(cache=[ROWS]), "expected (keys, values)"),
    "cache with batch": (
        Seam.SESSION, round_(cache=[(np.zeros((1, 1, 2, 8)),) * 2]),
        "cache layer 0 has shape (1, 1, 2, 8); expected heads x rows x width",
    ),
    "cache of an engine": (Seam.SESSION, round_(cache=object()), "expected a list with one (keys, values) per layer"),
    "broken Array": (Seam.SESSION, round_(rows=Array("float32", (3, 7), b"")), "cannot have 0 bytes"),
    "broken LayerRows": (
        Seam.SESSION, round_(cache=[LayerRows(*[Array("float32", (1,), b"")] * 2)]),
        "cache layer 0 is ragged or not an array: array of shape (1,) and dtype float32 cannot have 0 bytes",
    ),
    # generations
    "no generations": (Seam.GENERATE, [], "generate is list []; expected a list with 1 entry, one per request"),
    "a batch tensor": (Seam.GENERATE, torch.zeros(1, 4, dtype=torch.int64), "generate is Tensor tensor("),
    "a string": (Seam.GENERATE, "a", "generate is str 'a'; expected a list with 1 entry, one per request"),
    "text": (Seam.GENERATE, ["hello"], "generate is str 'hello'; expected numbers in a list, a numpy array or a torch tensor"),
    "real tokens": (Seam.GENERATE, [[1.0, 2.0]], "generate has dtype float64; expected integers"),
    "rows without a tree": (Seam.GENERATE, [[{"emitted": [1], "rows": ROWS}]], "shows rows but no tokens and parents"),
    "no tree": (
        Seam.GENERATE, [[{"emitted": [1], "tokens": [3, 1], "parents": [0, 0]}]],
        "parents[0] is 0; expected -1 for the root, node 0, and an earlier node for others",
    ),
    "another text": (
        Seam.GENERATE, [[{"emitted": [1]}, {"emitted": [2], "prefix": PREFIX}]],
        "the round shows prefix [4, 5, 3]; the driver knows [4, 5, 3, 1]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_is_named_with_what_was_expected(name: str) -> None:
    """Each wrong shape, dtype or convention is the adapter's fault, and the message holds the value and the expectation."""
    seam, answer, message = WRONG[name]
    with pytest.raises(AdapterError, match=re.escape(message)):
        Plain(seam, answer).run()


RIGHT: dict[str, tuple[Seam, Any]] = {
    "layout": (Seam.LAY_OUT, layout()),
    "layout of lists": (Seam.LAY_OUT, SimpleNamespace(positions=[2, 3, 3], hidden=(~MASK).tolist())),
    "rows": (Seam.TREE_LOGITS, ROWS.tolist()),
    "decision": (Seam.ACCEPT, ([], 3)),
    "decision by name": (Seam.ACCEPT, {"accepted": range(1, 2), "bonus": torch.tensor(3)}),
    "round": (Seam.SESSION, [Round(emitted=(1, 2))]),
    "rich round": (
        Seam.SESSION,
        round_(
            accepted=[1], kept=[0, 1], depths=[0, 1, 1], positions=[2, 3, 3], visible=MASK, rows=ROWS, scores=[0, -1, -2],
            cache=[(np.zeros((1, 4, 8)), np.zeros((1, 4, 8)))], row_kind="logits", rank=0, coins=[0.5], bonus=2,
            kernel="sdpa", control=False, started_ns=1, draft_law="deterministic",
        ),
    ),
    "tokens": (Seam.GENERATE, [[1, 2, 3]]),
    "no token": (Seam.GENERATE, [[]]),
    "rounds": (Seam.GENERATE, [({"emitted": [1]}, {"emitted": [2], "tokens": [1, 2], "parents": [-1, 0]})]),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_answer_is_read(name: str) -> None:
    """What follows the convention is read, and what the driver knows is filled in."""
    seam, answer = RIGHT[name]
    rounds = Plain(seam, answer).run()
    assert rounds[0].prefix == (FED if seam is Seam.ACCEPT else CASE).prefix
    if seam in (Seam.LAY_OUT, Seam.TREE_LOGITS, Seam.ACCEPT, Seam.SESSION):
        assert (rounds[0].tokens, rounds[0].parents) == (TREE.tokens, TREE.parents)


def test_a_rich_round_keeps_every_field() -> None:
    """Every field that a decoder shows arrives as it was shown."""
    (seen,) = Plain(*RIGHT["rich round"]).run()
    assert (seen.emitted, seen.accepted, seen.kept, seen.bonus) == ((1, 2), (1,), (0, 1), 2)
    assert (seen.depths, seen.positions, seen.coins) == ((0, 1, 1), (2, 3, 3), (0.5,))
    assert seen.scores is not None
    assert seen.scores.numpy().tolist() == [0.0, -1.0, -2.0]
    assert (seen.end, seen.row_kind, seen.rank, seen.kernel, seen.control) == (None, RowKind.LOGITS, 0, "sdpa", False)
    assert seen.visible is not None
    assert seen.rows is not None
    assert np.array_equal(seen.visible.numpy(), MASK)
    assert np.array_equal(seen.rows.numpy(), ROWS)
    assert seen.cache == (LayerRows(Array.of(np.zeros((1, 4, 8))), Array.of(np.zeros((1, 4, 8)))),)


@pytest.mark.parametrize(("emitted", "accepted", "bonus"), [((1, 4), (1,), 4), ((1,), (1,), None), ((4,), (), 4)])
def test_the_bonus_is_read_off_what_is_emitted(
    emitted: tuple[int, ...], accepted: tuple[int, ...], bonus: int | None
) -> None:
    """A token behind the accepted ones is the bonus; a round that was cut before it shows none."""
    (seen,) = Plain(Seam.SESSION, round_(emitted=emitted, accepted=accepted)).run()
    assert seen.bonus == bonus


@pytest.mark.parametrize("seam", [Seam.TREE_LOGITS, Seam.SESSION])
def test_a_nan_is_the_decoders_own_fault(seam: Seam) -> None:
    """A row with a NaN has the right shape and a wrong number: the decoder is blamed, and the node named."""
    rows = ROWS.copy()
    rows[2, 1] = np.nan
    with pytest.raises(DecoderError, match="the row of node 2 holds NaN"):
        Plain(seam, rows if seam is Seam.TREE_LOGITS else round_(rows=rows)).run()


class Endless:
    """Says that it has three entries and never ends."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> int:
        return 1


def forever() -> Any:
    while True:
        yield {"emitted": [1]}


UNENDING: dict[str, Callable[[], Any]] = {
    "a lie about its length": Endless,
    "a generator": forever,
    "an iterator": lambda: iter([1]),
    "a set": lambda: {1},
}
PLACES: dict[str, tuple[Seam, Callable[[Any], Any]]] = {
    "positions": (Seam.LAY_OUT, lambda it: layout(positions=it)),
    "mask": (Seam.LAY_OUT, lambda it: layout(visible=it)),
    "rows": (Seam.TREE_LOGITS, lambda it: it),
    "decision": (Seam.ACCEPT, lambda it: it),
    "accepted": (Seam.ACCEPT, lambda it: (it, 1)),
    "bonus": (Seam.ACCEPT, lambda it: ([], it)),
    "rounds": (Seam.SESSION, lambda it: it),
    "round": (Seam.SESSION, lambda it: [it]),
    "emitted": (Seam.SESSION, lambda it: [{"emitted": it}]),
    "cache": (Seam.SESSION, lambda it: round_(cache=it)),
    "layer": (Seam.SESSION, lambda it: round_(cache=[it])),
    "texts": (Seam.GENERATE, lambda it: it),
    "text": (Seam.GENERATE, lambda it: [it]),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", UNENDING)
def test_what_has_no_end_of_its_own_is_refused(kind: str, place: str) -> None:
    """Generators, sets and objects that only look like a sequence are refused before anything is taken from them."""
    seam, put = PLACES[place]
    with pytest.raises(AdapterError, match="expected"):
        Plain(seam, put(UNENDING[kind]())).run()
