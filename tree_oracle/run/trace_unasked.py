"""Which checks a request of a trace says nothing to, and why, in words."""

from __future__ import annotations

from tree_oracle.checks import Check
from tree_oracle.decoder import Seam
from tree_oracle.run.trace_cases import (
    BESIDE,
    TREES,
    TRUTH_OF_THE_TARGET,
    drafted,
    ended,
    needs_greedy,
    reads_rounds,
    shows_tree,
)
from tree_oracle.run.trace_ends import never_came
from tree_oracle.trace import Request


def unasked(check: Check, request: Request, *, targeted: bool, ranked: bool) -> str:
    """Why the request says nothing to this check; ``targeted``: a target is named; ``ranked``: other ranks recorded it as well.
    Empty where it is asked."""
    if not reads_rounds(check):
        return f"needs the method {' or '.join(sorted({source.seam.method for source in check.sources}))}"
    if needs_greedy(check) and not request.greedy:
        return "tokens are drawn by chance"
    if check.family == "RANK" and not ranked:
        return "the trace is that of one rank: name those of the others beside it"
    if check.family == "STOP":
        return _no_end(check, request)
    texts = [source.scene for source in check.sources if source.seam is Seam.GENERATE]
    if texts and all(scene.handed for scene in texts):
        return "a trace holds what the decoder drafted by itself, which SEQUENCE-01 judges"
    if check.family == "PATHSTATE":
        return "a trace says nothing of processors"
    if not targeted and check.id in TRUTH_OF_THE_TARGET:
        return "needs the target: name it with --target"
    shows = shows_tree if check.id in TREES else drafted
    if not check.reads_texts and not any(map(shows, request.rounds)):
        return "no round shows the tree that it verified"
    return ""


def nothing_there(check: Check, *, targeted: bool) -> str:
    """Why a request that could be read gave no case."""
    if check.id in BESIDE:
        return "no control round shows a whole row after the tokens of a node, so no node is in two passes"
    return "only one round was run" if targeted else "the trace shows no row, and no target is named"


def _no_end(check: Check, request: Request) -> str:
    if request.limits is None:
        return "the trace does not show where the text must end"
    if not ended(request):
        return "the text has no end yet"
    for name, given, nothing in (
        ("STOP-01", request.limits.eos_ids, "no token ends a text"),
        ("STOP-04", request.limits.stop, "no stop sequence ends a text"),
        ("STOP-05", request.limits.min_new, "no minimum is asked for"),
        ("STOP-06", request.limits.min_new, "no minimum is asked for"),
    ):
        if check.id == name and not given:
            return nothing
    return never_came(check.id, request, request.limits)
