"""PATHSTATE on decoders that keep, lose, refuse or write down the history of a path in their own way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from grounds import ground, result_of, sentences, statuses, with_methods

from tree_oracle.checks.path_cases import PATHS, PROMPT_PATHS, Chosen
from tree_oracle.checks.scene import Stage
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.record import Array, Case, CaseFile, Limits, Processors, Report, Round, Status, TreeData, UsageError
from tree_oracle.run import Budget, replay
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree

IDS = ("PATHSTATE-01", "PATHSTATE-02", "PATHSTATE-03", "PATHSTATE-04")
QUICK = Budget(cases=0, shrink_runs=0, diagnose=False)
NAMES = Processors.__struct_fields__
Rows = np.ndarray


def judged(decoder: Callable[[Target], Any], *ids: str) -> Report:
    return ground().report(decoder, *(ids or IDS), budget=QUICK)


def showing(change: Callable[[Round], Any], hand: Callable[[Processors], Processors | None] = lambda own: own) -> Any:
    """The reference decoder behind ``open`` alone, whose rounds are changed before they are shown."""

    def made(target: Target) -> Any:
        right = ReferenceDecoder(target)

        def opened(prompts: Any, limits: Limits, processors: Processors | None = None) -> Any:
            session = right.open(prompts, limits, hand(processors or Processors()))
            return with_methods(step=lambda trees: [change(round_) for round_ in session.step(trees)])

        return with_methods(open=opened)

    return made


def reshaped(change: Callable[[Round, Rows], Rows]) -> Callable[[Round], Round]:
    def changed(round_: Round) -> Round:
        assert round_.processed is not None
        rows = change(round_, np.array(round_.processed.numpy()))
        return msgspec.structs.replace(round_, processed=Array.of(rows))

    return changed


def ruled_out(round_: Round, rows: Rows) -> list[int]:
    """The nodes whose own token, or one above it, cannot be chosen."""
    assert round_.tokens is not None
    assert round_.parents is not None
    gone: list[int] = []
    for node in range(1, len(round_.tokens)):
        parent = round_.parents[node]
        if parent in gone or not np.isfinite(rows[parent][round_.tokens[node]]):
            gone.append(node)
    return gone


def noise_behind_what_is_ruled_out(round_: Round, rows: Rows) -> Rows:
    rows[ruled_out(round_, rows)] = 5.0
    return rows


HARMLESS: dict[str, Callable[[Round, Rows], Rows]] = {
    "a ban written as a large number": lambda _, rows: np.where(np.isinf(rows), np.float32(-1e9), rows),
    "logits moved by a constant": lambda _, rows: rows + np.float32(3.0),
    "float64": lambda _, rows: rows.astype(np.float64),
    "anything where no text can come": noise_behind_what_is_ruled_out,
}


@pytest.mark.parametrize("how", HARMLESS)
def test_how_a_row_is_written_is_no_fault(how: str) -> None:
    """Bans as huge negative numbers, constants, other dtypes and nodes that are ruled out anyway are held against nobody."""
    report = judged(showing(reshaped(HARMLESS[how])))
    assert set(statuses(report).values()) == {Status.PASSED}, sentences(report)


def test_some_nodes_are_ruled_out_by_their_own_branch() -> None:
    """The cases do hold nodes that no text can come to, so leaving them alone is asked for."""
    seen: list[int] = []

    def counted(round_: Round, rows: Rows) -> Rows:
        seen.extend(ruled_out(round_, rows))
        return rows

    judged(showing(reshaped(counted)), "PATHSTATE-01")
    assert seen


@pytest.mark.parametrize("name", NAMES)
def test_a_processor_that_is_ignored_is_named(name: str) -> None:
    """A decoder that takes a processor and does nothing with it fails, and is told which one; so it does when it ignores all."""
    usual = getattr(Processors(), name)
    report = judged(showing(lambda r: r, lambda own: msgspec.structs.replace(own, **{name: usual})), "PATHSTATE-04")
    assert statuses(report) == {"PATHSTATE-04": Status.FAILED}
    assert f"the text is the one without {name}, as if it were ignored" in sentences(report)


def test_a_decoder_that_ignores_everything_is_told_so() -> None:
    """The text gives it away, and so do the rows that it shows as processed because of a minimum length."""
    report = judged(showing(lambda r: r, lambda _: None))
    assert set(statuses(report).values()) == {Status.FAILED}


def test_rows_that_are_not_shown_are_not_judged() -> None:
    """Without processed rows the text alone is judged."""
    found = statuses(judged(showing(lambda round_: msgspec.structs.replace(round_, processed=None))))
    assert found["PATHSTATE-01"] is found["PATHSTATE-03"] is Status.NOT_OBSERVABLE
    assert found["PATHSTATE-02"] is found["PATHSTATE-04"] is Status.PASSED


def without_parameter(target: Target) -> Any:
    right = ReferenceDecoder(target)
    return with_methods(open=lambda prompts, limits: right.open(prompts, limits))


def with_any_options(target: Target) -> Any:
    right = ReferenceDecoder(target)

    def generate(prompts: Any, limits: Limits, **options: Any) -> Any:
        return right.generate(prompts, limits)

    return with_methods(generate=generate)


@pytest.mark.parametrize("decoder", [without_parameter, with_any_options])
def test_a_decoder_without_the_parameter_shows_nothing(decoder: Callable[[Target], Any]) -> None:
    """Without a parameter ``processors`` nothing is observable, and nothing is held against it; ``**options`` is none."""
    report = judged(decoder)
    assert set(statuses(report).values()) == {Status.NOT_OBSERVABLE}
    method = "open" if decoder is without_parameter else "generate"
    assert result_of(report, "PATHSTATE-04").reason == f"{method} has no parameter processors"


def test_what_is_refused_is_not_held_against_it() -> None:
    """A decoder that knows no grammar and no sequences says so, and is judged by the other cases."""

    def refuse(own: Processors) -> Processors:
        if own.grammar or own.longest > 1:
            raise NotImplementedError("single tokens only")
        return own

    report = judged(showing(lambda r: r, refuse))
    assert set(statuses(report).values()) == {Status.PASSED}, sentences(report)
    whole = judged(showing(lambda r: r))
    assert all(0 < result_of(report, name).cases < result_of(whole, name).cases for name in IDS)


@pytest.mark.parametrize("spec", ["exact", "tiny:qwen3"])
def test_every_processor_changes_some_listed_text(spec: str) -> None:
    """On every target each processor has a listed case whose text within its first tokens is another one without it."""
    stage = Stage(ground(spec).truth)
    for scene in (PATHS, PROMPT_PATHS) if spec == "exact" else (PROMPT_PATHS,):
        alive: set[str] = set()
        for case in ground(spec).stock.of(scene):
            own = case.processors or Processors()
            names = [name for name in NAMES if getattr(own, name) != getattr(Processors(), name)]
            if len(names) > 2:
                continue  # the others are enough, and quicker
            texts = [Chosen(stage, case.prefix, Limits(9), without(own, name)).upto(5) for name in ("", *names)]
            alive |= {name for name, text in zip(names, texts[1:], strict=True) if text != texts[0]}
        assert alive == set(NAMES)


def without(own: Processors, name: str) -> Processors:
    return msgspec.structs.replace(own, **{name: getattr(Processors(), name)}) if name else own


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (Processors(banned=((1, 2, 3),)), "a sequence has 3 tokens; expected no more than the prompt, 2"),
        (Processors(banned=((9999,),)), "a sequence of the case holds token 9999; the target has"),
        (None, "the file holds no case of PATHSTATE-01: trees, rows, limits or processors are missing"),
    ],
)
def test_a_case_that_nobody_could_answer_is_refused(own: Processors | None, message: str) -> None:
    """A case file whose processors do not fit the target or the prompt is no evidence against a decoder."""
    case = Case(prefix=(1, 2), trees=(TreeData((2, 3), (-1, 0)),), limits=Limits(4), processors=own)
    file = CaseFile(check="PATHSTATE-01", target="exact", decoder="d", case=case)
    with pytest.raises(UsageError, match=message):
        replay(file, ground().subject(ReferenceDecoder))


def test_several_requests_keep_their_own_histories() -> None:
    """Decoded side by side each request has the rounds that it has alone, processed rows included."""
    decoder = ReferenceDecoder(ground().target)
    cases = ground().stock.of(PATHS)
    own = next(case.processors for case in cases if case.note.startswith("all processors"))
    same = cases[:3]
    prompts = [list(case.prefix) for case in same]

    def rounds(requests: list[int]) -> list[Round]:
        session = decoder.open([prompts[r] for r in requests], Limits(64), processors=own)
        trees = [CandidateTree.from_data(same[r].trees[0]) for r in requests]
        return list(session.step(trees))

    together = rounds([0, 1, 2])
    for request, found in enumerate(together):
        (alone,) = rounds([request])
        assert found.processed == alone.processed
        assert found.emitted == alone.emitted
