"""Claim: the doctor names the convention that a description should have said, and names none where none would help."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from described_reference import FOREIGN, described
from grounds import ground, statuses, with_methods
from hypothesis import given, settings
from hypothesis import strategies as st

from tree_oracle import CandidateTree, ReferenceDecoder
from tree_oracle.adapters import Convention, describe
from tree_oracle.decoder import Seam
from tree_oracle.faults import find_fault
from tree_oracle.record import Status
from tree_oracle.run import Budget
from tree_oracle.run.conventions import fitting_convention
from tree_oracle.run.doctor import examine

pytestmark = pytest.mark.sweep

QUICK = Budget(cases=0, shrink_runs=0, diagnose=False)
KINDS = {
    Seam.LAY_OUT: "layout",
    Seam.TREE_LOGITS: "masked",
    Seam.ACCEPT: "verify",
    Seam.BUILD: "build",
    Seam.GENERATE: "text",
}
# The fields that a seam's functions have anything to do with.
CONCERNED = {
    Seam.LAY_OUT: (
        "root_counted",
        "prefix_counts_root",
        "root_in_pass",
        "mask",
        "prefix_columns",
        "keys_first",
        "positions",
    ),
    Seam.TREE_LOGITS: ("root_counted", "root_in_pass", "mask", "prefix_columns", "positions"),
    Seam.ACCEPT: ("root_counted", "root_in_path", "padded"),
    Seam.BUILD: ("root_counted",),
    Seam.GENERATE: (
        "root_counted",
        "root_in_path",
        "padded",
        "prompt_in_text",
        "root_in_pass",
        "mask",
        "prefix_columns",
        "keys_first",
        "positions",
    ),
}
DENSE = replace(
    FOREIGN, mask="additive", keys_first=False, prefix_columns=True, positions="absolute"
)  # each field tells
MISTAKES = [(seam, name) for seam, names in CONCERNED.items() for name in names]


def hint(seam: Seam, factory: Callable[[Any], Any]) -> str:
    return fitting_convention(ground().subject(factory), seam)


def named(convention: Convention, *names: str) -> str:
    return " and ".join(f"{name}={getattr(convention, name)!r}" for name in names)


@pytest.mark.parametrize(("seam", "name"), MISTAKES, ids=lambda one: str(getattr(one, "value", one)))
def test_a_field_that_was_said_wrong_is_named_with_its_right_value(seam: Seam, name: str) -> None:
    """Each mistake, made in both directions: with that field as it should be, and with no other, the answers would fit."""
    for ours, other in ((Convention(), FOREIGN), (DENSE, Convention(mask="hidden"))):
        really = replace(ours, **{name: getattr(other, name)})
        if really == ours:
            continue
        assert hint(seam, described(KINDS[seam], convention=really)) == ""
        found = hint(seam, described(KINDS[seam], convention=really, said=ours))
        harmless = name == "padded" and ours.padded  # to cut off a padding that is not there changes nothing
        assert found == ("" if harmless else f"; with {named(really, name)} the answers would fit")


@settings(max_examples=12)  # each runs the reference under some dozens of conventions
@given(st.data())
def test_two_fields_that_were_said_wrong_are_named_together(data: st.DataObject) -> None:
    """What was said differs from the truth in two fields of a layout: one of the pairs that would fit is the right one."""
    domain: dict[str, tuple[Any, ...]] = {
        "mask": ("visible", "hidden", "additive"),
        "positions": ("absolute", "offset"),
    }
    values = {one.name: data.draw(st.sampled_from(domain.get(one.name, (True, False)))) for one in fields(Convention)}
    really = Convention(**values)
    wrong = data.draw(st.lists(st.sampled_from(CONCERNED[Seam.LAY_OUT]), min_size=2, max_size=2, unique=True))
    said = really
    for name in wrong:
        others = [value for value in domain.get(name, (True, False)) if value != getattr(really, name)]
        changed: dict[str, Any] = {name: data.draw(st.sampled_from(others))}
        said = replace(said, **changed)
    factory = described("layout", convention=really, said=said)
    found = hint(Seam.LAY_OUT, factory)
    if not found:  # what was said wrong makes no difference to this layout
        report = ground().report(factory, "VISIBLE-03", "VISIBLE-01", "POSITION-01", budget=QUICK)
        assert set(statuses(report).values()) == {Status.PASSED}
        return
    ordered = sorted(wrong, key=[one.name for one in fields(Convention)].index)
    assert f" {named(really, *ordered)} " in found or found.count("=") == 1  # one field may undo what two did


@pytest.mark.parametrize(
    ("fault", "seam"),
    [
        ("sibling-leak", Seam.LAY_OUT),
        ("position-by-slot", Seam.LAY_OUT),
        ("flat-causal-mask", Seam.TREE_LOGITS),
        ("previous-slot-row", Seam.ACCEPT),
        ("best-available-child", Seam.ACCEPT),
    ],
)
def test_a_decoder_that_is_wrong_gets_no_name(fault: str, seam: Seam) -> None:
    """No convention makes a planted fault right, so none is named, whatever was said."""
    for convention in (Convention(), FOREIGN):
        assert hint(seam, described(KINDS[seam], make=find_fault(fault).decoder, convention=convention)) == ""


def test_the_doctor_says_it_where_answers_cannot_be_read_and_where_they_can() -> None:
    """The sentence stands beside the border's own, and beside answers that can be read and are wrong."""
    unread = described("verify", convention=Convention(root_in_path=True), said=Convention())
    read = described("layout", convention=Convention(mask="hidden"), said=Convention())
    for factory, seam, words in (
        (unread, "accept", "never counted as accepted; with root_in_path=True the answers would fit"),
        (read, "lay_out", "can be read; with mask='hidden' the answers would fit"),
    ):
        (first,) = [line for line in examine(ground().subject(factory)) if line.seam == seam and line.what == "answers"]
        assert first.good is not True
        assert words in first.sentence


class Rows:
    """The right rows, in other places."""

    def __init__(self, place: Callable[[CandidateTree, np.ndarray, np.ndarray], np.ndarray]) -> None:
        self.place = place

    def __call__(self, target: Any) -> Any:
        reference = ReferenceDecoder(target)

        def tree_logits(prefix: Any, tree: CandidateTree) -> np.ndarray:
            before = reference.tree_logits(prefix[:-1], CandidateTree([prefix[-2]], [-1]))
            return self.place(tree, reference.tree_logits(prefix, tree), before)

        return with_methods(tree_logits=tree_logits)


def test_a_wrong_row_is_named() -> None:
    """The row of a node's parent and a slice that begins one row too early are told apart, and from the right one."""
    parents = Rows(lambda tree, rows, before: np.vstack([before, rows[tree.parents[1:]]]))
    early = Rows(lambda tree, rows, before: np.vstack([before, rows[:-1]]))
    assert "every node has its parent's row: row v is the law of the token after node v" in hint(
        Seam.TREE_LOGITS, parents
    )
    assert "the rows begin one too early" in hint(Seam.TREE_LOGITS, early)
    assert hint(Seam.TREE_LOGITS, Rows(lambda tree, rows, before: rows)) == ""
    assert hint(Seam.TREE_LOGITS, Rows(lambda tree, rows, before: rows[::-1])) == ""


def test_a_child_that_is_judged_with_its_own_row_is_named() -> None:
    """Of all walks that go wrong, the one that asks the child's own row is recognised, described or not."""

    def own(tokens: list[int], parents: list[int], rows: Any) -> Any:
        path, here, choices = [], 0, rows.argmax(axis=1)
        while below := [v for v, p in enumerate(parents) if p == here and tokens[v] == choices[v]]:
            here = below[0]
            path.append(here)
        return path, int(choices[here])

    assert "a node is judged with its own row" in hint(Seam.ACCEPT, describe(verify=own))
    plain = with_methods(accept=lambda tree, rows: own(tree.tokens.tolist(), tree.parents.tolist(), rows))
    assert "a node is judged with its own row" in hint(Seam.ACCEPT, lambda target: plain)
