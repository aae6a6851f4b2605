"""What the target was seen to run while texts came about: whether a pass scored a draft, or plain decoding made every token.

Plain decoding decides token number t by a pass over the t tokens before it and no others. So a call is one of its own if it
goes on from the text as far as that is decided and is

    a part of the prompt                     past + tokens <= prompt
    one token over the rows of those before  tokens = 1
    the whole text again, without a cache    past = 0

A call over several tokens that is none of these scores a draft, for all that can be told; one over a single token scores none.
One that begins another text, over no cached rows, has nothing to do with it (a model that is warmed up): it counts only where
the calls of plain decoding do not account for every token. What runs behind the end of a text is not looked at, and a text of
no tokens needs no pass.

A drafter that is the target itself, without a cache, makes the calls of plain decoding, and its drafts are never refused: by
their calls nobody can tell the two apart. Nor can anybody tell by its calls whether the answer of a pass that scores a draft is
used, where passes over the text alone account for every token as well. Where a second decoder can be had it is led astray
(``tree_oracle.run.astray``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tree_oracle.checks.view import by_request, text_of
from tree_oracle.record import Call, Case, Round

Text = tuple[tuple[int, ...], tuple[int, ...]]  # a prompt, and what was emitted after it


class Passes(StrEnum):
    """What the calls of the target that were seen show."""

    DRAFT = "a pass scores a draft, for all that can be told"
    TWICE = "a pass scores a draft, and passes over the text before it alone account for every token as well"
    PLAIN = "every token is decided by a pass over the text before it, and no pass scores a draft"
    UNSEEN = "no pass that scores a draft is seen, and not every token is accounted for"
    BESIDE = "a pass scores a draft, and every token is decided by a pass over the text before it all the same"
    LED = "every token is decided by a pass over the text before it, and changes with it"
    IGNORED = "as with TWICE; the text changes with these passes, and not with those that score a draft"
    UNHEEDED = "a pass scores a draft, and whatever it answers the text and what is claimed of it are the same"


@dataclass(slots=True)
class _Request:
    """One text, and how far its passes have decided it."""

    prompt: int
    text: tuple[int, ...]
    decided: int

    @property
    def is_done(self) -> bool:
        return self.decided == len(self.text)

    def takes(self, call: Call) -> bool:
        """Whether plain decoding of this text makes such a call; it is done then."""
        end, count = call.past + len(call.tokens), len(call.tokens)
        if call.tokens != self.text[call.past : end]:
            return self._lies_behind(call)
        if end > self.decided or not (count == 1 or end <= self.prompt or call.past == 0):
            return False
        self.decided += int(end == self.decided < len(self.text))
        return True

    def is_of_another(self, call: Call) -> bool:
        """Whether a call begins another text."""
        return call.past == 0 and bool(call.tokens) and call.tokens[:1] != self.text[:1]

    def _lies_behind(self, call: Call) -> bool:
        """The whole text again and more, by a decoder that does not stop at once."""
        return self.is_done and call.past == 0 and call.tokens[: len(self.text)] == self.text


def texts_of(case: Case, rounds: Sequence[Round]) -> list[Text]:
    """The text of each request that was generated for a case."""
    prompts = [request.prompt for request in case.batch] or [case.prefix]
    return [(prompts[own[0].request], text_of(own)) for own in by_request(rounds)]


class Plainly:
    """Plain decoding of some texts, followed call by call."""

    def __init__(self, texts: Sequence[Text]) -> None:
        self._requests = [_Request(len(prompt), (*prompt, *emitted), len(prompt)) for prompt, emitted in texts]

    @property
    def is_done(self) -> bool:
        """Whether every token is accounted for."""
        return all(request.is_done for request in self._requests)

    def makes(self, call: Call) -> bool:
        """Whether it makes such a call, which is done then; one over a single token scores no draft whatever it runs."""
        taken = [
            request.takes(call) for request in self._requests if call.tokens
        ]  # no tokens: nobody can tell what it runs
        return any(taken) or len(call.tokens) == 1

    def is_of_another(self, call: Call) -> bool:
        """Whether a call begins a text that is none of these."""
        return all(request.is_of_another(call) for request in self._requests)

    def scores_a_draft(self, call: Call) -> bool:
        """Whether a call scores a draft of these texts, for all that can be told; one that plain decoding makes is done."""
        return not self.makes(call) and not self.is_of_another(call)


def passes_of(calls: Sequence[Call], texts: Sequence[Text]) -> Passes:
    """What these calls, in order, show of texts."""
    plainly, drafts, strangers = Plainly(texts), False, False
    for call in calls:
        if not plainly.makes(call):
            stranger = plainly.is_of_another(call)
            drafts, strangers = drafts or not stranger, strangers or stranger
    if drafts:
        return Passes.TWICE if plainly.is_done else Passes.DRAFT
    if plainly.is_done:
        return Passes.PLAIN
    return Passes.DRAFT if strangers else Passes.UNSEEN
