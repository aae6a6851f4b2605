"""The traces of several ranks of one run are judged together: a rank that does something else is found, in the round where it first does."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from grounds import ground, statuses

from tree_oracle.checks import choose
from tree_oracle.cli import main
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.faults import find_fault
from tree_oracle.record import Limits, Report, Round, Status, UsageError, read_report
from tree_oracle.report.again import check_command
from tree_oracle.run.environment import versions
from tree_oracle.run.trace_judge import judge_trace
from tree_oracle.trace import InconsistentTrace, OversizedTrace, Recorder, TruncatedTrace
from tree_oracle.trace import ranks as ranks_module

RANK = choose(families=["RANK"])
PASSED, FAILED, HIDDEN = Status.PASSED, Status.FAILED, Status.NOT_OBSERVABLE
PROMPTS = ((3, 5, 2, 7), (9, 4), (1, 1, 8))
LIMITS = Limits(max_new_tokens=12)
FIELDS = ("emitted", "tokens", "parents", "accepted", "bonus", "kept", "end")

Rounds = Sequence[dict[str, Any]]


def told(part: Any) -> dict[str, Any]:
    """What a recorder of this rank is told of a round."""
    return {name: getattr(part, name) for name in FIELDS}


@cache
def run_of(fault: str = "", *, twin: bool = False) -> tuple[tuple[Round, ...], ...]:
    """What a group of ranks does with the prompts, seen from rank 0 and its peers."""
    found = find_fault(fault) if fault else None
    made: Any = ReferenceDecoder if found is None else found.harmless if twin else found.decoder
    return tuple(tuple(rounds) for rounds in made(ground("exact").target).generate(PROMPTS, LIMITS))


def ranks_of(folder: Path, fault: str = "", **options: bool) -> list[Path]:
    """One trace of each rank."""
    texts = run_of(fault, **options)
    count = 1 + len(texts[0][0].peers or ())
    paths = [folder / f"rank{rank}.jsonl" for rank in range(count)]
    written = []
    for rank, path in enumerate(paths):
        parts = [[told(round_ if rank == 0 else (round_.peers or ())[rank - 1]) for round_ in text] for text in texts]
        written.append(write(path, rank, parts, ranks=count))
    return written


def write(path: Path, rank: int, texts: Sequence[Rounds], **options: Any) -> Path:
    """A trace of one rank; ``last_first`` finishes its requests in the other order."""
    backwards, done = options.pop("last_first", False), options.pop("done", True)
    prompts = options.pop("prompts", PROMPTS)
    options.setdefault("ranks", 2)
    with Recorder(path, rank=rank, **options) as trace:
        requests = [trace.request(prompt, max_new_tokens=12) for prompt, _ in zip(prompts, texts, strict=False)]
        pairs = list(zip(requests, texts, strict=True))
        for request, rounds in reversed(pairs) if backwards else pairs:
            for one in rounds:
                trace.round(request, **{name: value for name, value in one.items() if value is not None})
            if done:
                trace.done(request)
    return Path(trace.path)


def judged(paths: Sequence[Path], **options: Any) -> Report:
    return judge_trace(paths[0], options.pop("checks", RANK), others=paths[1:], **options)


def test_ranks_that_do_the_same_are_held(tmp_path: Path) -> None:
    """Every rank of the reference does what rank 0 does, in whatever order the files are named and the requests are done."""
    paths = ranks_of(tmp_path)
    assert len(paths) > 1
    report = judged(paths)
    assert set(statuses(report).values()) == {PASSED}
    assert {result.cases for result in report.results} == {len(PROMPTS)}
    assert statuses(judged(paths[::-1])) == statuses(report)
    again = write(
        tmp_path / "x.jsonl", 1, [[told(r) for r in text] for text in run_of()], ranks=len(paths), last_first=True
    )
    assert statuses(judged([again, paths[0]])) == statuses(report)


@pytest.mark.parametrize("fault", ["draft-sampled-per-rank", "decision-not-broadcast", "accept-count-not-passed-on"])
def test_a_rank_that_disagrees_is_found(tmp_path: Path, fault: str) -> None:
    """A planted fault of the ranks is found by its check in their traces, at a line of rank 0's; its twin passes."""
    report = judged(ranks_of(tmp_path, fault))
    found = next(result for result in report.results if result.check == find_fault(fault).check)
    assert found.status is FAILED
    assert found.findings[0].sentence.startswith("line ")
    assert report.exit_code == 1
    (tmp_path / "twin").mkdir()
    twin = judged(ranks_of(tmp_path / "twin", fault, twin=True))
    assert set(statuses(twin).values()) == {PASSED}


STEP = {"emitted": (7, 8), "tokens": (4, 7, 9), "parents": (-1, 0, 1), "accepted": (1,), "kept": (0, 1)}
NEXT = {"emitted": (5, 6), "tokens": (8, 5, 2), "parents": (-1, 0, 1), "accepted": (1,), "kept": (0, 1)}
ROUNDS: Rounds = (STEP, NEXT, {**NEXT, "tokens": (6, 5, 2)})


@pytest.mark.parametrize(
    ("rank", "other", "due"),
    [
        (ROUNDS, ROUNDS, {}),
        (ROUNDS, (*ROUNDS[:2], {**ROUNDS[2], "emitted": (5, 1)}), {"RANK-02": 2}),
        (ROUNDS, (STEP, {**NEXT, "emitted": (5, 1)}, ROUNDS[2]), {"RANK-02": 1, "RANK-03": 2}),
        (ROUNDS, ({**STEP, "emitted": (7, 8, 1)}, *ROUNDS[1:]), {"RANK-02": 0, "RANK-03": 1}),
        (ROUNDS, ROUNDS[:2], {"RANK-02": 2}),
        (ROUNDS[:2], ROUNDS, {"RANK-02": 1}),
        (ROUNDS, (*ROUNDS[:2], {**ROUNDS[2], "tokens": (6, 5, 3)}), {"RANK-01": 2}),
        (ROUNDS, (STEP, {**NEXT, "kept": (0,)}, ROUNDS[2]), {"RANK-03": 1}),
    ],
)
def test_where_ranks_part(tmp_path: Path, rank: Rounds, other: Rounds, due: dict[str, int]) -> None:
    """Each check names the first round in which it fails; a rank that runs a round more or less than another decides otherwise."""
    paths = [write(tmp_path / f"{n}.jsonl", n, [rounds]) for n, rounds in enumerate((rank, other))]
    found = {result.check: result.findings[0].round for result in judged(paths).results if result.findings}
    assert found == due


def test_one_rank_alone_says_nothing_of_others(tmp_path: Path) -> None:
    """Where one file of several is named the checks of ranks are not observable, and say which files they need."""
    report = judged(ranks_of(tmp_path)[:1])
    assert set(statuses(report).values()) == {HIDDEN}
    assert {result.reason for result in report.results} == {
        "the trace is that of one rank: name those of the others beside it"
    }


@pytest.mark.parametrize(
    ("ranks", "named"), [(5, "2, 3, 4"), (12, "2, 3, 4, 5, 6, 7, 8, 9, and 2 more"), (2**20, "and 1048566 more")]
)
def test_ranks_without_a_file_are_named(tmp_path: Path, ranks: int, named: str) -> None:
    """Files of some ranks of a run never say that all of them agree: undecided, with the ranks that are missing; one that disagrees
    has failed all the same, and with a file of each they are held."""
    other = (*ROUNDS[:2], {**ROUNDS[2], "emitted": (5, 1)})
    for name, second, due in (("a", ROUNDS, Status.UNDECIDED), ("b", other, FAILED)):
        paths = [
            write(tmp_path / f"{name}{n}.jsonl", n, [rounds], ranks=ranks) for n, rounds in enumerate((ROUNDS, second))
        ]
        report = judged(paths)
        assert statuses(report)["RANK-02"] is due
        assert report.exit_code == (4 if due is Status.UNDECIDED else 1)
        reasons = {result.reason for result in report.results if result.status is Status.UNDECIDED}
        said = f"2 of {ranks} ranks agree; the files of the others are not named: "
        assert all(reason.startswith(said) and reason.endswith(named) for reason in reasons)
        assert reasons
    whole = [write(tmp_path / f"c{n}.jsonl", n, [ROUNDS], ranks=5) for n in range(5)]
    assert set(statuses(judged(whole)).values()) == {PASSED}


def test_what_is_not_of_one_run_is_refused(tmp_path: Path) -> None:
    """Two files of one rank, of other decoders, or with other requests are refused by name and line; nothing is said of the decoder."""
    first = write(tmp_path / "a.jsonl", 0, [ROUNDS] * 2)
    with pytest.raises(
        UsageError, match=r"'.*a-rank0.jsonl' and '.*a-rank0.jsonl' are both of rank 0; expected a file of each rank"
    ):
        judged([first, first])
    named = write(tmp_path / "b.jsonl", 1, [ROUNDS] * 2, decoder="another")
    with pytest.raises(UsageError, match="are not of one run: decoder '' and 'another'"):
        judged([first, named])
    less = write(tmp_path / "c.jsonl", 1, [ROUNDS])
    with pytest.raises(InconsistentTrace, match=r"c-rank1.jsonl, line \d+: request 1 of rank 0 is missing"):
        judged([first, less])
    more = write(tmp_path / "d.jsonl", 1, [ROUNDS] * 3)
    with pytest.raises(InconsistentTrace, match=r"d-rank1.jsonl, line 4: request 2 is not in .*a-rank0.jsonl"):
        judged([first, more])
    prompt = write(tmp_path / "e.jsonl", 1, [ROUNDS] * 2, prompts=[PROMPTS[0], (9, 9)])
    with pytest.raises(
        InconsistentTrace, match=r"e-rank1.jsonl, line 3: request 1 has another prompt than that of rank 0"
    ):
        judged([first, prompt])


def test_a_rank_that_broke_off_is_judged_as_far_as_it_goes(tmp_path: Path) -> None:
    """A cut file of another rank is refused as truncated, and with ``partial`` what it does not show is not held against it."""
    paths = [write(tmp_path / f"{n}.jsonl", n, [ROUNDS]) for n in range(2)]
    lines = paths[1].read_bytes().splitlines(keepends=True)
    paths[1].write_bytes(b"".join(lines[:4]))  # head, request and two rounds
    with pytest.raises(TruncatedTrace):
        judged(paths)
    assert set(statuses(judged(paths, partial=True)).values()) == {PASSED}


def test_what_waits_for_another_rank_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks that finish their requests in another order are held up to a bound, and beyond it are refused by name."""
    paths = [write(tmp_path / f"{n}.jsonl", n, [ROUNDS] * 3, last_first=n == 1) for n in range(2)]
    assert set(statuses(judged(paths)).values()) == {PASSED}
    monkeypatch.setattr(ranks_module, "MAX_HELD", 500)
    with pytest.raises(OversizedTrace, match="rounds that wait for the other ranks hold more than 500 bytes"):
        judged(paths)


def test_the_command_line_takes_the_files_of_all_ranks(tmp_path: Path) -> None:
    """`trace check` takes them in any order, and the report names each with its digest and the command to judge them again."""
    paths = [write(tmp_path / f"{n}.jsonl", n, [ROUNDS]) for n in range(2)]
    saved = tmp_path / "report.json"
    asked = ["trace", "check", *map(str, paths[::-1]), "--family", "RANK"]
    answer = CliRunner().invoke(main, [*asked, "--output", str(saved)])
    assert "RANK-02      passed" in answer.output
    report = read_report(saved)
    assert shlex.split(check_command(report)) == ["tree-oracle", "trace", "check", *map(str, paths), "--family", "RANK"]
    assert report == judged(paths, place=versions())
    assert {name: report.environment[name] for name in ("trace file 1", "trace file 2")} == {
        "trace file 1": str(paths[0]),
        "trace file 2": str(paths[1]),
    }
    assert report.environment["trace sha256 1"] != report.environment["trace sha256 2"]
    assert msgspec.structs.replace(report, environment={}).digest == report.digest
