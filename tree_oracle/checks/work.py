"""WORK: what a round costs.

Convention (TreeSpark, DSpark): a round is one pass of the target over the root and the candidates, one pass of the draft's
backbone, and one stage of its head for each level, over the nodes of the frontier. Nothing here changes a token: a decoder that
works more than it says is slower than it says.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_oracle.checks.check import Source, check
from tree_oracle.checks.drafts import DRAFTS
from tree_oracle.checks.say import NothingToJudge, fail, listing
from tree_oracle.checks.scenes import PROMPTS, ROUNDS
from tree_oracle.checks.view import View, branch, history
from tree_oracle.checks.witness import need_witness
from tree_oracle.construct import TreeSpark
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Call, Finding, Level, Round, Status, TreeData
from tree_oracle.record import counted as in_words

_SOURCE = "the policy and the serving of TreeSpark"
_SHOWN = (Source(Seam.SESSION, ROUNDS), Source(Seam.GENERATE, PROMPTS))
_COUNTED = (Source(Seam.SESSION, ROUNDS), Source(Seam.TAP, PROMPTS))


@check("WORK-01", rung=3, level=Level.SHOULD, needs=("prefix", "tokens", "calls"), sources=_COUNTED, source=_SOURCE)
def a_round_runs_the_target_once(view: View) -> Iterator[Finding]:
    """A round runs the target once, over nothing that was committed before the round before it.

    Calls are counted at the target itself while one request is stepped over a tree that is handed over, or while the decoder
    generates. The prefill, in one piece or in several, comes before the first round or in it. A decoder with recurrent layers
    may have to run the accepted path again; that is a commit pass, and is said to be one.
    """
    counted = drafts = before = 0  # before: tokens that were committed when the round before began
    for index, round_ in enumerate(view.rounds):
        calls = list(round_.calls or ())
        if before == 0:
            calls = _after_prefill(calls, round_)
        counted += len(calls)
        drafts += sum(holds_draft(call, round_) for call in calls)
        if len(calls) > 1:
            yield fail(
                f"the target is run {len(calls)} times in one round: {', then '.join(_what(c, round_, before) for c in calls)}",
                expected="one pass, over the root and the nodes of the tree",
                seen="; ".join(f"{listing(call.tokens)} over {in_words(call.past, 'cached row')}" for call in calls),
                round=index,
            )
            return
        again = max((_committed_again(call, round_, before) for call in calls), default=0)
        if again:
            yield fail(
                f"a pass runs {in_words(again, 'token')} again, committed before the round before",
                expected=f"a pass over at least {in_words(before - 1, 'cached row')}",
                seen=f"a pass over {in_words(calls[0].past, 'cached row')}",
                round=index,
            )
            return
        before = len(round_.prefix or ())
    if not counted:
        raise NothingToJudge(Status.NOT_OBSERVABLE, "no call of the target was seen in any round")
    if not drafts and any(len(round_.tokens or ()) > 1 for round_ in view.rounds):
        raise NothingToJudge(
            Status.NOT_OBSERVABLE, "no witness that speculation ran: no call of the target holds a draft"
        )


def holds_draft(call: Call, round_: Round) -> bool:
    """Whether a call of the target in this round scores candidates: several tokens, of which not all are committed ones."""
    return not call.tokens or (len(call.tokens) > 1 and _committed(call, round_) < len(call.tokens))


def _after_prefill(calls: list[Call], round_: Round) -> list[Call]:
    """The calls of a first round from the first that is more than a part of the prompt; the last one verifies."""
    for index, call in enumerate(calls[:-1]):
        if _committed(call, round_) < len(call.tokens) or not call.tokens:
            return calls[index:]
    return calls[-1:]


def _committed(call: Call, round_: Round) -> int:
    """How many tokens of the call are committed ones, from the first on: as many as repeat the text where it stands."""
    text = (round_.prefix or ())[call.past :]
    pairs = enumerate(zip(call.tokens, text, strict=False))
    return next((place for place, (run, due) in pairs if run != due), min(len(call.tokens), len(text)))


def _committed_again(call: Call, round_: Round, before: int) -> int:
    """How many rows of the call were in a cache before the round before. Less than a whole repetition is a coincidence."""
    whole = _committed(call, round_) == len(round_.prefix or ()) - call.past
    return max(before - 1 - call.past, 0) if before and whole else 0


def _what(call: Call, round_: Round, before: int) -> str:
    """What a call that is one too many runs, in words."""
    prefix, tokens = round_.prefix or (), round_.tokens or ()
    if not call.tokens:
        return "a pass over more than one row of tokens"
    if _committed(call, round_) == len(call.tokens) and call.past + len(call.tokens) < len(prefix):
        return "tokens that were committed earlier" if call.past < before - 1 else "the accepted path (a commit pass)"
    if sorted(call.tokens[-len(tokens) :]) == sorted(tokens):
        return "the tree"
    text = (*prefix, *round_.emitted)[call.past :]
    return "the accepted path (a commit pass)" if call.tokens == text[: len(call.tokens)] else "other tokens"


@check("WORK-02", rung=3, level=Level.SHOULD, needs=("tokens", "parents", "work"), sources=_SHOWN, source=_SOURCE)
def stated_work_is_what_was_done(view: View) -> Iterator[Finding]:
    """The work that a decoder states is what its own tree, its pool and the calls of the target show.

    Candidates packed are counted by depth, the root left out; passes of the target as they were seen, where they were. With the
    policy of TreeSpark the draft's backbone runs at most once a round. What is not stated is not asked.
    """
    need_witness(view)
    for index, round_ in enumerate(view.rounds):
        for sentence, expected, seen in _wrong_statements(view, round_):
            yield fail(sentence, expected=expected, seen=seen, round=index)
            return


def _wrong_statements(view: View, round_: Round) -> Iterator[tuple[str, object, object]]:
    work, parents = round_.work, round_.parents or ()
    assert work is not None
    depths = [len(branch(parents, node)) - 1 for node in range(len(parents))]
    packed = tuple(depths.count(depth) for depth in range(1, max(depths) + 1))
    if work.packed is not None and work.packed != packed:
        yield "the candidates that are said to be packed are not those of the tree", packed, work.packed
    if work.target_passes is not None and work.target_passes != _passes(round_):
        yield (
            "the passes of the target that are stated are not those that were seen",
            _passes(round_),
            work.target_passes,
        )
    single = view.tree_policy is not None and isinstance(view.tree_policy.policy, TreeSpark)
    if single and work.draft_passes is not None and work.draft_passes > 1:
        yield "the draft's backbone is run more than once in a round", "at most 1 pass", f"{work.draft_passes} passes"
    if round_.pool is not None:
        stray = sorted(_paths(round_) - _histories(round_.pool))
        if stray:
            yield "the tree holds a node that was never drafted", "a node of the pool", listing(stray[0])


def _passes(round_: Round) -> int:
    """As seen; by the law one where nobody counted."""
    return len(round_.calls) if round_.calls else 1


def _paths(round_: Round) -> set[tuple[int, ...]]:
    first = len(round_.prefix or ())
    return {history(round_, node)[first:] for node in range(1, len(round_.tokens or ()))}


def _histories(tree: TreeData) -> set[tuple[int, ...]]:
    """The tokens below the root on the way to each node."""
    return {tuple(tree.tokens[v] for v in branch(tree.parents, node)[1:]) for node in range(len(tree.tokens))}


@check("WORK-03", rung=1, level=Level.SHOULD, needs=("work",), sources=(Source(Seam.BUILD, DRAFTS),), source=_SOURCE)
def a_stage_asks_about_the_frontier_alone(view: View) -> Iterator[Finding]:
    """The draft's head has at most as many stages as the tree has levels, each over at most as many parents as the frontier.

    Counted by the draft that is handed over: a stage is all that is asked about one depth, a parent is a token there.
    """
    policy = view.tree_policy
    frontier, levels = (None, None) if policy is None else (policy.bound("frontier"), policy.bound("depth"))
    if frontier is None or levels is None or not isinstance(getattr(policy, "policy", None), TreeSpark):
        raise NothingToJudge(Status.NOT_APPLICABLE, "no policy with a frontier and one head stage a level is declared")
    (round_,) = view.rounds
    stages = (round_.work.stages if round_.work is not None else None) or ()
    if len(stages) > levels:
        yield fail(f"{len(stages)} depths are drafted", expected=f"at most {levels}", seen=listing(stages))
    widest = max(stages, default=0)
    if widest > frontier:
        yield fail(
            f"the draft is asked about {widest} parents of one depth",
            expected=f"at most {frontier} parents, those of the frontier",
            seen=f"parents asked about by depth: {listing(stages)}",
        )
