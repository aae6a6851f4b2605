"""Case files: every failure on disk under the hash of its input, and a way to see it again.

A file is named by the check and the id of the case. A listed case is the same for everybody: where there is a file already that
was kept for another decoder or target, a digest of both is added. Whoever names the case need not name the digest.

A case file is untrusted: it names a decoder, but nothing is ever imported because a file says so.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tree_oracle.checks import Check, choose
from tree_oracle.record import (
    Array,
    Case,
    CaseFile,
    CheckResult,
    FileError,
    Finding,
    Limits,
    Processors,
    Report,
    RequestData,
    UsageError,
    read_case,
    write_file,
)
from tree_oracle.run.budget import Budget
from tree_oracle.tree import CandidateTree

if TYPE_CHECKING:
    from tree_oracle.run.subject import Subject
    from tree_oracle.target import Target

_FINEST, _LARGEST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)

DEFAULT_DIRECTORY = Path(".tree-oracle") / "cases"


def save_cases(report: Report, directory: Path = DEFAULT_DIRECTORY) -> list[Path]:
    """Write one case file per finding that holds a case; the same case is written once per check and decoder."""
    kept = [keep_case(r, f, report.target, report.decoder, directory) for r in report.results for f in r.findings]
    return [path for path in kept if path is not None]


def keep_case(
    result: CheckResult, finding: Finding, target: str, decoder: str, directory: Path = DEFAULT_DIRECTORY
) -> Path | None:
    """Write the case file of one finding; None if it holds no case."""
    if finding.case is None:
        return None
    file = CaseFile(check=result.check, target=target, decoder=decoder, case=finding.case)
    path = directory / f"{result.check}-{finding.replay}.json"
    if _is_anothers(path, file):
        whose = hashlib.sha256(f"{target}\n{decoder}".encode(errors="replace")).hexdigest()[:_DIGITS]
        path = directory / f"{path.stem}-{whose}.json"
    write_file(path, file)
    return path


def _is_anothers(path: Path, file: CaseFile) -> bool:
    """Whether a file of that name was kept for another decoder or target; one that cannot be read is nobody's."""
    with suppress(FileError):
        kept = read_case(path)
        return (kept.decoder, kept.target) != (file.decoder, file.target)
    return False


_DIGITS = 6
_STEM = re.compile(rf"((?:[A-Z]+-\d+)-([0-9a-f]+?))(?:-[0-9a-f]{{{_DIGITS}}})?")


def load_case(
    name: str, directory: Path = DEFAULT_DIRECTORY, *, decoder: str | None = None, target: str | None = None
) -> CaseFile:
    """The case file at a path, or the one whose id is ``name`` in ``directory``: the one of this decoder and target, if any is.

    Raises:
        UsageError: no such case, or several checks, decoders or targets failed on it and nothing says which is meant.
        FileError: the file is not a case file.
    """
    with suppress(OSError):  # a name that no file can have
        if Path(name).is_file():
            return read_case(Path(name))
    paths = {path: _STEM.fullmatch(path.stem) for path in sorted(directory.glob("*.json"))}
    found = {path: stem for path, stem in paths.items() if stem is not None and name in (stem[0], stem[1], stem[2])}
    if not found:
        raise UsageError(f"no case {name!r}: neither a file nor an id in {directory}")
    several = sorted({stem[1] for stem in found.values()})
    if len(several) > 1:
        raise UsageError(f"case {name!r} was kept for several checks: {', '.join(several)}; name one")
    return _of_one(name, [read_case(path) for path in found], decoder, target)


def _of_one(name: str, files: list[CaseFile], decoder: str | None, target: str | None) -> CaseFile:
    """Of files that hold the same case for one check, the one that is meant."""
    files = [file for file in files if file.decoder == decoder] or files
    files = [file for file in files if file.target == target] or files
    unsaid = (decoder is None and len({file.decoder for file in files}) > 1) or (
        target is None and len({file.target for file in files}) > 1
    )
    if unsaid:
        whose = ", ".join(f"{file.decoder} on {file.target}" for file in files)
        raise UsageError(f"case {name!r} was kept for {whose}; name one with --decoder or --fault, and --target")
    return files[0]


def replay(file: CaseFile, subject: Subject) -> Report:
    """Judge the one case again, through every source of its check that the decoder offers.

    Raises:
        UsageError: there is no such check, or the case is none of its cases or no input for this target.
        InvalidTree, FileError: the case holds no tree, or no array, where it should.
    """
    checks = choose(ids=[file.check])
    refuse_misfit(file.case, checks, subject.target)
    from tree_oracle.run.battery import run_battery  # resolved here, since it loads torch

    return run_battery(subject, checks, Budget(cases=0, shrink_runs=0), cases=[file.case])


def refuse_misfit(case: Case, checks: Sequence[Check], target: Target) -> None:
    """A file may hold anything, and what no decoder could answer must not be held against one.

    Raises:
        UsageError: the case is none of a check's cases, or no input for this target.
        InvalidTree, FileError: the case holds no tree, or no array, where it should.
    """
    for check in checks:
        if not any(source.scene.fits(case) for source in check.sources):
            raise UsageError(
                f"the file holds no case of {check.id}: trees, rows, limits or processors are missing or too many"
            )
    for request in case.batch or (RequestData(prompt=case.prefix, trees=case.trees),):
        _refuse_request(request, case, target)
    if case.limits is not None and case.limits.min_new:
        _refuse_minimum(case.limits, target.vocab_size)
    if case.processors is not None:
        prompts = [request.prompt for request in case.batch if request.resumes is None] or [case.prefix]
        _refuse_processors(case.processors, min(map(len, prompts)), target.vocab_size)
    if case.draft is not None and case.prefix[-1] >= case.draft.vocab_size:
        raise UsageError(f"the case has root {case.prefix[-1]}; its draft speaks of {case.draft.vocab_size} tokens")
    if case.rows is not None:
        _refuse_rows(case.rows, (max(len(tree.tokens) for tree in case.trees), target.vocab_size))


def _refuse_request(request: RequestData, case: Case, target: Target) -> None:
    """A request that resumes has no prompt of its own: it goes on with the text of an earlier one."""
    for tree in request.trees:
        CandidateTree.from_data(tree)
    tokens = [*request.prompt, *(token for tree in request.trees for token in tree.tokens)]
    if case.attend is not None:  # no model is run on it: its tokens only tell the nodes apart
        return
    outside = [token for token in tokens if not 0 <= token < target.vocab_size]
    if outside or not (request.prompt or request.resumes is not None):
        seen = f"token {outside[0]}" if outside else "no prefix"
        raise UsageError(f"the case has {seen}; target {target.spec!r} needs tokens from 0 to {target.vocab_size - 1}")
    if request.prompt and request.trees and request.trees[0].tokens[0] != request.prompt[-1]:
        raise UsageError(
            f"trees[0] of the case has root {request.trees[0].tokens[0]}; expected the last prefix token, {request.prompt[-1]}"
        )
    new = case.limits.max_new_tokens if case.limits is not None and not request.trees else 0
    if new < 0 or len(tokens) + new > target.context_length:
        raise UsageError(
            f"the case has {len(tokens)} tokens and asks for {new}; the context of the target is {target.context_length}"
        )


def _refuse_minimum(limits: Limits, vocab_size: int) -> None:
    """Before the minimum the end tokens are ruled out: they must be tokens, and leave one."""
    outside = [token for token in limits.eos_ids if not 0 <= token < vocab_size]
    if outside:
        raise UsageError(f"eos_ids of the case holds token {outside[0]}; the target has {vocab_size}")
    if len(set(limits.eos_ids)) == vocab_size:
        raise UsageError("eos_ids of the case holds every token; expected one that min_new leaves")


def _refuse_processors(processors: Processors, prompt: int, vocab_size: int) -> None:
    """Some releases of transformers leave out a sequence that is longer than the text, though its last token is to come."""
    sequences = [*processors.banned, *(entry.sequence for entry in processors.bias)]
    outside = [token for sequence in sequences for token in sequence if token >= vocab_size]
    if outside:
        raise UsageError(f"a sequence of the case holds token {outside[0]}; the target has {vocab_size}")
    if len({sequence for sequence in processors.banned if len(sequence) == 1}) == vocab_size:
        raise UsageError("banned of the case holds every token; expected one that is left")
    for name, value in _numbers(processors):
        if not _FINEST <= abs(value) <= _LARGEST and value:
            raise UsageError(f"{name} of the case is {value:g}; expected a number that float32 can hold")
    if processors.longest > prompt:
        raise UsageError(f"a sequence has {processors.longest} tokens; expected no more than the prompt, {prompt}")


def _numbers(processors: Processors) -> Iterator[tuple[str, float]]:
    yield from ((name, getattr(processors, name)) for name in ("repetition", "frequency", "presence"))
    yield from (("bias", entry.value) for entry in processors.bias)


def _refuse_rows(rows: Array, shape: tuple[int, int]) -> None:
    values = rows.numpy()
    if values.dtype.kind != "f" or values.shape != shape or np.isnan(values).any():
        raise UsageError(f"the case feeds {rows}, or a NaN in it; expected numbers of shape {shape}")
    if np.isneginf(values.astype(np.float64)).all(axis=1).any():
        raise UsageError("rows of the case hold one that is -inf for every token; expected a token that can be chosen")
