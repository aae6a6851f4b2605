"""Wrong ways to end, and detours to the right one."""

from __future__ import annotations

from msgspec.structs import replace

from tree_oracle.decoder.stop import Ending, Tokens, cut
from tree_oracle.record import EndReason, Limits


def last_token_only(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Fault: only the round's last token is compared with the end tokens; one inside the accepted path is passed over."""
    tokens, end = cut(prompt, emitted, proposed, replace(limits, eos_ids=()))
    return tokens, EndReason.EOS if tokens and tokens[-1] in limits.eos_ids else end


def token_by_token(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Twin: the tokens are emitted one at a time, each with a test of its own."""
    tokens: Tokens = ()
    for token in proposed:
        more, end = cut(prompt, emitted + tokens, (token,), limits)
        tokens += more
        if end is not None:
            return tokens, end
    return tokens, None


def no_end_tokens(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Fault: end tokens do not end the text."""
    return cut(prompt, emitted, proposed, replace(limits, eos_ids=()))


def no_end_tokens_in_first_round(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Fault: end tokens are looked for from the second round on."""
    return cut(prompt, emitted, proposed, limits if emitted else replace(limits, eos_ids=()))


def first_token_never_ends(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Fault: the text's first token is compared with no end token."""
    if emitted or proposed[0] not in limits.eos_ids:
        return cut(prompt, emitted, proposed, limits)
    begun, end = cut(prompt, (), proposed[:1], replace(limits, eos_ids=()))
    if end is not None or len(proposed) == 1:
        return begun, end
    rest, end = cut(prompt, begun, proposed[1:], limits)
    return begun + rest, end


def stop_sequence_named_first(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Fault: a stop sequence is named where an end token completes it."""
    tokens, end = cut(prompt, emitted, proposed, limits)
    text = emitted + tokens
    met = any(text[-len(sequence) :] == sequence for sequence in limits.stop)
    return tokens, EndReason.STOP if met and end is EndReason.EOS else end


def end_token_dropped(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Fault: the text ends before its end token instead of after it."""
    tokens, end = cut(prompt, emitted, proposed, limits)
    return (tokens[:-1] if end is EndReason.EOS else tokens), end


def cap_not_cut(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Fault: the caps are looked at only after the whole round was emitted."""
    tokens, end = cut(prompt, emitted, proposed, limits)
    return (proposed if end in (EndReason.CAP, EndReason.CONTEXT) else tokens), end


def first_end_token_only(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Fault: of several end tokens only the first is known."""
    return cut(prompt, emitted, proposed, replace(limits, eos_ids=limits.eos_ids[:1]))


def end_tokens_reversed(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Twin: end tokens and stop sequences come in the opposite order."""
    return cut(prompt, emitted, proposed, replace(limits, eos_ids=limits.eos_ids[::-1], stop=limits.stop[::-1]))


def cap_before_end_token(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Fault: the cap is tested first, so that it is named where an end token is the reason."""
    tokens, end = cut(prompt, emitted, proposed, limits)
    full = len(emitted) + len(tokens) >= limits.max_new_tokens
    return tokens, EndReason.CAP if end is EndReason.EOS and full else end


def bonus_withheld(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Fault: the bonus is emitted only where nothing else is."""
    return cut(prompt, emitted, proposed[:-1] or proposed, limits)


def stop_within_round(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Fault: a stop sequence is looked for in the tokens of one round; one that began in an earlier round is missed."""
    blind = replace(limits, max_new_tokens=limits.max_new_tokens - len(emitted), max_length=_left(limits, emitted))
    return cut(prompt, (), proposed, blind)


def stop_at_round_end(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Fault: a stop sequence is looked for at the end of the round only; one inside the round is passed over."""
    tokens, end = cut(prompt, emitted, proposed, replace(limits, stop=()))
    text = emitted + tokens
    met = any(text[-len(sequence) :] == sequence for sequence in limits.stop)
    return tokens, EndReason.STOP if met and end is not EndReason.EOS else end


def stop_anywhere_in_order(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Fault: a stop sequence counts as met once its tokens were emitted in order, whatever stands between them."""
    for count in range(1, len(proposed) + 1):
        text = emitted + proposed[:count]
        tokens, end = cut(prompt, emitted, proposed[:count], limits)
        if end is None and any(_in_order(sequence, text) for sequence in limits.stop):
            return tokens, EndReason.STOP
        if end is not None:
            return tokens, end
    return proposed, None


def stop_by_rolling_tail(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Twin: of the earlier rounds only so many tokens are kept as the longest stop sequence can need."""
    need = max((len(sequence) for sequence in limits.stop), default=1) - 1
    tail = emitted[max(len(emitted) - need, 0) :]
    gone = len(emitted) - len(tail)
    return cut(prompt + gone, tail, proposed, replace(limits, max_new_tokens=limits.max_new_tokens - gone))


def _left(limits: Limits, emitted: Tokens) -> int | None:
    return None if limits.max_length is None else limits.max_length - len(emitted)


def _in_order(sequence: Tokens, text: Tokens) -> bool:
    rest = iter(text)
    return all(token in rest for token in sequence)


def last_end_token_only(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Fault: of several end tokens only the last is known."""
    return cut(prompt, emitted, proposed, replace(limits, eos_ids=limits.eos_ids[-1:]))


def two_end_tokens_only(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Fault: of several end tokens only two are known."""
    return cut(prompt, emitted, proposed, replace(limits, eos_ids=limits.eos_ids[:2]))


def no_context_beside_end_tokens(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Fault: where there are end tokens, nobody looks at the room in the context."""
    return cut(prompt, emitted, proposed, replace(limits, max_length=None) if limits.eos_ids else limits)


def no_end_tokens_beside_stops(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Fault: where there are stop sequences, end tokens do not end the text."""
    return cut(prompt, emitted, proposed, replace(limits, eos_ids=()) if limits.stop else limits)


def stop_restarted(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Fault: where a token breaks a stop sequence off, it is not tried as its first: x x y is not seen to end in x y."""
    for count in range(1, len(proposed) + 1):
        text = emitted + proposed[:count]
        met = tuple(sequence for sequence in limits.stop if _matched(sequence, text))
        tokens, end = cut(prompt, emitted, proposed[:count], replace(limits, stop=met))
        if end is not None:
            return tokens, end
    return proposed, None


def _matched(sequence: Tokens, text: Tokens) -> bool:
    """Whether the last token completes the sequence, for an automaton that goes back to its beginning."""
    done = 0
    for token in text:
        done = 0 if done == len(sequence) else done
        done = done + 1 if token == sequence[done] else 0
    return done == len(sequence)
