"""GATHER: which row a node is judged with.

Law: row(u) is the law of the token after u, so a child v of u is judged with row(parent(v)), never with its own row or with
that of the slot before it, and the bonus comes from the row of the last accepted node (the root's if none was).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from tree_oracle.checks.check import Source, check
from tree_oracle.checks.rows import need_power, regret
from tree_oracle.checks.say import NothingToJudge, either, fail, listing, unsure
from tree_oracle.checks.scenes import MARKED, PROMPTS, ROUNDS
from tree_oracle.checks.scores import same_score, true_scores
from tree_oracle.checks.view import View, history, shown, true_rows
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Finding, Round, Status

_SOURCES = (Source(Seam.ACCEPT, MARKED), Source(Seam.SESSION, ROUNDS), Source(Seam.GENERATE, PROMPTS))
_SEED = "TreeSpark section 3 (child scored with its parent's row); fault class GATHER"


def _misled(view: View, rows: np.ndarray, token: int, row: int, what: str, index: int, node: int) -> Finding | None:
    """The finding for ``token`` if the row that should have chosen it did not.

    Where the decoder shows its rows and the token is the choice of the right one of them, it was judged with that row; that
    the row itself is wrong is a matter for HISTORY.
    """
    texts = [history(view.rounds[index], v) for v in range(len(rows))]
    if regret(token, rows[row], view, texts[row]).legal or _chosen_by_the_shown_row(view.rounds[index], token, row):
        return None
    expected = f"token {int(rows[row].argmax())}, the choice of row {row}"
    others = [v for v in range(len(rows)) if v != row and regret(token, rows[v], view, texts[v]).legal]
    if not others:
        sentence = f"{what} is wrong, but no other row explains it: a matter for GREEDY"
        return unsure(sentence, expected=expected, seen=f"token {token}", round=index, node=node)
    sentence = f"{what} was judged with the row of node {either(others)} instead of node {row}"
    seen = f"token {token}, the choice of row {listing(others)}"
    return fail(sentence, expected=expected, seen=seen, round=index, node=node)


def _chosen_by_the_shown_row(round_: Round, token: int, row: int) -> bool:
    if round_.rows is None:
        return False
    own = np.asarray(round_.rows.numpy())[row]
    return bool(own[token] == own.max())


@check("GATHER-01", rung=2, needs=("tokens", "parents", "accepted"), sources=_SOURCES, source=_SEED)
def judged_with_the_parents_row(view: View) -> Iterator[Finding]:
    """Every accepted node is judged with its parent's row.

    Made-up rows all choose different tokens, so a wrong decision names the row it was made with; elsewhere every row that
    chooses the token is named. A decision that no row
    explains is left to GREEDY. Woken where the parent is not the previous slot.
    """
    for index, round_ in enumerate(view.rounds):
        _, tokens, parents = shown(round_)
        rows = true_rows(view, round_)
        for node in round_.accepted or ():
            found = _misled(view, rows, tokens[node], parents[node], f"accepted node {node}", index, node)
            if found is not None:
                yield found
                return


@check("GATHER-02", rung=2, needs=("prefix", "tokens", "parents", "scores"), sources=_SOURCES[1:], source=_SEED)
def scores_come_from_the_parents_row(view: View) -> Iterator[Finding]:
    """A decoder's own score of a node is the probability of its token under its parent's row.

    Compared with log softmax(row(parent))[token] from sequential runs. Where a score is wrong, the rows that do
    reproduce it are named. Only steps of a decoder that shows ``scores`` can be judged.
    """
    for index, round_ in enumerate(view.rounds):
        _, tokens, parents = shown(round_)
        assert round_.scores is not None
        laws = true_rows(view, round_)
        for node in range(1, len(tokens)):
            found = _wrong_score(view, round_, laws, index, node, parents[node])
            if found is not None:
                yield found
                return
    need_power(view.truth)


def _wrong_score(view: View, round_: Round, laws: np.ndarray, index: int, node: int, parent: int) -> Finding | None:
    _, tokens, _ = shown(round_)
    texts = [history(round_, v) for v in range(len(tokens))]
    assert round_.scores is not None
    score = float(np.asarray(round_.scores.numpy())[node])
    true = true_scores(laws, tokens[node], round_.score_kind)
    fits = partial(same_score, score, kind=round_.score_kind, truth=view.truth)
    if fits(true[parent], laws[parent], history=texts[parent]):
        return None
    others = [v for v in range(len(tokens)) if fits(true[v], laws[v], history=texts[v])]
    named = f"; the row of node {either(others)} gives it" if others else "; no row of this tree gives it"
    return fail(
        f"the score of node {node} is not its {round_.score_kind} under the row of node {parent}, its parent{named}",
        expected=f"{true[parent]:.6g}",
        seen=f"{score:.6g}",
        round=index,
        node=node,
    )


@check("GATHER-03", rung=2, needs=("tokens", "parents", "accepted", "bonus"), sources=_SOURCES, source=_SEED)
def bonus_comes_from_the_last_accepted_row(view: View) -> Iterator[Finding]:
    """The bonus token is chosen with the row of the last accepted node, the root's if none was accepted.

    Woken by a path whose slots are not 1, 2, 3, ...: then a row looked up by the *number* of accepted nodes is another's.
    """
    judged = 0
    for index, round_ in enumerate(view.rounds):
        if round_.end is not None:
            continue  # the bonus may have been cut off
        assert round_.bonus is not None
        last = round_.accepted[-1] if round_.accepted else 0
        judged += 1
        found = _misled(view, true_rows(view, round_), round_.bonus, last, "the bonus", index, last)
        if found is not None:
            yield found
            return
    if not judged:
        raise NothingToJudge(Status.NOT_APPLICABLE, "every round was cut off by a limit")
