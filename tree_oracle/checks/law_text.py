"""LAW, as seen from outside: whole rounds on one long-lived object, drafted and verified by the decoder itself.

Nothing of the rule need be known here. The text of several rounds is judged jointly: noise that is drawn once and used again
leaves every single round, and every single token, with the right law.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_oracle.checks.check import Source, check
from tree_oracle.checks.law_plan import Script, models_of
from tree_oracle.checks.law_scenes import NUDGED, NUDGES, REPEATS, TEXTS
from tree_oracle.checks.mode import card_of, ruling_on
from tree_oracle.checks.say import NothingToJudge, fail, listing
from tree_oracle.checks.view import View, text_of
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Finding, LawData, Round, Status, counted
from tree_oracle.verify.law import UNPROCESSED, Declaration, Evidence, Farthest, Standing, processed
from tree_oracle.verify.rules import Context, Laws

_KEPT = "Sequoia's noise; fault class LAW"


def target_of(data: LawData, mode: Declaration | None) -> Laws:
    """The law that the text must follow: the raw one, as the declared mode processes it."""
    raw = models_of(data).target
    return raw if mode is None or mode.processing == UNPROCESSED else processed(raw, mode.processing)


def sessions_of(rounds: Sequence[Round]) -> list[list[Round]]:
    """The rounds by session: each begins with an empty text."""
    found: list[list[Round]] = []
    for round_ in rounds:
        if not round_.prefix:
            found.append([])
        found[-1].append(round_)
    return found


def weighed(sessions: Sequence[Sequence[Round]], target: Laws, evidence: Evidence) -> None:
    """Add the texts to the evidence, as many tokens of each as it has rounds: every session has so many."""
    for session in sessions:
        text = text_of(session)[: len(session)]
        evidence.see_text(text, [target(text[:place]) for place in range(len(text))])


@check("LAW-04", rung=4, needs=("emitted",), sources=(Source(Seam.SAMPLED_SESSION, TEXTS),), source=_KEPT)
def texts_follow_the_target(view: View) -> Iterator[Finding]:
    """Over three rounds of one object the joint law of the first three tokens is the target's, as declared to be processed.

    An anytime-valid test: it calls a right decoder wrong once in a million runs, however often one looks; the distance
    per token that it is expected to find is in the finding. Real causes: a draft that is not what is reported, siblings sorted
    before they are verified, a bonus without the temperature, penalties that ignore the tree.
    """
    data, mode = _laws(view), view.declared_mode
    sampled = sessions_of(view.rounds)[len(data.scripts) :]
    if not sampled:
        raise NothingToJudge(Status.NOT_APPLICABLE, "no session of this case is sampled")
    evidence = Evidence()
    weighed(sampled, target_of(data, mode), evidence)
    farthest = evidence.farthest()
    assert farthest is not None
    said = f"{farthest.tokens} times after {listing(farthest.history)}: {_shares(farthest)}"
    if mode is not None and ruling_on(mode).standing is Standing.APPROXIMATE:
        raise NothingToJudge(Status.NOT_APPLICABLE, f"{mode.rule} is an approximate mode; {said}")
    if evidence.refuted:
        yield fail(
            "what is emitted over several rounds does not follow the target",
            expected=f"one in {round(1 / evidence.false_alarm):,} right decoders shows evidence of this size",
            seen=f"e = {strength(evidence.log_e)}, enough after {counted(evidence.stopped_at or 0, 'token')}; {said}",
        )


def strength(log_e: float) -> str:
    """An e-value for a person: 10 to a power, as it may be larger than any float."""
    return "infinite, from a token that has probability 0" if log_e == math.inf else f"10^{log_e / math.log(10):.1f}"


def _shares(farthest: Farthest) -> str:
    pairs = enumerate(zip(farthest.seen, farthest.due, strict=True))
    return ", ".join(f"token {token} {seen:.3f} for {due:.3f}" for token, (seen, due) in pairs)


@dataclass(slots=True)
class _Nudge:
    """Rounds that differ in one coin, and the first node that it decides."""

    rounds: list[int]
    slot: int
    entries: list[tuple[int, int] | None]  # parent and token there, per round

    @property
    def parent(self) -> int:
        """Whose child the node is: a tree without it has a child of a later node there, or nothing."""
        return min(entry[0] for entry in self.entries if entry is not None)


@check(
    "LAW-05",
    rung=4,
    needs=("emitted", "tokens", "parents"),
    sources=(Source(Seam.SAMPLED_SESSION, NUDGED),),
    source="post-draw pruning; DSpark, appendix A",
)
def nodes_exist_whatever_they_hold(view: View) -> Iterator[Finding]:
    """Whether a node is in the tree does not depend on the token that was drawn for it, unless a sibling holds it already.

    One coin is moved from 0 to 1 and no other: the first node that changes holds another token, and is there with every
    token that the draft can give. Real causes: a tree that is pruned by probability after it was drawn, a chain cut by the
    confidence in a token that was seen. A decoder whose shapes are drawn by coins of their own must show no trees here.
    """
    if view.declared_mode is not None and card_of(view.declared_mode).ignores_draft:
        raise NothingToJudge(
            Status.NOT_APPLICABLE, f"{view.declared_mode.rule} is exact on any tree, however it was chosen"
        )
    groups = _nudges(view)
    if not groups:
        raise NothingToJudge(Status.NOT_APPLICABLE, "no coin of this case changes a tree")
    for group in groups:
        missing = _refused_token(view, group)
        if missing is not None:
            there = [number for number, entry in zip(group.rounds, group.entries, strict=True) if _held(group, entry)]
            gone = next(number for number in group.rounds if number not in there)
            tokens = sorted({entry[1] for entry in group.entries if entry is not None and _held(group, entry)})
            yield fail(
                f"a child of node {group.parent} exists or not by the token that was drawn for it",
                expected=f"a node whatever is drawn, token {missing} too",
                seen=f"as one coin moves it is there with tokens {listing(tokens)} alone, and else missing",
                round=gone,
                node=group.parent,
            )
            return


def _nudges(view: View) -> list[_Nudge]:
    scripts = [script[0] for script in _laws(view).scripts if len(script) == 1]
    firsts = [number for number, round_ in enumerate(view.rounds) if not round_.prefix]
    by_rest: dict[tuple[int, Script], list[int]] = defaultdict(list)
    for number, script in zip(firsts, scripts, strict=False):
        for place in range(len(script)):
            by_rest[place, (*script[:place], *script[place + 1 :])].append(number)
    groups = [numbers for numbers in by_rest.values() if len(numbers) == NUDGES]
    return [found for numbers in groups if (found := _first_change(view, numbers)) is not None]


def _first_change(view: View, numbers: list[int]) -> _Nudge | None:
    trees = [list(zip(_shown(view, n, "parents"), _shown(view, n, "tokens"), strict=True)) for n in numbers]
    for slot in range(max(map(len, trees))):
        entries = [tree[slot] if slot < len(tree) else None for tree in trees]
        if len(set(entries)) > 1:
            return _Nudge(numbers, slot, entries)
    return None


def _shown(view: View, number: int, name: str) -> tuple[int, ...]:
    found: tuple[int, ...] = getattr(view.rounds[number], name)
    return found


def _held(group: _Nudge, entry: tuple[int, int] | None) -> bool:
    return entry is not None and entry[0] == group.parent


def _refused_token(view: View, group: _Nudge) -> int | None:
    """A token with which the node never is there, where it is missing at times and the draft gives that token often enough."""
    if all(_held(group, entry) for entry in group.entries):
        return None
    number = next(n for n, entry in zip(group.rounds, group.entries, strict=True) if _held(group, entry))
    tokens, parents = _shown(view, number, "tokens"), _shown(view, number, "parents")
    path, node = list[int](), group.parent
    while node:
        path, node = [tokens[node], *path], parents[node]
    there = {entry[1] for entry in group.entries if entry is not None and _held(group, entry)}
    there |= {tokens[v] for v in range(1, group.slot) if parents[v] == group.parent}
    draft = models_of(_laws(view)).draft(tuple(path))
    often = [token for token, share in enumerate(draft.values) if share * NUDGES >= 2]
    return next((token for token in often if token not in there), None)


@check("LAW-06", rung=4, needs=("emitted", "coins"), sources=(Source(Seam.SAMPLED_SESSION, REPEATS),), source=_KEPT)
def rounds_share_no_chance(view: View) -> Iterator[Finding]:
    """What a round emits depends on the text so far and on its own coins, not on coins of the rounds before.

    Sessions whose rounds so far had other coins, and came to the same text, get the same coins for the next. No statistics.
    Real causes: noise that is drawn once per tree object and used in every round, a generator that is set back.
    """
    scripts = _laws(view).scripts
    sessions = sessions_of(view.rounds)[: len(scripts)]
    if not any(round_.coins for round_ in view.rounds):
        raise NothingToJudge(Status.NOT_OBSERVABLE, "no coin is taken: the decoder has chance of its own")
    met: dict[tuple[Context, int, Script], tuple[int, tuple[Script, ...], Context]] = {}
    judged, number = False, 0
    for session, script in zip(sessions, scripts, strict=False):
        for place, round_ in enumerate(session):
            number += 1
            if place == 0 or place >= len(script) or round_.prefix is None:
                continue
            key, here = (round_.prefix, place, script[place]), (number - 1, script[:place], round_.emitted)
            before = met.setdefault(key, here)
            judged |= before[1] != here[1]
            if before[2] != here[2]:
                yield fail(
                    f"round {place} of a session depends on coins of the rounds before",
                    expected=f"tokens {listing(before[2])} after {listing(round_.prefix)}, as in round {before[0]}",
                    seen=f"tokens {listing(here[2])} with the same coins",
                    round=here[0],
                )
                return
    if not judged:
        raise NothingToJudge(Status.NOT_APPLICABLE, "no two sessions came to the same text")


def _laws(view: View) -> LawData:
    assert view.case.law is not None
    return view.case.law
