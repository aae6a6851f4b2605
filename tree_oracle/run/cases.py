"""Case files: every failure on disk under the hash of its input, and a way to see it again.

A file is named by the check and the id of the case. A listed case is the same for everybody: where there is a file already that
was kept for another decoder or target, a digest of both is added. Whoever names the case need not name the digest.

A case file is untrusted: it names a decoder, but nothing is ever imported because a file says so.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tree_oracle.checks import CHECKS, choose
from tree_oracle.record import (
    Asked,
    CaseFile,
    CheckResult,
    FileError,
    Finding,
    Recurs,
    Report,
    Status,
    UsageError,
    case_id,
    counted,
    read_case,
    write_file,
)
from tree_oracle.run.budget import Budget
from tree_oracle.run.misfits import refuse_misfits

if TYPE_CHECKING:
    from tree_oracle.run.subject import Subject

DEFAULT_DIRECTORY = Path(".tree-oracle") / "cases"


def save_cases(report: Report, directory: Path = DEFAULT_DIRECTORY) -> list[Path]:
    """Write one case file per finding that holds a case; the same case is written once per check and decoder."""
    told = ((result, finding) for result in report.results for finding in result.findings)
    kept = [keep_case(r, f, report.target, report.decoder, directory, asked=report.asked) for r, f in told]
    return [path for path in kept if path is not None]


def keep_case(
    result: CheckResult,
    finding: Finding,
    target: str,
    decoder: str,
    directory: Path = DEFAULT_DIRECTORY,
    *,
    asked: Asked | None = None,
) -> Path | None:
    """Write the case file of one finding; None if it holds no case. ``asked``: of the run, if that is known.

    A case that contradicts its cause is written beside it, for a check that can judge it.
    """
    against = _against(result.check, finding, target, decoder, asked)
    if against is not None:
        _keep(against, directory)
    file = case_file(result.check, finding, target, decoder, asked)
    return None if file is None else _keep(file, directory)


def _keep(file: CaseFile, directory: Path) -> Path:
    path = directory / f"{file.check}-{case_id(file.case)}.json"
    if _is_anothers(path, file):
        named = f"{file.target}\n{file.decoder}"
        whose = hashlib.sha256(named.encode(errors="replace")).hexdigest()[:_DIGITS]
        path = directory / f"{path.stem}-{whose}.json"
    write_file(path, file)
    return path


def case_file(check: str, finding: Finding, target: str, decoder: str, asked: Asked | None) -> CaseFile | None:
    """What is kept of one finding; None if it holds no case."""
    if finding.case is None:
        return None
    return CaseFile(
        check=check,
        target=target,
        decoder=decoder,
        case=finding.case,
        sentence=finding.sentence,
        asked=asked,
        recurs=finding.recurs,
        earlier=finding.earlier,
    )


def _against(check: str, finding: Finding, target: str, decoder: str, asked: Asked | None) -> CaseFile | None:
    """What is kept of the case that contradicts a cause; None if there is none, or no check that could judge it."""
    case = finding.contradicted_by
    if case is None:
        return None
    able = [name for name, one in CHECKS.items() if any(source.scene.fits(case) for source in one.sources)]
    if not able:
        return None
    judge = check if check in able else able[0]
    sentence = f"the cause that was named of {check}-{finding.replay} does not show what is shown here"
    return CaseFile(check=judge, target=target, decoder=decoder, case=case, sentence=sentence, asked=asked)


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
        FileError: the file is not a case file, or what it says of earlier requests contradicts itself.
    """
    with suppress(OSError):  # a name that no file can have
        if Path(name).is_file():
            return _consistent(read_case(Path(name)))
    paths = {path: _STEM.fullmatch(path.stem) for path in sorted(directory.glob("*.json"))}
    found = {path: stem for path, stem in paths.items() if stem is not None and name in (stem[0], stem[1], stem[2])}
    if not found:
        raise UsageError(f"no case {name!r}: neither a file nor an id in {directory}")
    several = sorted({stem[1] for stem in found.values()})
    if len(several) > 1:
        raise UsageError(f"case {name!r} was kept for several checks: {', '.join(several)}; name one")
    return _consistent(_of_one(name, [read_case(path) for path in found], decoder, target))


def _consistent(file: CaseFile) -> CaseFile:
    if bool(file.earlier) == (file.recurs is Recurs.AFTER_OTHERS):
        return file
    raise FileError(
        f"a case file with {counted(len(file.earlier), 'earlier request')} that recurs {file.recurs and file.recurs.value!r}; "
        f"expected some where it recurs {Recurs.AFTER_OTHERS.value!r}, and none elsewhere"
    )


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
    """Judge the one case again, after the earlier requests of the file, through every source of its check that the decoder has.

    Raises:
        UsageError: there is no such check, or the case is none of its cases or no input for this target.
        InvalidTree, FileError: the case holds no tree, or no array, where it should.
    """
    checks = choose(ids=[file.check])
    refuse_misfits(file.earlier, [file.case], checks, subject.target)
    from tree_oracle.run.in_process import run_battery  # resolved here, since it loads torch

    report = run_battery(subject, checks, Budget(cases=0, shrink_runs=0), cases=[file.case], earlier=file.earlier)
    return msgspec.structs.replace(report, results=tuple(seen_again(result, file) for result in report.results))


def seen_again(result: CheckResult, file: CaseFile) -> CheckResult:
    """The result of a replay: a pass decides nothing where a new decoder did not fail on the case when it was kept."""
    if file.recurs is not Recurs.NOT_SEEN or result.status is not Status.PASSED:
        return result
    reason = (
        "alone this case did not fail when it was kept either: the failure was seen after other requests, and only "
        "a run of them all can tell whether it is gone"
    )
    return msgspec.structs.replace(result, status=Status.UNDECIDED, undecided=result.cases, reason=reason)
