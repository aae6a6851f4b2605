"""The forms of the suspects: each way in which one wrong part of the reference may be wrong, and where it can show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tree_oracle.decoder import Parts, Seam
from tree_oracle.decoder.showing import replaced, showing
from tree_oracle.faults.suspects import SUSPECTS, Suspect
from tree_oracle.record import Case


class Form(NamedTuple):
    """One of the ways in which a suspect may be wrong."""

    suspect: Suspect
    number: int

    @property
    def parts(self) -> Parts:
        return self.suspect.forms[self.number]


REFERENCE = Form(Suspect("reference", "nothing is wrong", Parts()), 0)


def forms_shown(seam: Seam, case: Case) -> list[Form]:
    """All of them that can show at this seam in this case, in the order of the line-up."""
    every = (Form(suspect, number) for suspect in SUSPECTS for number in range(len(suspect.forms)))
    return [form for form in every if _may_show(form.parts, seam, case)]


def suspects_of(forms: Iterable[Form]) -> tuple[Suspect, ...]:
    """Each once, in the order of the line-up."""
    return tuple({form.suspect.name: form.suspect for form in forms}.values())


def _may_show(parts: Parts, seam: Seam, case: Case) -> bool:
    """Whether a part that is replaced is run; the others show what the reference shows."""
    if seam not in showing(parts):
        return False
    idle = ("target_pass" if case.batch else "batch",) if seam is Seam.SESSION else ()
    if case.processors is None and not (case.limits and case.limits.min_new):
        idle = (*idle, "path")
    return any(part not in idle for part in replaced(parts))
