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

A text that is run again from its start is no draft, though it stands behind the prompt in a cache that holds nothing yet. It is
told by calls before that had come as far: over two other caches, or, where no further call is made, over all of its tokens but
one. (A drafter that runs the target has one cache.) Such calls are read together, or not at all.

A call that repeats the one before it, over the same cached rows, is the same call again, and a call with the same nodes over as
many rows of a copied cache is one too. Both are counted and read once.

Where a walk could have gone on and one token is run next, that is plain decoding after a walk that stopped, or a pass that only
writes the cache row of an accepted node: nothing tells them apart, and the record does not say what was accepted.

Every emitted token has to be accounted for in this way. A call that nobody saw leaves a hole, which is not bridged. A decoder
that keeps no cache, or that builds a new one every round while its drafter runs the target too, is not followed.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tree_oracle.decoder.tap_calls import Tap, TargetCall
from tree_oracle.decoder.tap_errors import Unexplained
from tree_oracle.decoder.tap_lanes import as_alone
from tree_oracle.decoder.tap_sights import hides_within, telling
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
    for streams in _of_rows(every, text, len(prompt), row) if batched else _of_caches(every):
        for stream in streams:
            try:
                begun = stream if batched else _after_prefill(_without_repeats(stream), text, len(prompt))
                if not batched:
                    _refuse_run_again(begun, text, len(prompt), every)
                readings += _follow(begun, text, len(prompt), row, every)
            except Unexplained as refusal:
                refusals.append(refusal)
        if readings:
            return _only(readings if batched else _most_drafted(readings))
    raise max(refusals, key=lambda refusal: refusal.accounted)


def _over_caches(calls: list[TargetCall]) -> list[TargetCall]:
    """The calls over caches that were handed in; a decoder may build its cache anew every round."""
    handed = {call.cache for call in calls if call.handed and call.cache is not None}
    return [call for call in calls if call.cache in handed]


def _of_caches(calls: list[TargetCall]) -> list[list[list[TargetCall]]]:
    """The calls that may be those of one request alone: those over one cache, or, less likely, over all of them."""
    together = _over_caches(calls)
    numbers = sorted({call.cache for call in together if call.cache is not None})
    return [[[call for call in together if call.cache == number] for number in numbers], [together]]


def _of_rows(calls: list[TargetCall], text: Text, start: int, row: int | None) -> list[list[list[TargetCall]]]:
    """In a batch: all calls from each row of the first one in which a row goes on from the prompt.

    Raises:
        Unexplained: there is no such row.
    """
    together = _over_caches(calls)
    fitting = [at for at, call in enumerate(together) if repeats(call, start, text) and _in_row(call, row)]
    if not fitting:
        raise Unexplained("no row of a target call over a cache goes on from the prompt")
    first = together[fitting[0]].number
    return [[together[at:] for at in fitting if together[at].number == first]]


def _in_row(call: TargetCall, row: int | None) -> bool:
    return row is None or call.lanes == 1 or call.lane == row


def _most_drafted(readings: list[list[Round]]) -> list[list[Round]]:
    """A drafter that runs the target may account for a text that is short, or that it guessed; it verifies nothing."""
    drafted = [sum(len(round_.tokens or ()) - 1 for round_ in rounds) for rounds in readings]
    return [rounds for rounds, count in zip(readings, drafted, strict=True) if count == max(drafted)]


def _only(readings: list[list[Round]]) -> list[Round]:
    if any(rounds != readings[0] for rounds in readings[1:]):
        raise Unexplained(f"{len(readings)} caches or rows account for the text alike: no telling which verifies it")
    return readings[0]


def _follow(
    stream: list[TargetCall], text: Text, start: int, row: int | None, every: list[TargetCall]
) -> list[list[Round]]:
    """The rounds of one stream, call by call; several readings where in a batch more than one row goes on from the text.

    ``every`` call is looked through for repetitions of them.

    Raises:
        Unexplained: not every token after the first ``start`` is accounted for, or there are too many readings to tell.
    """
    open_ = [(0, start, list[Round](), tuple[Call, ...]())]
    found, refusals = list[list[Round]](), list[Unexplained]()
    while open_:
        if len(open_) + len(found) > _MOST_READINGS:
            raise Unexplained(f"more than {_MOST_READINGS} ways through the rows of a batch account for the text")
        at, committed, rounds, made = open_.pop()
        view = view_of(stream[at], committed, text)
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


def _without_repeats(calls: list[TargetCall]) -> list[TargetCall]:
    befores = (None, *calls)
    return [call for before, call in zip(befores, calls, strict=False) if before is None or not _again(before, call)]


def _again(call: TargetCall, other: TargetCall) -> bool:
    return bool(call.tokens) and (call.tokens, call.past) == (other.tokens, other.past)


def _refuse_run_again(stream: list[TargetCall], text: Text, start: int, every: list[TargetCall]) -> None:
    """Return if the tokens behind the prompt in the first call of a stream are a draft.

    Raises:
        Unexplained: they are text that calls before it had come to, run again from its start.
    """
    call = stream[0]
    if call.past + len(call.tokens) <= start or call.tokens[start - call.past :][:1] != text[start:][:1]:
        return
    before = [other for other in every if other.number < call.number]
    caches = {o.cache for o in before if o.handed and o.cache != call.cache and repeats(o, start, text)}
    grew = any((other.tokens, other.past) == (call.tokens[:-1], call.past) for other in before)
    if len(caches) > 1 or (len(stream) == 1 and grew):
        raise Unexplained("a call runs the whole text again that other calls had come to before, and verifies nothing")


def _made(call: TargetCall, every: list[TargetCall], *, drafts: bool) -> tuple[Call, ...]:
    """The call, as often as the nodes of a draft were run over as many cached rows; runs without a cache are a drafter's."""
    times = sum(_again(call, other) for other in every if other.handed) if drafts else 1
    return (Call(call.tokens, call.past),) * times


def _after_prefill(calls: list[TargetCall], text: Text, start: int) -> list[TargetCall]:
    """The stream from the first call that reaches the prompt's last token."""
    for index, call in enumerate(calls):
        if repeats(call, start, text):
            return calls[index:]
        end = call.past + len(call.tokens)
        if not call.tokens or end >= start or call.tokens != text[call.past : end]:
            break
    raise Unexplained("no target call over a cache, alone in its batch, goes on from the prompt")


def _start_of(call: TargetCall, text: Text, least: int, most: int, *, fed: bool = False) -> int | None:
    """How many tokens, ``least`` to ``most``, were committed before ``call``; None if no number fits.

    ``fed``: only a call counts that holds the tokens from the first that is not cached.
    """
    fitting = [c for c in range(least, most + 1) if repeats(call, c, text) and _may_be_fed_again(call, c - call.past)]
    if fitting:
        return fitting[-1]
    if fed or not call.tokens or (most == len(text) <= call.past):
        return None  # a decoder that does not stop at once: the text is accounted for, and this call lies behind it
    return next((c for c in range(most, least - 1, -1) if call.tokens[0] == text[c - 1]), None)


def _may_be_fed_again(call: TargetCall, again: int) -> bool:
    """Whether all later tokens see the first ``again`` as they see a prefix; of the root alone nothing is asked."""
    if again == 1:
        return True
    sights = [sight for sight in call.sights if sight is not None]
    return bool(sights) and not hides_within(telling(sights), call.past, call.past + again, call.positions)


def _hole(accounted: int, total: int, following: TargetCall | None) -> Unexplained:
    then = "no further call was seen"
    if following is not None:
        size = f"{len(following.tokens)} tokens" if following.tokens else "no single row of tokens"
        then = f"the next call, {size} over {following.past} cached rows, follows from none of them"
    return Unexplained(f"target calls account for {accounted} of {total} emitted tokens; {then}", accounted)
