"""From a judge's finding to an explanation that stands on its own: the case, the tree drawn, and a name to replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from tree_oracle.record import Case, Finding, Round, TreeData, case_id
from tree_oracle.tree import CandidateTree, InvalidTree

if TYPE_CHECKING:
    from tree_oracle.run.diagnosis import Diagnosis
    from tree_oracle.run.recurs import Recurrence


def explained(
    finding: Finding,
    case: Case,
    rounds: Sequence[Round],
    diagnosis: Diagnosis | None = None,
    recurrence: Recurrence | None = None,
) -> Finding:
    """The finding with everything that a reader needs who was not there."""
    drawing, before = _drawing(finding, case, rounds), _before(finding, case, rounds)
    found = msgspec.structs.replace(finding, case=case, replay=case_id(case), drawing=drawing, before=before)
    if recurrence is not None:
        said = "; ".join(filter(None, (finding.sentence, recurrence.words)))
        found = msgspec.structs.replace(found, sentence=said, recurs=recurrence.recurs, earlier=recurrence.earlier)
    if diagnosis is None:
        return found
    return msgspec.structs.replace(
        found,
        causes=tuple(f"{suspect.name}: {suspect.sentence}" for suspect in diagnosis.fits),
        certain=diagnosis.certain,
        uncertain=diagnosis.uncertain,
        contradicted_by=diagnosis.contradicted_by if diagnosis.fits else None,
        ruled_out=tuple(suspect.name for suspect in diagnosis.ruled_out),
        diagnosed_on=diagnosis.cases,
    )


def _drawing(finding: Finding, case: Case, rounds: Sequence[Round]) -> str:
    """The tree of the round that the finding is about, its node marked."""
    return _drawn(case, rounds, finding.round or 0, () if finding.node is None else (finding.node,))


def _before(finding: Finding, case: Case, rounds: Sequence[Round]) -> str:
    """The tree that the finding's round was committed from, the root and the accepted nodes marked."""
    index = finding.round or 0
    if not finding.of_commit or index >= len(rounds):
        return ""
    own = [place for place in range(index) if rounds[place].request == rounds[index].request]
    if not own:
        return ""
    accepted = rounds[own[-1]].accepted
    tree = _drawn(case, rounds, own[-1], () if accepted is None else (0, *accepted))
    marked = "" if accepted is None else ", what it accepted marked"
    return f"the round before, from whose commit this one starts{marked}:\n{tree}" if tree else ""


def _drawn(case: Case, rounds: Sequence[Round], index: int, marked: Sequence[int]) -> str:
    tree = _shown(rounds[index]) if index < len(rounds) else None
    if tree is None and index < len(case.trees):
        tree = case.trees[index]
    if tree is None:
        return ""
    try:
        return CandidateTree.from_data(tree).draw(mark=[node for node in marked if 0 <= node < len(tree.tokens)])
    except InvalidTree:  # then the finding is about that
        return ""


def _shown(round_: Round) -> TreeData | None:
    if round_.tokens is None or round_.parents is None:
        return None
    return TreeData(round_.tokens, round_.parents)
