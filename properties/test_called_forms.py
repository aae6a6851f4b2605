"""Claim: functions in the forms of OPT-Tree, Sequoia and SGLang are judged, and what contradicts itself is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from called_reference import functions_of
from grounds import ground, sentences, statuses
from replayed_projects import LAYOUTS, RECORDED, VERIFIED

from tree_oracle import ReferenceDecoder
from tree_oracle.adapters import describe_as
from tree_oracle.checks.drive import drive
from tree_oracle.decoder import Seam
from tree_oracle.faults import find_fault
from tree_oracle.record import Case, DecoderError, Report, Status, TreeData, Unsupported
from tree_oracle.run import Budget
from tree_oracle.tree import CandidateTree

CALLED = ("opt-tree", "sequoia", "sglang")
VOCAB = 61
QUICK = Budget(cases=0, shrink_runs=0, diagnose=False)


@pytest.mark.parametrize("project", CALLED)
def test_wrong_functions_of_a_project_s_form_are_caught(project: str) -> None:
    """Right functions of the form that a project's have pass; with a leak between siblings, or only first children tried,
    they do not."""

    def judged(make: Any, *checks: str) -> Report:
        return ground().report(
            lambda target: describe_as(project, **functions_of(project, make(target)))(target), *checks, budget=QUICK
        )

    right = judged(ReferenceDecoder, "VISIBLE-03", "POSITION-01", "GATHER-01", "GREEDY-02")
    assert set(statuses(right).values()) == {Status.PASSED}, sentences(right)
    for fault, check in (("sibling-leak", "VISIBLE-03"), ("first-child-only", "GREEDY-02")):
        assert statuses(judged(find_fault(fault).decoder, check)) == {check: Status.FAILED}


@pytest.mark.parametrize(
    ("project", "parents", "tokens", "said"),
    [
        ("opt-tree", [-1], [5], "a tree without candidates is not laid out where the root is not in the pass"),
        ("opt-tree", [-1, 0, 0], [5, 6, 6], "made to grow 1 to 126 candidates level by level, without equal siblings"),
        ("opt-tree", [-1, 0, 1, 0], [5, 6, 7, 8], "OPT-Tree is made to grow 1 to 126 candidates"),
        ("sequoia", [-1, 0, 1, 0], [5, 6, 7, 8], "Sequoia grows trees level by level"),
        ("sglang", [-1, 0, 1, 0], [5, 6, 7, 8], "pool cannot hold this tree of 4 nodes"),
    ],
)
def test_a_tree_that_a_project_cannot_make_is_refused(
    project: str, parents: list[int], tokens: list[int], said: str
) -> None:
    """What no draft could make a project lay out is refused before its function is asked, and not blamed on it."""
    decoder = describe_as(project, layout=lambda **given: pytest.fail("asked"))(ground().target)
    with pytest.raises(Unsupported, match=said):
        drive(decoder, Seam.LAY_OUT, Case(prefix=(5,), trees=(TreeData(tuple(tokens), tuple(parents)),)), VOCAB)


CONTRADICTIONS = [
    ("opt-tree", "is_final", False, "the tree is still growing after 2 levels; expected its end"),
    ("opt-tree", "parent_last", [0, 2, 0], "parent_last[1] is 2; expected itself below the root, or one before it"),
    ("opt-tree", "input_ids", [1, 1, 1], "candidate 0 is token 1 below node 0; expected each of"),
    ("sequoia", "input_ids", [1, 2, 3, 4], "the pass is over tokens [1, 2, 3, 4]; expected those of the tree"),
    ("sglang", "retrieve_next_token", [[1, -1, 3, -1]], "are those of parents [-1, 0, 0, 2]; expected [-1, 0, 0, 1]"),
    ("sglang", "retrieve_next_token", [[1, -1, -1, -1]], "the links of this layout are no tree's: "),
]


@pytest.mark.parametrize(("project", "name", "value", "said"), CONTRADICTIONS)
def test_a_layout_that_contradicts_its_tree_is_refused(project: str, name: str, value: Any, said: str) -> None:
    """The buffer at fault is named, with what it says and what the tree says."""
    one = next(one for one in RECORDED[project]["trees"] if one["parents"] == [-1, 0, 0, 1])
    part = "pass" if project == "sequoia" else "buffers"
    length = one["asked"]["seq_lens"][0] + 1 if project == "sglang" else 4
    wrong = {**one, part: {**one[part], name: value}}
    decoder = describe_as(project, layout=LAYOUTS[project](wrong))(ground().target)
    with pytest.raises(DecoderError) as refused:
        decoder.lay_out(CandidateTree(one["tokens"], one["parents"]), length)
    assert said in str(refused.value)


TOLD = [
    (
        "opt-tree",
        "length",
        11,
        "current_length_data says that 11 nodes are kept, the root among them; expected 1 to 10",
    ),
    ("sglang", "accept_token_num", [10], "accept_token_num says that 11 nodes are kept, the root among them"),
    ("opt-tree", "best_candidate", [1], "tokens [1] are given for nodes [0"),
    ("sequoia", "gathered", None, "no cache rows were kept or dropped; expected gather_kv_incremental to be called"),
    ("sequoia", "gathered", [2, 5, 14], "node 13 is kept; expected nodes 0 to 9"),
    ("sglang", "predicts", [1] * 10, "are given for nodes [0, 1, 4, 7]; expected"),
    ("sglang", "accept_index", [[0, 1, 4, 10, *[-1] * 6]], "node 10 is kept; expected nodes 0 to 9"),
]


@pytest.mark.parametrize(("project", "name", "value", "said"), TOLD)
def test_a_decision_whose_nodes_and_tokens_differ_is_refused(project: str, name: str, value: Any, said: str) -> None:
    """What is emitted must be held by the nodes that are kept, and these must be nodes of the tree."""
    one = next(
        one
        for one in RECORDED[project]["decisions"]
        if len(one["parents"]) == 10 and one["argmax"][0] in one["tokens"][1:4]
    )
    rows = np.zeros((10, VOCAB), dtype=np.float32)
    rows[np.arange(10), one["argmax"]] = 1
    decoder = describe_as(project, verify=VERIFIED[project]({**one, name: value}))(ground().target)
    with pytest.raises(DecoderError) as refused:
        decoder.accept(CandidateTree(one["tokens"], one["parents"]), rows)
    assert said in str(refused.value)
