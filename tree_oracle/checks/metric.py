"""METRIC: what one round counts.

Convention (TreeSpark, DSpark, Sequoia, JetSpec): acceptance length is committed tokens per round; the bonus counts when it
is emitted, the root never. An ordinary round, one that no limit cuts, emits accepted + 1 tokens: between 1 and B + 1 on a
tree of depth B.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_oracle.checks.check import Source, check
from tree_oracle.checks.due import ending
from tree_oracle.checks.say import NothingToJudge, fail, listing
from tree_oracle.checks.scenes import PROMPTS, ROUNDS
from tree_oracle.checks.view import View, branch, shown
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Finding, Round, Status, counted


@check(
    "METRIC-01",
    rung=3,
    needs=("tokens", "parents", "accepted"),
    sources=(Source(Seam.SESSION, ROUNDS), Source(Seam.GENERATE, PROMPTS), Source(Seam.TAP, PROMPTS)),
    source="the metric of TreeSpark (docs/conventions.md)",
)
def an_ordinary_round_emits_one_more(view: View) -> Iterator[Finding]:
    """A round that no limit cuts emits its accepted tokens and one more.

    A bonus that is withheld costs a token in every round and changes no text. A round that reaches where the limits end its
    text need not say so.
    """
    judged = False
    for index, round_ in enumerate(view.rounds):
        if round_.end is not None or _is_cut(view, round_):
            continue
        judged = True
        _, _, parents = shown(round_)
        accepted, count = round_.accepted or (), len(round_.emitted)
        deepest = max(len(branch(parents, node)) - 1 for node in range(len(parents)))
        if count != len(accepted) + 1 or count > deepest + 1:
            yield fail(
                f"a round that accepts {counted(len(accepted), 'node')} and names no end emits {counted(count, 'token')}",
                expected=f"{counted(len(accepted) + 1, 'token')}, at most {deepest + 1} on this tree",
                seen=f"accepted {listing(accepted)}, emitted {listing(round_.emitted)}",
                round=index,
            )
            return
    if not judged:
        raise NothingToJudge(Status.NOT_APPLICABLE, "every round was cut off by a limit")


def _is_cut(view: View, round_: Round) -> bool:
    """Whether the limits end the text of a request within this round."""
    prefix, asked, limits = round_.prefix or (), len(view.case.prefix), view.case.limits
    text = (*prefix[asked:], *round_.emitted[max(asked - len(prefix), 0) :])
    return limits is not None and not view.case.batch and ending(text, limits, len(view.case.prefix)) is not None
