"""The doctor for a decoder under another interpreter: can it be run there, does it answer twice the same, what do its rounds
show, and is a wrong token noticed on the whole way from a recording to the judge?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tree_oracle.checks import CHECKS, Stage
from tree_oracle.decoder import Seam
from tree_oracle.record import Report, Status, Truth, counted
from tree_oracle.run.child_visit import Caps
from tree_oracle.run.examined import Examined
from tree_oracle.run.foreign import own_target, prompts_of
from tree_oracle.run.foreign_recording import Recording, record_abroad
from tree_oracle.run.stock import Stock
from tree_oracle.run.trace_conventions import roots_recorded_otherwise
from tree_oracle.run.trace_judge import judge_trace
from tree_oracle.target import SequentialTruth
from tree_oracle.trace import Requests, TraceReader, contents_of

_CHECK = CHECKS["SEQUENCE-01"]
_TRIED = 6  # prompts


def examine_abroad(decoder: str, target: str | None, python: str, caps: Caps) -> Iterator[Examined]:
    """What can be told of the decoder ``module:attribute`` under ``python``.

    Raises:
        UsageError, DecoderError: as for ``record_abroad``; or no target is named.
    """
    found = own_target(target)
    truth = SequentialTruth(found)
    stock = Stock(Stage(truth), cases=0)
    cases = [case for some in prompts_of(_CHECK, stock).values() for case in some][:_TRIED]
    with TemporaryDirectory() as folder:
        recording = record_abroad(decoder, found.spec, python, cases, Path(folder) / "run.jsonl", caps)
        mishap = next(recording.mishaps(), None)
        if mishap is not None:
            yield _line("answers", False, f"under {recording.visit.python}: {mishap.sentence}")
            return
        yield _answers(recording)
        yield _shows(recording)
        yield _notices(recording, truth)


def _line(what: str, good: bool | None, sentence: str) -> Examined:
    return Examined(seam=Seam.GENERATE.value, what=what, good=good, sentence=sentence)


def _answers(recording: Recording) -> Examined:
    """What it answered; a prompt that it refused says nothing of the others."""
    refused = recording.refusals
    asked, twice = ([number for number in numbers if number not in refused] for numbers in _numbers(recording))
    if not asked:
        return _line("answers", None, f"under {recording.visit.python}, every prompt is refused: {refused[0]}")
    said = f"{counted(len(asked), 'prompt')} answered under {recording.visit.python}"
    return _line("answers", True, f"{said}, {len(twice)} of them twice the same")


def _numbers(recording: Recording) -> tuple[range, range]:
    """Of the requests: those that were asked once, and behind them those that were asked again."""
    once = len(recording.cases)
    return range(once), range(once, once + len(recording.again))


def _shows(recording: Recording) -> Examined:
    shown = sorted(contents_of(TraceReader(recording.trace)).shown)
    if not {"tokens", "accepted"} & set(shown):
        return _line("shows", None, "rounds show no tree and no accepted path: nothing says that it speculates")
    otherwise = roots_recorded_otherwise(Requests(TraceReader(recording.trace)))
    if otherwise:
        return _line("shows", False, f"rounds show {', '.join(shown)}; it looks as if {otherwise}")
    return _line("shows", True, f"rounds show {', '.join(shown)}")


def _notices(recording: Recording, truth: Truth) -> Examined:
    """Whether the check notices that the last token of every round is another."""
    spoilt = recording.trace.with_name("spoilt.jsonl")
    _spoil(recording.trace, spoilt, truth.vocab_size)
    statuses = [_judged(path, truth).results[0].status for path in (recording.trace, spoilt)]
    if statuses[1] is Status.FAILED:
        return _line("notices", True, f"another last token of each round is noticed by {_CHECK.id}")
    seen = any(request.emitted for request in Requests(TraceReader(recording.trace)))
    if not seen or Status.PASSED not in statuses:
        return _line(
            "notices", None, f"another last token of each round: {_CHECK.id} cannot be judged by this recording"
        )
    return _line("notices", False, f"another last token of each round is NOT noticed by {_CHECK.id}")


def _judged(trace: Path, truth: Truth) -> Report:
    return judge_trace(trace, [_CHECK], truth=truth)


def _spoil(trace: Path, spoilt: Path, vocab_size: int) -> None:
    """The same lines without their checksums; a changed emitted token has no array that would contradict it."""
    with spoilt.open("w", encoding="utf-8") as out:
        for text in trace.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            del line["crc"]
            if line["kind"] == "round" and line["round"]["emitted"]:
                emitted = line["round"]["emitted"]
                line["round"] = {
                    "request": line["round"]["request"],
                    "emitted": [*emitted[:-1], (emitted[-1] + 1) % vocab_size],
                }
                line.pop("beside", None)
            out.write(json.dumps(line) + "\n")
