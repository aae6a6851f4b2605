"""Evidence that speculation ran: the witness.

A text can be right because no draft was ever verified. A round *claims* a draft if it shows its tree or its accepted nodes, or
if the decoder's counters are stated with it. A round that emits several tokens at once beside other rounds of its request
suggests one; one lump of tokens does not. Where a decoder generates by a target whose calls can be watched (``passes``), the
calls of the very run that is judged have the last word:

    a pass that may score a draft was seen         a claim is believed, and so are steps of several tokens
    the same, and yet plain decoding decides       neither is a witness; a claim fails WITNESS-03 where the tap can follow it
    the same, and nothing heeds what it answers    a claim is the decoder's own word, and believed; steps alone are no witness
    the same beside plain decoding of every token  as in the line before, where no second decoder can be led astray
    plain decoding was seen to make every token    neither is a witness; where the tap can follow it, a claim fails WITNESS-03
    the same, and a wrong draft was put right      a claim is believed, and so are steps of several tokens
    no such pass, and not every token, was seen    a claim is the decoder's own word, and believed; steps alone are no witness
    nobody could watch (a trace, a server)         a claim is believed, and so are steps of several tokens

A claim that plain decoding contradicts is *not observable* and not failed where no cache is kept: a drafter that is the target
itself makes just these calls, and where no second decoder can be had to be led astray that is what is said. In the line before
the last passes are replayed by a captured graph or made by a copy of the model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from tree_oracle.checks.displaced import accepted_in, displaces, followed
from tree_oracle.checks.passes import Passes
from tree_oracle.checks.say import NothingToJudge
from tree_oracle.checks.view import View, branches, by_request
from tree_oracle.metrics import Coverage, MetricError, count_round, coverage, position_rates, why_ended
from tree_oracle.record import Case, Ended, HandedOn, Round, Status, Witness, Work, count_endings

COUNTERS = ("rounds", "drafted", "accepted")
NO_WITNESS = "no witness that speculation ran: no round shows a draft"
_DECIDED = (
    "no witness that speculation ran: the target was seen to decide every token by a pass over the text before it alone"
)
_PLAIN = f"{_DECIDED}, as in plain decoding, or where it drafts for itself without a cache"
_ALIKE = (
    f"{_DECIDED}; a drafter that is the target itself, without a cache, makes the same calls, and nothing tells it from plain "
    "decoding here: hand over a factory target -> decoder and show rounds, draft with another model, or keep a cache"
)
_STRAYS = f"{_DECIDED}, and a wrong row that is slipped into such a pass changes the text"
_LED = f"{_STRAYS}: nothing verifies what it decides"
_BESIDE = f"{_DECIDED}; passes that score a draft were seen beside these, and decide nothing"
_IGNORED = (
    f"{_STRAYS}; passes that score a draft were seen beside these, and wrong rows slipped into them change nothing"
)
_STEPS = "no witness that speculation ran: rounds of several tokens show no draft (tokens and parents, accepted, or work would)"
_UNSEEN = f"{_STEPS}, and no pass of the target that scores one was seen"
_UNHEEDED = f"{_STEPS}, and the text is the same whatever the passes answer that score one"
_TWICE = (
    f"{_STEPS}, and beside passes that score one the target was seen to run the text before every token alone: nothing tells "
    "which of them decide; hand over a factory target -> decoder"
)
_NONE = {Passes.LED: _LED, Passes.BESIDE: _BESIDE, Passes.IGNORED: _IGNORED}
_UNCLAIMED = {Passes.UNSEEN: _UNSEEN, Passes.UNHEEDED: _UNHEEDED, Passes.TWICE: _TWICE}  # unless rounds claim a draft


def witness_of(rounds: Sequence[Round]) -> Witness:
    """Rounds, drafted and accepted tokens, as far as the rounds show them."""
    told = list(_told(rounds))
    verify = [round_ for round_, _ in told]
    rates = position_rates([[round_ for round_ in verify if _can_be_counted(round_)]])
    covered, built_on = (
        _coverage(list(by_request(rounds))),
        [round_ for round_ in followed(rounds) if accepted_in(round_)],
    )
    return Witness(
        rounds=sum(counts.rounds or 0 for _, counts in told),
        drafted=sum(counts.drafted or 0 for _, counts in told),
        accepted=sum(counts.accepted or 0 for _, counts in told),
        emitted=sum(len(r.emitted) for r in verify),
        reached=tuple(accepting for accepting, _ in rates),
        proposed=tuple(proposing for _, proposing in rates),
        known=tuple(depth.known for depth in covered),
        pooled=tuple(depth.pool for depth in covered),
        packed=tuple(depth.packed for depth in covered),
        ended=count_endings(_endings(verify)),
        handed_on=HandedOn(sum(map(branches, verify)), len(built_on), sum(map(displaces, built_on))),
    )


def speculated(case: Case, rounds: Sequence[Round]) -> bool:
    """Whether the rounds show that a draft was verified. Where the draft is the driver's own it is no evidence itself."""
    if case.trees:
        return any(round_.accepted is not None or len(round_.emitted) > 1 for round_ in rounds)
    return _suggest(rounds)


def contradiction(rounds: Sequence[Round], passes: Passes | None) -> str:
    """Why rounds that look like speculation are no witness of it, by what the target was seen to run; empty if they are one.

    ``passes``: None where nobody could watch.
    """
    if passes is Passes.PLAIN:
        return _ALIKE if _suggest(rounds) else _PLAIN
    if passes is not None and passes in _NONE:
        return _NONE[passes]
    return _UNCLAIMED[passes] if passes in _UNCLAIMED and not any(map(_claims, rounds)) else ""


def is_own_word(case: Case, rounds: Sequence[Round], passes: Passes | None) -> bool:
    """Whether nothing but the decoder's claims shows that a draft was verified, though its target could be watched."""
    return passes in _UNCLAIMED and any(map(_claims, rounds)) and speculated(case, rounds)


def need_witness(view: View) -> None:
    """Return if a draft was verified in these rounds.

    Raises:
        NothingToJudge: nothing shows that there was one.
    """
    if not speculated(view.case, view.rounds):
        raise NothingToJudge(Status.NOT_OBSERVABLE, NO_WITNESS)


def has_counters(work: Work | None) -> bool:
    """Whether the decoder's own counters of rounds, drafted or accepted tokens are stated."""
    return work is not None and any(getattr(work, name) is not None for name in COUNTERS)


def claims_of(rounds: Sequence[Round]) -> Work | None:
    """What a decoder claims to have run over rounds of its own: its counters, else what they show; None if that is no draft.

    A round that emits nothing claims nothing: behind the end of a text nobody looks for a pass.
    """
    stated = [round_.work for round_ in rounds if round_.work is not None and has_counters(round_.work)]
    shown = [counts for round_, counts in _told(rounds) if round_.tokens is not None and round_.emitted]
    told = stated or [replace(counts, rounds=int(bool(counts.drafted))) for counts in shown]
    ran, drafted, accepted = (sum(getattr(work, name) or 0 for work in told) for name in COUNTERS)
    return Work(rounds=ran, drafted=drafted, accepted=accepted) if ran or drafted or accepted else None


def _suggest(rounds: Sequence[Round]) -> bool:
    """Whether they look as if a draft was verified."""
    return any(counts.drafted or counts.accepted for _, counts in _told(rounds))


def _claims(round_: Round) -> bool:
    """Whether it shows a tree or accepted nodes, or states counters: more than that it emitted several tokens."""
    return round_.tokens is not None or round_.accepted is not None or has_counters(round_.work)


def _told(rounds: Sequence[Round]) -> Iterator[tuple[Round, Work]]:
    """The rounds that are evidence, and what each says of speculation: shown ones as they are, others by their counters."""
    count = Counter(round_.request for round_ in rounds)
    for round_ in rounds:
        beyond = max(len(round_.emitted) - 1, 0)
        drafted = beyond if round_.tokens is None else max(len(round_.tokens) - 1, 0)
        accepted = beyond if round_.accepted is None else len(round_.accepted)
        if round_.tokens is not None or round_.accepted is not None:
            yield round_, Work(rounds=1, drafted=drafted, accepted=accepted)
        elif round_.work is not None and has_counters(round_.work):
            yield round_, round_.work
        elif count[round_.request] > 1 and beyond:
            yield round_, Work(rounds=1, drafted=drafted, accepted=accepted)


def _coverage(requests: Sequence[Sequence[Round]]) -> tuple[Coverage, ...]:
    try:
        return coverage(requests)
    except MetricError:
        return ()


def _endings(rounds: Sequence[Round]) -> Iterator[Ended]:
    """Why each round ended, as far as that can be told; a wrong decoder may show a path that ends for no reason."""
    for round_ in rounds:
        try:
            yield Ended(why_ended(round_).value, 1)
        except MetricError:
            continue


def _can_be_counted(round_: Round) -> bool:
    """A wrong decoder may show a path that is none, which other checks report."""
    try:
        count_round(round_)
    except MetricError:
        return False
    return True
