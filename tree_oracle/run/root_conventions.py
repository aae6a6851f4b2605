"""Trees that are told without their root: the candidates alone, numbered from 0, those below the root with parent -1.

Found by trying: the root is put before every tree of a text, and accepted nodes are read by both usual numbers. Only where all
rounds then accept a branch that holds what they emit, and one accepts something, is the convention named. Of rounds that do not
show what they accept: where what they emit goes further down these trees than down the trees as they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tree_oracle.checks import answers
from tree_oracle.checks.guard import call, protect
from tree_oracle.checks.read_round import are_rounds
from tree_oracle.record import Limits, TreeData
from tree_oracle.run.small_trees import SMALL
from tree_oracle.run.subject import Subject

_LIMITS = Limits(max_new_tokens=6)
_ROOTLESS = (
    "the trees leave their root out: put the last committed token first, with parent -1, and add 1 to each parent"
)
_NUMBERS = {1: " and each accepted node", 0: ""}  # what is added to the number of an accepted node, and in words

Text = tuple[Sequence[int], Sequence[Any]]  # a prompt, and the rounds that followed as they were shown


def root_hint(subject: Subject) -> str:
    """What the rounds of ``generate`` seem to follow; empty where a tree shows its root, or none is shown.

    Raises:
        AdapterError, DecoderError, Unsupported: what is answered cannot be read as texts.
    """
    texts = [(prompt, _rounds(subject, prompt)) for prompt, _ in SMALL]
    return protect("generate", lambda: rootless(texts))


def rootless(texts: Sequence[Text]) -> str:
    """That no tree of these texts holds its root, in words; empty where one does, or where nothing tells.

    Raises:
        AdapterError: a round shows something else than tokens and nodes.
    """
    fitting, further, accepts = set(_NUMBERS), 0, False
    for prompt, rounds in texts:
        committed = list(prompt)
        for shown in rounds:
            tree, emitted = _tree(shown), answers.integers(answers.field(shown, "emitted"), "emitted").tolist()
            if tree is not None:
                if tree.tokens[:1] == (committed[-1],):
                    return ""
                path, rooted = _path(shown), _rooted(tree, committed[-1])
                further += _depth(rooted, emitted) - _depth(tree, emitted) if path is None else len(path)
                accepts = accepts or bool(path)
                fitting = {by for by in fitting if _follows(rooted, [node + by for node in path or ()], emitted)}
            committed += emitted
    return _ROOTLESS + _NUMBERS[max(fitting) if accepts else 0] if fitting and further > 0 else ""


def _rounds(subject: Subject, prompt: tuple[int, ...]) -> Sequence[Any]:
    answer = call("generate", subject.decoder.generate, [list(prompt)], _LIMITS)
    (entry,) = protect("generate", lambda: answers.sequence(answer, "generate", 1))
    return answers.entries(entry, "generate", "rounds") if protect("generate", lambda: are_rounds(entry)) else ()


def _tree(shown: Any) -> TreeData | None:
    tokens, parents = answers.field(shown, "tokens"), answers.field(shown, "parents")
    if tokens is None or parents is None:
        return None
    listed = answers.integers(tokens, "tokens")
    return TreeData(tuple(listed.tolist()), tuple(answers.integers(parents, "parents", len(listed)).tolist()))


def _path(shown: Any) -> list[int] | None:
    accepted = answers.field(shown, "accepted")
    return None if accepted is None else answers.integers(accepted, "accepted").tolist()


def _rooted(tree: TreeData, root: int) -> TreeData:
    """The tree below a root that is put before it."""
    return TreeData((root, *tree.tokens), (-1, *(parent + 1 for parent in tree.parents)))


def _depth(tree: TreeData, emitted: Sequence[int]) -> int:
    """How many of the emitted tokens a branch holds."""
    here = {0}
    for depth, token in enumerate(emitted):
        here = {node for node, parent in enumerate(tree.parents) if parent in here and tree.tokens[node] == token}
        if not here:
            return depth
    return len(emitted)


def _follows(tree: TreeData, path: Sequence[int], emitted: Sequence[int]) -> bool:
    """Whether it is a tree, and the path a branch of it that holds what is emitted."""
    if not all(0 <= parent < node for node, parent in enumerate(tree.parents[1:], 1)):
        return False
    here = 0
    for node, token in zip(path, emitted, strict=False):
        if not 0 < node < len(tree.tokens) or tree.parents[node] != here or tree.tokens[node] != token:
            return False
        here = node
    return True
