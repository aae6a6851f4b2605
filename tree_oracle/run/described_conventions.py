"""Which convention a description should have named: the others are tried, and what they make of the answers is compared with
truth.

A description says how its functions are meant. Where that is wrong, small trees of unequal shape tell: the description is read
under every convention that differs in one field, then in two, and each is named under which *all* answers are what the
definition asks for. Where ours fits there is nothing to say, and where none does there is no name: the decoder may be wrong in
some other way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tree_oracle.adapters import Convention, Described
from tree_oracle.checks.drive import drive
from tree_oracle.checks.view import branch
from tree_oracle.decoder import Seam
from tree_oracle.record import Array, Case, DraftData, Limits, Round, TreeData, TreeOracleError, Truth
from tree_oracle.run.small_trees import SMALL, due_mask, due_positions, nearest_rows
from tree_oracle.run.subject import Subject

_LAYOUT = (
    "root_counted",
    "prefix_counts_root",
    "root_in_pass",
    "mask",
    "prefix_columns",
    "keys_first",
    "positions",
)
_PATH = ("root_counted", "root_in_path", "padded")
_ROUNDS = ("root_in_pass", "mask", "prefix_columns", "keys_first", "positions")  # of what step records show of a pass
_MOST_CHANGES = 2  # fields that are wrong at once: with more, too many conventions fit by accident
_DRAFT = DraftData((("-1-2-2--",), ("2-2---1-",)))  # tokens 1, 3 and 5, then 0, 2 and 6: never the root's


def described_hint(subject: Subject, seam: Seam) -> str:
    """``; with ... the answers would fit``; nothing for what is not described, fits as it is, or fits no other convention."""
    decoder = subject.decoder
    if not isinstance(decoder, Described) or seam not in _TRIED:
        return ""
    fields, cases, fits = _TRIED[seam]
    given = cases(subject.truth)

    def right(convention: Convention) -> bool:
        tried = decoder.description.under(convention)(decoder.target)
        return all(_fits(tried, seam, case, subject.truth, fits) for case in given)

    said = decoder.description.convention
    if right(said):
        return ""
    for changes in range(1, _MOST_CHANGES + 1):
        fitting = [words for words, other in _changed(said, fields, changes) if right(other)]
        if fitting:
            return f"; with {' or '.join(fitting)} the answers would fit"
    return ""


def _changed(said: Convention, fields: tuple[str, ...], changes: int) -> Iterator[tuple[str, Convention]]:
    """Every convention that differs in so many of these fields, each once, with what differs."""
    if not changes:
        yield "", said
        return
    for place, name in enumerate(fields):
        for words, one in said.others():
            if words.partition("=")[0] == name:
                for more, other in _changed(said, fields[place + 1 :], changes - 1):
                    yield f"{words} and {more}" if more else words, replace(other, **{name: getattr(one, name)})


Fits = Callable[[tuple[Round, ...], Case, Truth], bool]


def _fits(decoder: Any, seam: Seam, case: Case, truth: Truth, fits: Fits) -> bool:
    try:
        return fits(drive(decoder, seam, case, truth.vocab_size), case, truth)
    except TreeOracleError:
        return False


def _trees(truth: Truth) -> list[Case]:
    return [Case(prefix=prefix, trees=(tree,)) for prefix, tree in SMALL]


def _laid_out(rounds: tuple[Round, ...], case: Case, truth: Truth) -> bool:
    (seen,), (tree,) = rounds, case.trees
    assert seen.visible is not None
    placed = seen.positions is None or seen.positions == due_positions(case.prefix, tree)
    return placed and np.array_equal(seen.visible.numpy(), due_mask(case.prefix, tree))


def _scored(rounds: tuple[Round, ...], case: Case, truth: Truth) -> bool:
    (seen,), (tree,) = rounds, case.trees
    assert seen.rows is not None
    return nearest_rows(seen.rows.numpy(), case.prefix, tree, truth) == list(range(len(tree.tokens)))


def _rows(truth: Truth) -> list[Case]:
    """Rows along each way down, every other row with a choice that no node holds."""
    return [
        Case(prefix=prefix, trees=(tree,), rows=Array.of(_leading(tree, goal, truth.vocab_size)))
        for prefix, tree in SMALL
        for goal in range(len(tree.tokens))
    ]


def _leading(tree: TreeData, goal: int, vocab_size: int) -> np.ndarray:
    """Rows whose choices lead to ``goal`` and stop there."""
    rows = np.zeros((len(tree.tokens), vocab_size), dtype=np.float32)
    for node in range(len(rows)):
        rows[node, vocab_size - 1 - node] = 1
    down = branch(tree.parents, goal)
    for node, child in zip(down, down[1:], strict=False):
        rows[node, tree.tokens[child]] = 2
    return rows


def _decided(rounds: tuple[Round, ...], case: Case, truth: Truth) -> bool:
    (seen,), (tree,) = rounds, case.trees
    assert case.rows is not None
    choices = case.rows.numpy().argmax(axis=1).tolist()
    path, here = list[int](), 0
    while below := [v for v, p in enumerate(tree.parents) if p == here and tree.tokens[v] == choices[here]]:
        here = below[0]
        path.append(here)
    return seen.accepted == tuple(path) and seen.bonus == choices[here]


def _drafts(truth: Truth) -> list[Case]:
    return [Case(prefix=(7,), draft=_DRAFT)]


def _built(rounds: tuple[Round, ...], case: Case, truth: Truth) -> bool:
    """The root, and below it what the draft proposes there."""
    (seen,) = rounds
    assert seen.tokens is not None
    assert seen.parents is not None
    if seen.tokens[0] != case.prefix[-1] or any(not 0 <= p < v for v, p in enumerate(seen.parents[1:], start=1)):
        return False
    depths = [len(branch(seen.parents, node)) - 1 for node in range(len(seen.tokens))]
    laws = [_DRAFT.laws[min(depth, len(_DRAFT.laws)) - 1][0] for depth in depths[1:]]
    return all(token < len(law) and law[token] != "-" for token, law in zip(seen.tokens[1:], laws, strict=True))


def _prompts(truth: Truth) -> list[Case]:
    return [Case(prefix=prefix, limits=Limits(max_new_tokens=6)) for prefix, _ in SMALL]


def _generated(rounds: tuple[Round, ...], case: Case, truth: Truth) -> bool:
    """Plain greedy decoding's text, and in every round accepted nodes that hold what was emitted and the pass that is due."""
    assert case.limits is not None
    text = tuple(token for round_ in rounds for token in round_.emitted)
    return text == truth.greedy(case.prefix, case.limits).tokens and all(map(_is_right, rounds))


def _is_right(round_: Round) -> bool:
    """Whether the accepted nodes, the positions and the mask of a round are right, as far as they are shown."""
    if round_.tokens is None or round_.parents is None or round_.prefix is None:
        return True
    held = tuple(round_.tokens[node] for node in round_.accepted or ())
    room, tree = min(len(held), len(round_.emitted)), TreeData(round_.tokens, round_.parents)
    return (
        round_.tokens[0] == round_.prefix[-1]
        and held[:room] == round_.emitted[:room]
        and round_.positions in (None, due_positions(round_.prefix, tree))
        and (round_.visible is None or np.array_equal(round_.visible.numpy(), due_mask(round_.prefix, tree)))
    )


_TRIED: dict[Seam, tuple[tuple[str, ...], Callable[[Truth], list[Case]], Fits]] = {
    Seam.LAY_OUT: (_LAYOUT, _trees, _laid_out),
    Seam.TREE_LOGITS: (_LAYOUT, _trees, _scored),
    Seam.ACCEPT: (_PATH, _rows, _decided),
    Seam.BUILD: (("root_counted",), _drafts, _built),
    Seam.GENERATE: (("prompt_in_text", *_PATH, *_ROUNDS), _prompts, _generated),
}
