"""One line that says what a case asks: enough to recognise the input, the whole of which is in the case file."""

from __future__ import annotations

from tree_oracle.record import Case, Finding, LawData, MoveData, counted, limit_words


def case_line(finding: Finding) -> str:
    """The case of a finding that has one, and the round of it that the finding is about."""
    case = finding.case
    assert case is not None
    if case.batch:
        return _batch(case, finding)
    if case.move is not None:
        return _move(case.move)
    parts = [_law(case.law)] if case.law is not None else [_prefix(case)]
    if case.trees:
        nodes = sum(len(tree.tokens) for tree in case.trees)
        parts.append(f"{counted(len(case.trees), 'tree')}, {counted(nodes, 'node')}")
    if case.draft is not None:
        parts.append(f"draft by depth {' | '.join(' '.join(below) for below in case.draft.laws)}")
    if case.limits is not None:
        parts.append(limit_words(case.limits))
    parts += _processed(case)
    if finding.round is not None and (len(case.trees) > 1 or (not case.trees and case.draft is None)):
        parts.append(f"round {finding.round}")
    return "; ".join(parts)


def _batch(case: Case, finding: Finding) -> str:
    sizes = [str(sum(len(tree.tokens) for tree in request.trees)) for request in case.batch]
    asked = f"{counted(len(case.batch), 'request')} with {' + '.join(sizes)} nodes"
    parts = [asked if any(request.trees for request in case.batch) else f"{len(case.batch)} prompts in one call"]
    parts += [limit_words(case.limits)] if case.limits is not None else []
    parts += _processed(case)
    parts += [f"round {finding.round}, counted over all requests"] if finding.round is not None else []
    return "; ".join(parts)


def _processed(case: Case) -> list[str]:
    return [] if case.processors is None else [f"processed by {', '.join(case.processors.applied) or 'nothing'}"]


def _prefix(case: Case) -> str:
    return f"prefix {list(case.prefix)}" if len(case.prefix) <= 12 else f"prefix of {len(case.prefix)} tokens"


def _move(move: MoveData) -> str:
    held = f"{counted(move.length, 'row')} held in pages {list(move.pages)} of {move.page_size}"
    return f"nodes in slots {list(move.slots)}, accepted {list(move.accepted)}; {held}"


def _law(law: LawData) -> str:
    return f"target {':'.join(map(str, law.target))}, draft {':'.join(map(str, law.draft))}"
