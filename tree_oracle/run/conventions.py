"""Which convention an adapter follows, where it is not ours but a usual one.

Each hint is found by trying: the answer is converted as if it followed the other convention, and only where it then is what
the definition asks for on a case that tells the two apart is the hint given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tree_oracle.checks import answers
from tree_oracle.checks.encodings import laid_out
from tree_oracle.checks.guard import call, protect
from tree_oracle.checks.row_forms import form_words
from tree_oracle.decoder import Seam
from tree_oracle.record import TreeData, TreeOracleError
from tree_oracle.run.described_conventions import described_hint
from tree_oracle.run.layout_hints import inverted_words, is_inverted, positions_hint
from tree_oracle.run.root_conventions import root_hint
from tree_oracle.run.round_conventions import generated_rounds, rounds_hint, session_rounds, wrong_rows
from tree_oracle.run.small_trees import PREFIX, TREE, due_mask
from tree_oracle.run.subject import Subject
from tree_oracle.run.text_conventions import text_hint
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.formats import FORMATS


def fitting_convention(subject: Subject, seam: Seam) -> str:
    """``; it looks as if ...``, or of a description what it should have said; nothing where no usual convention fits better."""
    try:
        described = described_hint(subject, seam)
        if described or seam not in _HINTS:
            return described
        said = _HINTS[seam](subject)
    except TreeOracleError:  # a hint is a courtesy: what cannot be read was reported already, or will be
        return ""
    return f"; it looks as if {said}" if said else ""


def _lay_out_hint(subject: Subject) -> str:
    prefix, tree = PREFIX, TREE
    answer = call("lay_out", subject.decoder.lay_out, CandidateTree.from_data(tree), len(prefix))
    if protect("lay_out", lambda: answers.field(answer, "format")) is not None:
        return _encoding_hint(answer, prefix, tree)
    return _position_hint(answer, prefix, tree) or _mask_hint(answer, prefix, tree)


def _encoding_hint(answer: Any, prefix: tuple[int, ...], tree: TreeData) -> str:
    """Another encoding with the same fields under which the same document is right; the one that was named is not right."""
    name, document = answers.field(answer, "format"), answers.field(answer, "document")
    if _shows(name, document, prefix, tree):
        return ""
    fitting = [other for other in FORMATS if other != name and _shows(other, document, prefix, tree)]
    if not fitting:
        return ""
    listed = " or ".join(f"{other} ({FORMATS[other].holds})" for other in fitting)
    return f"the document is not in the encoding {name} ({FORMATS[name].holds}) but in {listed}"


def _shows(name: str, document: Any, prefix: tuple[int, ...], tree: TreeData) -> bool:
    try:
        seen = protect("lay_out", lambda: laid_out({"format": name, "document": document}, tree, len(prefix)))
    except TreeOracleError:
        return False
    return np.array_equal(seen.visible, due_mask(prefix, tree))


def _position_hint(answer: Any, prefix: tuple[int, ...], tree: TreeData) -> str:
    positions = _numbers(answer, "positions")
    if positions.shape == (len(tree.parents) - 1,):
        return "the root is not listed: node 0 is the root and has a position too"
    return positions_hint(positions, prefix, tree)


def _mask_hint(answer: Any, prefix: tuple[int, ...], tree: TreeData) -> str:
    count, cached, due = len(tree.parents), len(prefix) - 1, due_mask(prefix, tree)
    name = protect(
        "lay_out", lambda: next((n for n in ("hidden", "additive") if answers.field(answer, n) is not None), "visible")
    )
    mask = _numbers(answer, name)
    if mask.shape == (count, count):
        return "the mask leaves the prefix columns out: put prefix_len - 1 columns of visible prefix before it"
    if mask.shape == (count - 1, count - 1) or mask.shape == (count - 1, cached + count - 1):
        return "the root is not in the mask: node 0 is the root and has a row and a column too"
    if mask.shape == (count, cached + 1 + count):
        return "the prefix columns count the root, which has a column of its own among the nodes"
    shown = mask == 0 if name == "additive" else mask.astype(bool) ^ (name == "hidden")
    if is_inverted(shown, prefix, tree):
        if name == "additive":
            return "the additive mask is inverted: add 0 where a row attends, and a large negative number where it does not"
        return inverted_words(f"call it {'hidden' if name == 'visible' else 'visible'}")
    if mask.shape == due.shape and np.array_equal(shown.T[-count:, -count:], due[-count:, -count:]):
        return "rows and columns are exchanged: the row is the node that looks, the column what it looks at"
    return ""


def _numbers(answer: Any, name: str) -> np.ndarray:
    """A field of a layout as an array, however it misbehaves."""
    return protect("lay_out", lambda: answers.array(answers.field(answer, name), name))


def _rows_hint(subject: Subject) -> str:
    tree, count = CandidateTree.from_data(TREE), len(TREE.parents)
    answer = call("tree_logits", subject.decoder.tree_logits, list(PREFIX), tree)
    rows = protect("tree_logits", lambda: answers.array(answer, "rows"))
    if rows.ndim == 3 and rows.shape[0] == 1:
        return "the rows have a batch axis: answer rows[0]"
    if rows.ndim == 2 and rows.shape[0] == count - 1:
        return "the root's row is left out: node 0 is the root, and its children are judged with its row"
    if rows.ndim == 2 and rows.shape[0] == len(PREFIX) - 1 + count:
        return "the rows of the prefix are there too: answer the last n rows"
    form = form_words(rows) if rows.shape == (count, subject.truth.vocab_size) else ""
    return form or wrong_rows(rows, PREFIX, TREE, subject.truth)


def _accept_hint(subject: Subject) -> str:
    decoder, tree = subject.decoder, CandidateTree.from_data(TREE)
    rows = np.zeros((len(tree), subject.truth.vocab_size), dtype=np.float32)
    rows[0, TREE.tokens[2]] = rows[2, TREE.tokens[3]] = 1.0
    path = _path(decoder, tree, rows)
    if path[:1] == [0]:
        return "the root is counted as accepted: list the nodes below it only"
    if path == [1, 2]:
        return "candidates are counted without the root: node 0 is the root, so add 1 to every node"
    if -1 in path:
        return "the path is padded with -1: cut the padding off"
    # Rows that lead to node 3 only for whoever judges each node with the row that stands at the node itself.
    if path != [2, 3] and _path(decoder, tree, rows[[0, *TREE.parents[1:]]]) == [2, 3]:
        return "a node is judged with its own row: row v is the law of the token after node v, so ask its parent's row"
    return ""


def _path(decoder: Any, tree: CandidateTree, rows: Any) -> list[int]:
    answer = call("accept", decoder.accept, tree, rows.copy())
    found: list[int] = protect("accept", lambda: answers.array(_first(answer), "accepted").tolist())
    return found


def _first(answer: Any) -> Any:
    """The path of a decision, a pair or a mapping."""
    named = answers.field(answer, "accepted")
    return answer[0] if named is None else named


def _session_hint(subject: Subject) -> str:
    return rounds_hint(session_rounds(subject), subject.truth)


def _generate_hint(subject: Subject) -> str:
    return text_hint(subject) or root_hint(subject) or rounds_hint(generated_rounds(subject), subject.truth)


_HINTS: dict[Seam, Callable[[Subject], str]] = {
    Seam.LAY_OUT: _lay_out_hint,
    Seam.TREE_LOGITS: _rows_hint,
    Seam.ACCEPT: _accept_hint,
    Seam.GENERATE: _generate_hint,
    Seam.SESSION: _session_hint,
}
