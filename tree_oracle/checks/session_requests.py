"""Which requests make a session: in the order of admission, each with a tree for every step that it takes part in."""

from __future__ import annotations

from collections.abc import Sequence

from tree_oracle.record import RequestData, UsageError


def refuse_requests(requests: Sequence[RequestData]) -> None:
    """Return if these requests can be a session's: a case file may hold anything.

    Raises:
        UsageError: one has no tree, or they are not in the order of admission.
    """
    for number, request in enumerate(requests):
        if number and not request.trees:
            raise UsageError(f"request {number} has no tree; expected one for every step that it takes part in")
        if number and request.joins < requests[number - 1].joins:
            raise UsageError(f"request {number} joins before request {number - 1}; expected the order of admission")
        if request.resumes is not None:
            _refuse_resumption(requests, number, request.resumes)
    if requests[0].joins:
        raise UsageError("no request is there when the session opens; expected one that joins before step 0")


def _refuse_resumption(requests: Sequence[RequestData], number: int, earlier: int) -> None:
    request = requests[number]
    if not 0 <= earlier < number or request.joins < requests[earlier].joins + len(requests[earlier].trees):
        raise UsageError(f"request {number} resumes request {earlier}; expected one that has been dropped by then")
