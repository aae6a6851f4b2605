"""Whether a program's reply to a vector is right.

passed           the only right answer, or one of them; or a refusal where refusal is due
failed           another answer, a refusal of valid input, an answer to what must be refused, or an error of its own
not observable   the program says that it does not do this
error            a reply of the wrong form: the adapter's fault
"""

from __future__ import annotations

from typing import Any

import msgspec

from tree_oracle.record import Status
from tree_oracle.tree import CandidateTree, InvalidTree
from tree_oracle.vectors.answers import ANSWERS, Answer, canonical
from tree_oracle.vectors.joined import tried
from tree_oracle.vectors.model import (
    Admitted,
    AnyVector,
    Build,
    Decoded,
    Encoded,
    Joined,
    Outcome,
    Place,
    Refused,
    Tree,
    Tried,
    Walked,
)

_SHORT = 120


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a program says to one vector: exactly one of the four."""

    id: str
    answer: Any = None
    refused: str | None = None  # why the input is refused
    unsupported: str | None = None  # why the program does not do this
    error: str | None = None  # what went wrong in it
    at: Place | None = None  # with ``refused``: the entry that is to blame, or the list that holds it


class Verdict(msgspec.Struct, frozen=True):
    """What a vector came to."""

    status: Status
    sentence: str = ""  # what is wrong; empty where it passed


_PASSED = Verdict(Status.PASSED)


def judge(operation: str, vector: AnyVector, reply: Reply) -> Verdict:
    """The verdict on one reply."""
    given = [reply.answer, reply.refused, reply.unsupported, reply.error]
    if sum(one is not None for one in given) != 1:
        return Verdict(Status.ERROR, "the reply has not exactly one of answer, refused, unsupported and error")
    if reply.unsupported is not None:
        return Verdict(Status.NOT_OBSERVABLE, f"the program does not do this: {_short(reply.unsupported)}")
    if reply.error is not None:
        return Verdict(Status.FAILED, f"the program reports an error of its own: {_short(reply.error)}")
    if isinstance(vector.expected, Refused):
        return _refusal(vector.expected, reply)
    if reply.refused is not None:
        return Verdict(Status.FAILED, f"valid input is refused: {_short(reply.refused)}")
    try:
        answer: Answer = msgspec.convert(reply.answer, type=ANSWERS[operation])
    except (msgspec.ValidationError, RecursionError) as error:
        return Verdict(Status.ERROR, f"the answer has the wrong form: {error}")
    return _judged(vector, answer)


def _refusal(expected: Refused, reply: Reply) -> Verdict:
    if reply.refused is None:
        return Verdict(Status.FAILED, f"what must be refused is accepted: {_short(reply.answer)}")
    if reply.at is not None and expected.at and not any(reply.at == place[: len(reply.at)] for place in expected.at):
        return Verdict(Status.FAILED, f"{list(reply.at)} is blamed; expected one of {_short(list(expected.at))}")
    return _PASSED


def _judged(vector: AnyVector, answer: Answer) -> Verdict:
    match vector.expected, answer:
        case Admitted(trees), Tree():
            return _tree(trees, vector.input, answer)
        case Tried() as expected, Joined():
            return _draws(expected, vector.input, answer)
        case Walked(outcomes), Outcome():
            wanted = " or ".join(_said(one) for one in outcomes)
            return _PASSED if answer in outcomes else _wrong(f"{_said(answer)}; expected {wanted}")
        case Encoded(expected), Encoded(seen):
            return _compared(expected, seen, "documents")
        case Decoded(expected), Decoded(seen):
            return _compared(msgspec.to_builtins(expected), msgspec.to_builtins(seen), "trees")
        case expected, seen:
            return _compared(msgspec.to_builtins(expected), msgspec.to_builtins(seen), "")


def _tree(trees: tuple[Any, ...], asked: Any, answer: Tree) -> Verdict:
    tree = _answered(answer, asked.root if isinstance(asked, Build) else asked.trees[0].tokens[0])
    if isinstance(tree, Verdict):
        return tree
    return _paths(trees, canonical(tree))


def _paths(trees: tuple[Any, ...], found: Any) -> Verdict:
    if found in trees:
        return _PASSED
    missing = sorted(set(trees[0]) - set(found))
    more = sorted(set(found) - set(trees[0]))
    which = "the only right tree" if len(trees) == 1 else f"the first of {len(trees)} right trees"
    return _wrong(f"against {which}, the paths {_short(missing)} are missing and {_short(more)} are too many")


def _draws(expected: Tried, asked: Any, answer: Joined) -> Verdict:
    tree = _answered(answer, asked.drafts[0].tokens[0])
    if isinstance(tree, Verdict):
        return tree
    paths = tuple(one.after for one in expected.nodes[1:])
    if canonical(tree) != paths:
        return _paths((paths,), canonical(tree))
    found = tried(answer, tree)
    if isinstance(found, str):
        return _wrong(found)
    for wanted, seen in zip(expected.nodes, found.nodes, strict=True):
        if wanted != seen:
            both = f"{_short(list(seen.draws))}; expected {_short(list(wanted.draws))}"
            return _wrong(f"below the path {list(wanted.after)} the draws (token, draft, count) are {both}")
    return _PASSED


def _answered(answer: Tree | Joined, root: int) -> CandidateTree | Verdict:
    try:
        tree = CandidateTree(answer.tokens, answer.parents, distinct_siblings=True)
    except InvalidTree as error:
        return _wrong(f"the answer is no tree with distinct siblings: {error}")
    return tree if answer.tokens[0] == root else _wrong(f"the root holds token {answer.tokens[0]}; expected {root}")


def _compared(expected: Any, seen: Any, at: str) -> Verdict:
    """The first difference; another kind of value is a matter of form."""
    if type(expected) is not type(seen):
        kinds = f"{type(seen).__name__}; expected {type(expected).__name__}"
        status = Status.FAILED if None in (expected, seen) else Status.ERROR
        return Verdict(status, f"{at} is {_short(seen)}, of type {kinds} {_short(expected)}")
    if isinstance(expected, dict):
        if expected.keys() != seen.keys():
            return _wrong(
                f"{at or 'the answer'} has members {_short(sorted(seen))}; expected {_short(sorted(expected))}"
            )
        pairs = [(f"{at}.{key}" if at else key, expected[key], seen[key]) for key in expected]
    elif isinstance(expected, list | tuple):
        if len(expected) != len(seen):
            return _wrong(f"{at} has {len(seen)} entries; expected {len(expected)}")
        pairs = [(f"{at}[{index}]", *pair) for index, pair in enumerate(zip(expected, seen, strict=True))]
    else:
        return _PASSED if expected == seen else _wrong(f"{at} is {_short(seen)}; expected {_short(expected)}")
    verdicts = (_compared(one, other, place) for place, one, other in pairs)
    return next((verdict for verdict in verdicts if verdict != _PASSED), _PASSED)


def _wrong(sentence: str) -> Verdict:
    return Verdict(Status.FAILED, sentence)


def _said(outcome: Outcome) -> str:
    return f"accepted {list(outcome.accepted)} and emitted {list(outcome.emitted)}"


def _short(value: Any) -> str:
    try:
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    except OverflowError:  # an integer of more than 64 bits, which may have millions of digits
        return "an integer that is far too large"
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}..."
