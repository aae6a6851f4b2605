"""BATCH and SESSION: what a request gets depends on nothing but itself.

Law: with any other requests beside it, of whatever length, tree and acceptance, whoever joins, ends or is dropped between the
rounds, a request has the rows, the decisions, the text and the cache that it has alone. The judges are those of a single
request, applied to each request's own rounds; where one fails, what was seen is looked for among the other requests of the
same step, for a mix-up of rows is the usual cause.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tree_oracle.checks.batch_paths import BATCH_PATHS
from tree_oracle.checks.batches import BATCHES
from tree_oracle.checks.check import Source, check
from tree_oracle.checks.commit import cache_equals_a_cold_run, held_after
from tree_oracle.checks.greedy import emits_what_greedy_decoding_emits, goes_on_while_it_can
from tree_oracle.checks.history import rows_equal_their_paths, seen_rows
from tree_oracle.checks.requests import each_request
from tree_oracle.checks.rows import same_row
from tree_oracle.checks.say import either
from tree_oracle.checks.sequence import equals_plain_greedy_decoding
from tree_oracle.checks.view import View, history, true_rows
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Finding, LayerRows, Round

_SOURCES = (Source(Seam.SESSION, BATCHES),)
_CLASSES = "fault classes BATCH, GRAPH and PREFIX"


def steps_of(rounds: tuple[Round, ...]) -> list[int]:
    """The step that each round belongs to: within a step the requests come in the order of admission."""
    steps: list[int] = []
    for before, round_ in zip((None, *rounds), rounds, strict=False):
        new = before is not None and round_.request <= before.request
        steps.append((steps[-1] if steps else 0) + new)
    return steps


def _beside(view: View, place: int) -> Iterator[Round]:
    """The other requests' rounds of the same step."""
    steps = steps_of(view.rounds)
    for other, round_ in enumerate(view.rounds):
        if steps[other] == steps[place] and other != place:
            yield round_


@check("BATCH-01", rung=2, needs=("prefix", "tokens", "parents", "rows"), sources=_SOURCES, source=_CLASSES)
def rows_are_the_requests_own(view: View) -> Iterator[Finding]:
    """Every row of every request is the law after the node's own history, whatever else is in the batch.

    Woken by unequal trees and prefixes, by node counts whose sum the number of requests divides, by requests that leave and
    join, by rounds without a draft over the buffers of a larger tree, and by common prefixes. A wrong row that is right for a
    node of another request is said to be that one's.
    """
    yield from each_request(view, rows_equal_their_paths, _whose_row)


def _whose_row(view: View, place: int, found: Finding) -> str:
    row = seen_rows(view.rounds[place])[found.node or 0]
    fits = [
        f"node {node} of request {other.request}"
        for other in _beside(view, place)
        for node, true in enumerate(true_rows(view, other))
        if same_row(row, true, view.truth, history(other, node))
    ]
    return f"it is the row of {either(fits)}" if fits else ""


@check("BATCH-02", rung=3, needs=("tokens", "parents", "accepted", "bonus"), sources=_SOURCES, source=_CLASSES)
def decisions_are_the_requests_own(view: View) -> Iterator[Finding]:
    """Every request emits the target's own choices, as many as its own tree holds, whatever the others accept.

    Woken by unequal acceptance. Real causes: accept counts or bonus tokens of another row, and a batch that commits only what
    its shortest path allows, which leaves every text right and costs the speed.
    """
    yield from each_request(view, _greedy, _whose_decision)


def _greedy(view: View) -> Iterator[Finding]:
    wrong = list(emits_what_greedy_decoding_emits(view))
    yield from wrong or goes_on_while_it_can(view)


def _whose_decision(view: View, place: int, found: Finding) -> str:
    mine = view.rounds[place]
    others = list(_beside(view, place))
    same = [one.request for one in others if mine.bonus == one.bonus and mine.accepted == one.accepted]
    if same:
        return f"it is the decision of request {either(same)}"
    alike = [other.request for other in others if len(other.accepted or ()) == len(mine.accepted or ())]
    return f"it accepts as many nodes as request {either(alike)}" if alike else ""


@check("BATCH-03", rung=2, needs=("prefix", "cache"), sources=_SOURCES, source=_CLASSES)
def caches_are_the_requests_own(view: View) -> Iterator[Finding]:
    """After every round that another may follow each request's cache holds its own committed tokens without the newest.

    Each row is as a cold run makes it; a request that has ended owes nothing of its cache. Woken by unequal acceptance, by
    requests that leave and join, and by common prefixes, of which a row may be taken for cached before it is. A wrong row
    that is right for another request is said to be that one's.
    """
    yield from each_request(view, cache_equals_a_cold_run, _whose_cache)


def _whose_cache(view: View, place: int, found: Finding) -> str:
    mine, others = view.rounds[place], list(_beside(view, place))
    seen, own = _joined(mine.cache or ()), _joined(view.truth.cache(held_after(mine)))
    if len(seen) != len(own):
        grown = len(seen) - len(mine.prefix or ()) + 1
        alike = [other.request for other in others if len(other.emitted) == grown]
        return f"it grew by as many rows as that of request {either(alike)}" if alike else ""
    wrong = int((seen != own).any(axis=1).argmax())
    fits = [
        f"{row} of request {other.request}"
        for other in (others if view.truth.exact else ())  # elsewhere no row is equal to another bit for bit
        for row in np.flatnonzero((_joined(view.truth.cache(held_after(other))) == seen[wrong]).all(axis=1)).tolist()
    ]
    return f"it is row {either(fits)}" if fits else ""


def _joined(layers: tuple[LayerRows, ...]) -> np.ndarray:
    """Every row of a cache as one line of numbers, layer after layer."""
    parts = [np.asarray(part.numpy()) for layer in layers for part in (layer.keys, layer.values)]
    rows = [np.moveaxis(part, 1, 0) for part in parts]
    return np.concatenate([part.reshape(len(part), part.shape[1] * part.shape[2]) for part in rows], axis=1)


@check(
    "SESSION-01",
    rung=3,
    needs=("prefix",),
    sources=(*_SOURCES, Source(Seam.SESSION, BATCH_PATHS)),
    source=_CLASSES,
)
def every_text_of_a_session_is_plain_greedy_decoding(view: View) -> Iterator[Finding]:
    """Whatever was admitted, dropped and resumed on the way, each request's whole text is plain greedy decoding's.

    Every text is computed anew from its prompt after the session, by processed rows where there are processors or a minimum,
    and must end where its limits end it. A request that goes on after it was dropped starts from the text that it had. Woken by
    texts that end in ways of their own, and by histories that differ. Real causes: options that a single request has and a
    batch drops, one state of the processors for the whole batch.
    """
    yield from each_request(view, equals_plain_greedy_decoding)
