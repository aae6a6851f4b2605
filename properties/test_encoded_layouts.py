"""Answers in published encodings: right buffers pass through every one, and no wrong bit, number or link of them does."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from functools import cache, partial
from typing import Any, cast

import numpy as np
import pytest
import torch
from format_oracle import grown, visible
from grounds import ground, listed, result_of, sentences, statuses, with_methods
from hypothesis import assume, given
from hypothesis import strategies as st

from tree_oracle.checks import CHECKS, View, choose
from tree_oracle.checks.drafts import DRAFTS
from tree_oracle.checks.drive import drive
from tree_oracle.checks.scenes import MARKED, ROUNDS, TREES
from tree_oracle.checks.wide import WIDE
from tree_oracle.decoder import Encoded, LaidOutAs, Parts, ReferenceDecoder, Seam, encoded_decoder
from tree_oracle.record import AdapterError, Case, DecoderError, Status, Truth, Unsupported, UsageError
from tree_oracle.run import Budget, run_battery
from tree_oracle.run.conventions import fitting_convention
from tree_oracle.run.doctor import examine
from tree_oracle.tree import CandidateTree, lay_out
from tree_oracle.tree.formats import FORMATS, MalformedEncoding, find_format, holds
from tree_oracle.tree.formats.buffers import MEDUSA_TOP_K

pytestmark = pytest.mark.sweep

SIZES, LENGTHS = (1, 8, 9, 31, 32, 33, 64, 65), (1, 2, 9, 33)
STRUCTURE = ("VISIBLE-01", "VISIBLE-02", "VISIBLE-03", "POSITION-01")
THROUGH_ALL = (
    *STRUCTURE,
    "GATHER-01",
    "GATHER-02",
    "GATHER-03",
    "GREEDY-01",
    "GREEDY-02",
    "CONSTRUCT-01",
    "CONSTRUCT-04",
)
SHOWING = [name for name, encoding in FORMATS.items() if encoding.shows is not None]
QUICK = Budget(cases=0, shrink_runs=0, diagnose=False)


@pytest.mark.parametrize("number", range(len(FORMATS)), ids=list(FORMATS))
def test_a_right_decoder_passes_through_every_encoding(number: int) -> None:
    """Trees are built and laid out, and the pass runs on what is read back: nothing is held against it, and all is judged."""
    name, found = list(FORMATS)[number], ground()
    few = listed(found, 4 * len(FORMATS), number)
    cases = [
        *few,
        *(case for scene in (TREES, DRAFTS, MARKED, ROUNDS) for case in found.stock.of(scene)[:9:4]),
        *found.stock.of(WIDE),
    ]
    subject = found.subject(partial(encoded_decoder, encoding=name))
    report = run_battery(subject, choose(ids=THROUGH_ALL), QUICK, cases=cases, stock=found.stock)
    assert set(statuses(report).values()) == {Status.PASSED}, sentences(report)
    assert {"lay_out", "open"} <= set(result_of(report, "VISIBLE-03").seams)


@pytest.mark.parametrize("name", SHOWING)
def test_the_mask_is_read_from_the_place_where_the_encoding_has_it(name: str) -> None:
    """For trees on both sides of every boundary and prefixes of several lengths, each bit is that of the definition."""
    encoding = FORMATS[name]
    assert encoding.shows is not None
    for n in SIZES:
        tree = tree_of(n)
        if not holds(encoding, tree):
            continue
        due = seen_by(n)
        for length in LENGTHS:
            (document,) = encoding.encode([tree], [length])
            shown = encoding.shows(document, length)
            assert shown.visible[:, : length - 1].all()
            assert np.array_equal(shown.visible[:, length - 1 :], due)
            assert shown.positions is None or shown.positions.tolist() == [length - 1 + d for d in tree.depths.tolist()]


@cache
def tree_of(n: int) -> CandidateTree:
    return grown(n, 1)


@cache
def seen_by(n: int) -> np.ndarray:
    """The mask of that tree, by following parents one at a time."""
    return np.array(visible(tree_of(n).parents.tolist()))


def case_of(tree: CandidateTree, length: int) -> Case:
    return Case(prefix=(*range(1, length), int(tree.tokens[0])), trees=(tree.to_data(),))


def answering(answer: Any) -> Any:
    return with_methods(lay_out=lambda tree, prefix_len: answer, build_tree=lambda draft, root: answer)


def against(answer: Any, tree: CandidateTree, length: int) -> list[str]:
    """The checks of structure that an answer fails, or the sentence that breaks it off."""
    case = case_of(tree, length)
    try:
        rounds = drive(answering(answer), Seam.LAY_OUT, case, 100)
    except DecoderError as error:
        return [str(error)]
    view = View(case, rounds, cast(Truth, None))
    return [check for check in STRUCTURE if rounds[0].positions and list(CHECKS[check].judge(view))]


def encoded(name: str, tree: CandidateTree, length: int) -> dict[str, Any]:
    (document,) = find_format(name).encode([tree], [length])
    positions = lay_out(tree, length).positions
    return {"format": name, "document": document, "positions": positions}


def numbers(document: Any) -> list[str]:
    """The fields of a document that are arrays."""
    return [one.name for one in fields(document) if isinstance(getattr(document, one.name), np.ndarray)]


def spoilt(array: np.ndarray, index: int, bit: int) -> np.ndarray:
    """The array with one entry changed into another that has a meaning."""
    flat = array.copy().reshape(-1)
    if array.dtype.kind == "b":
        flat[index] = ~flat[index]
    elif array.dtype.kind == "f":
        flat[index] = next(value for value in np.unique(flat) if value != flat[index])
    elif array.dtype.itemsize < 8 and array.dtype.kind in "ui" and array.ndim != 2:
        flat[index] = np.bitwise_xor(
            flat[index], array.dtype.type(1) << array.dtype.type(bit % (8 * array.dtype.itemsize))
        )
    else:
        flat[index] += array.dtype.type(1)
    return flat.reshape(array.shape)


@given(st.data())
def test_no_entry_of_any_array_can_be_changed_unnoticed(data: st.DataObject) -> None:
    """One bit, one number or one link that is another is seen by a check, or the answer is refused as no tree's."""
    name = data.draw(st.sampled_from([name for name in FORMATS if name not in ("json", "child-maps")]))
    n, length = data.draw(st.sampled_from((8, 9, 31, 32, 33))), data.draw(st.sampled_from((1, 2, 9)))
    tree = grown(n, data.draw(st.integers(0, 2)))
    answer = encoded(name, tree, length) if holds(FORMATS[name], tree) else encoded("bool", tree, length)
    assert against(answer, tree, length) == []
    document = answer["document"]
    changeable = [field for field in numbers(document) if getattr(document, field).size]
    assume(changeable)
    field = data.draw(st.sampled_from(changeable))
    array = getattr(document, field)
    index, bit = data.draw(st.integers(0, array.size - 1)), data.draw(st.integers(0, 31))
    # An interval that ends after the last node ends there: a later end is the same predicate.
    assume((field, array.reshape(-1)[index]) != ("leave_key", n))
    changed = spoilt(array, index, bit)
    # Within one expansion of a pool every place that nobody else holds or descends from is as good as another.
    if field == "selected" and array[index] // MEDUSA_TOP_K == changed[index] // MEDUSA_TOP_K:
        descended = np.isin([array[index], changed[index]], document.parent_list).any()
        assume(descended or (np.diff(changed) <= 0).any())
    wrong = replace(document, **{field: changed})
    try:
        assert against({**answer, "document": wrong}, tree, length) != []
    except AdapterError as error:
        assert "cannot be read as" in str(error)


NO_TREE = "lay_out answered an encoding of no tree"
TREE = CandidateTree([5, 1, 2, 3, 4], [-1, 0, 0, 1, 2])


def changed(name: str, **given: Any) -> dict[str, Any]:
    """The answer of a small tree, with fields of its document replaced."""
    answer = encoded(name, TREE, 3)
    return {**answer, "document": replace(answer["document"], **given)}


WRONG: dict[str, tuple[dict[str, Any], list[str]]] = {
    "leak": (changed("sglang-qlen", mask=np.tri(5, dtype=bool).reshape(-1)), ["VISIBLE-03"]),
    "prefix": (
        changed("sglang-full", mask=np.insert(lay_out(TREE, 3).visible[:, 1:], 0, False, 1).ravel()),
        ["VISIBLE-01"],
    ),
    "parent": (changed("parents", parents=[-1, 0, 0, 2, 2]), ["VISIBLE-02", "VISIBLE-03"]),
    "offsets": (changed("tensorrt", offsets=np.arange(5, dtype=np.int32)[None]), ["POSITION-01"]),
    "late": (changed("sequence-ids", positions=np.array([3, 4, 4, 5, 5])), ["POSITION-01"]),
    "tokens": (
        changed("parents", tokens=[5, 1, 2, 3, 3]),
        ["lay_out answered an encoding whose node 4 holds token 3; expected 4"],
    ),
    "fewer": (
        changed("parents", tokens=[5, 1, 2], parents=[-1, 0, 0]),
        ["lay_out answered an encoding of 3 nodes; expected the 5 of the tree"],
    ),
    "orphan": (
        changed("pool", tokens=[5, 1, 2, 3], selected=[0, 10, 20], parent_list=[-1, 1, 10]),
        [f"{NO_TREE}: pool lists: selected[1] is below pool index 1, which is not selected: an orphan"],
    ),
    "lost": (
        changed("links-local", next_sibling=np.full((1, 5), -1)),
        [f"{NO_TREE}: links: next_token[0] never leads to node 2, nor does next_sibling; expected a way to every node"],
    ),
}


@pytest.mark.parametrize(("answer", "found"), WRONG.values(), ids=WRONG)
def test_buffers_of_another_tree_fail_where_they_differ(answer: dict[str, Any], found: list[str]) -> None:
    """A leak is a matter for VISIBLE and an offset for POSITION; what no mask can show fails in words of the encoding."""
    assert against(answer, TREE, 3) == found


MALFORMED: dict[str, tuple[Any, str]] = {
    "dtype": (changed("sglang-qlen", mask=np.ones(25)), "mask has dtype float64; expected bool"),
    "shape": (changed("sglang-qlen", mask=np.ones(24, dtype=bool)), "mask has shape (24,); expected (25,)"),
    "number": (changed("parents", parents=[-1, 0, 0, 2.5, 1]), "parents[3] is 2.5; expected an integer"),
    "meaning": (changed("vllm", bias=np.full((5, 5), -1.0, np.float32)), "bias[0, 0] is -1.0; expected 0 or -inf"),
    "words": (
        changed("tensorrt", mask=np.zeros((1, 4, 1), np.int32)),
        "has 4 rows of 1 words; expected at least 5 of 1",
    ),
    "unknown": ({"format": "bools", "document": 1}, "lay_out: no encoding is named 'bools'; expected one of bool"),
    "no name": ({"format": 3, "document": 1}, "lay_out names the encoding int 3; expected a string"),
    "nothing": ({"format": "bool"}, "lay_out answered the encoding bool without a document"),
    "field": (
        {"format": "parents", "document": {"parents": [-1]}},
        "the document of lay_out is a mapping with parents; expected tokens, parents for parents",
    ),
    "object": ({"format": "parents", "document": 7}, "the document of lay_out is int 7; expected tokens, parents"),
}


@pytest.mark.parametrize(("answer", "sentence"), MALFORMED.values(), ids=MALFORMED)
def test_buffers_that_cannot_be_read_are_the_adapters_fault(answer: Any, sentence: str) -> None:
    """Another type, dtype, shape or value is named with its field and index, and the check is in error."""
    with pytest.raises(AdapterError, match=re.escape(sentence)):
        drive(answering(answer), Seam.LAY_OUT, case_of(TREE, 3), 100)
    report = ground().report(lambda target: answering(answer), "VISIBLE-03")
    assert statuses(report) == {"VISIBLE-03": Status.ERROR}


def test_tensors_and_mappings_are_read_like_arrays_and_documents() -> None:
    """An adapter need not know our types: plain fields by name, tensors among them, are the same answer."""
    for name in ("sglang-packed", "tensorrt", "vllm", "intervals"):
        answer = encoded(name, TREE, 3)
        document = answer["document"]
        plain = {one.name: getattr(document, one.name) for one in fields(document)}
        plain |= {field: torch.from_numpy(plain[field].copy()) for field in numbers(document)}
        assert against({**answer, "document": plain}, TREE, 3) == []
        shown = drive(answering({**answer, "document": plain}), Seam.LAY_OUT, case_of(TREE, 3), 100)
        assert shown == drive(answering(answer), Seam.LAY_OUT, case_of(TREE, 3), 100)


def test_positions_that_nobody_tells_are_not_observable() -> None:
    """Of a mask alone POSITION says nothing; of buffers that hold offsets it needs to be told nothing."""
    for name, status in (("bool", Status.NOT_OBSERVABLE), ("tensorrt", Status.PASSED)):
        alone = with_methods(
            lay_out=lambda tree, prefix_len, name=name: Encoded(name, FORMATS[name].encode([tree], [prefix_len])[0])
        )
        report = ground().report(lambda target, alone=alone: alone, "POSITION-01", "VISIBLE-03")
        assert statuses(report) == {"POSITION-01": status, "VISIBLE-03": Status.PASSED}


@pytest.mark.parametrize("name", ["parents", "pool", "json", "flexflow"])
def test_a_tree_may_be_built_in_an_encoding(name: str) -> None:
    """``build_tree`` is judged on the tree that its buffers hold, and fails where they hold none."""
    report = ground().report(partial(encoded_decoder, encoding=name), "CONSTRUCT-01", "CONSTRUCT-03", "CONSTRUCT-04")
    assert set(statuses(report).values()) == {Status.PASSED}
    wrong = with_methods(build_tree=lambda draft, root: changed("parents", parents=[-1, 0, 0, 2, 4]))
    report = ground().report(lambda target: wrong, "CONSTRUCT-01")
    assert sentences(report)[0].startswith("build_tree answered an encoding of no tree: parent list: parents[4] is 4")


def test_what_an_encoding_cannot_hold_is_refused() -> None:
    """The reference answers nothing quietly wrong: 33 nodes do not fit 32 bits, nor depth first order a list by levels."""
    with pytest.raises(Unsupported, match="sglang-packed cannot hold this tree of 33 nodes"):
        LaidOutAs("sglang-packed")(grown(33, 0), 1)
    with pytest.raises(Unsupported, match="vllm cannot hold this tree of 4 nodes"):
        LaidOutAs("vllm")(CandidateTree([0, 1, 2, 3], [-1, 0, 1, 0]), 1)
    with pytest.raises(UsageError, match="no encoding is named 'bools'"):
        encoded_decoder(ground().target, "bools")


def test_a_wrong_bit_that_is_read_back_shows_in_the_rows() -> None:
    """The pass runs on the buffers: a packed leak fails HISTORY as well as VISIBLE."""

    def leak(tree: CandidateTree, length: int) -> Any:
        (document,) = FORMATS["sglang-qlen"].encode([tree], [length])
        return replace(document, mask=np.tri(len(tree), dtype=np.bool_).reshape(-1))

    wrong = Parts(lay_out=LaidOutAs("sglang-qlen", leak))
    report = ground().report(lambda target: ReferenceDecoder(target, wrong), "VISIBLE-03", "HISTORY-01")
    assert set(statuses(report).values()) == {Status.FAILED}


def test_the_doctor_names_the_encoding_that_fits() -> None:
    """A document in the encoding of another name is recognised by trying: polarity, orientation, and the root in a list."""

    def hint(named: str, meant: str) -> str:
        def lay_out_as(tree: CandidateTree, prefix_len: int) -> dict[str, Any]:
            return {**encoded(meant, tree, prefix_len), "format": named}

        return fitting_convention(ground().subject(lambda target: with_methods(lay_out=lay_out_as)), Seam.LAY_OUT)

    assert hint("bool", "bool") == ""
    says = "; it looks as if the document is not in the encoding"
    assert hint("bool", "bool-hides") == f"{says} bool (true attends) but in bool-hides (true hides)"
    assert "but in block-by-key (true attends, keys first, no prefix)" in hint("block-narrows", "block-by-key")
    assert "but in parents-unlisted (root not listed, its children have parent -1)" in hint(
        "parents", "parents-unlisted"
    )
    assert "but in sglang-qlen (flat, no prefix)" in hint("sglang-full", "sglang-qlen")


def test_the_doctor_sees_that_wrong_buffers_are_noticed() -> None:
    """Planted wrong answers are noticed through buffers too; where no positions are told that is not held against anybody."""

    def mask_alone(tree: CandidateTree, prefix_len: int) -> Encoded:
        return Encoded("bool", FORMATS["bool"].encode([tree], [prefix_len])[0])

    for lay_out_as, positions in ((LaidOutAs("tensorrt"), True), (mask_alone, None)):
        subject = ground().subject(partial(lambda made, target: made, with_methods(lay_out=lay_out_as)))
        assert [one.good for one in examine(subject) if one.seam == "lay_out"] == [True, positions, True]


def test_malformed_and_wrong_are_told_apart_by_type() -> None:
    """A decoder of encodings raises the narrower type for what cannot be read."""
    with pytest.raises(MalformedEncoding):
        FORMATS["parents"].decode((changed("parents", parents=[0.5] * 5)["document"],), [1])
    with pytest.raises(Exception, match="expected an earlier node") as raised:
        FORMATS["parents"].decode((changed("parents", parents=[-1, 0, 0, 7, 1])["document"],), [1])
    assert not isinstance(raised.value, MalformedEncoding)
