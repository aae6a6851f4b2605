"""A decoder as a black box: texts are sampled until the evidence is enough, or as many as were asked for.

The anytime-valid test watches the joint law of the first tokens over all rounds of a session and may stop early. Beside it
stands a test of the first token alone, at the number of sessions that was fixed before, only where that number was reached.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec

from tree_oracle.checks.law_drive import law_of, sessions
from tree_oracle.checks.law_text import target_of, weighed
from tree_oracle.record import Case, LawData, Round, UsageError
from tree_oracle.verify.law import FALSE_ALARM, Declaration, Evidence, Farthest, p_value
from tree_oracle.verify.rules import Laws


class BlackBox(msgspec.Struct, frozen=True, kw_only=True):
    """What came of sampling one decoder over one pair of laws."""

    target: tuple[int, ...]
    draft: tuple[int, ...]
    rounds: int  # of each session, on one object
    sessions: int  # that were sampled
    tokens: int  # that were judged
    refuted: bool
    stopped_at: int | None  # tokens
    log10_e: float | None  # None: infinite
    false_alarm: float  # at most so often is a right decoder refuted, over the whole run
    often: int  # tokens after the history that came most often
    detectable: float  # total variation after it that is expected to be found
    history: tuple[int, ...]  # where what was seen is farthest from what was due
    seen: tuple[float, ...]
    due: tuple[float, ...]
    first_token: float | None = None  # P of the test of the first token alone, at the number fixed before


def sample(
    decoder: Any,
    mode: Declaration | None,
    data: LawData,
    *,
    false_alarm: float = FALSE_ALARM,
    on_session: Callable[[int], None] = lambda number: None,
) -> BlackBox:
    """Sample ``data.sessions`` sessions of ``data.rounds`` rounds, fewer if the evidence is enough before.

    Raises:
        UsageError: no session or round is asked for, or the rate of false alarm is not between 0 and 1.
        AdapterError, DecoderError: the decoder misbehaves.
    """
    law_of(Case(prefix=(0,), law=data), "sample")
    if data.sessions < 1 or data.rounds < 1:
        raise UsageError(f"{data.sessions} sessions of {data.rounds} rounds; expected at least one of each")
    target, evidence, count, firsts = target_of(data, mode), Evidence(false_alarm), 0, [0] * len(data.target)
    for session in sessions(decoder, data):
        weighed([session], target, evidence)
        count, firsts[_first(session)] = count + 1, firsts[_first(session)] + 1
        on_session(count)
        if evidence.refuted:
            break
    return _told(data, evidence, count, None if evidence.refuted else _fixed(firsts, target))


def _first(session: tuple[Round, ...]) -> int:
    return session[0].emitted[0]


def _fixed(firsts: list[int], target: Laws) -> float | None:
    try:
        return p_value(firsts, target(()))
    except UsageError:  # too few draws for a token that is rare
        return None


def _told(data: LawData, evidence: Evidence, count: int, first_token: float | None) -> BlackBox:
    often, distance = evidence.detectable()
    farthest = evidence.farthest()
    assert isinstance(farthest, Farthest)
    return BlackBox(
        target=data.target,
        draft=data.draft,
        rounds=data.rounds,
        sessions=count,
        tokens=evidence.tokens,
        refuted=evidence.refuted,
        stopped_at=evidence.stopped_at,
        log10_e=None if evidence.log_e == math.inf else evidence.log_e / math.log(10),
        false_alarm=evidence.false_alarm,
        often=often,
        detectable=distance,
        history=farthest.history,
        seen=farthest.seen,
        due=farthest.due,
        first_token=first_token,
    )
