"""GREEDY: one round of verification at temperature zero.

Law (Proposition 2 of TreeSpark): for any prefix-closed tree, accepted tokens and bonus are the next tokens of plain greedy
decoding. The tree decides how many tokens a round emits, never which. The judge below does not walk a tree: it decodes
greedily over a table of histories and asks whether the emitted tokens are what comes out.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tree_oracle.checks.check import Source, check
from tree_oracle.checks.rows import Regret, near_tie, need_power, regret
from tree_oracle.checks.say import NothingToJudge, fail, listing
from tree_oracle.checks.scenes import MARKED, PROMPTS, ROUNDS, TIES
from tree_oracle.checks.view import View, history, shown, true_rows
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Finding, Round, Status, counted

_PROPOSITION = "TreeSpark, Proposition 2"
_SOURCES = (
    Source(Seam.ACCEPT, MARKED),
    Source(Seam.SESSION, ROUNDS),
    Source(Seam.TAP, PROMPTS),
    Source(Seam.GENERATE, PROMPTS),
)


def _followed(round_: Round) -> list[int]:
    """Nodes whose rows choose the emitted tokens in turn: the root, then the accepted nodes."""
    return [0, *(round_.accepted or ())]


def _broken_path(round_: Round) -> tuple[int, int] | None:
    """The first accepted node that is not a child of the one accepted before it, with that one."""
    _, _, parents = shown(round_)
    followed = _followed(round_)
    steps = zip(followed, followed[1:], strict=False)
    return next(((above, below) for above, below in steps if parents[below] != above), None)


def _regrets(view: View, round_: Round) -> list[Regret]:
    rows = true_rows(view, round_)
    pairs = zip(round_.emitted, _followed(round_), strict=False)
    return [regret(token, rows[node], view, history(round_, node)) for token, node in pairs]


@check("GREEDY-01", rung=3, needs=("tokens", "parents", "accepted"), sources=_SOURCES, source=_PROPOSITION)
def emits_what_greedy_decoding_emits(view: View) -> Iterator[Finding]:
    """The accepted path is a branch from the root, and its tokens and the bonus are plain greedy decoding's next tokens.

    Bit-equal maxima are all allowed here (GREEDY-03 judges the tie rule). Real causes of failure: membership in the top k
    instead of the argmax, the best *available* child taken where the argmax has no node, a walk over another tree.
    """
    near = False
    for index, round_ in enumerate(view.rounds):
        broken = _broken_path(round_)
        if broken is not None:
            above, below = broken
            yield fail(
                f"accepted node {below} is not a child of node {above}, accepted before it",
                expected=f"a child of node {above}",
                seen=f"accepted {listing(round_.accepted or ())}; the parent of node {below} is {shown(round_)[2][below]}",
                round=index,
                node=below,
            )
            return
        found = list(_wrong_tokens(view, round_, index))
        near |= any(finding.status is Status.PASSED for finding in found)
        yield from found
    if near:
        need_power(view.truth)


def _wrong_tokens(view: View, round_: Round, index: int) -> Iterator[Finding]:
    followed = _followed(round_)
    if len(round_.emitted) > len(followed):
        yield fail(
            f"the round emits {counted(len(round_.emitted), 'token')} for {counted(len(followed) - 1, 'accepted node')}",
            expected=f"at most {len(followed)}: the accepted tokens and one bonus",
            seen=f"emitted {listing(round_.emitted)}",
            round=index,
        )
        return
    for place, (found, node) in enumerate(zip(_regrets(view, round_), followed, strict=False)):
        if not found.legal:
            role = "the bonus" if place == len(followed) - 1 else f"accepted node {followed[place + 1]}"
            yield fail(
                f"{role} is token {found.token}, not the target's choice after node {node}",
                expected=f"token {found.best}",
                seen=f"token {found.token}, {found.gap:.3g} logits below it",
                round=index,
                node=node,
            )
            return
        if found.near:
            yield near_tie(found, index, node)


@check("GREEDY-02", rung=3, needs=("tokens", "parents", "accepted", "bonus"), sources=_SOURCES, source=_PROPOSITION)
def goes_on_while_it_can(view: View) -> Iterator[Finding]:
    """The walk ends only at a node that has no child with the chosen token.

    A walk that stops early emits right tokens and only costs speed, so no comparison of text can see it. Real causes: only
    the first child is looked at, a child is judged with another row, the deepest level is cut off.
    """
    judged = 0
    for index, round_ in enumerate(view.rounds):
        if round_.end is not None:
            continue  # a limit may have cut the walk
        judged += 1
        _, tokens, parents = shown(round_)
        last = _followed(round_)[-1]
        missed = [v for v in range(len(tokens)) if parents[v] == last and tokens[v] == round_.bonus]
        if missed:
            yield fail(
                f"the walk stopped at node {last} although its child {missed[0]} holds the token that it emitted next",
                expected=f"node {missed[0]} accepted",
                seen=f"accepted {listing(round_.accepted or ())}, then token {round_.bonus} as the bonus",
                round=index,
                node=missed[0],
            )
            return
    if not judged:
        raise NothingToJudge(Status.NOT_APPLICABLE, "every round was cut off by a limit")


@check(
    "GREEDY-03",
    rung=3,
    needs=("tokens", "parents", "accepted"),
    sources=(Source(Seam.ACCEPT, TIES), Source(Seam.SESSION, ROUNDS)),
    source=_PROPOSITION,
)
def ties_are_broken_by_the_rule(view: View) -> Iterator[Finding]:
    """Among bit-equal maxima the choice follows one rule: the declared one, otherwise the smallest token id.

    Judged on made-up rows full of exact ties, where nothing rounds, and on targets with planted ties. Two decoders that break
    ties differently part ways for good at the first tie; so does one decoder that mixes rules.
    """
    tied = False
    for index, round_ in enumerate(view.rounds):
        rows = true_rows(view, round_)
        followed = _followed(round_)
        for found, node in zip(_regrets(view, round_), followed, strict=False):
            tied |= _equals(rows[node]) > 1
            if found.tie:
                yield fail(
                    f"of the tokens that tie after node {node}, {found.token} was taken",
                    expected=f"token {found.best}, the {view.tie_rule} among {_equals(rows[node])} equals",
                    seen=f"token {found.token}",
                    round=index,
                    node=node,
                )
                return
    if not tied:
        raise NothingToJudge(Status.NOT_APPLICABLE, "no row that the walk came to has a tie")


def _equals(row: np.ndarray) -> int:
    """How many entries of the row are its maximum."""
    return int(np.sum(row == row.max()))
