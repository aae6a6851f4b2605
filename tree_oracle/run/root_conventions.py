"""Roots that are told in another usual way than as the last committed token, node 0 of its tree.

*Left out*: the candidates alone, numbered from 0, those below the root with parent -1. Found by trying: the root is put before
every tree of a text, and accepted nodes are read by both usual numbers. Only where all rounds then accept a branch that holds
what they emit, and one accepts something, is the convention named. Of rounds that do not show what they accept: where what they
emit goes further down these trees than down the trees as they stand.

*Pending*: node 0 is the token that the target chose last, which is emitted only by the round that follows it. Named where every
round emits its own root and then its accepted tokens, to the last and none beyond, some root is not committed yet, and some
round is followed by another: the last one of a text may be cut, and would tell nothing from a root that is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from tree_oracle.checks import answers
from tree_oracle.checks.guard import call, protect
from tree_oracle.checks.read_round import are_rounds
from tree_oracle.record import Case, Limits, Round, TreeData, TreeOracleError
from tree_oracle.run.small_trees import SMALL
from tree_oracle.run.subject import Subject

_LIMITS = Limits(max_new_tokens=6)
_LOOKED_AT = 6  # texts, some of which take several rounds
_ROOTLESS = (
    "the trees leave their root out: put the last committed token first, with parent -1, and add 1 to each parent"
)
_PENDING = (
    "the root of each tree is a token that is not emitted yet: emit each token in the round in which the target chose it (the "
    "first one alone, after the prompt's own pass), so that a round emits its accepted tokens and the one behind them"
)
_COUNTED = ", and leave the root out of accepted"
_NUMBERS = {1: " and each accepted node", 0: ""}  # what is added to the number of an accepted node, and in words

Text = tuple[Sequence[int], Sequence[Any]]  # a prompt, and the rounds that followed as they were shown


def root_hint(subject: Subject) -> str:
    """What the rounds of ``generate`` seem to follow; empty where a tree shows its root, or none is shown.

    Raises:
        AdapterError, DecoderError, Unsupported: what is answered cannot be read as texts.
    """
    texts = [(prompt, _rounds(subject, prompt)) for prompt, _ in SMALL]
    return protect("generate", lambda: roots_told_otherwise(texts))


def roots_told_otherwise(texts: Sequence[Text]) -> str:
    """Which other convention the roots of these texts follow, in words; empty where they are right, or none is shown or fits.

    Raises:
        AdapterError: a round shows something else than tokens and nodes.
    """
    return _pending(texts) or _rootless(texts)  # every pending root would pass for a candidate


def roots_shown_otherwise(seen: Callable[[Case], Sequence[Round]], cases: Iterable[Case]) -> str:
    """The same of what a decoder shows for the first few of these cases; those that cannot be read tell nothing."""
    texts: list[Text] = []
    for case in islice((case for case in cases if not case.batch), _LOOKED_AT):
        with suppress(TreeOracleError):
            texts.append((case.prefix, seen(case)))
    return roots_told_otherwise(texts)


def _rootless(texts: Sequence[Text]) -> str:
    """That no tree of these texts holds its root; empty where one does, or where nothing tells."""
    fitting, further, accepts = set(_NUMBERS), 0, False
    for one in _trees(texts):
        if one.tree.tokens[:1] == (one.last,):
            return ""
        rooted = _rooted(one.tree, one.last)
        further += _depth(rooted, one.emitted) - _depth(one.tree, one.emitted) if one.path is None else len(one.path)
        accepts = accepts or bool(one.path)
        fitting = {by for by in fitting if _follows(rooted, [node + by for node in one.path or ()], one.emitted)}
    return _ROOTLESS + _NUMBERS[max(fitting) if accepts else 0] if fitting and further > 0 else ""


def _pending(texts: Sequence[Text]) -> str:
    """That every root is emitted by its own round; empty where one is not, or where nothing tells."""
    late = followed = counted = 0
    for one in _trees(texts):
        if not _emits_its_root(one):
            return ""
        late += one.tree.tokens[0] != one.last
        followed += not one.cut
        counted += one.path is not None and one.path[:1] == [0]
    return _PENDING + (_COUNTED if counted else "") if late and followed else ""


def _emits_its_root(one: _Told) -> bool:
    """Whether what is emitted is the root and what is accepted below it; if it was cut, a beginning of that."""
    tree, emitted = one.tree, one.emitted
    if not tree.tokens or emitted[:1] != [tree.tokens[0]] or not _is_tree(tree):
        return False
    if one.path is None:
        return _depth(tree, emitted[1:]) == len(emitted) - 1
    below = one.path[one.path[:1] == [0] :]
    whole = len(emitted) == len(below) + 1 or (one.cut and len(emitted) <= len(below))
    return whole and _follows(tree, below, emitted[1:])


class _Told(NamedTuple):
    """A round that shows a tree."""

    tree: TreeData
    path: list[int] | None
    emitted: list[int]
    last: int  # the last token that was committed before it
    cut: bool  # the last round of its text may be


def _trees(texts: Sequence[Text]) -> Iterator[_Told]:
    """The rounds of all texts that show a tree, in order."""
    for prompt, rounds in texts:
        committed = list(prompt)
        for number, shown in enumerate(rounds, 1):
            tree, emitted = _tree(shown), answers.integers(answers.field(shown, "emitted"), "emitted").tolist()
            if tree is not None:
                yield _Told(tree, _path(shown), emitted, committed[-1], number == len(rounds))
            committed += emitted


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
    if not _is_tree(tree):
        return False
    here = 0
    for node, token in zip(path, emitted, strict=False):
        if not 0 < node < len(tree.tokens) or tree.parents[node] != here or tree.tokens[node] != token:
            return False
        here = node
    return True


def _is_tree(tree: TreeData) -> bool:
    return all(0 <= parent < node for node, parent in enumerate(tree.parents[1:], 1))
