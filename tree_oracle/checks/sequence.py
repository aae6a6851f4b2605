"""SEQUENCE: whole generations.

Law: what a greedy tree decoder emits over all of its rounds is what plain greedy decoding emits, to the same end. Every
token is judged by its regret on the *emitted* prefix (teacher forcing): after a legal near tie the texts differ for good,
and only the decoder's own prefix can tell right from wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_oracle.checks.check import Source, check
from tree_oracle.checks.drafted import DRAFTED, DRAFTERS_ASKED
from tree_oracle.checks.due import ending, room
from tree_oracle.checks.ends import PROMPT_ENDS
from tree_oracle.checks.minimums import PROMPT_MINIMUMS
from tree_oracle.checks.path_rows import Row, choosing_rows
from tree_oracle.checks.prompt_batches import PROMPT_BATCHES
from tree_oracle.checks.requests import each_request
from tree_oracle.checks.rows import near_tie, need_power, regret
from tree_oracle.checks.say import after_commit, fail, listing
from tree_oracle.checks.scenes import PROMPTS, ROUNDS
from tree_oracle.checks.stop_sequences import PROMPT_STOPS
from tree_oracle.checks.view import View, round_of, tells_rounds, text_of
from tree_oracle.checks.witness import need_witness
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Finding, counted, limit_words

_BLOCK = 64  # tokens of a text whose rows are asked for together


@check(
    "SEQUENCE-01",
    rung=3,
    needs=("prefix",),
    sources=(
        Source(Seam.SESSION, ROUNDS),
        *(
            Source(Seam.GENERATE, scene)
            for scene in (PROMPTS, PROMPT_ENDS, PROMPT_STOPS, PROMPT_MINIMUMS, PROMPT_BATCHES)
        ),
        Source(Seam.TAP, PROMPTS),
    ),
    source="lossless greedy decoding (docs/what-lossless-means.md)",
)
def equals_plain_greedy_decoding(view: View) -> Iterator[Finding]:
    """Everything emitted over all rounds is plain greedy decoding's text, and whole generations end where it ends.

    Woken by two and more rounds: a wrong cache or a stale mask shows from the next round on; and by prompts that are asked
    together, each of which has a text of its own. Without a witness that speculation ran a right text says nothing about
    speculation.
    """
    if view.case.batch:
        yield from each_request(view, equals_plain_greedy_decoding)
        return
    emitted, prompt, due = text_of(view.rounds), view.case.prefix, _due_length(view)
    judged = emitted[:due]  # what stands behind the end is wrong whatever it is
    wrong = near = False
    for place, (token, (text, row)) in enumerate(zip(judged, _rows_along(view, prompt, judged), strict=True)):
        found = regret(token, row, view, text)
        if not found.legal or found.tie:
            wrong = True
            yield _wrong(view, place, token, found.best, found.gap)
            break
        if found.near:
            near = True
            yield near_tie(found, round_of(view, place), 0)
    if not wrong:
        yield from _wrong_end(view, emitted, due)
        if near:
            need_power(view.truth)
        need_witness(view)


@check(
    "SEQUENCE-02",
    rung=3,
    needs=("prefix",),
    sources=(Source(Seam.SESSION, DRAFTED), Source(Seam.GENERATE, DRAFTERS_ASKED)),
    source="lossless greedy decoding, for any draft (docs/what-lossless-means.md)",
)
def whatever_is_drafted(view: View) -> Iterator[Finding]:
    """Whatever is drafted, everything emitted is plain greedy decoding's text.

    Woken by drafts that no ordinary drafter makes: equal siblings, certain edges, a short branch before token 0, trees of a
    root alone, end tokens at every level (``tree_oracle.decoder.drafters``). The decoder must take a ``draft`` in
    ``generate``, or trees in ``open``; equal siblings it may refuse.
    """
    yield from equals_plain_greedy_decoding(view)


def _rows_along(view: View, prompt: tuple[int, ...], judged: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Row]]:
    """The text before each token and the row that chooses it, a block at a time: all texts take the square of the length."""
    for start in range(0, len(judged), _BLOCK):
        texts = [(*prompt, *judged[:place]) for place in range(start, min(start + _BLOCK, len(judged)))]
        yield from zip(texts, choosing_rows(view, texts), strict=True)


def _wrong(view: View, place: int, token: int, best: int, gap: float) -> Finding:
    index = round_of(view, place)
    before = text_of(view.rounds)[:place]
    where = f", emitted in round {index}," if tells_rounds(view.rounds) else ""
    found = fail(
        f"token {place} of the text{where} is {token}; plain greedy decoding{_by(view)} emits {best} there",
        expected=f"token {best} after emitted tokens {listing(before[-8:])}",
        seen=f"token {token}, {gap:.3g} logits below it",
        round=index,
    )
    return after_commit(found, index)


def _by(view: View) -> str:
    """By which processors, where the case has some: a text without them is another one."""
    applied = view.case.processors.applied if view.case.processors is not None else ()
    return f" under its processors ({', '.join(applied)})" if applied else ""


def _wrong_end(view: View, emitted: tuple[int, ...], due: int) -> Iterator[Finding]:
    """Whether the text ends where the limits end it; each token of it is already known to be right. A session may only have
    run out of trees: it is too short if it says that it has ended."""
    limits = view.case.limits
    assert limits is not None
    over = not view.case.trees or any(round_.end is not None for round_ in view.rounds)
    if len(emitted) > due or (over and len(emitted) < due):
        yield fail(
            f"the text has {counted(len(emitted), 'token')}; the limits end it at {due}"
            if due
            else "nothing may be emitted",
            expected=f"{counted(due, 'token')}: {limit_words(limits)}",
            seen=f"{counted(len(emitted), 'token')}: {listing(emitted)}",
            round=round_of(view, max(due - 1, 0)),
        )


def _due_length(view: View) -> int:
    """How long this text should be: to where it ends, or to the caps; if it is shorter than both, longer."""
    limits, prompt = view.case.limits, len(view.case.prefix)
    assert limits is not None
    due = ending(text_of(view.rounds), limits, prompt)
    return room(limits, prompt) if due is None else due[0]
