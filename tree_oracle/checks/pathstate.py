"""PATHSTATE: penalties, biases, bans and a grammar are applied per path.

Law: the row by which a token after node v is chosen is the row of v, processed with v's own history: the prompt, the
tokens that were emitted, and the tokens on the branch down to v. Siblings, cousins and whatever was rejected in earlier
rounds are not in it. A node that its own branch rules out (a token whose processed logit is -inf) has no law, and is not
judged.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from tree_oracle.checks.batch_paths import BATCH_PATHS
from tree_oracle.checks.check import Source, check
from tree_oracle.checks.path_cases import PATHS, PROMPT_PATHS
from tree_oracle.checks.path_rows import PLAIN, choosing_rows, processed, same_processed
from tree_oracle.checks.rows import need_power, regret, same_row
from tree_oracle.checks.say import NothingToJudge, after_commit, either, fail, listing
from tree_oracle.checks.sequence import equals_plain_greedy_decoding
from tree_oracle.checks.view import View, branch, history, relation, shown, text_of, true_rows
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Finding, Processors, Round, Status

_SOURCES = (Source(Seam.SESSION, PATHS),)
_SHARED = Source(Seam.SESSION, BATCH_PATHS)
_TEXTS = (*_SOURCES, Source(Seam.GENERATE, PROMPT_PATHS))
_CLASS = "fault class PATH-STATE; record.processors for the convention"
_NEEDS = ("prefix", "tokens", "parents", "processed")

Text = tuple[int, ...]


def _processed_rows(round_: Round) -> np.ndarray:
    assert round_.processed is not None
    return np.asarray(round_.processed.numpy(), dtype=np.float64)


@check("PATHSTATE-01", rung=2, needs=_NEEDS, sources=_SOURCES, source=_CLASS)
def rows_are_processed_with_their_own_paths(view: View) -> Iterator[Finding]:
    """The processed row of every node is the target's row after its history, processed with that very history.

    Woken by siblings with other tokens, so that their counts and states of the grammar differ, and by nodes at depth two and
    below. Real causes: one state for the whole tree, taken from the prefix; a state that is advanced in the order of slots; a
    bias or a ban that is applied to the first row only.
    """
    for index, round_ in enumerate(view.rounds):
        raw, seen = true_rows(view, round_), _processed_rows(round_)
        for node in _possible(view, round_, raw):
            if not same_processed(view, seen[node], raw[node], history(round_, node)):
                yield _wrong(view, index, node, raw[node], seen[node], _elsewhere(round_, node))
                return
    need_power(view.truth)


@check("PATHSTATE-02", rung=3, needs=("prefix",), sources=(*_TEXTS, _SHARED), source=_CLASS)
def emits_what_processed_rows_choose(view: View) -> Iterator[Finding]:
    """Everything emitted over all rounds is the text of plain greedy decoding by processed rows.

    What makes a decoder without trees right here is one state per request; with trees it is one per node, and in a session that
    several requests share one per request and node.
    """
    if view.case.processors is None:
        raise NothingToJudge(Status.NOT_APPLICABLE, "no processors are asked for")
    yield from equals_plain_greedy_decoding(view)


@check("PATHSTATE-03", rung=2, needs=_NEEDS, sources=_SOURCES, source=_CLASS)
def a_round_leaves_what_it_emitted(view: View) -> Iterator[Finding]:
    """After a round the processors know the emitted tokens, each of them, and nothing of what was rejected.

    Judged on the root's row of the next round. Woken by several accepted nodes, and by rejected ones whose tokens would count.
    Real causes: only the last token of a round is counted, counts and automata that are not rolled back.
    """
    for index, (before, round_) in enumerate(zip(view.rounds, view.rounds[1:], strict=False), 1):
        raw, seen = true_rows(view, round_)[0], _processed_rows(round_)[0]
        if not same_processed(view, seen, raw, history(round_, 0)):
            yield after_commit(_wrong(view, index, 0, raw, seen, _left(before, round_)), index)
            return
    if len(view.rounds) < 2:
        raise NothingToJudge(Status.NOT_APPLICABLE, "no round follows another")
    need_power(view.truth)


def _possible(view: View, round_: Round, raw: np.ndarray) -> Iterator[int]:
    """The nodes whose own branch rules none of them out."""
    _, tokens, parents = shown(round_)
    rows = processed(view.case, raw, [history(round_, v) for v in range(len(tokens))])
    open_ = {0}
    yield 0
    for node in range(1, len(tokens)):
        if parents[node] in open_ and np.isfinite(rows[parents[node]][tokens[node]]):
            open_.add(node)
            yield node


def _elsewhere(round_: Round, node: int) -> Iterator[tuple[str, Text]]:
    """Histories that a wrong decoder may take for the node's own."""
    prefix, tokens, parents = shown(round_)
    if node:
        yield "with the history of the root", prefix
        yield "one token late, with the history of its parent", tuple(history(round_, parents[node]))
    yield "with every earlier slot in its history", (*prefix, *tokens[1 : node + 1])
    yield "with the whole tree in its history", (*prefix, *tokens[1:])
    for other in range(1, len(tokens)):
        if node not in branch(parents, other) and other not in branch(parents, node):
            yield f"with the history of node {other}, {relation(parents, node, other)}", tuple(history(round_, other))


def _left(before: Round, round_: Round) -> Iterator[tuple[str, Text]]:
    """Histories that a wrong round may have left behind."""
    old, tokens, _ = shown(before)
    yield "as if nothing had been emitted in the round before", old
    yield "as if only the last token of the round before had been emitted", (*old, *before.emitted[-1:])
    yield "as if the bonus of the round before had not been emitted", (*old, *before.emitted[:-1])
    rejected = tuple(t for v, t in enumerate(tokens) if v and v not in (before.accepted or ()))
    yield "as if all rejected nodes of the round before had stayed", (*old, *rejected, *before.emitted)
    yield "as if the whole tree of the round before had stayed", (*old, *tokens[1:], *before.emitted[-1:])
    for node in range(1, len(tokens)):
        yield f"as if node {node} of the round before had stayed", (*history(before, node), *before.emitted[-1:])


def _wrong(
    view: View, index: int, node: int, raw: np.ndarray, seen: np.ndarray, suspected: Iterator[tuple[str, Text]]
) -> Finding:
    own = tuple(history(view.rounds[index], node))
    (true,) = processed(view.case, raw[None], [own])
    with np.errstate(invalid="ignore"):
        place = int(np.nan_to_num(np.abs(seen - true), nan=0.0).argmax())
    return fail(
        f"the row of node {node} is not processed with its own history{_explained(view, seen, raw, own, suspected)}",
        expected=f"logit {true[place]:.6g} of token {place}, after {listing(own[-8:])}, the last of {len(own)}",
        seen=f"logit {seen[place]:.6g} of token {place}",
        round=index,
        node=node,
    )


def _explained(view: View, seen: np.ndarray, raw: np.ndarray, own: Text, suspected: Iterator[tuple[str, Text]]) -> str:
    if same_row(seen, raw, view.truth, own):
        return "; it is not processed at all"
    how = [how for how, text in suspected if same_processed(view, seen, raw, own, text)]
    return f"; it is processed {either(how)}" if how else ""


@check("PATHSTATE-04", rung=3, needs=("prefix",), sources=_TEXTS, source=_CLASS)
def no_processor_is_ignored(view: View) -> Iterator[Finding]:
    """A processor that changes the text is seen in it, or is refused: none is silently left out.

    Where the emitted tokens are not those of the case, each processor is left out in turn. If the tokens are then right, it was
    ignored. Woken by extreme values; a case in which leaving any of them out changes no emitted token says nothing.
    """
    text = text_of(view.rounds)
    histories = [(*view.case.prefix, *text[:place]) for place in range(len(text))]
    if not text:
        raise NothingToJudge(Status.NOT_APPLICABLE, "nothing is emitted")
    given = view.case.processors or PLAIN
    fits = {name: _chosen(view, text, histories, one) for name, one in _less(given).items()}
    if not _chosen(view, text, histories, given):
        ignored = [name for name, right in fits.items() if right]
        if not ignored:
            raise NothingToJudge(Status.NOT_APPLICABLE, "the text is wrong, and not for want of one processor")
        yield fail(
            f"the text is the one without {ignored[0]}, as if it were ignored",
            expected=f"{ignored[0]} {getattr(given, ignored[0], '')} applied, or refused",
            seen=f"emitted {listing(text)}",
            round=max(len(view.rounds) - 1, 0),
        )
    elif all(fits.values()):
        raise NothingToJudge(Status.NOT_APPLICABLE, "no processor of this case changes a token that was emitted")


def _less(given: Processors) -> dict[str, Processors]:
    """The processors without each of those that are there, and without all of them."""
    left = {name: msgspec.structs.replace(given, **{name: getattr(PLAIN, name)}) for name in given.applied}
    return left | ({"every processor": PLAIN} if len(left) > 1 else {})


def _chosen(view: View, text: Text, histories: list[Text], processors: Processors) -> bool:
    """Whether every token of the text may have been chosen under these processors."""
    rows = choosing_rows(view, histories, processors)
    return all(regret(*found).legal for found in zip(text, rows, [view] * len(text), histories, strict=True))
