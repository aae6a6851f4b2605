"""Case files: every failure on disk under the hash of its input, and a way to see it again.

A case file is untrusted: it names a decoder, but nothing is ever imported because a file says so.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    Finding,
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

DEFAULT_DIRECTORY = Path(".tree-oracle") / "cases"


def save_cases(report: Report, directory: Path = DEFAULT_DIRECTORY) -> list[Path]:
    """Write one case file per finding that holds a case; the same case is written once per check."""
    kept = [keep_case(r, f, report.target, report.decoder, directory) for r in report.results for f in r.findings]
    return [path for path in kept if path is not None]


def keep_case(
    result: CheckResult, finding: Finding, target: str, decoder: str, directory: Path = DEFAULT_DIRECTORY
) -> Path | None:
    """Write the case file of one finding; None if it holds no case."""
    if finding.case is None:
        return None
    path = directory / f"{result.check}-{finding.replay}.json"
    write_file(path, CaseFile(check=result.check, target=target, decoder=decoder, case=finding.case))
    return path


def load_case(name: str, directory: Path = DEFAULT_DIRECTORY) -> CaseFile:
    """The case file at a path, or the one whose id is ``name`` in ``directory``.

    Raises:
        UsageError: no such case, or several checks failed on it and the id alone does not say which.
        FileError: the file is not a case file.
    """
    with suppress(OSError):  # a name that no file can have
        if Path(name).is_file():
            return read_case(Path(name))
    found = [path for path in sorted(directory.glob("*.json")) if path.stem == name or path.stem.endswith(f"-{name}")]
    if not found:
        raise UsageError(f"no case {name!r}: neither a file nor an id in {directory}")
    if len(found) > 1:
        raise UsageError(
            f"case {name!r} was kept for several checks: {', '.join(path.stem for path in found)}; name one"
        )
    return read_case(found[0])


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
    outside = [token for token in tokens if not 0 <= token < target.vocab_size]
    if outside or not (request.prompt or request.resumes is not None):
        seen = f"token {outside[0]}" if outside else "no prefix"
        raise UsageError(f"the case has {seen}; target {target.spec!r} needs tokens from 0 to {target.vocab_size - 1}")
    new = case.limits.max_new_tokens if case.limits is not None and not request.trees else 0
    if new < 0 or len(tokens) + new > target.context_length:
        raise UsageError(
            f"the case has {len(tokens)} tokens and asks for {new}; the context of the target is {target.context_length}"
        )


def _refuse_processors(processors: Processors, prompt: int, vocab_size: int) -> None:
    """Some releases of transformers leave out a sequence that is longer than the text, though its last token is to come."""
    sequences = [*processors.banned, *(entry.sequence for entry in processors.bias)]
    outside = [token for sequence in sequences for token in sequence if token >= vocab_size]
    if outside:
        raise UsageError(f"a sequence of the case holds token {outside[0]}; the target has {vocab_size}")
    if processors.longest > prompt:
        raise UsageError(f"a sequence has {processors.longest} tokens; expected no more than the prompt, {prompt}")


def _refuse_rows(rows: Array, shape: tuple[int, int]) -> None:
    values = rows.numpy()
    if values.dtype.kind != "f" or values.shape != shape or np.isnan(values).any():
        raise UsageError(f"the case feeds {rows}, or a NaN in it; expected numbers of shape {shape}")
