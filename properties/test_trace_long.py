"""One long request costs what its rounds cost: memory grows with their number and not with its square, and has a bound."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from grounds import ground
from hypothesis import given
from hypothesis import strategies as st
from trace_grounds import fields_of, long_trace, numbered

from tree_oracle.checks import choose
from tree_oracle.checks.along import Along
from tree_oracle.checks.read_round import read_round
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.record import AdapterError, Limits, Status
from tree_oracle.run.trace_judge import judge_trace
from tree_oracle.target import SequentialTruth
from tree_oracle.trace import Beginning, History, InconsistentTrace, OversizedTrace, Recorder, Requests, TraceReader
from tree_oracle.trace import requests as requests_module

ROUNDS = 120
FEW = choose(["STOP-02", "STOP-03", "METRIC-01", "GREEDY-02", "COMMIT-03", "RANK-02", "WITNESS-01"])


def plain(path: Path, *, rounds: int) -> Path:
    """A plain run of one request: a control row after every token."""
    rows = np.eye(40, dtype=np.float32)
    with Recorder(path, rows="whole") as trace:
        request = trace.request([1, 2, 3])
        for place in range(rounds):
            trace.round(request, control=True, emitted=[place % 40], rows=rows[place % 40, None])
        trace.done(request)
    return path


def told(path: Path, *, rounds: int) -> Path:
    """A long request of which every line also says what was committed before it."""
    lines, text = [], list[int]()
    for line in long_trace(path, rounds=rounds).read_bytes().splitlines():
        plain_line = json.loads(line)
        if "prompt" in plain_line:
            text = list(plain_line["prompt"])
        if "round" in plain_line:
            plain_line["round"]["prefix"] = list(text)
            text += plain_line["round"]["emitted"]
        lines.append(json.dumps(plain_line).encode())
    path.write_bytes(b"\n".join([*numbered(lines), b""]))
    return path


def peak(path: Path) -> int:
    """The most bytes that judging holds."""
    tracemalloc.start()
    judge_trace(path, FEW)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


@pytest.mark.parametrize(("written", "rounds"), [(long_trace, ROUNDS), (plain, 3 * ROUNDS), (told, ROUNDS)])
def test_twice_the_rounds_take_twice_the_memory(tmp_path: Path, written: Callable[..., Path], rounds: int) -> None:
    """Judging one request of twice the rounds holds at most two and a half times as many bytes, drafts, plain runs and prefixes alike."""
    once, twice = (written(tmp_path / f"{n}.jsonl", rounds=n) for n in (rounds, 2 * rounds))
    judge_trace(once, FEW)  # so that what is made once in a process is there
    assert peak(twice) <= 2.5 * peak(once)


def wide(path: Path, prompt: list[int], *, rounds: int, rows: bool) -> Path:
    """A few rounds behind a long prompt, with the decoder's own rows or without."""
    with Recorder(path, rows="whole") as trace:
        request, root = trace.request(prompt, max_new_tokens=3 * rounds), prompt[-1]
        for place in range(rounds):
            new = [place, place + 1, place + 2]
            trace.round(
                request,
                emitted=new,
                tokens=[root, *new[:2], 9],
                parents=[-1, 0, 1, 0],
                accepted=[1, 2],
                rows=np.eye(40, dtype=np.float32)[[*new, 9]] if rows else None,
                end="cap" if place == rounds - 1 else None,
            )
            root = new[-1]
        trace.done(request)
    return path


@pytest.mark.parametrize(("rows", "times"), [(False, 3), (True, 11)], ids=["tokens", "rows"])
def test_the_text_before_a_round_is_copied_a_few_times_by_all_checks_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: bool, times: int
) -> None:
    """Of a round behind 20,000 tokens they are copied once for each of three ways to read it; where rows came with it, eleven times."""
    before, rounds, copied = 20_000, 6, list[int]()
    path = wide(tmp_path / "t.jsonl", [place % 40 for place in range(before)], rounds=rounds, rows=rows)

    def counting(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def counted(*given: Any) -> Any:
            copied.append(before)
            return real(*given)

        monkeypatch.setattr(owner, name, counted)

    counting(requests_module.Request, "prefix")
    counting(Along, "__iter__")
    report = judge_trace(path, choose())
    assert not any(result.status in (Status.FAILED, Status.ERROR) for result in report.results)
    assert sum(copied) <= times * rounds * before


@given(st.lists(st.integers(0, 9)).map(tuple), st.lists(st.integers(0, 9)).map(tuple), st.data())
def test_what_stands_along_a_branch_is_the_tuple_of_its_tokens(
    prefix: tuple[int, ...], behind: tuple[int, ...], data: st.DataObject
) -> None:
    """It equals that tuple, hashes as it, and gives its parts."""
    due, found = (*prefix, *behind), Along(prefix, behind)
    same: Sequence[int] = found
    assert same == due
    assert (hash(found), len(found), tuple(found), repr(found)) == (hash(due), len(due), due, f"Along{due}")
    assert found == Along(due, ())
    assert same != (*due, 3)
    place = data.draw(st.slices(len(due)))
    assert found[place] == due[place]
    assert [found[at] for at in range(-len(due), len(due))] == [due[at] for at in range(-len(due), len(due))]


def test_a_long_request_is_judged_like_any_other(tmp_path: Path) -> None:
    """The laws of its text and of its rounds hold in a long request, and one round in its middle that lies is found at its line."""
    path = long_trace(tmp_path / "t.jsonl", rounds=ROUNDS)
    found = {result.check: result.status for result in judge_trace(path, FEW).results}
    assert {found[name] for name in ("STOP-02", "STOP-03", "METRIC-01", "WITNESS-01")} == {Status.PASSED}
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    lines[ROUNDS // 2]["round"]["end"] = "eos"
    path.write_bytes(b"\n".join([*numbered([json.dumps(line).encode() for line in lines]), b""]))
    (result,) = judge_trace(path, choose(["STOP-03"])).results
    assert result.status is Status.FAILED
    assert result.findings[0].sentence.startswith(f"line {ROUNDS // 2 + 1}, request 0, round {ROUNDS // 2 - 2}: ")


def choices(path: Path, *, rounds: int) -> Path:
    """A long request over the exact model's vocabulary, whose first token is wrong."""
    with Recorder(path, target="exact") as trace:
        request, root = trace.request([1, 2, 3], max_new_tokens=3 * rounds), 3
        for place in range(rounds):
            new = [(7 * place + more) % 61 for more in range(3)]
            trace.round(request, emitted=new, tokens=[root, *new[:2]], parents=[-1, 0, 1], accepted=[1, 2])
            root = new[-1]
        trace.done(request)
    return path


def test_a_long_text_is_held_against_a_target_piece_by_piece(tmp_path: Path) -> None:
    """Of a text that is longer than the target's context the tokens within it are judged, in memory that grows with the rounds."""
    truth, checks = ground("exact").truth, choose(["SEQUENCE-01"])
    peaks = []
    for rounds in (400, 800):
        path = choices(tmp_path / f"{rounds}.jsonl", rounds=rounds)
        judge_trace(path, checks, truth=truth, target="exact")
        tracemalloc.start()
        (result,) = judge_trace(path, checks, truth=truth, target="exact").results
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert result.status is Status.FAILED
        assert "token 0 of the text" in result.findings[0].sentence
    assert peaks[1] <= 2.5 * peaks[0]


def test_beyond_the_context_nothing_is_said(tmp_path: Path) -> None:
    """A right text that outgrows the target's context is not observable there, and the reason says why; no judge is at fault."""
    exact = ground("exact")
    truth = Short(exact.truth)
    (text,) = ReferenceDecoder(exact.target).generate([(3, 5, 2, 7)], Limits(max_new_tokens=12))
    with Recorder(tmp_path / "t.jsonl", rows="summary") as trace:
        request = trace.request([3, 5, 2, 7], max_new_tokens=12)
        for round_ in text:
            trace.round(request, **fields_of(round_))
        trace.done(request)
    checks = choose(["SEQUENCE-01", "HISTORY-01", "COMMIT-03", "STOP-02"])
    found = {one.check: one for one in judge_trace(tmp_path / "t.jsonl", checks, truth=truth, target="exact").results}
    assert found["SEQUENCE-01"].status is Status.NOT_OBSERVABLE
    assert "a history of 11 tokens; the context of this target is 10" in found["SEQUENCE-01"].reason
    assert found["HISTORY-01"].status is Status.PASSED
    assert found["STOP-02"].status is Status.PASSED
    assert 0 < found["HISTORY-01"].cases < len(text)


class Short(SequentialTruth):
    """The exact model with a context of ten tokens."""

    def __init__(self, whole: SequentialTruth) -> None:
        super().__init__(whole.target)
        self._longest = 10


def test_open_requests_have_a_bound_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds of requests that are open together hold no more than a bound, which is named with the line that passes it; what is done is
    not counted."""
    path = long_trace(tmp_path / "t.jsonl", rounds=20)
    size = len(path.read_bytes())
    monkeypatch.setattr(requests_module, "MAX_TOLD", size // 2)
    with pytest.raises(
        OversizedTrace, match=rf"line 1\d: all else in the lines of open requests hold more than {size // 2} bytes"
    ):
        list(Requests(TraceReader(path)))
    monkeypatch.setattr(requests_module, "MAX_TOLD", size)
    assert [len(request.rounds) for request in Requests(TraceReader(path))] == [20]
    many = long_trace(tmp_path / "many.jsonl", rounds=20, requests=3)
    assert [len(request.rounds) for request in Requests(TraceReader(many))] == [20, 20, 20]


def test_a_prefix_that_is_told_is_held_against_the_text(tmp_path: Path) -> None:
    """What a line says was committed before it must be what was."""
    path = told(tmp_path / "t.jsonl", rounds=5)
    assert all(one.round.prefix is None for request in Requests(TraceReader(path)) for one in request.rounds)
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    lines[4]["round"]["prefix"][-1] += 1
    path.write_bytes(b"\n".join([*numbered([json.dumps(line).encode() for line in lines]), b""]))
    with pytest.raises(InconsistentTrace, match="line 5: prefix is not the prompt and what was emitted since"):
        list(Requests(TraceReader(path)))


@given(st.lists(st.integers(0, 9), max_size=8), st.data())
def test_a_beginning_is_the_tuple_of_its_tokens(text: list[int], data: st.DataObject) -> None:
    """It equals that tuple, hashes as it, is found by it and finds it, and stays what it was when the text grows."""
    length = data.draw(st.integers(0, len(text)))
    due: History = tuple(text[:length])
    found = Beginning(text, length)
    text += [1, 2]
    assert (found, hash(found), len(found), tuple(found)) == (due, hash(due), len(due), due)
    for key in (found, due):
        known: dict[History, int] = {key: 1}
        assert known[due] == known[found] == known[Beginning([*due, 7], length)] == 1
    assert found != Beginning([*text, 3], length + 1)
    place = data.draw(st.slices(length))
    assert found[place] == due[place]
    assert repr(found) == f"Beginning{due}"


def test_no_mask_is_read_over_what_is_not_kept() -> None:
    """A round read without what was committed before it shows no prefix, and a mask beside it is refused."""
    shown = {"emitted": [1], "tokens": [3, 1], "parents": [-1, 0]}
    assert read_round(shown, None, None, 61).prefix is None
    with pytest.raises(AdapterError, match="a round shows visible where nobody keeps what was committed before it"):
        read_round(shown | {"visible": np.ones((2, 2), dtype=bool)}, None, None, 61)
