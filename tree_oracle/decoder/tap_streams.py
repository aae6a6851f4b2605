"""Which calls of the target may be those of one request: a stream is what one cache was handed, or one row of a batch.

A text that is run again from its start is no draft, though it stands behind the prompt in a cache that holds nothing yet. It is
told by calls before that had come as far: over two other caches, or, where no further call is made, over all of its tokens but
one. (A drafter that runs the target has one cache.) Such calls are read together, or not at all.

A call that repeats the one before it, over the same cached rows, is the same call again, and a call with the same nodes over as
many rows of a copied cache is one too. Both are counted and read once.
"""

from __future__ import annotations

from tree_oracle.decoder.tap_calls import TargetCall
from tree_oracle.decoder.tap_errors import Unexplained
from tree_oracle.decoder.tap_view import Text, repeats


def _over_caches(calls: list[TargetCall]) -> list[TargetCall]:
    """The calls over caches that were handed in; a decoder may build its cache anew every round."""
    handed = {call.cache for call in calls if call.handed and call.cache is not None}
    return [call for call in calls if call.cache in handed]


def of_caches(calls: list[TargetCall]) -> list[list[list[TargetCall]]]:
    """The calls that may be those of one request alone: those over one cache, or, less likely, over all of them."""
    together = _over_caches(calls)
    numbers = sorted({call.cache for call in together if call.cache is not None})
    return [[[call for call in together if call.cache == number] for number in numbers], [together]]


def of_rows(calls: list[TargetCall], text: Text, start: int, row: int | None) -> list[list[list[TargetCall]]]:
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


def begun(calls: list[TargetCall], text: Text, start: int, every: list[TargetCall]) -> list[TargetCall]:
    """The calls over one cache, or over all, from the first that reaches the prompt's last token.

    Raises:
        Unexplained: there is none, or it runs a text again that ``every`` call before it had come to.
    """
    stream = _after_prefill(_without_repeats(calls), text, start)
    _refuse_run_again(stream, text, start, every)
    return stream


def _without_repeats(calls: list[TargetCall]) -> list[TargetCall]:
    befores = (None, *calls)
    return [call for before, call in zip(befores, calls, strict=False) if before is None or not again(before, call)]


def again(call: TargetCall, other: TargetCall) -> bool:
    """Whether the two calls run the same tokens over as many cached rows."""
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


def _after_prefill(calls: list[TargetCall], text: Text, start: int) -> list[TargetCall]:
    """The stream from the first call that reaches the prompt's last token."""
    for index, call in enumerate(calls):
        if repeats(call, start, text):
            return calls[index:]
        end = call.past + len(call.tokens)
        if not call.tokens or end >= start or call.tokens != text[call.past : end]:
            break
    raise Unexplained("no target call over a cache, alone in its batch, goes on from the prompt")
