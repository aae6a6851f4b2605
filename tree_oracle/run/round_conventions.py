"""What the rounds of a session or a text show beside their decision, where it is not as the definition asks but in a usual way:
rows of the parents, positions late or counted from the root, a mask of the other polarity, a cache listed rows first.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from tree_oracle.checks.commit import held_after
from tree_oracle.checks.drive import drive
from tree_oracle.checks.row_forms import form_words
from tree_oracle.decoder import Seam
from tree_oracle.record import Case, LayerRows, Limits, Round, RowKind, TreeData, Truth
from tree_oracle.run.layout_hints import inverted_words, is_inverted, positions_hint
from tree_oracle.run.small_trees import PREFIX, TREE, nearest_rows
from tree_oracle.run.subject import Subject

# Fields of a round, and what goes unseen where no round shows them.
UNSEEN = {
    "rows": "whose row stands in the place of each node's",
    "visible": "which polarity the mask has",
    "cache": "how the cache is listed",
}

CONVENTIONAL = (*UNSEEN, "positions")  # what has a convention


def session_rounds(subject: Subject) -> tuple[Round, ...]:
    """One step of a session, over the tree on which conventions tell themselves apart."""
    case = Case(prefix=PREFIX, trees=(TREE,), limits=Limits(max_new_tokens=len(TREE.tokens)))
    return drive(subject.decoder, Seam.SESSION, case, subject.truth.vocab_size)


def generated_rounds(subject: Subject) -> tuple[Round, ...]:
    """The rounds of one short text, over whatever trees the decoder drafts."""
    case = Case(prefix=PREFIX, limits=Limits(max_new_tokens=len(TREE.tokens)))
    return drive(subject.decoder, Seam.GENERATE, case, subject.truth.vocab_size)


def unseen_in(rounds: tuple[Round, ...]) -> tuple[str, ...]:
    """What no round of a session shows."""
    return tuple(name for name in UNSEEN if all(getattr(round_, name) is None for round_ in rounds))


def rounds_hint(rounds: tuple[Round, ...], truth: Truth) -> str:
    """What rows, positions, mask and cache seem to follow; empty where they are right, not shown, or wrong in another way."""
    looks = (
        _positions,
        _mask,
        partial(_rows, truth=truth),
        partial(_cache, truth=truth),
    )  # what needs no truth comes first
    told = (look(round_) for round_ in rounds for look in looks)
    return next((words for words in told if words), "")


def wrong_rows(rows: np.ndarray, prefix: tuple[int, ...], tree: TreeData, truth: Truth) -> str:
    """Whose row stands in the place of each node's, in words; empty if each has its own, or some other row stands there."""
    if len(tree.tokens) < 2:  # nothing is told apart by a root alone
        return ""
    nearest = tuple(nearest_rows(rows, prefix, tree, truth))
    if nearest == tree.parents:
        return "every node has its parent's row: row v is the law of the token after node v"
    if nearest == tuple(range(-1, len(tree.tokens) - 1)):
        return "the rows begin one too early: row 0 is the law of the token after the root"
    return ""


def _tree(round_: Round) -> TreeData | None:
    shown = round_.prefix and round_.tokens is not None and round_.parents is not None
    return TreeData(round_.tokens or (), round_.parents or ()) if shown else None


def _rows(round_: Round, truth: Truth) -> str:
    tree = _tree(round_)
    if round_.rows is None or round_.row_kind is not RowKind.LOGITS:
        return ""
    rows = np.asarray(round_.rows.numpy(), dtype=np.float64)
    return form_words(rows) or (wrong_rows(rows, round_.prefix or (), tree, truth) if tree is not None else "")


def _positions(round_: Round) -> str:
    tree = _tree(round_)
    if tree is None or round_.positions is None:
        return ""
    return positions_hint(np.asarray(round_.positions), round_.prefix or (), tree)


def _mask(round_: Round) -> str:
    tree = _tree(round_)
    if tree is None or round_.visible is None:
        return ""
    visible = np.asarray(round_.visible.numpy(), dtype=np.bool_)
    inverted = is_inverted(visible, round_.prefix or (), tree)
    return inverted_words("visible is true where a node may look") if inverted else ""


def _cache(round_: Round, truth: Truth) -> str:
    if round_.cache is None or not round_.prefix or round_.end is not None:
        return ""
    cold = truth.cache(held_after(round_))
    pairs = list(zip(round_.cache, cold, strict=False))
    if pairs and all(_is_turned(mine, theirs) for mine, theirs in pairs):
        return "the cache is listed rows x heads x width: answer heads x rows x width"
    return ""


def _is_turned(mine: LayerRows, cold: LayerRows) -> bool:
    """Whether the keys are nearer to those of a cold run with their first two axes exchanged than as they are."""
    seen, due = (np.asarray(part.numpy(), dtype=np.float64) for part in (mine.keys, cold.keys))
    turned = seen.swapaxes(0, 1)
    if turned.shape != due.shape:
        return False
    return seen.shape != due.shape or bool(np.abs(turned - due).max() < np.abs(seen - due).max())
