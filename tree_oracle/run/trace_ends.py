"""Whether a recorded text came to what a law of ends speaks of: a trace holds what came, with no case made to bring it about.

    STOP-01    an end token in the text, or the word that one ended it
    STOP-02    as many tokens as the caps allow, or an end that nothing explains
    STOP-04    a stop sequence in the text, or an end that nothing explains

A text without it fits the law whatever the decoder would have done, and shows nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tree_oracle.checks.due import end_tokens, ending, stops
from tree_oracle.record import EndReason, Limits
from tree_oracle.trace import Request


def never_came(check: str, request: Request, limits: Limits) -> str:
    """Why a text that has ended shows nothing of this law; empty where it does, or the law is none of these."""
    return _LAWS[check](request, limits) if check in _LAWS else ""


def _end_token(request: Request, limits: Limits) -> str:
    said = bool(request.rounds) and request.rounds[-1].round.end is EndReason.EOS
    if said or end_tokens(request.emitted, limits):
        return ""
    return f"no end token came{_ended_by(request, limits)}, so nothing shows that one ends it"


def _caps(request: Request, limits: Limits) -> str:
    due = ending(request.emitted, limits, len(request.prompt))
    if due is None or due[0] < len(request.emitted) or due[1] in (EndReason.CAP, EndReason.CONTEXT):
        return ""
    return f"no text came to its caps{_ended_by(request, limits)}"


def _stop_sequence(request: Request, limits: Limits) -> str:
    ended = ending(request.emitted, limits, len(request.prompt)) is not None
    if stops(request.emitted, limits) or not ended:
        return ""
    return f"no stop sequence came{_ended_by(request, limits)}, so nothing shows that one ends it"


_WORDS = {
    EndReason.EOS: ": the text ends with an end token",
    EndReason.STOP: ": the text ends with a stop sequence",
    EndReason.CAP: ": the text is cut by max_new_tokens",
    EndReason.CONTEXT: ": the text is cut by max_length",
}


def _ended_by(request: Request, limits: Limits) -> str:
    due = ending(request.emitted, limits, len(request.prompt))
    return "" if due is None else _WORDS[due[1]]


_LAWS: Mapping[str, Callable[[Request, Limits], str]] = {
    "STOP-01": _end_token,
    "STOP-02": _caps,
    "STOP-04": _stop_sequence,
}
