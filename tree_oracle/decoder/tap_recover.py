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

A call that repeats the one before it, over the same cached rows, is the same call again, and a call with the same nodes over as
many rows of a copied cache is one too. Both are counted and read once.

Every emitted token has to be accounted for in this way. A call that nobody saw leaves a hole, which is not bridged. A decoder
that keeps no cache, or that builds a new one every round while its drafter runs the target too, is not followed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from tree_oracle.decoder.tap_calls import Tap, TargetCall
from tree_oracle.decoder.tap_errors import Unexplained
from tree_oracle.decoder.tap_view import Text, repeats, view_of
from tree_oracle.record import Call, Round


def recover(tap: Tap, prompt: Sequence[int], output: Sequence[int]) -> list[Round]:
    """The rounds that emitted ``output`` after ``prompt``; a round without nodes below its root is plain decoding.

    Raises:
        Unexplained: the calls do not account for every token, two caches do, or a mask cannot be read.
    """
    if not tap.calls:
        raise Unexplained("the target's model was not called")
    handed = {call.cache for call in tap.calls if call.handed and call.cache is not None}
    apart = [[call for call in tap.calls if call.cache == number] for number in sorted(handed)]
    together = [[call for call in tap.calls if call.cache in handed]]  # a decoder may build its cache anew every round
    text, refusals = (*prompt, *output), []
    for streams in (apart, together):
        readings = []
        for calls in streams:
            try:
                readings.append(_follow(calls, text, len(prompt), tap.calls))
            except Unexplained as refusal:
                refusals.append(refusal)
        if readings:
            return _most_drafted(readings)
    raise max(refusals, key=lambda refusal: refusal.accounted)


def _most_drafted(readings: list[list[Round]]) -> list[Round]:
    """A drafter that runs the target may account for a text that is short, or that it guessed; it verifies nothing."""
    drafted = [sum(len(round_.tokens or ()) - 1 for round_ in rounds) for rounds in readings]
    alike = drafted.count(max(drafted))
    if alike > 1:
        raise Unexplained(f"{alike} caches account for the text alike: no telling which of them verifies it")
    return readings[drafted.index(max(drafted))]


def _follow(calls: list[TargetCall], text: Text, start: int, every: list[TargetCall]) -> list[Round]:
    """The rounds of one stream, call by call; ``every`` call is looked through for repetitions of them.

    Raises:
        Unexplained: not every token after the first ``start`` is accounted for.
    """
    stream = _after_prefill(_without_repeats(calls), text, start)
    committed, rounds, made = start, list[Round](), list[Call]()
    for call, following in zip(stream, (*stream[1:], None), strict=True):
        view = view_of(call, committed, text)
        most = min(committed + len(view.walks), len(text))
        least = committed + (len(view.tokens) > 1)  # a round emits something; the last row of a prompt may go unused
        reached = None if following is None else _start_of(following, text, least, most)
        if reached is None and most < len(text):
            raise _hole(most - start, len(text) - start, following)
        reached = len(text) if reached is None else reached
        made += [Call(call.tokens, call.past)] * (_times(call, every) if len(view.tokens) > 1 else 1)
        if reached > committed:
            rounds.append(replace(view.round(text, committed, reached), calls=tuple(made)))
            made.clear()
        if reached == len(text):
            break  # a later call emits nothing
        committed = reached
    return rounds


def _without_repeats(calls: list[TargetCall]) -> list[TargetCall]:
    befores = (None, *calls)
    return [call for before, call in zip(befores, calls, strict=False) if before is None or not _again(before, call)]


def _again(call: TargetCall, other: TargetCall) -> bool:
    return bool(call.tokens) and (call.tokens, call.past) == (other.tokens, other.past)


def _times(call: TargetCall, every: list[TargetCall]) -> int:
    """How often the nodes of this call were run over as many cached rows; runs without a cache are a drafter's."""
    return sum(_again(call, other) for other in every if other.handed)


def _after_prefill(calls: list[TargetCall], text: Text, start: int) -> list[TargetCall]:
    """The stream from the first call that reaches the prompt's last token."""
    for index, call in enumerate(calls):
        if repeats(call, start, text):
            return calls[index:]
        end = call.past + len(call.tokens)
        if not call.tokens or end >= start or call.tokens != text[call.past : end]:
            break
    raise Unexplained("no target call over a cache, alone in its batch, goes on from the prompt")


def _start_of(call: TargetCall, text: Text, least: int, most: int) -> int | None:
    """How many tokens, ``least`` to ``most``, were committed before ``call``; None if no number fits."""
    fitting = [c for c in range(least, most + 1) if repeats(call, c, text) and _may_be_fed_again(call, c - call.past)]
    if fitting:
        return fitting[-1]
    if not call.tokens or (most == len(text) <= call.past):
        return None  # a decoder that does not stop at once: the text is accounted for, and this call lies behind it
    return next((c for c in range(most, least - 1, -1) if call.tokens[0] == text[c - 1]), None)


def _may_be_fed_again(call: TargetCall, again: int) -> bool:
    """Whether all later tokens see the first ``again`` as they see a prefix; of the root alone nothing is asked."""
    mask = call.masks[0] if call.masks else None
    return again == 1 or (mask is not None and bool(np.all(mask[again - 1 :, call.past : call.past + again])))


def _hole(accounted: int, total: int, following: TargetCall | None) -> Unexplained:
    then = "no further call was seen"
    if following is not None:
        size = f"{len(following.tokens)} tokens" if following.tokens else "no single row of tokens"
        then = f"the next call, {size} over {following.past} cached rows, follows from none of them"
    return Unexplained(f"target calls account for {accounted} of {total} emitted tokens; {then}", accounted)
