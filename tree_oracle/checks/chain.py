"""CHAIN: what a tree decoder must share with plain speculative decoding.

Laws: on a tree with one branch, verification accepts the longest run of drafts that are the target's choices and adds one
token; drafts that all are the target's own choices are all accepted; a leaf more never shortens the accepted path while
siblings are distinct.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from tree_oracle.checks.chains import CHAINS, FED_CHAINS, FULL, LEAVES
from tree_oracle.checks.check import Source, check
from tree_oracle.checks.rows import regret
from tree_oracle.checks.say import NothingToJudge, fail, listing, unsure
from tree_oracle.checks.view import View, history, shown, true_rows
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Finding, Round, Status, counted

_LEVIATHAN = "Leviathan et al. 2023, Chen et al. 2023, at temperature zero"


def _is_chain(round_: Round) -> bool:
    _, tokens, parents = shown(round_)
    return parents == tuple(range(-1, len(tokens) - 1))


@check(
    "CHAIN-01",
    rung=3,
    needs=("tokens", "parents", "accepted", "bonus"),
    sources=(Source(Seam.ACCEPT, FED_CHAINS), Source(Seam.SESSION, CHAINS)),
    source=_LEVIATHAN,
)
def one_branch_is_plain_speculation(view: View) -> Iterator[Finding]:
    """On a tree with one branch the longest run of right drafts is accepted, and the target's next choice is added.

    Counted here as plain speculative decoding counts: draft i is right if it is the argmax of row i - 1.
    """
    for index, round_ in enumerate(view.rounds):
        if not _is_chain(round_) or round_.end is not None:
            continue
        rows = true_rows(view, round_)
        _, tokens, _ = shown(round_)
        choices = [int(row.argmax()) for row in rows]
        right = next((i for i, token in enumerate(tokens[1:]) if token != choices[i]), len(tokens) - 1)
        due = (tuple(range(1, right + 1)), choices[right])
        if (round_.accepted, round_.bonus) != due:
            close = any(_is_close(view, round_, node, rows[node]) for node in range(len(rows)))
            yield (unsure if close else fail)(
                f"a chain of {len(tokens) - 1} drafts is not verified as plain speculative decoding verifies it",
                expected=f"the first {right} drafts accepted, then token {choices[right]}",
                seen=f"accepted {listing(round_.accepted or ())}, then token {round_.bonus}",
                round=index,
                node=min(right, len(tokens) - 1),
            )
            return


def _is_close(view: View, round_: Round, node: int, row: Float[np.ndarray, " vocab"]) -> bool:
    """Whether another token than the argmax would be a near tie after ``node``."""
    if len(row) < 2:
        return False
    second = int(np.argsort(-row, kind="stable")[1])
    return regret(second, row, view, history(round_, node)).near


@check(
    "CHAIN-02",
    rung=3,
    needs=("tokens", "parents", "accepted"),
    sources=(Source(Seam.SESSION, FULL),),
    source="self-draft control: a draft that is the target must be accepted whole",
)
def own_choices_are_all_accepted(view: View) -> Iterator[Finding]:
    """Drafts that are the target's own choices are all accepted.

    A lower acceptance is the only sign of many faults in positions and caches, for the text stays right.
    """
    judged = False
    for index, round_ in enumerate(view.rounds):
        _, tokens, _ = shown(round_)
        if not _is_chain(round_) or round_.end is not None:
            continue
        rows = true_rows(view, round_)
        if any(token != int(row.argmax()) for token, row in zip(tokens[1:], rows, strict=False)):
            continue  # the decoder has strayed, and the rest of its drafts is not the target's text any more
        judged = True
        if len(round_.accepted or ()) != len(tokens) - 1:
            yield fail(
                f"{len(round_.accepted or ())} of {len(tokens) - 1} drafts are accepted; all are the target's own choices",
                expected=f"all {len(tokens) - 1} accepted",
                seen=f"accepted {listing(round_.accepted or ())}",
                round=index,
                node=len(round_.accepted or ()) + 1,
            )
            return
    if not judged:
        raise NothingToJudge(Status.NOT_APPLICABLE, "no round whose drafts are the target's own choices")


@check(
    "CHAIN-03",
    rung=3,
    needs=("tokens", "parents", "accepted"),
    sources=(Source(Seam.ACCEPT, LEAVES),),
    source="TensorRT-LLM issue 10343: a leaf more should not shorten acceptance",
)
def a_leaf_more_never_shortens(view: View) -> Iterator[Finding]:
    """Adding a leaf to a tree of distinct siblings never shortens the accepted path.

    Needs no truth: the decoder is compared with itself on two trees with the same rows.
    """
    small, large = view.rounds
    before, after = len(small.accepted or ()), len(large.accepted or ())
    if after < before:
        leaf = len(shown(large)[1]) - 1
        yield fail(
            f"adding node {leaf} shortens the accepted path from {before} to {counted(after, 'node')}",
            expected=f"at least {counted(before, 'node')} accepted",
            seen=f"accepted {listing(large.accepted or ())}, without the leaf {listing(small.accepted or ())}",
            round=1,
            node=leaf,
        )
