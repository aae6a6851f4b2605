"""The doctor: it blames the adapter, names the convention that would fit, and knows whether anything would be noticed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tree_oracle import CandidateTree, ReferenceDecoder
from tree_oracle.run import Examined, examine, make_subject


def lines(factory: Any, seam: str) -> list[Examined]:
    return [line for line in examine(make_subject(factory, "exact")) if line.seam == seam]


def test_the_reference_is_well() -> None:
    """Every seam that the reference offers answers, and every planted wrong answer is noticed through it."""
    found = [line for line in examine(make_subject(ReferenceDecoder, "exact")) if "does not offer" not in line.sentence]
    assert [line for line in found if not line.good] == []
    assert sum(line.what == "notices" for line in found) >= 7


class LaysOut:
    """An adapter around the right layout, made wrong by a subclass."""

    def __init__(self, target: Any) -> None:
        self.model = target.model

    def layout(self, tree: CandidateTree, prefix_len: int) -> tuple[Any, Any]:
        right = ReferenceDecoder.lay_out(ReferenceDecoder(None), tree, prefix_len)  # type: ignore[arg-type]
        return right.positions, right.visible

    def lay_out(self, tree: CandidateTree, prefix_len: int) -> dict[str, Any]:
        positions, visible = self.layout(tree, prefix_len)
        return self.answer(positions, visible, tree, prefix_len)

    def answer(self, positions: Any, visible: Any, tree: CandidateTree, prefix_len: int) -> dict[str, Any]:
        return {"positions": positions, "visible": visible}


class OneTooFar(LaysOut):
    """Positions one too large."""

    def answer(self, positions: Any, visible: Any, tree: CandidateTree, prefix_len: int) -> dict[str, Any]:
        return {"positions": positions + 1, "visible": visible}


class Inverted(LaysOut):
    """The opposite polarity."""

    def answer(self, positions: Any, visible: Any, tree: CandidateTree, prefix_len: int) -> dict[str, Any]:
        return {"positions": positions, "visible": ~visible}


class NoPrefix(LaysOut):
    """A mask over the nodes alone."""

    def answer(self, positions: Any, visible: Any, tree: CandidateTree, prefix_len: int) -> dict[str, Any]:
        return {"positions": positions, "visible": visible[:, -len(tree) :]}


class RootTwice(LaysOut):
    """A column too many in front."""

    def answer(self, positions: Any, visible: Any, tree: CandidateTree, prefix_len: int) -> dict[str, Any]:
        return {"positions": positions, "visible": np.pad(visible, ((0, 0), (1, 0)), constant_values=True)}


class Rootless(LaysOut):
    """Positions without the root's."""

    def answer(self, positions: Any, visible: Any, tree: CandidateTree, prefix_len: int) -> dict[str, Any]:
        return {"positions": positions[1:], "visible": visible}


CONVENTIONS = {
    OneTooFar: "the prefix length already leaves the root out",
    Inverted: "the wrong polarity: call it hidden",
    NoPrefix: "leaves the prefix columns out",
    RootTwice: "the prefix columns count the root",
    Rootless: "the root is not listed",
}


@pytest.mark.parametrize("adapter", CONVENTIONS, ids=lambda adapter: adapter.__name__)
def test_the_convention_that_would_fit_is_named(adapter: type[LaysOut]) -> None:
    """A layout under a usual other convention is recognised, and the doctor says what to change."""
    first = lines(adapter, "lay_out")[0]
    assert first.good is not True
    assert CONVENTIONS[adapter] in first.sentence


def test_a_right_adapter_gets_no_advice() -> None:
    """The right layout is answered with no hint at all."""
    first = lines(LaysOut, "lay_out")[0]
    assert first.good is True
    assert "looks as if" not in first.sentence


class RootAccepted:
    """Counts the root as accepted."""

    def __init__(self, target: Any) -> None:
        pass

    def accept(self, tree: CandidateTree, rows: Any) -> tuple[list[int], int]:
        path, bonus = ReferenceDecoder.accept(ReferenceDecoder(None), tree, rows)  # type: ignore[arg-type]
        return [0, *path], bonus


def test_a_root_that_is_counted_as_accepted_is_named() -> None:
    """Listing the root among the accepted nodes is an adapter's error with a hint."""
    first = lines(RootAccepted, "accept")[0]
    assert first.good is False
    assert "the root is counted as accepted" in first.sentence


class AlwaysTheSame:
    """An adapter that hides its decoder: whatever is asked, nothing is accepted and token 0 comes out."""

    def __init__(self, target: Any) -> None:
        pass

    def accept(self, tree: CandidateTree, rows: Any) -> tuple[list[int], int]:
        return [], 0


def test_an_adapter_through_which_nothing_is_seen_does_not_pass_for_well() -> None:
    """Where an answer never depends on the decoder, leaving out its last accepted node cannot be said to be noticed."""
    noticed = [line for line in lines(AlwaysTheSame, "accept") if line.what == "notices"]
    assert noticed
    assert any(not line.good or "GREEDY-01" in line.sentence for line in noticed)
