"""The doctor: it blames the adapter, names the convention that would fit, and knows whether anything would be noticed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tree_oracle import CandidateTree, ReferenceDecoder
from tree_oracle.decoder import Seam
from tree_oracle.run import Examined, examine, make_subject
from tree_oracle.run.conventions import fitting_convention
from tree_oracle.run.small_trees import PREFIX, TREE


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


class InvertedSum(LaysOut):
    """The opposite polarity, in numbers that are added."""

    def answer(self, positions: Any, visible: Any, tree: CandidateTree, prefix_len: int) -> dict[str, Any]:
        return {"positions": positions, "additive": np.where(visible, -1e9, 0.0)}


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
    OneTooFar: "positions are one too large: the root is the last token of the prefix",
    Inverted: "the wrong polarity: call it hidden",
    InvertedSum: "the additive mask is inverted: add 0 where a row attends",
    NoPrefix: "leaves the prefix columns out",
    RootTwice: "the prefix columns count the root",
    Rootless: "the root is not listed",
}


@pytest.mark.parametrize("adapter", CONVENTIONS, ids=lambda adapter: adapter.__name__)
def test_the_convention_that_would_fit_is_named(adapter: type[LaysOut]) -> None:
    """A layout under a usual other convention is recognised, and the doctor says what to change."""
    first = lines(adapter, "lay_out")[0]
    assert first.good is False
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


class Steps:
    """A right session of one request, whose rounds are shown as ``shown`` says."""

    def __init__(self, target: Any, shown: Any) -> None:
        self._right, self._shown, self.target = ReferenceDecoder(target), shown, target

    def open(self, prompts: Any, limits: Any) -> Any:
        if len(prompts) > 1:
            raise NotImplementedError("one request")
        session = self._right.open(prompts, limits)
        return type("Session", (), {"step": lambda _, trees: [self._shown(*self._stepped(session, trees))]})()

    def _stepped(self, session: Any, trees: Any) -> tuple[dict[str, Any], CandidateTree]:
        (round_,) = session.step(trees)
        held = [(layer.keys.numpy(), layer.values.numpy()) for layer in session.cache()[0]] if not round_.end else None
        return {**told(round_), "cache": held}, trees[0]


def told(round_: Any) -> dict[str, Any]:
    """A round as plain values."""
    plain = {name: getattr(round_, name) for name in ("emitted", "accepted", "bonus", "end", "positions")}
    return {**plain, "rows": round_.rows.numpy(), "visible": round_.visible.numpy(), "cache": None}


class Texts:
    """The same rounds told with a text, over trees of the decoder's own that branch."""

    def __init__(self, target: Any, shown: Any) -> None:
        self._session, self._shown = Steps(target, lambda shown, tree: shown), shown

    def generate(self, prompts: Any, limits: Any) -> list[list[dict[str, Any]]]:
        return [self._text(prompt, limits) for prompt in prompts]

    def _text(self, prompt: Any, limits: Any) -> list[dict[str, Any]]:
        session, committed, text = self._session.open([prompt], limits), list(prompt), list[dict[str, Any]]()
        while not text or not text[-1]["end"]:
            tree = CandidateTree([committed[-1], *TREE.tokens[1:]], TREE.parents)
            (round_,) = session.step([tree])
            committed += round_["emitted"]
            told = round_ if text else self._shown(round_, tree)
            text.append({**told, "tokens": tree.tokens, "parents": tree.parents})
        return text


def of_parents(shown: dict[str, Any], tree: CandidateTree) -> dict[str, Any]:
    """The row of a node's parent in its place; the root's is the row before it, of which a session knows nothing."""
    before = ReferenceDecoder(make_subject(ReferenceDecoder, "exact").target)
    root = before.tree_logits(list(PREFIX[:-1]), CandidateTree([PREFIX[-2]], [-1]))[:1]
    return {**shown, "rows": np.concatenate([root, shown["rows"][list(tree.parents)[1:]]])}


def turned(shown: dict[str, Any], tree: CandidateTree) -> dict[str, Any]:
    """The cache by rows, then heads."""
    held = shown["cache"] and [tuple(part.swapaxes(0, 1) for part in layer) for layer in shown["cache"]]
    return {**shown, "cache": held}


SHOWN: dict[str, Any] = {
    "every node has its parent's row": of_parents,
    "the cache is listed rows x heads x width: answer heads x rows x width": turned,
    "positions are one too large": lambda shown, tree: {**shown, "positions": [at + 1 for at in shown["positions"]]},
    "positions are offsets from the root": lambda shown, tree: {**shown, "positions": list(tree.depths)},
    "the mask is stated with the wrong polarity": lambda shown, tree: {**shown, "visible": ~shown["visible"]},
    "": lambda shown, tree: shown,
}


@pytest.mark.parametrize("named", SHOWN)
def test_what_rounds_show_in_another_convention_is_named(named: str) -> None:
    """Rows of the parents, a cache by rows, late positions and offsets, and a mask of the other polarity are the adapter's, each by
    its name, in the rounds of a session and in those of a text; the twin is well."""
    for seam, adapter in ((Seam.SESSION, Steps), (Seam.GENERATE, Texts)):
        hint = fitting_convention(make_subject(lambda target, made=adapter: made(target, SHOWN[named]), "exact"), seam)
        assert named in hint
        assert bool(hint) == bool(named)


def test_a_convention_that_fits_is_no_pass() -> None:
    """The doctor ends with the adapter's exit code, as for answers that cannot be read, and goes on to what else it sees."""
    found = lines(lambda target: Steps(target, SHOWN["the mask is stated with the wrong polarity"]), "open")
    assert (found[0].what, found[0].good) == ("answers", False)
    assert len(found) > 1


def test_what_cannot_be_seen_of_a_session_is_said() -> None:
    """Rounds that show no rows, mask or cache: each convention that stays in the dark is named, and not called well."""
    bare = lines(lambda target: Steps(target, lambda shown, tree: {"emitted": shown["emitted"]}), "open")
    (line,) = [line for line in bare if line.what == "shows"]
    assert line.good is None
    assert line.sentence == (
        "not visible through this adapter, since no round shows it: rows (whose row stands in the place of each node's), "
        "visible (which polarity the mask has), cache (how the cache is listed)"
    )
