"""STOP: where a text ends.

Law: the text ends with its first end token, or with its first stop sequence, either of which is emitted, or with the last
token that ``max_new_tokens`` and ``max_length`` allow, whichever comes first, wherever in a round that is. Judged on the
decoder's own tokens, so that a wrong token is no failure here.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_oracle.checks.check import Source, check
from tree_oracle.checks.due import end_tokens, ending, room, stops
from tree_oracle.checks.ends import ENDS, PROMPT_ENDS
from tree_oracle.checks.minimums import MINIMUMS, PROMPT_MINIMUMS
from tree_oracle.checks.say import NothingToJudge, fail, listing
from tree_oracle.checks.sequence import equals_plain_greedy_decoding
from tree_oracle.checks.stop_sequences import PROMPT_STOPS, STOPS
from tree_oracle.checks.view import View, round_of, text_of
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import EndReason, Finding, Level, Limits, Status, counted, limit_words

_SOURCES = (Source(Seam.SESSION, ENDS), Source(Seam.GENERATE, PROMPT_ENDS))
_STOP_SOURCES = (Source(Seam.SESSION, STOPS), Source(Seam.GENERATE, PROMPT_STOPS))
_MINIMUM_SOURCES = (Source(Seam.SESSION, MINIMUMS), Source(Seam.GENERATE, PROMPT_MINIMUMS))
_CLASS = "fault class STOP; record.limits for the convention"


def limits_of(view: View) -> Limits:
    """The limits of a case that has some."""
    assert view.case.limits is not None
    return view.case.limits


def _last_round(view: View) -> int:
    return max(len(view.rounds) - 1, 0)


def _saying_round(view: View) -> int:
    """The first round that names an end."""
    return next((index for index, round_ in enumerate(view.rounds) if round_.end is not None), _last_round(view))


def _ending_round(view: View, count: int) -> int:
    """The round in which a text of ``count`` tokens had to end: the one at fault where it goes on."""
    return round_of(view, max(count - 1, 0))


@check("STOP-01", rung=3, needs=("prefix",), sources=_SOURCES, source=_CLASS)
def ends_with_its_first_end_token(view: View) -> Iterator[Finding]:
    """The text ends with its first end token, which is emitted, wherever in a round that token stands.

    Woken by an end token that is an accepted draft and not the bonus, and by several end tokens. Real causes: only the last
    token of a round is tested, only the first of several ids is known, the end token itself is dropped.
    """
    text, limits = text_of(view.rounds), limits_of(view)
    if not text:
        raise NothingToJudge(Status.NOT_APPLICABLE, "nothing is emitted")
    ends = end_tokens(text, limits)
    if ends and ends[0] < len(text) - 1:
        yield fail(
            f"the text goes on after end token {text[ends[0]]}, its token {ends[0]}",
            expected=f"{counted(ends[0] + 1, 'token')}, the end token last",
            seen=f"{counted(len(text), 'token')}: {listing(text)}",
            round=_ending_round(view, ends[0] + 1),
        )
    elif view.rounds and view.rounds[-1].end is EndReason.EOS and not ends:
        yield fail(
            "the text is said to end with an end token and holds none",
            expected=f"one of {listing(limits.eos_ids)} as the last token",
            seen=listing(text),
            round=_last_round(view),
        )


@check("STOP-02", rung=3, needs=("prefix",), sources=_SOURCES, source=_CLASS)
def fills_its_caps_exactly(view: View) -> Iterator[Finding]:
    """A text without an end token or stop sequence holds exactly as many tokens as its caps allow.

    Woken by caps from 0 to one more than a round can emit, and by a context that ends inside a round. Real causes: rounds
    are counted instead of tokens, a round is emitted whole although the cap lies inside it.
    """
    text, limits = text_of(view.rounds), limits_of(view)
    allowed = room(limits, len(view.case.prefix))
    if len(text) > allowed:
        yield fail(
            f"the text has {counted(len(text), 'token')}; {allowed} may be emitted",
            expected=f"at most {allowed}: {limit_words(limits)}",
            seen=f"{counted(len(text), 'token')}: {listing(text)}",
            round=_ending_round(view, allowed),
        )
    elif _ended(view) and len(text) < allowed and not _ends_itself(text, limits):
        yield fail(
            f"the text ends after {counted(len(text), 'token')}, {_not_by(text, limits)}",
            expected=f"{counted(allowed, 'token')}, or an end token or a stop sequence last",
            seen=f"{counted(len(text), 'token')}: {listing(text)}",
            round=_last_round(view),
        )


def _ends_itself(text: tuple[int, ...], limits: Limits) -> bool:
    """Whether the text ends with something that ends a text, be it the first or not: that is for STOP-01 and STOP-04."""
    return bool(text) and (text[-1] in limits.eos_ids or any(count == len(text) for count, _ in stops(text, limits)))


def _not_by(text: tuple[int, ...], limits: Limits) -> str:
    """What does not end the text: there is none of it, or it stands before the last token."""
    ends, met = end_tokens(text, limits), stops(text, limits)
    if ends:
        return f"behind end token {text[ends[0]]}, its token {ends[0]}, and short of its caps"
    if met:
        return (
            f"behind stop sequence {listing(met[0][1])}, complete with its token {met[0][0] - 1}, and short of its caps"
        )
    return "without an end token or a stop sequence"


def _ended(view: View) -> bool:
    """Whether nothing follows: a whole generation says so by returning, a round by its end or by emitting nothing."""
    last = view.rounds[-1] if view.rounds else None
    return not view.case.trees or last is None or last.end is not None or not last.emitted


@check("STOP-03", rung=3, level=Level.SHOULD, needs=("prefix",), sources=_SOURCES + _STOP_SOURCES, source=_CLASS)
def says_why_it_ends(view: View) -> Iterator[Finding]:
    """The round in which the text ends says so, with the right reason; an end token outweighs a stop sequence, and that a cap.

    Only decoders whose rounds show ``end`` can be judged.
    """
    text, limits = text_of(view.rounds), limits_of(view)
    shown = view.rounds[_saying_round(view)].end if view.rounds else None
    due = ending(text, limits, len(view.case.prefix))
    if shown is None:
        raise NothingToJudge(Status.NOT_OBSERVABLE, "rounds do not show end")
    if due is None or shown is not due[1]:
        yield fail(
            f"the text is said to end by {shown}",
            expected="no end yet" if due is None else due[1].value,
            seen=f"{shown} after {listing(text)}",
            round=_saying_round(view),
        )


@check("STOP-04", rung=3, needs=("prefix",), sources=_STOP_SOURCES, source=_CLASS)
def ends_with_its_first_stop_sequence(view: View) -> Iterator[Finding]:
    """The text ends as soon as its emitted tokens end with a stop sequence, also one that began in an earlier round.

    Woken by a sequence that is complete inside a round, by one that crosses into the next round or the one after, by one that
    begins in the prompt, by tokens of a sequence that do not stand side by side, and by a sequence that repeats its own
    beginning. Real causes: only the end of a round is tested, only the tokens of one or two rounds, or the prompt as well.
    """
    text, limits = text_of(view.rounds), limits_of(view)
    if not text:
        raise NothingToJudge(Status.NOT_APPLICABLE, "nothing is emitted")
    met = stops(text, limits)
    if met and met[0][0] < len(text):
        count, sequence = met[0]
        yield fail(
            f"the text goes on after stop sequence {listing(sequence)}, complete with its token {count - 1}",
            expected=f"{counted(count, 'token')}, the stop sequence last",
            seen=f"{counted(len(text), 'token')}: {listing(text)}",
            round=_ending_round(view, count),
        )
    elif _ended(view) and ending(text, limits, len(view.case.prefix)) is None:
        yield fail(
            f"the text ends after {counted(len(text), 'token')} with no stop sequence, end token or cap to end it",
            expected=f"more tokens, or one of {', '.join(map(listing, limits.stop))} as the last ones",
            seen=listing(text),
            round=_last_round(view),
        )


@check("STOP-05", rung=3, needs=("prefix",), sources=_MINIMUM_SOURCES, source=_CLASS)
def holds_its_minimum(view: View) -> Iterator[Finding]:
    """No end token is emitted before as many tokens as ``min_new`` asks for, be it an accepted draft or the bonus.

    Woken by an end token that the target would choose too early, which the tree holds as well. Real causes: the minimum is
    applied to the last row of a round only, it is counted with the prompt, it is not known at all.
    """
    text, limits = text_of(view.rounds), limits_of(view)
    _need_minimum(limits)
    if not text:
        raise NothingToJudge(Status.NOT_APPLICABLE, "nothing is emitted")
    early = [place for place in end_tokens(text, limits) if place < limits.min_new]
    if early:
        yield fail(
            f"end token {text[early[0]]} is emitted as token {early[0]}, before the minimum of {limits.min_new}",
            expected=f"no end token among the first {limits.min_new}",
            seen=f"{counted(len(text), 'token')}: {listing(text)}",
            round=round_of(view, early[0]),
        )


@check("STOP-06", rung=3, needs=("prefix",), sources=_MINIMUM_SOURCES, source=_CLASS)
def minimum_ends_when_it_is_reached(view: View) -> Iterator[Finding]:
    """A text with a minimum is plain greedy decoding's with the end tokens ruled out for so many tokens, and for no more.

    Woken by an end token that is due as soon as the minimum is reached, in the round in which it is reached. Real causes: the
    minimum is counted in rounds, or once per round, so that accepted tokens of the same round do not count.
    """
    _need_minimum(limits_of(view))
    yield from equals_plain_greedy_decoding(view)


def _need_minimum(limits: Limits) -> None:
    if not limits.min_new:
        raise NothingToJudge(Status.NOT_APPLICABLE, "no minimum is asked for")
