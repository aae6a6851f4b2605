"""Wrong ways to end, and a detour to the right one."""

from __future__ import annotations

from tree_oracle.decoder.stop import cut
from tree_oracle.record import EndReason, Limits


def last_token_only(
    length: int, emitted: int, proposed: tuple[int, ...], limits: Limits
) -> tuple[tuple[int, ...], EndReason | None]:
    """Fault: only the round's last token is compared with the end tokens; one inside the accepted path is passed over."""
    blind = Limits(limits.max_new_tokens, (), limits.max_length)
    tokens, end = cut(length, emitted, proposed, blind)
    return tokens, EndReason.EOS if tokens and tokens[-1] in limits.eos_ids else end


def token_by_token(
    length: int, emitted: int, proposed: tuple[int, ...], limits: Limits
) -> tuple[tuple[int, ...], EndReason | None]:
    """Twin: the tokens are emitted one at a time, each with a test of its own."""
    tokens: tuple[int, ...] = ()
    for token in proposed:
        more, end = cut(length + len(tokens), emitted + len(tokens), (token,), limits)
        tokens += more
        if end is not None:
            return tokens, end
    return tokens, None


def no_end_tokens(
    length: int, emitted: int, proposed: tuple[int, ...], limits: Limits
) -> tuple[tuple[int, ...], EndReason | None]:
    """Fault: end tokens do not end the text."""
    return cut(length, emitted, proposed, Limits(limits.max_new_tokens, (), limits.max_length))


def end_token_dropped(
    length: int, emitted: int, proposed: tuple[int, ...], limits: Limits
) -> tuple[tuple[int, ...], EndReason | None]:
    """Fault: the text ends before its end token instead of after it."""
    tokens, end = cut(length, emitted, proposed, limits)
    return (tokens[:-1] if end is EndReason.EOS else tokens), end


def cap_not_cut(
    length: int, emitted: int, proposed: tuple[int, ...], limits: Limits
) -> tuple[tuple[int, ...], EndReason | None]:
    """Fault: the caps are looked at only after the whole round was emitted."""
    tokens, end = cut(length, emitted, proposed, limits)
    return (tokens if end in (None, EndReason.EOS) else proposed), end


def first_end_token_only(
    length: int, emitted: int, proposed: tuple[int, ...], limits: Limits
) -> tuple[tuple[int, ...], EndReason | None]:
    """Fault: of several end tokens only the first is known."""
    return cut(length, emitted, proposed, Limits(limits.max_new_tokens, limits.eos_ids[:1], limits.max_length))


def end_tokens_reversed(
    length: int, emitted: int, proposed: tuple[int, ...], limits: Limits
) -> tuple[tuple[int, ...], EndReason | None]:
    """Twin: the end tokens come in the opposite order."""
    return cut(length, emitted, proposed, Limits(limits.max_new_tokens, limits.eos_ids[::-1], limits.max_length))


def cap_before_end_token(
    length: int, emitted: int, proposed: tuple[int, ...], limits: Limits
) -> tuple[tuple[int, ...], EndReason | None]:
    """Fault: the cap is tested first, so that it is named where an end token is the reason."""
    tokens, end = cut(length, emitted, proposed, limits)
    full = emitted + len(tokens) >= limits.max_new_tokens
    return tokens, EndReason.CAP if end is EndReason.EOS and full else end


def bonus_withheld(
    length: int, emitted: int, proposed: tuple[int, ...], limits: Limits
) -> tuple[tuple[int, ...], EndReason | None]:
    """Fault: the bonus is emitted only where nothing else is."""
    return cut(length, emitted, proposed[:-1] or proposed, limits)
