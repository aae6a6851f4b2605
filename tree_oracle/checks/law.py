"""LAW: what a decoder decides by chance on trees that are handed over, and what it says of itself.

Law: what a round emits follows the target's law, whatever was drafted. It depends on three things together, how siblings were
proposed, which rule verifies them and which law is verified, so a decoder declares all three (``declared_mode``). The rule
is known then, and so is every edge at which a coin tips a decision: with coins on either side of each, one sees whether the
decoder follows the rule, without any statistics.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from tree_oracle.checks.check import Source, check
from tree_oracle.checks.law_plan import MARGIN, UNIT, Script, Way, models_of, path_tokens, plan, weight_of
from tree_oracle.checks.law_scenes import REPEATS, WAYS
from tree_oracle.checks.mode import card_of, ruling_on
from tree_oracle.checks.say import NothingToJudge, fail, listing, unsure
from tree_oracle.checks.view import View
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Finding, LawData, Round, Status, TreeData
from tree_oracle.verify.law import ROUNDED, Declaration, Standing
from tree_oracle.verify.probabilities import Number
from tree_oracle.verify.rules import Context

_NEEDS = ("tokens", "parents", "accepted", "bonus")
_SOURCES = (Source(Seam.ACCEPT_SAMPLED, WAYS),)
_RULES = "the published rule of the declared mode (docs/what-lossless-means.md); fault class LAW"


@check("LAW-01", rung=4, needs=_NEEDS, sources=_SOURCES, source=_RULES)
def decides_as_the_declared_rule(view: View) -> Iterator[Finding]:
    """With the same coins the accepted path and the bonus are those of the declared rule, on either side of every edge.

    Coins are 0, just below an edge, just above one, and the largest below 1. Real causes: siblings that are not taken out of
    the residual, a coin used for two tests, a repeated sibling passed over, the most probable token taken at any temperature.
    """
    judged = False
    for index, way, script in _asked(view):
        judged, round_ = True, view.rounds[index]
        if (round_.accepted, round_.bonus) != (way.accepted, way.bonus):
            assert round_.accepted is not None and round_.tokens is not None
            last = round_.accepted[-1] if round_.accepted else 0
            yield fail(
                f"on siblings {listing(round_.tokens[1:])} the declared rule, {_mode(view).rule}, decides otherwise",
                expected=f"accepted {listing(way.accepted)}, then token {way.bonus}",
                seen=f"accepted {listing(round_.accepted)}, then token {round_.bonus}, {_spoken(script, round_)}",
                round=index,
                node=last,
            )
            return
    if not judged:
        raise NothingToJudge(Status.NOT_APPLICABLE, f"{_mode(view).rule} says nothing of such trees")


def _spoken(script: Script, round_: Round) -> str:
    coins = ", ".join(f"{coin / UNIT:.7g}" for coin in script)
    taken = len(round_.coins or ())
    return f"with coins {coins}" + (f", of which {taken} were taken" if taken != len(script) else "")


@check("LAW-02", rung=4, needs=_NEEDS, sources=_SOURCES, source=_RULES)
def emits_the_target(view: View) -> Iterator[Finding]:
    """Over all coins and all trees that the declared proposal drafts, what is emitted follows the target exactly.

    Each way of chance counts with the exact probability of its coins, and of its tree; what was seen at all ends of its cells
    is taken to hold inside. No rule is believed: a rule that is right on its own and not for these proposals fails. Real
    causes: the most probable tokens verified as if drawn, siblings without replacement verified as independent ones.
    """
    mode, data = _mode(view), _laws(view)
    trees = view.case.trees
    if sum(weight_of(mode, data, tree) for tree in trees) != 1:
        raise NothingToJudge(Status.NOT_APPLICABLE, "these are not all trees that the declared proposal drafts")
    texts, unsettled = _emitted(view, mode, data)
    if not texts:
        raise NothingToJudge(Status.NOT_APPLICABLE, f"{mode.rule} says nothing of such trees")
    tokens = 1 + max(len(path_tokens(tree, node)) for tree in trees[:1] for node in range(len(tree.tokens)))
    excess = _excess(texts, data, tokens)
    distance = sum(excess.values())
    if card_of(mode).approximate:
        raise NothingToJudge(
            Status.NOT_APPLICABLE, f"{mode.rule} is an approximate mode; total variation {_number(distance)} here"
        )
    if distance > (ROUNDED if isinstance(distance, float) else 0):
        worst = max(excess, key=lambda text: excess[text])
        yield fail(
            f"what {mode.rule} emits on {mode.proposal} siblings is not the target's law",
            expected="total variation 0",
            seen=f"total variation {_number(distance)} at least; text {listing(worst)} too likely by {_number(excess[worst])}",
        )
    elif unsettled > MARGIN:
        yield unsure(
            "some coins count for nothing: decisions differ at the ends of their cell, or no script fits into it",
            expected=f"all but {float(MARGIN):.1g}, what the margins at an edge leave open anyway",
            seen=f"coins of probability {_number(unsettled)}",
        )


def _emitted(view: View, mode: Declaration, data: LawData) -> tuple[dict[Context, Number], Number]:
    """Probability by emitted text, as far as it was seen, and the rest."""
    seen: dict[tuple[TreeData, Way], set[Context]] = defaultdict(set)
    by_index = {index: way for index, way, _ in _asked(view)}
    for index, way in by_index.items():
        round_ = view.rounds[index]
        assert round_.tokens is not None and round_.parents is not None
        seen[TreeData(round_.tokens, round_.parents), way].add(round_.emitted)
    texts: dict[Context, Number] = defaultdict(Fraction)
    for (tree, way), emitted in seen.items():
        if len(emitted) == 1:
            texts[next(iter(emitted))] += way.mass * weight_of(mode, data, tree)
    return dict(texts), 1 - sum(texts.values())


def _excess(texts: dict[Context, Number], data: LawData, tokens: int) -> dict[Context, Number]:
    """By text of that many tokens how much too likely it is; shorter ones are continued by the target."""
    target, whole, due = models_of(data).target, dict(texts), dict[Context, Number]({(): Fraction(1)})
    for length in range(tokens):
        for text in [text for text in whole if len(text) == length]:
            share = whole.pop(text)
            for token, probability in enumerate(target(text).values):
                whole[*text, token] = whole.get((*text, token), 0) + share * probability
        due = {(*text, token): p * q for text, p in due.items() for token, q in enumerate(target(text).values)}
    return {text: share - due[text] for text, share in whole.items() if share > due[text]}


@check(
    "LAW-03",
    rung=4,
    needs=("emitted",),
    sources=(*_SOURCES, Source(Seam.SAMPLED_SESSION, REPEATS)),
    source="the declared-mode contract (docs/what-lossless-means.md)",
)
def declares_what_is_proven(view: View) -> Iterator[Finding]:
    """The declared rule is proven to be exact for the declared proposal, processing and number of siblings.

    Exactness is never inferred from how much is accepted. A mode outside the table fails with the reason and the smallest pair
    of laws on which its text does not follow the target; an approximate mode is said to be one and never passes.
    """
    ruling = ruling_on(_mode(view))
    if ruling.standing is Standing.PROVEN:
        return
    if ruling.standing is Standing.APPROXIMATE:
        raise NothingToJudge(Status.NOT_APPLICABLE, f"{ruling.reasons[0]}; {ruling.evidence}")
    say, verdict = (fail, "exact") if ruling.refuted else (unsure, "proven")
    yield say(
        f"the declared mode is not {verdict}: {'; '.join(ruling.reasons)}",
        expected="a mode of the proven table",
        seen=f"{ruling.mode}; {ruling.evidence}",
    )


def _asked(view: View) -> Iterator[tuple[int, Way, Script]]:
    """Every round by number, with the way of chance that it was asked for and its coins."""
    mode, data, index = _mode(view), _laws(view), 0
    for tree in view.case.trees:
        for way in plan(mode, data, tree):
            for script in way.scripts:
                yield index, way, script
                index += 1


def _mode(view: View) -> Declaration:
    if view.declared_mode is None:
        raise NothingToJudge(Status.NOT_OBSERVABLE, "the decoder declares no mode (declared_mode)")
    return view.declared_mode


def _laws(view: View) -> LawData:
    assert view.case.law is not None
    return view.case.law


def _number(value: Number) -> str:
    return str(value) if isinstance(value, Fraction) else f"{value:.3g}"
