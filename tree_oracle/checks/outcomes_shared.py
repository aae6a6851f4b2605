"""The outcomes of sessions that several requests share, of shared pools and of large masks: see ``outcomes``."""

from __future__ import annotations

from tree_oracle.checks.outcomes import Rounds, any_of, outcome
from tree_oracle.checks.view import by_request
from tree_oracle.record import Case, Round


def _steps(rounds: Rounds) -> list[list[Round]]:
    """The rounds of each step of a session."""
    steps: list[list[Round]] = []
    for round_ in rounds:
        if not steps or round_.request <= steps[-1][-1].request:
            steps.append([])
        steps[-1].append(round_)
    return steps


# --------------------------------------------------------------------------------------------------- several requests


@outcome("unequal acceptance in one step", "batches")
def _unequal(case: Case, rounds: Rounds) -> bool | None:
    steps = [[len(r.accepted) for r in step if r.accepted is not None] for step in _steps(rounds)]
    return any_of(len(set(step)) > 1 for step in steps if len(step) > 1) if case.batch else None


@outcome("request without a draft beside others", "batches")
def _no_draft(case: Case, rounds: Rounds) -> bool | None:
    widths = [{min(len(r.tokens or ()), 2) for r in step} for step in _steps(rounds)]
    return any_of(width == {1, 2} for width in widths) if case.batch else None


@outcome("step without any draft after one with drafts", "batches")
def _plain_step(case: Case, rounds: Rounds) -> bool | None:
    widths = [max(len(r.tokens or ()) for r in step) for step in _steps(rounds)]
    return any_of(a > 1 == b for a, b in zip(widths, widths[1:], strict=False)) if case.batch else None


@outcome("smaller trees after larger ones", "batches")
def _smaller(case: Case, rounds: Rounds) -> bool | None:
    widths = [max(len(r.tokens or ()) for r in step) for step in _steps(rounds)]
    return any_of(a > b > 1 for a, b in zip(widths, widths[1:], strict=False)) if case.batch else None


@outcome("request that ends while others go on", "batches")
def _ends(case: Case, rounds: Rounds) -> bool | None:
    if not case.batch or all(round_.end is None for round_ in rounds):
        return None
    return any_of(any(r.end is not None for r in step) for step in _steps(rounds)[:-1])


@outcome("request that is dropped while others go on", "batches")
def _dropped(case: Case, rounds: Rounds) -> bool | None:
    if len({request.joins + len(request.trees) for request in case.batch}) < 2:
        return None
    return any_of(_leaves(step, later) for step, later in zip(_steps(rounds), _steps(rounds)[1:], strict=False))


def _leaves(step: Rounds, later: Rounds) -> bool:
    return any(r.end is None and r.request not in {other.request for other in later} for r in step)


@outcome("requests that leave together while another stays between them", "batches")
def _leave_together(case: Case, rounds: Rounds) -> bool | None:
    last = [request.joins + len(request.trees) for request in case.batch]
    if len(set(last)) == len(last) or len(set(last)) < 2:
        return None
    return any_of(_around(step, later) for step, later in zip(_steps(rounds), _steps(rounds)[1:], strict=False))


def _around(step: Rounds, later: Rounds) -> bool:
    """Whether somebody stays who was admitted between two that are dropped."""
    stays = {round_.request for round_ in later}
    gone = [r.request for r in step if r.end is None and r.request not in stays]
    return any(gone[0] < r.request < gone[-1] and r.request in stays for r in step) if gone else False


@outcome("request that joins others", "batches")
def _joined(case: Case, rounds: Rounds) -> bool | None:
    if all(request.joins == 0 for request in case.batch):
        return None
    steps = _steps(rounds)
    joins = [{r.request for r in b} - {r.request for r in a} for a, b in zip(steps, steps[1:], strict=False)]
    return any_of(0 < len(new) < len(step) for new, step in zip(joins, steps[1:], strict=True))


@outcome("request that goes on after it was dropped", "batches")
def _resumed(case: Case, rounds: Rounds) -> bool | None:
    again = {number for number, request in enumerate(case.batch) if request.resumes is not None}
    return bool(again & {round_.request for round_ in rounds}) if again else None


@outcome("common prefix of two requests", "batches")
def _common(case: Case, rounds: Rounds) -> bool | None:
    prompts = [text[0].prefix[:2] for text in by_request(rounds) if text[0].prefix and len(text[0].prefix) > 2]
    return len(set(prompts)) < len(prompts) if case.batch else None


@outcome("several requests with processors", "batch paths")
def _processed_together(case: Case, rounds: Rounds) -> bool | None:
    if not case.batch or case.processors is None:
        return None
    return any_of(len(step) > 1 and all(len(r.emitted) > 0 for r in step) for step in _steps(rounds))


# --------------------------------------------------------------------------------------------------------- shared pools


@outcome("path across a page", "moves")
def _page(case: Case, rounds: Rounds) -> bool | None:
    move = case.move
    if move is None or move.page_size == 1 or not rounds:
        return None
    return move.length // move.page_size < (move.length + len(move.accepted)) // move.page_size


@outcome("page shared with another request", "moves")
def _shared_page(case: Case, rounds: Rounds) -> bool | None:
    if case.move is None or not case.move.others or not rounds:
        return None
    return any(set(pages) & set(case.move.pages) for pages in case.move.others)


@outcome("pages of one row", "moves")
def _one_row(case: Case, rounds: Rounds) -> bool | None:
    return case.move.page_size == 1 if case.move is not None and rounds else None


@outcome("side buffers", "moves")
def _side(case: Case, rounds: Rounds) -> bool | None:
    return case.move.side if case.move is not None and rounds else None


# ---------------------------------------------------------------------------------------------------------- large masks


@outcome("mask that fills no whole byte", "wide")
def _ragged_mask(case: Case, rounds: Rounds) -> bool | None:
    masks = [round_.visible.shape for round_ in rounds if round_.visible is not None]
    return any_of(rows * columns % 8 != 0 for rows, columns in masks) if masks else None


@outcome("more nodes than a word of 64 bits holds", "wide")
def _beyond_a_word(case: Case, rounds: Rounds) -> bool | None:
    masks = [round_.visible.shape for round_ in rounds if round_.visible is not None]
    return any_of(rows > 64 for rows, _ in masks) if masks else None
