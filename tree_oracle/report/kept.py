"""What a replay says of the run in which its case failed.

That a case passes alone says that the failure is gone only if it was a failure of that case alone.
"""

from __future__ import annotations

from tree_oracle.record import CaseFile, Recurs, Report, Status, counted
from tree_oracle.report.again import found_by
from tree_oracle.report.plain import visible

_WHERE = {
    Recurs.ALONE: "by itself, on a new decoder of the same process too",
    Recurs.NOT_SEEN: "after the other requests of its run",
    None: "in its run, and nobody could try it alone",
}


def kept_words(report: Report, file: CaseFile) -> str:
    """One or two lines for a terminal; empty where the case fails still, by itself."""
    if file.recurs is Recurs.AFTER_OTHERS:
        after = counted(len(file.earlier), "earlier request")
        return f"kept      it failed after {after}, which came first now too; alone, on a new decoder, it did not"
    if any(result.status in (Status.FAILED, Status.ERROR) for result in report.results):
        return ""
    said = f"kept      it failed {_WHERE[file.recurs]}{file.sentence and f': {file.sentence}'}"
    command = found_by(file)
    return "\n".join(map(visible, [said, *([f"again     {command}"] if command else [])]))
