"""Traces and their arrays are untrusted: whatever the bytes are, reading and judging them ends in a typed error or in a report.

The profile ``deep`` tries 100,000 spoilt traces and as many array files, ``ci`` a few hundred. A hang ends the test by its timeout,
and the most that the process ever held may grow by 64 MiB at most over all of them.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from trace_grounds import mutated, read_all, small_trace

from tree_oracle.checks import choose
from tree_oracle.record import Report, TreeOracleError
from tree_oracle.run.trace_judge import judge_trace
from tree_oracle.trace import TraceError, compare_traces, summary
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


@pytest.mark.timeout(7200 if DEEP else 300)
@pytest.mark.parametrize("rows", ["whole", "summary"])
def test_a_spoilt_trace_gives_a_typed_error_or_a_report(
    tmp_path: Path, rows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every mutated file is read, counted, compared and judged with no exception but ours, in bounded memory."""
    monkeypatch.setattr(summary, "MAX_ROWS", 2**20)  # so that the bound, and not luck, keeps the memory small
    good, bad = small_trace(tmp_path / "good.jsonl", rows=rows), tmp_path / "bad.jsonl"
    whole, draw, checks, read = good.read_bytes(), random.Random(SEED), choose(), 0
    held = most_held()
    for number in range(FILES // 2):
        bad.write_bytes(mutated(whole, draw))
        partial = draw.random() < 0.5
        with named(number):
            with contextlib.suppress(TraceError):
                read_all(bad, partial=partial)
                read += 1
            with contextlib.suppress(TreeOracleError):
                assert isinstance(judge_trace(bad, checks, partial=partial), Report)
            with contextlib.suppress(TraceError):
                compare_traces(good, bad, partial=partial)
    assert most_held() - held < MOST_BYTES
    assert 0 < read < FILES // 2  # some are still traces, and most are not


def test_spoilt_arrays_give_a_typed_error_or_arrays(tmp_path: Path) -> None:
    """A mutated safetensors file is refused by name or read; no other exception, whatever its head promises."""
    good = small_trace(tmp_path / "good.jsonl", vocab=2000)
    whole, draw = arrays_path(good, 2).read_bytes(), random.Random(SEED)
    assert set(parse(whole)) == {"rows"}
    for number in range(FILES):
        data = mutated(whole[:400], draw) + whole[400:]
        with named(number), contextlib.suppress(ValueError):
            parse(data)
