"""Traces and their arrays are untrusted: whatever the bytes are, reading and judging them ends in a typed error or in a report.

The profile ``deep`` tries 100,000 spoilt traces and as many array files, ``ci`` a few hundred. Of ten traces one is a single long
request, two are judged by the exact model, on which they were right before they were spoilt, and what came of two in five is
printed. A hang ends the test by its timeout, and the most that the process ever held may grow by 64 MiB at most over all of them.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import resource
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from grounds import ground
from trace_grounds import fields_of, long_trace, mutated, read_all, small_trace

from tree_oracle.checks import choose
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.record import Limits, Report, TreeOracleError, to_json
from tree_oracle.report import make_console, markdown_summary, print_report, print_result, print_unseen
from tree_oracle.report.certificate import make_certificate, print_certificate, verify_certificate
from tree_oracle.report.trace import print_contents
from tree_oracle.run.trace_judge import judge_trace
from tree_oracle.target import sequential
from tree_oracle.trace import Recorder, TraceError, TraceReader, compare_traces, contents_of, summary
from tree_oracle.trace.arrays import arrays_path, parse

DEEP = os.environ.get("TREE_ORACLE_PROFILE") == "deep"
FILES = 100_000 if DEEP else 120
SEED = random.SystemRandom().randrange(2**32) if DEEP else 7
MOST_BYTES = 64 * 2**20


def most_held() -> int:
    """The most bytes of memory that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextlib.contextmanager
def named(number: int) -> Iterator[None]:
    """Says with any exception which file it was."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"seed {SEED}, file {number}")
        raise


def exact_trace(path: Path, rows: str) -> Path:
    """What the reference does on the exact model, one text with rows and one without."""
    prompts, limits = ((3, 5, 2, 7), (9, 4)), Limits(max_new_tokens=6)
    texts = ReferenceDecoder(ground("exact").target).generate(prompts, limits)
    with Recorder(path, decoder="reference", target="exact", rows=rows) as trace:
        for prompt, rounds in zip(prompts, texts, strict=True):
            request = trace.request(prompt, max_new_tokens=limits.max_new_tokens)
            for round_ in rounds:
                shown = fields_of(round_)
                trace.round(request, **(shown if request == 0 else {**shown, "rows": None, "cache": None}))
            trace.done(request)
    return path


def printed(report: Report) -> str:
    """Everything that is printed of a report."""
    page = StringIO()
    console = make_console(page, width=100)
    for result in report.results:
        print_result(console, result)
    print_unseen(console, report.results)
    print_report(console, report)
    certificate = make_certificate(report)
    assert not verify_certificate(certificate)
    print_certificate(console, certificate)
    return page.getvalue() + markdown_summary(report) + to_json(report).decode()


UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def look_at(path: Path, report: Report, *, partial: bool) -> None:
    """Print what came of a trace, and what it holds; nothing that is printed can steer a terminal."""
    page = StringIO()
    print_contents(make_console(page, width=100), contents_of(TraceReader(path, partial=partial)))
    found = UNPRINTABLE.search(page.getvalue() + printed(report))
    assert found is None, repr(found)


@pytest.mark.timeout(7200 if DEEP else 300)
@pytest.mark.parametrize("rows", ["whole", "summary"])
def test_a_spoilt_trace_gives_a_typed_error_or_a_report(
    tmp_path: Path, rows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every mutated file is read, counted, compared, judged and printed with no exception but ours, in bounded memory."""
    monkeypatch.setattr(summary, "MAX_ROWS", 2**20)  # so that the bound, and not luck, keeps the memory small
    monkeypatch.setattr(sequential, "MEMO_BYTES", 2**20)
    small, long = small_trace(tmp_path / "small.jsonl", rows=rows), long_trace(tmp_path / "long.jsonl", rounds=60)
    exact, truth, checks = exact_trace(tmp_path / "exact.jsonl", rows), ground("exact").truth, choose()
    look_at(exact, judge_trace(exact, checks, truth=truth, target="exact", place={}), partial=False)
    bytes_ = {path: path.read_bytes() for path in (small, long, exact)}
    bad, draw, read, judged, seen = tmp_path / "bad.jsonl", random.Random(SEED), 0, 0, 0
    held = most_held()
    for number in range(FILES // 2):
        good = (long, exact, exact)[number % 10] if number % 10 < 3 else small
        bad.write_bytes(mutated(bytes_[good], draw))
        partial = draw.random() < 0.5
        asked = {"truth": truth, "target": "exact"} if good is exact else {}
        with named(number):
            with contextlib.suppress(TraceError):
                read_all(bad, partial=partial)
                read += 1
            with contextlib.suppress(TreeOracleError):
                report = judge_trace(bad, checks, partial=partial, place={}, **asked)  # type: ignore[arg-type]
                judged += good is exact
                if number % 5 < 2:
                    look_at(bad, report, partial=partial)
                    seen += 1
            with contextlib.suppress(TraceError):
                compare_traces(good, bad, partial=partial)
    assert most_held() - held < MOST_BYTES
    assert 0 < read < FILES // 2  # some are still traces, and most are not
    assert judged
    assert seen


def test_spoilt_arrays_give_a_typed_error_or_arrays(tmp_path: Path) -> None:
    """A mutated safetensors file is refused by name or read; no other exception, whatever its head promises."""
    good = small_trace(tmp_path / "good.jsonl", vocab=2000)
    whole, draw = arrays_path(good, 2).read_bytes(), random.Random(SEED)
    assert set(parse(whole)) == {"rows"}
    for number in range(FILES):
        data = mutated(whole[:400], draw) + whole[400:]
        with named(number), contextlib.suppress(ValueError):
            parse(data)
