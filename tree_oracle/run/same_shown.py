"""Whether a suspect shows what the decoder showed, round by round and field by field.

Rule: every field is compared that the decoder shows, rows within the target's sampled noise, all others by equality. What right
decoders do in ways of their own (how a prefill is cut, how ranks are spread) is compared only where something shows in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from tree_oracle.checks.attended import answered, room_of
from tree_oracle.checks.scores import score_distance, softmax_room
from tree_oracle.checks.witness import COUNTERS
from tree_oracle.record import Array, Case, Round, ScoreKind, Truth, Work, row_gap

_MOVED = ("pools", "length", "pages")
# Fields whose values a suspect must reproduce, where the decoder shows them.
_COMPARED = (
    "emitted",
    "accepted",
    "bonus",
    "kept",
    "positions",
    "visible",
    "scores",
    "rows",
    "processed",
    "cache",
    "end",
    "work",
    *_MOVED,
)
_BUILT = ("tokens", "parents", "work")  # where the tree is the answer, and not what was handed over

Rounds = tuple[Round, ...]


def same_rounds(made: Rounds, seen: Rounds, truth: Truth, *, built: bool) -> bool:
    """Whether as many rounds show the same in all fields that ``seen`` has; ``built``: the tree is the answer."""
    compared = _BUILT if built else (*_COMPARED, *_telling(made, seen))
    return len(made) == len(seen) and all(
        _same_round(mine, theirs, truth, compared) for mine, theirs in zip(made, seen, strict=True)
    )


def same_attention(case: Case, made: Rounds, seen: Rounds) -> bool:
    """Whether two operators answered the same, each of which may be off by the room of the case."""
    encoded = msgspec.json.encode(case)
    return len(made) == len(seen) and all(
        bool(np.abs(answered(mine) - answered(theirs)).max() <= 2 * room_of(encoded, theirs.attended.dtype))
        for mine, theirs in zip(made, seen, strict=True)
        if theirs.attended is not None
    )


def _same_round(made: Round, seen: Round, truth: Truth, compared: Sequence[str]) -> bool:
    shown = [name for name in compared if getattr(seen, name) is not None]
    return all(_same_field(name, made, seen, truth) for name in shown)


def _telling(*shown: Rounds) -> list[str]:
    """What is compared only where something shows in it: right decoders prefill, and are spread, in ways of their own."""
    passes = any(_runs_otherwise(rounds) for rounds in shown)
    strays = any(_strays(round_) for rounds in shown for round_ in rounds)
    return ["calls"] * passes + ["peers"] * strays


def _runs_otherwise(rounds: Rounds) -> bool:
    """Whether a round after the first runs the target more than once, or is the only kind of which no call is seen."""
    counts = [len(round_.calls) for round_ in rounds if round_.calls is not None]
    return any(count > 1 for count in counts[1:]) or (0 in counts[1:] and any(counts))


def _strays(round_: Round) -> bool:
    shared = ("prefix", "tokens", "parents", "accepted", "bonus", "emitted", "kept", "end")
    return any(getattr(peer, name) != getattr(round_, name) for peer in round_.peers or () for name in shared)


def _same_work(mine: Work | None, theirs: Work | None) -> bool:
    """Whether the counts are equal that both state, and both or neither run the draft's backbone more than once.

    Counters alone are a decoder's own way of counting; beside the candidates by depth they are held to the reference's.
    """
    several = [(getattr(work, "draft_passes", None) or 0) > 1 for work in (mine, theirs)]
    alone = theirs is not None and theirs.packed is None
    names = [name for name in Work.__struct_fields__ if not (alone and name in COUNTERS)]
    pairs = [(getattr(mine, name, None), getattr(theirs, name, None)) for name in names]
    return several[0] == several[1] and all(a == b for a, b in pairs if a is not None and b is not None)


def _same_field(name: str, made: Round, seen: Round, truth: Truth) -> bool:
    if name == "rows":
        return _same_rows(_values(made.rows), _values(seen.rows), truth)
    if name == "processed":  # a suspect shows none where nothing applies
        return made.processed is None or _same_rows(_values(made.processed), _values(seen.processed), truth)
    if name == "scores":
        return _same_scores(made, seen, truth)
    if name == "work":
        return _same_work(made.work, seen.work)
    if name == "cache" and not truth.exact:
        return True  # cache entries have a floor of their own, which no suspect is told apart by
    return bool(getattr(made, name) == getattr(seen, name))


def _same_rows(mine: np.ndarray, theirs: np.ndarray, truth: Truth) -> bool:
    """Whether all rows agree within the sampled noise: an estimate is enough where nothing but a suspicion hangs on it."""
    room = 0.0 if truth.exact else truth.noise().allowed
    pairs = zip(mine, theirs, strict=True)
    # A row of which nothing is left is equal to another such row, though it has no maximum to be measured from.
    return mine.shape == theirs.shape and all(np.array_equal(a, b) or row_gap(b, a) <= room for a, b in pairs)


def _same_scores(made: Round, seen: Round, truth: Truth) -> bool:
    """Whether the reference's log-probabilities are the shown scores, whatever kind those are of."""
    if seen.score_kind is ScoreKind.LOGIT or made.scores is None or seen.scores is None:
        return True  # logits are not comparable: nothing is ruled out by them
    room = max(map(softmax_room, _values(made.rows))) + (0.0 if truth.exact else 2 * truth.noise().allowed)
    convert = math.exp if seen.score_kind is ScoreKind.PROBABILITY else float
    pairs = zip(_values(made.scores)[1:], _values(seen.scores)[1:], strict=True)
    return all(score_distance(theirs, convert(mine), seen.score_kind) <= room for mine, theirs in pairs)


def _values(array: object) -> np.ndarray:
    assert isinstance(array, Array)
    return np.asarray(array.numpy(), dtype=np.float64)
