"""From the target calls and the text alone to rounds: which call verified what, on which tree, and how far it was followed.

Rule. Calls that share a cache are a stream, and the verify stream is the one that accounts for the text; a drafter that runs
the target too has a cache of its own, or none. In the stream a call over ``past`` cached rows holds committed tokens first,
from number ``past`` on, the root last among them, and candidates after that:

    tokens of the call  =  committed[past : C]  +  nodes below the root         C committed tokens

So a prompt, in one piece or with a draft behind it, a token fed by itself, an accepted path fed again and a tree above a
compacted cache are one case, and a call that does not reach the root is prefill. The text is walked down the tree: at most
the longest branch that holds it and one token more is emitted by this call, and the next call says how much, since it starts
from the tokens committed by then. Candidates that repeat the text and that all others see cannot be told from an accepted
path fed again, and are taken for that. Where the cache has the wrong size no such reading exists: then the first token of the
call is its root, and the record shows no ``visible``, for which it has no columns, but rows, which a wrong cache makes wrong.

In a batch every row of a call is read as if it were a call of its own (``tap_lanes``), ``recover`` is asked for one request
after the other, and rows that do not go on from a request's text belong to others.

Where a walk could have gone on and one token is run next, that is plain decoding after a walk that stopped, or a pass that only
writes the cache row of an accepted node: nothing tells them apart, and the record does not say what was accepted.

Every emitted token has to be accounted for in this way. A call that nobody saw leaves a hole, which is not bridged. A decoder
that keeps no cache, or that builds a new one every round while its drafter runs the target too, is not followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from msgspec.structs import replace

from tree_oracle.decoder.tap_calls import Tap, TargetCall
from tree_oracle.decoder.tap_errors import Unexplained
from tree_oracle.decoder.tap_lanes import as_alone
from tree_oracle.decoder.tap_sights import hides_within, telling
from tree_oracle.decoder.tap_streams import again, begun, of_caches, of_rows
from tree_oracle.decoder.tap_view import Text, repeats, view_of
from tree_oracle.record import Call, Round

_MOST_READINGS = 64


def recover(tap: Tap, prompt: Sequence[int], output: Sequence[int], *, row: int | None = None) -> list[Round]:
    """The rounds that emitted ``output`` after ``prompt``; a round without nodes below its root is plain decoding.

    ``row``: which row of a batch is the request's at first; needed where another has the same prompt.

    Raises:
        Unexplained: the calls do not account for every token, two caches or rows do, or a mask cannot be read.
    """
    if not tap.calls:
        raise Unexplained("the target's model was not called")
    text, readings, refusals = (*prompt, *output), list[list[Round]](), list[Unexplained]()
    every = [as_alone(call) for call in tap.calls]
    batched = any(call.lanes > 1 for call in every)
    for streams in of_rows(every, text, len(prompt), row) if batched else of_caches(every):
        for stream in streams:
            try:
                calls = stream if batched else begun(stream, text, len(prompt), every)
                readings += _read(calls, text, len(prompt), row, every)
            except Unexplained as refusal:
                refusals.append(refusal)
        if readings:
            return _only(readings if batched else _most_drafted(readings))
    raise max(refusals, key=lambda refusal: refusal.accounted)


def _most_drafted(readings: list[list[Round]]) -> list[list[Round]]:
    """A drafter that runs the target may account for a text that is short, or that it guessed; it verifies nothing."""
    drafted = [sum(len(round_.tokens or ()) - 1 for round_ in rounds) for rounds in readings]
    return [rounds for rounds, count in zip(readings, drafted, strict=True) if count == max(drafted)]


def _only(readings: list[list[Round]]) -> list[Round]:
    if any(rounds != readings[0] for rounds in readings[1:]):
        raise Unexplained(f"{len(readings)} caches or rows account for the text alike: no telling which verifies it")
    return readings[0]


def _read(
    stream: list[TargetCall], text: Text, start: int, row: int | None, every: list[TargetCall]
) -> list[list[Round]]:
    """The rounds of one stream. Where masks and positions contradict each other, those are believed that explain the text, and
    of both those by which the cache has the right size: a wrong tree may hold the text by chance, as far as the next call.

    Raises:
        Unexplained: neither do; why not as they are read first.
    """
    try:
        first = _follow(stream, text, start, row, every)
    except Unexplained:
        with suppress(Unexplained):
            return _follow(stream, text, start, row, every, second=True)
        raise
    with suppress(Unexplained):
        if not _fit(first) and _fit(other := _follow(stream, text, start, row, every, second=True)):
            return other
    return first


def _fit(readings: list[list[Round]]) -> bool:
    """Whether every call that made a round had as many cached rows as it should."""
    return all(round_.visible is not None for rounds in readings for round_ in rounds)


def _follow(
    stream: list[TargetCall], text: Text, start: int, row: int | None, every: list[TargetCall], *, second: bool = False
) -> list[list[Round]]:
    """The rounds of one stream, call by call; several readings where in a batch more than one row goes on from the text.

    ``every`` call is looked through for repetitions of them. ``second``: the less likely of two readings of each call.

    Raises:
        Unexplained: not every token after the first ``start`` is accounted for, or there are too many readings to tell.
    """
    open_ = [(0, start, list[Round](), tuple[Call, ...]())]
    found, refusals = list[list[Round]](), list[Unexplained]()
    while open_:
        if len(open_) + len(found) > _MOST_READINGS:
            raise Unexplained(f"more than {_MOST_READINGS} ways through the rows of a batch account for the text")
        at, committed, rounds, made = open_.pop()
        view = view_of(stream[at], committed, text, second=second)
        most = min(committed + len(view.walks), len(text))
        least = committed + (len(view.tokens) > 1)  # a round emits something; the last row of a prompt may go unused
        made += _made(stream[at], every, drafts=len(view.tokens) > 1)
        ways = _onward(stream, at, text, least, most, row)
        if not ways and most < len(text):
            refusals.append(_hole(most - start, len(text) - start, stream[at + 1] if at + 1 < len(stream) else None))
        for following, reached in ways or ([(at, len(text))] if most == len(text) else []):
            further, left = rounds, made
            if reached > committed:
                stopped = len(view.tokens) > 1 and reached < most and len(stream[following].tokens) == 1
                seen = replace(view.round(text, committed, reached), calls=made if stream[at].lanes == 1 else None)
                further, left = [*rounds, replace(seen, accepted=None, bonus=None) if stopped else seen], ()
            if reached == len(text):
                found.append(further)  # a later call emits nothing
                if row is not None:
                    return found  # who names the row believes that requests keep theirs as long as they can
            else:
                open_.append((following, reached, further, left))
    if not found:
        raise max(refusals, key=lambda refusal: refusal.accounted)
    return found


def _onward(
    stream: list[TargetCall], at: int, text: Text, least: int, most: int, row: int | None
) -> list[tuple[int, int]]:
    """The next call of the request, and how many tokens were committed before it; none if no call fits.

    A request alone has the very next call. In a batch rows may move when requests leave, so every row of the next call with
    one that goes on from the text may be the request's; last, to be tried first, the row that it had.
    """
    if all(call.lanes == 1 for call in stream[at:]):
        reached = _start_of(stream[at + 1], text, least, most) if at + 1 < len(stream) else None
        return [] if reached is None else [(at + 1, reached)]
    here = stream[at].lane if stream[at].lanes > 1 else row
    fitting = list[tuple[int, int]]()
    for place in range(at + 1, len(stream)):
        if fitting and stream[place].number != stream[fitting[0][0]].number:
            break
        reached = _start_of(stream[place], text, least, most, fed=True)
        if stream[place].number > stream[at].number and reached is not None:
            fitting.append((place, reached))
    return sorted(fitting, key=lambda way: stream[way[0]].lane == here)


def _made(call: TargetCall, every: list[TargetCall], *, drafts: bool) -> tuple[Call, ...]:
    """The call, as often as the nodes of a draft were run over as many cached rows; others without a cache are a drafter's."""
    times = sum(again(call, other) for other in every if other.handed or other is call) if drafts else 1
    return (Call(call.tokens, call.past),) * times


def _start_of(call: TargetCall, text: Text, least: int, most: int, *, fed: bool = False) -> int | None:
    """How many tokens, ``least`` to ``most``, were committed before ``call``; None if no number fits.

    ``fed``: only a call counts that holds the tokens from the first that is not cached.
    """
    fitting = [c for c in range(least, most + 1) if repeats(call, c, text) and _may_be_fed_again(call, c - call.past)]
    if fitting:
        return ([c for c in fitting if _is_behind(call, c - call.past)] or fitting)[-1]
    if fed or not call.tokens or (most == len(text) <= call.past):
        return None  # a decoder that does not stop at once: the text is accounted for, and this call lies behind it
    return next((c for c in range(most, least - 1, -1) if call.tokens[0] == text[c - 1]), None)


def _may_be_fed_again(call: TargetCall, again: int) -> bool:
    """Whether all later tokens see the first ``again`` as they see a prefix; of the root alone nothing is asked."""
    if again == 1:
        return True
    sights = [sight for sight in call.sights if sight is not None]
    return bool(sights) and not hides_within(telling(sights), call.past, call.past + again, call.positions)


def _is_behind(call: TargetCall, again: int) -> bool:
    """Whether all candidates sit behind the root, the last of the first ``again`` tokens."""
    return all(position > call.positions[again - 1] for position in call.positions[again:])


def _hole(accounted: int, total: int, following: TargetCall | None) -> Unexplained:
    then = "no further call was seen"
    if following is not None:
        size = f"{len(following.tokens)} tokens" if following.tokens else "no single row of tokens"
        then = f"the next call, {size} over {following.past} cached rows, follows from none of them"
    return Unexplained(f"target calls account for {accounted} of {total} emitted tokens; {then}", accounted)
