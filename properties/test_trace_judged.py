"""A recorded trace is judged by the same judges as a driven decoder: what was planted is found in it, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from grounds import ground, statuses
from trace_grounds import fields_of, numbered, small_trace

from tree_oracle.checks import choose
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.faults import find_fault
from tree_oracle.record import (
    Array,
    Continuation,
    EndReason,
    Grade,
    LayerRows,
    Limits,
    Noise,
    Report,
    Round,
    Status,
    UsageError,
)
from tree_oracle.run.trace_cases import reads_rounds
from tree_oracle.run.trace_floor import Controls, controls_of, with_floor
from tree_oracle.run.trace_judge import judge_trace
from tree_oracle.trace import Recorder, Requests, TraceReader

PROMPTS = ((3, 5, 2, 7), (9, 4))
LIMITS = Limits(max_new_tokens=12)
CHECKS = choose()
VOCAB = 61  # of the exact model
PASSED, FAILED, HIDDEN = Status.PASSED, Status.FAILED, Status.NOT_OBSERVABLE


@cache
def rounds_of(fault: str = "", spec: str = "exact", limits: Limits = LIMITS) -> tuple[tuple[Round, ...], ...]:
    """What the reference decoder, or one with a planted fault, does with the prompts."""
    made: Any = find_fault(fault).decoder if fault else ReferenceDecoder
    return tuple(tuple(rounds) for rounds in made(ground(spec).target).generate(PROMPTS, limits))


def record(
    path: Path,
    texts: Sequence[Sequence[Round]],
    *,
    without: Sequence[str] = (),
    limits: Limits | None = LIMITS,
    **options: Any,
) -> Path:
    """A trace of these rounds, some of their fields left out."""
    greedy = options.pop("greedy", True)
    given: dict[str, Any] = (
        {}
        if limits is None
        else {"max_new_tokens": limits.max_new_tokens, "eos_ids": limits.eos_ids, "min_new": limits.min_new}
    )
    with Recorder(path, **options) as trace:
        for prompt, rounds in zip(PROMPTS, texts, strict=False):
            request = trace.request(prompt, greedy=greedy, **given)
            for round_ in rounds:
                trace.round(
                    request, **{name: value for name, value in fields_of(round_).items() if name not in without}
                )
            trace.done(request)
    return path


def judged(path: Path, spec: str | None = "exact", **options: Any) -> Report:
    truth = None if spec is None else ground(spec).truth
    return judge_trace(path, CHECKS, truth=truth, target=spec or "", **options)


@pytest.mark.parametrize("rows", ["whole", "summary"])
def test_a_right_run_is_held(tmp_path: Path, rows: str) -> None:
    """The reference passes all that its trace shows, whole rows or summaries, with the witness that speculation ran."""
    report = judged(record(tmp_path / "t.jsonl", rounds_of(), rows=rows))
    found = statuses(report)
    assert {name for name, status in found.items() if status is PASSED} == {
        *(f"VISIBLE-0{i}" for i in (1, 2, 3)), "POSITION-01", "HISTORY-01", "COMMIT-02", "COMMIT-03", "GATHER-01", "GATHER-02",
        "GATHER-03", "GREEDY-01", "GREEDY-02", "METRIC-01", "NUMERIC-01", "SEQUENCE-01", "STOP-02", "STOP-03", "WITNESS-01",
        "CONSTRUCT-01",
    }  # fmt: skip
    assert set(found.values()) == {PASSED, HIDDEN, Status.NOT_APPLICABLE}
    assert (report.exit_code, report.held, report.grade) == (0, 3, "A")
    assert report.witness.rounds == sum(map(len, rounds_of()))
    assert report.witness.accepted > 0


# A check that finds each fault in a trace of its run; without a target where its own rows show it.
PLANTED: dict[str, tuple[str, str | None]] = {
    "sibling-leak": ("VISIBLE-03", "exact"),
    "position-by-slot": ("POSITION-01", "exact"),
    "kept-by-count": ("COMMIT-02", "exact"),
    "values-not-moved": ("COMMIT-03", "exact"),
    "scored-by-own-row": ("GATHER-02", None),
    "previous-slot-row": ("GREEDY-02", None),
    "bonus-by-count": ("GATHER-03", None),
    "first-child-only": ("GREEDY-02", None),
    "bonus-withheld": ("METRIC-01", None),
    "cap-not-cut": ("STOP-02", None),
}


@pytest.mark.parametrize("fault", sorted(set(PLANTED)))
def test_a_planted_fault_is_found_in_a_trace(tmp_path: Path, fault: str) -> None:
    """The check of the fault fails at a line of the trace, and so does the run."""
    check, spec = PLANTED[fault]
    report = judged(record(tmp_path / "t.jsonl", rounds_of(fault), rows="whole"), spec)
    found = next(result for result in report.results if result.check == check)
    assert found.status is FAILED, {name: status for name, status in statuses(report).items() if status is FAILED}
    assert report.exit_code == 1
    (finding,) = found.findings
    assert finding.sentence.startswith("line ")
    line = int(finding.sentence.split(",")[0].removeprefix("line "))
    assert json.loads((tmp_path / "t.jsonl").read_bytes().splitlines()[line - 1])["kind"] == "round"


RECORDED: dict[str, tuple[str, Any]] = {
    "the mask is stated with the wrong polarity": (
        "VISIBLE-01",
        lambda one: {"visible": Array.of(~np.asarray(one.visible.numpy()))},
    ),
    "positions are one too large": ("POSITION-01", lambda one: {"positions": tuple(at + 1 for at in one.positions)}),
    "positions are offsets from the root": (
        "POSITION-01",
        lambda one: {"positions": tuple(at - one.positions[0] for at in one.positions)},
    ),
}


@pytest.mark.parametrize("named", RECORDED)
def test_a_usual_other_convention_of_a_recording_is_named(tmp_path: Path, named: str) -> None:
    """Where a right run is recorded with another mask or other positions the finding says which; a wrong decoder gets no name."""
    check, change = RECORDED[named]
    told = [[msgspec.structs.replace(one, **change(one)) for one in text] for text in rounds_of()]
    for spec in ("exact", None):
        report = judged(record(tmp_path / f"{spec}.jsonl", told), spec)
        (finding,) = next(result for result in report.results if result.check == check).findings
        assert f"; if the decoder ran right, it was recorded wrong: {named}" in finding.sentence
    wrong = judged(record(tmp_path / "wrong.jsonl", rounds_of(OF_ITS_KIND[check])))
    (finding,) = next(result for result in wrong.results if result.check == PLANTED[OF_ITS_KIND[check]][0]).findings
    assert "recorded wrong" not in finding.sentence


OF_ITS_KIND = {"VISIBLE-01": "sibling-leak", "POSITION-01": "position-by-slot"}


@pytest.mark.parametrize(("without", "hidden"), [
    (("visible",), {"VISIBLE-01", "VISIBLE-02", "VISIBLE-03"}),
    (("positions",), {"POSITION-01"}),
    (("rows",), {"HISTORY-01", "COMMIT-03", "NUMERIC-01"}),
    (("scores",), {"GATHER-02"}),
    (("kept",), {"COMMIT-02"}),
    (("accepted", "bonus"), {"GATHER-01", "GATHER-03", "GREEDY-01", "GREEDY-02", "METRIC-01"}),
])  # fmt: skip
def test_what_is_not_shown_is_not_observable(tmp_path: Path, without: tuple[str, ...], hidden: set[str]) -> None:
    """Leaving a field out hides just the checks that need it; the others are judged as before."""
    before = statuses(judged(record(tmp_path / "t.jsonl", rounds_of())))
    after = statuses(judged(record(tmp_path / "u.jsonl", rounds_of(), without=without)))
    assert {name for name in hidden if before[name] is not PASSED or after[name] is not HIDDEN} == set()
    assert {
        name: status for name, status in after.items() if before[name] is PASSED and status is not PASSED
    }.keys() == hidden


def test_tokens_alone_are_no_witness(tmp_path: Path) -> None:
    """A trace of one lump of right tokens says nothing about speculation, and is no pass."""
    lumps = [[Round(emitted=tuple(token for round_ in text for token in round_.emitted))] for text in rounds_of()]
    report = judged(record(tmp_path / "t.jsonl", lumps))
    assert set(statuses(report).values()) == {HIDDEN}
    assert report.witness.rounds == 0
    assert report.exit_code == 4
    wrong = [[Round(emitted=(1, 1))], *lumps[1:]]
    assert statuses(judged(record(tmp_path / "u.jsonl", wrong)))["SEQUENCE-01"] is FAILED


def test_a_text_without_an_end_is_not_too_short(tmp_path: Path) -> None:
    """Where the recording stops inside a text, its tokens are judged and its end is not."""
    path = record(tmp_path / "t.jsonl", [rounds_of()[0]])
    path.write_bytes(b"".join(line + b"\n" for line in path.read_bytes().splitlines()[:4]))
    found = statuses(judged(path, partial=True))
    assert (found["SEQUENCE-01"], found["STOP-02"], found["STOP-03"]) == (PASSED, HIDDEN, HIDDEN)
    unlimited = statuses(judged(record(tmp_path / "u.jsonl", rounds_of(), limits=None)))
    assert (unlimited["SEQUENCE-01"], unlimited["STOP-02"]) == (PASSED, HIDDEN)


def test_sampled_text_is_not_held_to_greedy_laws(tmp_path: Path) -> None:
    """Structure, histories and ends of a sampled run are judged; its choices are not."""
    found = statuses(judged(record(tmp_path / "t.jsonl", rounds_of(), greedy=False)))
    assert {found[name] for name in ("GREEDY-01", "SEQUENCE-01", "GATHER-01", "GATHER-03")} == {HIDDEN}
    assert {found[name] for name in ("VISIBLE-03", "HISTORY-01", "GATHER-02", "METRIC-01", "STOP-02")} == {PASSED}


def test_a_summary_hides_no_wrong_row(tmp_path: Path) -> None:
    """A row that is wrong only where nothing is shown of it is found by its hash on the exact model."""
    (first, *rest), other = rounds_of()
    assert first.rows is not None
    rows = np.array(first.rows.numpy())
    rows[0, int(rows[0].argmin())] -= 1
    fields = fields_of(first) | {"rows": rows}
    path = tmp_path / "t.jsonl"
    with Recorder(path, rows="summary") as trace:
        request = trace.request(PROMPTS[0])
        trace.round(request, **fields)
    report = judged(path)
    assert statuses(report)["HISTORY-01"] is FAILED
    assert rest
    assert other


def test_without_a_target_its_own_rows_are_the_truth(tmp_path: Path) -> None:
    """Choices are held against the rows that came with the record, grade D; rows themselves are then nobody's to judge."""
    report = judged(record(tmp_path / "t.jsonl", rounds_of()), None)
    found = statuses(report)
    assert {found[name] for name in ("GATHER-01", "GREEDY-01", "GREEDY-02", "SEQUENCE-01", "VISIBLE-01")} == {PASSED}
    assert {found[name] for name in ("HISTORY-01", "COMMIT-03")} == {HIDDEN}
    assert {result.grade for result in report.results} == {report.grade} == {"D"}
    bare = statuses(judged(record(tmp_path / "u.jsonl", rounds_of(), without=("rows",)), None))
    assert {bare[name] for name in ("GATHER-01", "GREEDY-01", "SEQUENCE-01")} == {HIDDEN}


def controlled(path: Path, *, repeats: int, spoil: bool = False) -> Path:
    """One text, and plain runs that tell the row after each of its tokens; the text may emit another token somewhere."""
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(7, 70)).astype(np.float32)
    text = rows.argmax(axis=1).tolist()
    with Recorder(path, rows="whole", engine="other") as trace:
        for number in range(repeats):
            request = trace.request([1, 2])
            for row, token in zip(rows, text, strict=True):
                noisy = row + np.float32(1e-4 * number) * draw.normal(size=70).astype(np.float32)
                trace.round(request, control=True, emitted=[token], rows=noisy[None])
        request = trace.request([1, 2])
        said = [*text[:3], (text[3] + 1) % 70, *text[4:]] if spoil else text
        for place in (0, 3):
            trace.round(request, emitted=said[place : place + 3], tokens=[1, 2, 3], parents=[-1, 0, 1], accepted=[1, 2])
    return path


def test_control_rows_are_a_truth_of_the_same_engine(tmp_path: Path) -> None:
    """Without a target a text is held against the plain runs of its engine, grade C, by a floor that repeats tell."""
    right = judge_trace(controlled(tmp_path / "a.jsonl", repeats=2), choose(["SEQUENCE-01"]))
    (result,) = right.results
    assert (result.status, result.grade, result.cases) == (PASSED, "C", 2)
    (result,) = judge_trace(controlled(tmp_path / "b.jsonl", repeats=2, spoil=True), choose(["SEQUENCE-01"])).results
    assert (result.status, result.grade) == (FAILED, "C")
    (result,) = judge_trace(controlled(tmp_path / "c.jsonl", repeats=1, spoil=True), choose(["SEQUENCE-01"])).results
    assert result.status is Status.UNDECIDED
    assert "no control row is repeated" in result.reason


def beside(path: Path, *, moved: float = 0.0, control: bool = True, **options: Any) -> Path:
    """The first text of the reference, and control rounds that show the rows of two nodes of its first tree again."""
    rounds = rounds_of()[0]
    first = next(one for one in rounds if one.tokens is not None and len(one.tokens) > 2 and one.rows is not None)
    assert first.tokens is not None
    assert first.parents is not None
    assert first.rows is not None
    prefix: tuple[int, ...] = PROMPTS[0]
    for one in rounds[: rounds.index(first)]:
        prefix = (*prefix, *one.emitted)
    rows = np.array(first.rows.numpy())
    with Recorder(path, **options) as trace:
        request = trace.request(PROMPTS[0], max_new_tokens=LIMITS.max_new_tokens)
        for one in rounds:
            trace.round(request, **fields_of(one))
        trace.done(request)
        for node in (0, 1) if control else ():
            row = rows[node].copy()
            row[3] += np.float32(moved)
            request = trace.request([*prefix, *([first.tokens[node]] if node else [])])
            trace.round(request, control=True, emitted=[int(row.argmax())], rows=row[None])
    return path


@pytest.mark.parametrize("spec", ["exact", None])
def test_a_row_of_a_tree_is_held_against_the_same_row_alone(tmp_path: Path, spec: str | None) -> None:
    """Control rounds after a node's tokens tell whether its row depends on the tree; other traces show no node twice."""
    checks = choose(["NUMERIC-02"])
    truth = None if spec is None else ground(spec).truth

    def told(name: str, **options: Any) -> Any:
        (result,) = judge_trace(beside(tmp_path / name, **options), checks, truth=truth, target=spec or "").results
        return result

    right = told("a.jsonl", rows="whole")
    assert (right.status, right.cases, right.grade) == (PASSED, 1, "A" if spec else "C"), right.reason
    wrong = told("b.jsonl", rows="whole", moved=2.0**-10)
    assert wrong.status is (FAILED if spec else Status.UNDECIDED)  # undecided where no control row is repeated
    if spec:
        assert "changes with the other nodes of the pass" in wrong.findings[0].sentence
        assert "in a pass of 1 node " in wrong.findings[0].seen
    for name, options in (("c.jsonl", {"rows": "summary"}), ("d.jsonl", {"rows": "whole", "control": False})):
        hidden = told(name, **options)
        assert hidden.status is HIDDEN
        assert "no control round shows a whole row after the tokens of a node" in hidden.reason


def test_reads_rounds_of_one_request_only() -> None:
    """The checks that a trace can be judged by are those over whole rounds of one request; all texts' checks are among them."""
    found = {check.id for check in CHECKS if reads_rounds(check)}
    texts = {check.id for check in CHECKS if reads_rounds(check) and check.reads_texts}
    assert found >= texts >= {"SEQUENCE-01", *(f"STOP-0{i}" for i in range(1, 7))}
    others = {name for name in found if name.split("-")[0] in ("CONSTRUCT", "MOVE", "LAW", "BATCH", "SESSION")}
    assert others == {"CONSTRUCT-01"}  # of the trees that rounds show the root is known


def test_a_minimum_that_was_recorded_is_judged(tmp_path: Path) -> None:
    """A text with a minimum holds it or fails where it does not, and a text that is drawn by chance is not held to its greedy law."""
    limits = Limits(12, (rounds_of()[0][0].emitted[0],), min_new=3)
    asked = [check for check in CHECKS if check.id in ("STOP-05", "STOP-06")]
    for name, rounds, due in (("right", rounds_of(limits=limits), PASSED), ("wrong", rounds_of(), FAILED)):
        path = record(tmp_path / f"{name}.jsonl", rounds[:1], limits=limits)
        report = judge_trace(path, asked, truth=ground().truth, target="exact")
        assert statuses(report) == {"STOP-05": due, "STOP-06": due}
    path = record(tmp_path / "sampled.jsonl", rounds_of()[:1], limits=limits, greedy=False)
    report = judge_trace(path, asked, truth=ground().truth, target="exact")
    assert statuses(report) == {"STOP-05": FAILED, "STOP-06": HIDDEN}


def test_a_foreign_prompt_is_a_usage_error(tmp_path: Path) -> None:
    """Tokens that the named target does not have are refused with their line, and not held against the decoder."""
    path = small_trace(tmp_path / "t.jsonl")
    lines = path.read_bytes().splitlines()
    lines[1] = json.dumps(json.loads(lines[1]) | {"prompt": [5000]}).encode()
    path.write_bytes(b"\n".join([*numbered(lines), b""]))
    with pytest.raises(UsageError, match=r"prompt of request 0 \(line 2\) holds token 5000; expected 0 to"):
        judged(path)


@pytest.mark.parametrize("rows", ["whole", "summary"])
@pytest.mark.parametrize("vocab", [40, 50])
def test_rows_over_another_vocabulary_are_a_usage_error(tmp_path: Path, rows: str, vocab: int) -> None:
    """Rows that are not as wide as the target's are one error with their line, before any check."""
    path = small_trace(tmp_path / "t.jsonl", vocab=vocab, rows=rows)
    with pytest.raises(
        UsageError, match=rf"rows of request 0 \(line 3\) have {vocab} entries; expected {VOCAB}, the voc"
    ):
        judged(path)


FOREIGN = {
    "prompt": (1, {"prompt": [3, VOCAB]}),
    "emitted": (2, {"emitted": [VOCAB, 1]}),
    "tokens": (2, {"tokens": [1, VOCAB, 2]}),
    "bonus": (2, {"bonus": VOCAB}),
}


@pytest.mark.parametrize("field", FOREIGN)
def test_a_token_of_another_vocabulary_is_a_usage_error(tmp_path: Path, field: str) -> None:
    """Wherever the first token stands that the target does not have, it is named once, and no check blames the decoder."""
    path = tmp_path / "t.jsonl"
    with Recorder(path) as trace:
        trace.round(trace.request([3, 1]), tokens=[1, 4, 2], parents=[-1, 0, 0], accepted=[1], emitted=[4, 1], bonus=1)
    lines = path.read_bytes().splitlines()
    place, changed = FOREIGN[field]
    line = json.loads(lines[place])
    line = line | changed if field == "prompt" else line | {"round": line["round"] | changed}
    lines[place] = json.dumps(line).encode()
    path.write_bytes(b"\n".join([*numbered(lines), b""]))
    with pytest.raises(
        UsageError, match=rf"of request 0 \(line {place + 1}\) holds token {VOCAB}; expected 0 to {VOCAB - 1}"
    ):
        judged(path)


@pytest.mark.parametrize(
    ("recorded", "named", "fits"),
    [
        ("exact", "exact", True),
        ("exact:vocab=61,seed=0", "exact", True),
        ("exact:seed=1", "exact", False),
        ("tiny:qwen3", "exact", False),
        ("counts by one", "exact", True),
        ("dir:somewhere", "exact", True),
        ("exact:seed=no", "exact", True),
        ("", "exact", True),
    ],
)
def test_a_trace_of_another_target_is_a_usage_error(tmp_path: Path, recorded: str, named: str, fits: bool) -> None:
    """Two built-in targets that are not the same one are told apart before any check; other names may stand for anything."""
    path = record(tmp_path / "t.jsonl", rounds_of(), target=recorded)
    if fits:
        assert judged(path).exit_code == 0
        return
    with pytest.raises(UsageError, match=f"recorded with target '{recorded}'; it cannot be judged by target '{named}'"):
        judged(path)


def test_a_limit_on_requests_is_said(tmp_path: Path) -> None:
    """Judging only some of the requests is possible, and the report says how many of how many."""
    report = judged(record(tmp_path / "t.jsonl", rounds_of()), most=1)
    assert report.environment["trace"].startswith("whole: 2 requests, 1 judged, ")
    assert next(result.cases for result in report.results if result.check == "STOP-02") == 1


class Flat:
    """A truth that is not exact: every row is that of the seven texts of ``controlled``, with a floor of its own."""

    exact, vocab_size, grade = False, 70, Grade.SAME_ENGINE

    def __init__(self) -> None:
        self.known = np.random.default_rng(1).normal(size=(7, 70)).astype(np.float32).astype(np.float64)

    def rows(self, histories: Sequence[Sequence[int]]) -> np.ndarray:
        return self.known[[len(history) - 2 for history in histories]]

    def greedy(self, prompt: Sequence[int], limits: Limits) -> Continuation:
        raise NotImplementedError

    def cache(self, tokens: Sequence[int]) -> tuple[LayerRows, ...]:
        raise NotImplementedError

    def reaches(self) -> tuple[int | None, ...]:
        raise NotImplementedError

    def noise(self) -> Noise:
        return Noise(sequential=1e-9, control=1e-9, wrong_history=2.0)

    def error(self, history: Sequence[int]) -> float:
        return 1e-9

    def cache_room(self, tokens: Sequence[int]) -> float:
        return 0.0


def test_control_rows_tell_the_floor(tmp_path: Path) -> None:
    """The floor is the largest error of a control row; an engine of its own makes the truth an independent one, grade B."""
    truth, path = Flat(), controlled(tmp_path / "a.jsonl", repeats=2)
    found = controls_of(Requests(TraceReader(path)))
    assert (len(found.rows), len(found.repeats), found.count) == (7, 7, 14)
    assert 1e-9 < max(found.repeats) < 0.01
    floored = with_floor(truth, found, "other")
    assert (floored.grade, floored.noise().samples) == (Grade.INDEPENDENT, 14)
    assert floored.noise().control == max(found.repeats)
    assert floored.noise().wrong_history == 2.0
    assert floored.error((1, 2)) == floored.noise().sequential
    assert [with_floor(truth, found, engine).grade for engine in ("", "transformers")] == [Grade.SAME_ENGINE] * 2
    assert with_floor(truth, Controls(), "other") is truth


@pytest.mark.parametrize("told", [True, False])
def test_a_text_that_has_ended_owes_no_kept_nodes(tmp_path: Path, told: bool) -> None:
    """The last round of a recorded text owes no kept nodes, whether it names an end or the request is done; others do."""
    end = EndReason.CAP if told else None
    last = [[*text[:-1], msgspec.structs.replace(text[-1], kept=(0, 0), end=end)] for text in rounds_of()]
    assert statuses(judged(record(tmp_path / "t.jsonl", last)))["COMMIT-02"] is PASSED
    first = [[msgspec.structs.replace(text[0], kept=(0, 0)), *text[1:]] for text in rounds_of()]
    assert statuses(judged(record(tmp_path / "u.jsonl", first)))["COMMIT-02"] is FAILED


def test_a_recorded_text_need_not_say_why_it_ends(tmp_path: Path) -> None:
    """Where no round shows its end, the last one may be cut by the limits, and a round before it may not."""
    texts = [text for text in rounds_of() if len(text[-1].emitted) <= len(text[-1].accepted or ())]
    assert texts  # the cap lies inside an accepted path
    path = record(tmp_path / "run.jsonl", texts, without=("end",))
    assert statuses(judge_trace(path, choose(ids=["METRIC-01"]), truth=ground("exact").truth))["METRIC-01"] is PASSED
    cut = [(msgspec.structs.replace(text[0], emitted=text[0].emitted[:-1]), *text[1:]) for text in rounds_of()]
    other = record(tmp_path / "other.jsonl", cut, without=("end",))
    assert statuses(judge_trace(other, choose(ids=["METRIC-01"]), truth=ground("exact").truth))["METRIC-01"] is FAILED
