"""WITNESS: whether speculation ran in the very requests that are judged.

Convention: a round is a verify round if one pass of the target scores a node below its root. A decoder may switch speculation
off (for a setting, a batch size, a request for rows), fall back to plain decoding, or count what it never ran, and its text is
right all the same. So where nothing shows a draft every check of speculation is *not observable*, and that is no failure; what
can fail here is a claim that what was seen contradicts.

A pass that is made where nobody looks (a replayed graph, a copy of the model, a second process) shows no call. Where no call at
all is seen nothing is said; where some rounds show theirs and others do not, what the others emit is not accounted for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tree_oracle.checks.check import Source, check
from tree_oracle.checks.passes import Passes, passes_of
from tree_oracle.checks.prompt_batches import PROMPT_BATCHES
from tree_oracle.checks.requests import each_request
from tree_oracle.checks.say import NothingToJudge, fail, listing
from tree_oracle.checks.scenes import PROMPTS, ROUNDS
from tree_oracle.checks.view import View, branch, text_of
from tree_oracle.checks.witness import COUNTERS, has_counters, need_witness
from tree_oracle.checks.work import holds_draft
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Call, Finding, Level, Round, Status, counted

_SOURCE = "without a witness nothing is said of speculation (docs/plug-in-your-decoder.md)"
_COUNTED = (Source(Seam.SESSION, ROUNDS), Source(Seam.TAP, PROMPTS))
_SHOWN = (Source(Seam.SESSION, ROUNDS), Source(Seam.GENERATE, PROMPTS), Source(Seam.TAP, PROMPTS))
_CLAIMED = (*_SHOWN, Source(Seam.GENERATE, PROMPT_BATCHES))
_CANDIDATES = 2  # below the root, from which on no pass over one token scores them all


@check("WITNESS-01", rung=3, level=Level.SHOULD, needs=("emitted",), sources=_SHOWN, source=_SOURCE)
def speculation_runs(view: View) -> Iterator[Finding]:
    """Speculation runs in the requests that are judged.

    Shown by rounds with a draft, by counters, by steps that emit several tokens, or by calls of the target that score a draft.
    Where trees are handed over and every call of the target that was seen holds one token, or is one that plain decoding makes,
    it does not. Where the decoder generates and the target was seen to decide every token by a pass over the text before it
    alone, none of these is a witness, unless a second decoder puts a wrong row right that is slipped into such a pass; nor are
    they where wrong rows in the passes that score a draft change nothing, and wrong rows in those over the text alone do. Steps
    are none where no pass that scores a draft was seen, or where the tap reads that none decides. A decoder that had nothing to
    verify, or that shows nothing but its text, is not observable; whoever shows no witness at all ends with exit code 4. It is
    a *should*: a decoder may be right not to speculate, but then nothing is said of how it does.
    """
    calls = [(call, round_) for round_ in view.rounds for call in round_.calls or ()]
    candidates = max((len(tree.tokens) - 1 for tree in view.case.trees[: len(view.rounds)]), default=0)
    if calls and candidates >= _CANDIDATES:
        alone = not any(holds_draft(call, round_) for call, round_ in calls)
        if alone or _is_plain([call for call, _ in calls], view):
            what = "scores more than one token" if alone else "scores a token that is not decided yet"
            each = "over one token" if alone else "over the text as far as it is decided"
            yield fail(
                f"trees of up to {candidates} candidates were handed over, and no pass of the target {what}",
                expected="a pass over the root and the candidates",
                seen=f"{counted(len(calls), 'call')} in {counted(len(view.rounds), 'round')}, each {each}",
            )
            return
    need_witness(view)


def _is_plain(calls: Sequence[Call], view: View) -> bool:
    """Whether plain decoding alone makes these calls. One request's: those of several are not told apart."""
    prompt = view.rounds[0].prefix
    return prompt is not None and passes_of(calls, [(prompt, text_of(view.rounds))]) is Passes.PLAIN


@check("WITNESS-02", rung=3, level=Level.SHOULD, needs=("prefix", "calls"), sources=_COUNTED, source=_SOURCE)
def every_token_is_accounted_for(view: View) -> Iterator[Finding]:
    """Every emitted token follows a pass of the target that was seen.

    A token is chosen by the row of the one before it, so the root and all emitted tokens but the last must have been run. A
    first round may start from the prompt's own pass. Of whole texts the tap finds that out itself; a text that its calls do not
    account for is *not observable*, with the first token that they leave out.
    """
    if not any(round_.calls for round_ in view.rounds):
        raise NothingToJudge(Status.NOT_OBSERVABLE, "no call of the target was seen in any round")
    before: Counter[int] = Counter()
    for index, round_ in enumerate(view.rounds):
        run = _run(round_)
        left = _due(round_, first=index == 0) - run - before
        if left and all(call.tokens for call in round_.calls or ()):
            emitted = counted(len(round_.emitted), "token")
            yield fail(
                f"a round emits {emitted}, {sum(left.values())} of them after tokens that no pass was seen to run",
                expected=f"passes over {listing(((round_.prefix or ())[-1], *round_.emitted[:-1]))}",
                seen=f"{counted(len(round_.calls or ()), 'call')} over {listing(run.elements())}",
                round=index,
            )
            return
        before = run


def _run(round_: Round) -> Counter[int]:
    return Counter(token for call in round_.calls or () for token in call.tokens)


def _due(round_: Round, *, first: bool) -> Counter[int]:
    """The tokens whose rows choose what is emitted."""
    accepted = round_.emitted[:-1]
    return Counter(accepted if first or not round_.emitted else ((round_.prefix or ())[-1], *accepted))


@check("WITNESS-03", rung=3, needs=("emitted",), sources=_CLAIMED, source=_SOURCE)
def counters_claim_what_was_run(view: View) -> Iterator[Finding]:
    """Counters claim no more rounds, drafted and accepted tokens than were run.

    Each round that states some is held against itself. A round counts if it verifies a node, a node counts once, and of a round
    that a limit cuts all that the tree could hold may be counted as accepted. Drafted are the candidates that a pass verified,
    not the pool that they were packed from. Counters that one round alone states may be those of the whole text. Under the tap
    the claims are the decoder's counters, or what its own rounds show if it states none. Woken by rounds of unequal trees, and
    by prompts that are asked together, each of which has counters of its own.
    """
    if view.case.batch:
        yield from each_request(view, counters_claim_what_was_run)
        return
    stating = [place for place, round_ in enumerate(view.rounds) if has_counters(round_.work)]
    if not stating:
        raise NothingToJudge(Status.NOT_OBSERVABLE, "no counter of rounds, drafted or accepted tokens is stated")
    if any(round_.parents is None for round_ in view.rounds):
        raise NothingToJudge(Status.NOT_OBSERVABLE, "rounds do not show the trees that the counters count")
    ran = [_ran(round_, last=round_ is view.rounds[-1]) for round_ in view.rounds]
    for place in stating:
        most = ran[place] if len(stating) > 1 else tuple(map(sum, zip(*ran, strict=True)))
        found = _beyond(
            view.rounds[place], most, place, what="the round holds" if len(stating) > 1 else "the rounds hold"
        )
        if found is not None:
            yield found
            return


_WORDS = {"rounds": "verify rounds", "drafted": "drafted tokens", "accepted": "accepted tokens"}


def _ran(round_: Round, *, last: bool) -> tuple[int, ...]:
    """Rounds, drafted and accepted tokens, at most, of a round that shows its tree."""
    nodes = len(round_.parents or ()) - 1
    return min(nodes, 1), nodes, _most_accepted(round_, last=last)


def _most_accepted(round_: Round, *, last: bool) -> int:
    parents = round_.parents or ()
    deepest = max(len(branch(parents, node)) for node in range(len(parents))) - 1
    if last or round_.end is not None:
        return deepest
    return min(deepest, len(round_.emitted)) if round_.accepted is None else len(round_.accepted)


def _beyond(round_: Round, ran: Sequence[int], place: int, *, what: str) -> Finding | None:
    """The first counter of a round that claims more than ``ran``."""
    for name, most in zip(COUNTERS, ran, strict=True):
        claims = getattr(round_.work, name) or 0
        if claims > most:
            expected = f"at most {most}, by what {what}"
            if name == "drafted":
                expected += _apart_from_the_pool(round_, claims)
            sentence = f"{claims} {_WORDS[name]} are claimed, and at most {most} can have been"
            return fail(sentence, expected=expected, seen=claims, round=place)
    return None


def _apart_from_the_pool(round_: Round, claims: int) -> str:
    """What a counter of drafted tokens counts, which some take for all that the drafter made."""
    pooled = len(round_.pool.tokens) - 1 if round_.pool is not None else None
    told = f"; {claims} is the pool that the tree was packed from" if claims == pooled else ""
    return f": the candidates that a pass verified, not all that were made{told}"
