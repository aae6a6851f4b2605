"""The judge of a program's replies: what is right passes, each planted mistake fails where its flag says, form is no matter of taste."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tree_oracle.record import Status
from tree_oracle.vectors import load, load_all
from tree_oracle.vectors.judge import Reply, Verdict, judge
from tree_oracle.vectors.model import AnyVector
from tree_oracle.vectors.serve import replied

Answer = dict[str, Any]
Mistake = Callable[[Any, Answer], Answer | None]  # from input and right answer to a wrong one; None: the right one


def right(operation: str, vector: AnyVector) -> Reply:
    """The reference's reply, through JSON and back."""
    request = {"id": vector.id, "operation": operation, "input": msgspec.to_builtins(vector.input)}
    line = msgspec.json.encode(replied(msgspec.json.decode(msgspec.json.encode(request))))
    return msgspec.json.decode(line, type=Reply)


def test_the_reference_passes_every_vector() -> None:
    """Asked through the protocol's messages, the reference is right about all of them."""
    wrong = [
        vector.id
        for group in load_all()
        for vector in group.vectors
        if judge(group.operation, vector, right(group.operation, vector)) != Verdict(Status.PASSED)
    ]
    assert wrong == []


def positions_by_slot(asked: Any, answer: Answer) -> Answer:
    return {**answer, "positions": [asked.prefix_len - 1 + slot for slot in range(len(asked.tokens))]}


def causal_over_slots(asked: Any, answer: Answer) -> Answer:
    n, cached = len(asked.tokens), asked.prefix_len - 1
    return {**answer, "visible": ["1" * (cached + v + 1) + "0" * (n - v - 1) for v in range(n)]}


def words_of_32_bits(asked: Any, answer: Answer) -> Answer | None:
    if asked.format != "flexflow":
        return None
    (document,) = answer["documents"][:1]
    cut = {**document, "mask": [word & 0x7FFFFFFF for word in document["mask"]]}
    return {"documents": [cut, *answer["documents"][1:]]}


def end_tested_on_the_last_token(asked: Any, answer: Answer) -> Answer:
    limits = asked.limits
    cap = max(limits.max_new_tokens - asked.emitted, 0)
    context = cap if limits.max_length is None else max(limits.max_length - asked.length, 0)
    room, proposed = min(cap, context), list(asked.proposed)
    if proposed[-1] in limits.eos_ids and len(proposed) <= room:
        return {"emitted": proposed, "end": "eos"}
    reason = "cap" if cap <= context else "context"
    return {"emitted": proposed[:room], "end": reason if len(proposed) >= room else None}


def slots_for_path(asked: Any, answer: Answer) -> Answer:
    return {**answer, "accepted": list(range(1, len(answer["accepted"]) + 1))}


def no_bonus(asked: Any, answer: Answer) -> Answer:
    return {**answer, "emitted": answer["emitted"][:-1]}


def smallest_always(asked: Any, answer: Answer) -> Answer | None:
    if asked.tie_rule == "smallest id":
        return None
    request = {"id": "", "operation": "walk", "input": {**msgspec.to_builtins(asked), "tie_rule": "smallest id"}}
    found: Answer = replied(request).answer
    return found


def one_node_less(asked: Any, answer: Answer) -> Answer:
    return {"tokens": answer["tokens"][:-1], "parents": answer["parents"][:-1]}


def all_below_the_root(asked: Any, answer: Answer) -> Answer:
    return {**answer, "parents": [-1] + [0] * (len(answer["parents"]) - 1)}


def positions_of_eight_bits(asked: Any, answer: Answer) -> Answer:
    return {**answer, "positions": [position & 0xFF for position in answer["positions"]]}


def tokens_of_sixteen_bits(asked: Any, answer: Answer) -> Answer:
    wide = {token for tree in asked.trees for token in tree.tokens if token > 0xFFFF}

    def cut(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(cut(int(key))) if key.isdecimal() else key: cut(one) for key, one in value.items()}
        if isinstance(value, list):
            return [cut(one) for one in value]
        if isinstance(value, str):
            return re.sub(r"\d+", lambda found: str(cut(int(found[0]))), value)
        return value & 0xFFFF if value in wide else value

    return {"documents": cut(answer["documents"])}


def first_drafts_chance(asked: Any, answer: Answer) -> Answer:
    """One q for each merged node, that of its first draw."""
    return {
        **answer,
        "draws": [[[child, draft, _first(below, child)] for child, draft, _ in below] for below in answer["draws"]],
    }


def _first(below: Any, child: int) -> Any:
    return next(count for other, _, count in below if other == child)


def each_token_once(asked: Any, answer: Answer) -> Answer:
    """A draft's second draw of a token forgotten."""
    kept = [
        {(child, draft): [child, draft, count] for child, draft, count in reversed(below)} for below in answer["draws"]
    ]
    return {**answer, "draws": [list(below.values())[::-1] for below in kept]}


# The mistake, the group, the flag, and whether it fails exactly the vectors of that flag or at least these.
MISTAKES: dict[str, tuple[Mistake, str, str, bool]] = {
    "position by slot": (positions_by_slot, "trees", "SiblingBefore", True),
    "causal mask": (causal_over_slots, "trees", "NotAncestor", True),
    "32-bit words": (words_of_32_bits, "encode", "WideWord", True),
    "8-bit positions": (positions_of_eight_bits, "trees", "LongPrefix", True),
    "16-bit tokens": (tokens_of_sixteen_bits, "encode", "WideToken", True),
    "end on the last token": (end_tested_on_the_last_token, "stop", "EndInside", True),
    "slots for the path": (slots_for_path, "greedy", "Scattered", True),
    "no bonus": (no_bonus, "greedy", "NothingAccepted", False),
    "budget counts the root": (one_node_less, "construct", "BudgetCut", False),
    "one q for all drafts": (first_drafts_chance, "merge-draws", "OwnChance", False),
    "no second draw": (each_token_once, "merge-draws", "DrawnTwice", True),
    "no levels": (all_below_the_root, "construct", "PublishedSize", False),
}


@pytest.mark.parametrize(("mistake", "name", "flag", "exactly"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_fails_the_vectors_of_its_flag(mistake: Mistake, name: str, flag: str, exactly: bool) -> None:
    """A program with one mistake fails every vector that has the mistake's flag, and where it can be, no other."""
    group, failed = load(name), set()
    for vector in group.vectors:
        reply = right(group.operation, vector)
        wrong = mistake(vector.input, reply.answer)
        verdict = judge(group.operation, vector, reply if wrong is None else Reply(vector.id, answer=wrong))
        assert verdict.status in (Status.PASSED, Status.FAILED)
        assert bool(verdict.sentence) == (verdict.status is Status.FAILED)
        failed |= {vector.id} if verdict.status is Status.FAILED else set()
    flagged = {vector.id for vector in group.vectors if flag in vector.flags}
    assert flagged
    assert failed == flagged if exactly else failed >= flagged


def test_the_wrong_tie_rule_fails_only_where_scores_tie() -> None:
    """A program that always takes the smallest id fails vectors of the other rule with an exact tie, and no others."""
    failed = []
    for vector in load("greedy-ties").vectors:
        answer = smallest_always(vector.input, {}) or right("walk", vector).answer
        if judge("walk", vector, Reply(vector.id, answer=answer)).status is Status.FAILED:
            failed.append(vector)
    assert len(failed) > 20
    assert all(vector.input.tie_rule == "largest id" and "ExactTie" in vector.flags for vector in failed)


def test_a_program_that_refuses_nothing_fails_every_malformed_vector() -> None:
    """An answer to what must be refused is never right, whatever it is; nor is a refusal of what is valid."""
    for name in ("malformed", "malformed-trees"):
        group = load(name)
        for vector in group.vectors:
            verdict = judge(group.operation, vector, Reply(vector.id, answer={}))
            assert verdict == Verdict(Status.FAILED, "what must be refused is accepted: {}")
    for group in load_all():
        vector = group.vectors[0]
        if not group.group.startswith("malformed"):
            verdict = judge(group.operation, vector, Reply(vector.id, refused="no"))
            assert verdict == Verdict(Status.FAILED, "valid input is refused: no")


def test_every_admissible_tree_passes_and_only_these() -> None:
    """Each tree that a vector lists passes in any order of siblings, and one path less or more fails."""
    for vector in load("construct-ties").vectors:
        for paths in vector.expected.trees:
            ordered = [(), *sorted(paths, key=lambda path: (len(path), [-token for token in path]))]
            answer = {
                "tokens": [vector.input.root, *(path[-1] for path in ordered[1:])],
                "parents": [-1, *(ordered.index(path[:-1]) for path in ordered[1:])],
            }
            assert judge("build", vector, Reply(vector.id, answer=answer)) == Verdict(Status.PASSED)
            more = {"tokens": [*answer["tokens"], 63], "parents": [*answer["parents"], 0]}
            assert judge("build", vector, Reply(vector.id, answer=more)).status is Status.FAILED


TREE = {"tokens": [0, 1], "parents": [-1, 0]}


@pytest.mark.parametrize(("name", "reply", "status", "sentence"), [
    ("stop", Reply("x"), Status.ERROR, "the reply has not exactly one of answer, refused, unsupported and error"),
    ("stop", Reply("x", answer={}, refused="no"), Status.ERROR, "the reply has not exactly one of"),
    ("stop", Reply("x", unsupported="later"), Status.NOT_OBSERVABLE, "the program does not do this: later"),
    ("stop", Reply("x", error="oops"), Status.FAILED, "the program reports an error of its own: oops"),
    ("stop", Reply("x", answer=[]), Status.ERROR, "wrong form: Expected `object`, got `array`"),
    ("stop", Reply("x", answer={"emitted": []}), Status.ERROR, "missing required field `end`"),
    ("stop", Reply("x", answer={"emitted": [True], "end": None}), Status.ERROR, "Expected `int`, got `bool`"),
    ("stop", Reply("x", answer={"emitted": [1.5], "end": None}), Status.ERROR, "Expected `int`, got `float`"),
    ("stop", Reply("x", answer={"emitted": [10**4400], "end": None}), Status.FAILED, "emitted"),
    ("stop", Reply("x", answer={"emitted": [], "end": "soon"}), Status.ERROR, "Invalid enum value 'soon'"),
    ("merge", Reply("x", answer={"tokens": [0], "parents": [0]}), Status.FAILED, "no tree with distinct siblings: self-parent"),
    ("merge", Reply("x", answer={"tokens": [], "parents": []}), Status.FAILED, "no tree with distinct siblings: no root"),
    ("merge", Reply("x", answer={"tokens": [9, 1], "parents": [-1, 0]}), Status.FAILED, "the root holds token 9; expected"),
    ("merge-draws", Reply("x", answer={"tokens": [9], "parents": [-1], "draws": [[]]}), Status.FAILED, "the root holds token 9; expected"),
    ("merge-draws", Reply("x", answer={"tokens": [2], "parents": [-1], "draws": []}), Status.FAILED, "are missing and [] are too many"),
    ("greedy", Reply("x", answer={"accepted": [7], "emitted": [7]}), Status.FAILED, "accepted [7] and emitted [7]; expected accepted"),
    ("encode", Reply("x", answer={"documents": []}), Status.FAILED, "documents has 0 entries; expected 1"),
    ("encode", Reply("x", answer={"documents": [{}]}), Status.FAILED, "documents[0] has members []; expected"),
    ("encode", Reply("x", answer={"documents": [3]}), Status.ERROR, "documents[0] is 3, of type int; expected dict"),
    ("decode", Reply("x", answer={"trees": [TREE, TREE]}), Status.FAILED, "trees has 2 entries; expected 1"),
    ("malformed", Reply("x", refused="no", at=(0, "mask", 99)), Status.FAILED, "is blamed; expected one of"),
])  # fmt: skip
def test_a_reply_that_is_not_right_is_told_why(name: str, reply: Reply, status: Status, sentence: str) -> None:
    """Each kind of wrong reply has its status and a sentence that shows what was seen and what was expected."""
    group = load(name)
    vector = next(vector for vector in group.vectors if getattr(vector.expected, "at", True))
    verdict = judge(group.operation, vector, reply)
    assert verdict.status is status, verdict
    assert sentence in verdict.sentence


def test_draws_that_belong_to_no_child_are_told() -> None:
    """Draws of a right tree are refused where a node has none of its own list, or a list names no child of the node."""
    vector = load("merge-draws").vectors[0]
    answer = msgspec.to_builtins(right("merge_draws", vector).answer)
    short = judge("merge_draws", vector, Reply("x", answer={**answer, "draws": answer["draws"][:-1]}))
    n = len(answer["tokens"])
    assert short.sentence == f"draws has {n - 1} entries; expected {n}, one for each node"
    astray = judge("merge_draws", vector, Reply("x", answer={**answer, "draws": [[[0, 0, 1]], *answer["draws"][1:]]}))
    assert astray.sentence == "draws[0] names node 0; expected children of node 0"
    assert {short.status, astray.status} == {Status.FAILED}
    order = judge(
        "merge_draws", vector, Reply("x", answer={**answer, "draws": [below[::-1] for below in answer["draws"]]})
    )
    assert order.sentence.startswith("below the path [] the draws (token, draft, count) are ")


def test_truth_values_are_no_numbers() -> None:
    """An encoding whose mask holds true and false is in error, not right: the declared form is 0 and 1."""
    vector = load("encode").vectors[1]
    documents = msgspec.to_builtins(vector.expected.documents)
    documents[0]["mask"] = [[[bool(entry) for entry in row] for row in square] for square in documents[0]["mask"]]
    verdict = judge("encode", vector, Reply(vector.id, answer={"documents": documents}))
    assert verdict.status is Status.ERROR
    assert "of type bool; expected int 1" in verdict.sentence
