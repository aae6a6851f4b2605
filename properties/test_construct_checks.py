"""CONSTRUCT: right trees pass in every form, wrong ones are caught and named, and no more is said than was declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
import treespark_oracle as oracle
from grounds import ground, only_builds, result_of, statuses, with_methods
from hypothesis import given
from hypothesis import strategies as st
from test_admissible_trees import close_to, listed, small, tables, tree_of

from tree_oracle.checks import CHECKS, View
from tree_oracle.checks.drafts import DRAFTS
from tree_oracle.checks.frozen.drawn import frozen, thawed
from tree_oracle.checks.policy import DeclaredPolicy
from tree_oracle.construct import Draft, TreeSpark
from tree_oracle.decoder import Parts, ReferenceDecoder
from tree_oracle.faults import FAULTS, Fault, builds
from tree_oracle.record import Case, CaseFile, DraftData, Finding, Round, Status, Truth
from tree_oracle.run import Budget, replay
from tree_oracle.strategies import candidate_trees, draft_tables, invalid_trees
from tree_oracle.tree import CandidateTree, TreeFault

IDS = ("CONSTRUCT-01", "CONSTRUCT-02", "CONSTRUCT-03", "CONSTRUCT-04")
PLANTED = [fault for fault in FAULTS.values() if fault.family == "CONSTRUCT"]
UNIFORM = DraftData((("33333333",),))
PASSED, FAILED, ERROR, UNSEEN = Status.PASSED, Status.FAILED, Status.ERROR, Status.NOT_OBSERVABLE


def judged(decoder: Any, *ids: str) -> list[Status]:
    """What came of the checks on the listed cases and 25 generated ones."""
    report = ground(cases=25).report(decoder, *(ids or IDS))
    return [statuses(report)[name] for name in ids or IDS]


def told(decoder: Any, name: str) -> str:
    """The sentence against the decoder, from the listed cases."""
    result = result_of(ground().report(decoder, name), name)
    return result.findings[0].sentence if result.findings else result.reason


def findings(name: str, tokens: Any, parents: Any, *, draft: DraftData = UNIFORM, policy: Any = None) -> list[Finding]:
    """What one judge says of one tree, without any decoder."""
    root = int(tokens[0]) if len(tokens) else 0
    shown = Round(emitted=(), prefix=(root,), tokens=tuple(map(int, tokens)), parents=tuple(map(int, parents)))
    declared = None if policy is None else DeclaredPolicy(policy)
    view = View(Case(prefix=(root,), draft=draft), (shown,), cast(Truth, None), tree_policy=declared)
    return list(CHECKS[name].judge(view))


def builder(build: Callable[[Draft, int], Any], policy: Any = None) -> Any:
    """A decoder that can do nothing but build trees."""
    decoder = with_methods(build_tree=build)
    if policy is not None:
        decoder.tree_policy = policy
    return partial(_make, decoder)


def _make(decoder: Any, target: Any) -> Any:
    return decoder


def right(draft: Draft, root: int) -> CandidateTree:
    return TreeSpark().build(draft, root).tree


def test_the_reference_passes() -> None:
    """The reference decoder declares its policy and builds by it."""
    assert judged(only_builds(ReferenceDecoder)) == [PASSED] * 4


@pytest.mark.parametrize("fault", PLANTED, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught_and_its_twin_passes(fault: Fault) -> None:
    """The named check fails on the listed cases alone, and every check of the family lets the twin pass."""
    assert result_of(ground().report(only_builds(fault.decoder), fault.check), fault.check).status is FAILED
    assert judged(only_builds(fault.harmless)) == [PASSED] * 4


def test_every_check_can_fail() -> None:
    """Each of the four is the one that must catch some planted fault."""
    assert {fault.check for fault in PLANTED} == set(IDS)


FORMS: dict[str, Callable[[CandidateTree], Any]] = {
    "tree": lambda tree: tree,
    "lists": lambda tree: (tree.tokens.tolist(), tree.parents.tolist()),
    "list of arrays": lambda tree: [tree.tokens, tree.parents],
    "tensors": lambda tree: (torch.tensor(tree.tokens), torch.tensor(tree.parents)),
    "mapping": lambda tree: {"tokens": tree.tokens.tolist(), "parents": tree.parents, "scores": None},
    "object": lambda tree: SimpleNamespace(tokens=tree.tokens, parents=tree.parents),
    "other storage order": lambda tree: CandidateTree(*tree.stored(np.argsort(tree.depths, kind="stable"))),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_right_tree_passes_in_every_form(form: str) -> None:
    """Trees, pairs, mappings and objects are read alike, and the storage order is the decoder's own."""
    assert judged(builder(lambda draft, root: FORMS[form](right(draft, root)), TreeSpark())) == [PASSED] * 4


def test_without_a_policy_only_what_holds_for_every_tree_is_judged() -> None:
    """A decoder that declares none is never said to keep bounds or to build by a rule."""
    assert judged(builder(right)) == [PASSED, UNSEEN, PASSED, UNSEEN]
    assert told(builder(right), "CONSTRUCT-04") == "the decoder declares no tree_policy"


def test_a_policy_of_other_bounds_is_judged_by_its_own() -> None:
    """What is right for one policy is wrong for another: the declared one decides."""
    policy = TreeSpark(branching=2, frontier=3, budget=6, depth=3)
    assert judged(lambda target: ReferenceDecoder(target, tree_policy=policy)) == [PASSED] * 4
    assert judged(builder(right, policy), "CONSTRUCT-02", "CONSTRUCT-04") == [FAILED, FAILED]


def largest_id_first(draft: Draft, root: int) -> tuple[list[int], list[int]]:
    """The policy by somebody else's hand: every tie, in the top k, at the frontier and in the packing, the other way round."""
    pool: list[tuple[float, int, tuple[int, ...]]] = []  # minus score, depth, path
    frontier: list[tuple[float, int, tuple[int, ...]]] = [(0.0, 0, ())]
    for depth in range(1, 8):
        level = []
        for minus, _, path in frontier:
            law = draft.log_probs(depth, (root, *path)[-1])
            ids = sorted((t for t in range(len(law)) if np.isfinite(law[t])), key=lambda t: (-law[t], -t))[:4]
            level += [(minus - float(law[t]), depth, (*path, t)) for t in ids]
        frontier = sorted(level, key=lambda node: (node[0], [-t for t in node[2]]))[:4]
        pool += level
    kept = sorted(pool, key=lambda node: (node[0], node[1], [-t for t in node[2]]))[:32]
    paths = [(), *(path for _, _, path in sorted(kept, key=lambda node: node[1]))]
    return [root, *(path[-1] for path in paths[1:])], [-1, *(paths.index(path[:-1]) for path in paths[1:])]


def test_ties_may_be_resolved_in_any_way() -> None:
    """A decoder that resolves every open tie against the reference builds other trees, all of them admissible."""
    assert judged(builder(largest_id_first, TreeSpark())) == [PASSED] * 4


WRONG: dict[str, tuple[Callable[[Draft, int], Any], str, str]] = {
    "no node": (lambda draft, root: ([], []), "CONSTRUCT-01", "the tree has no nodes, not even the root"),
    "no root": (lambda draft, root: ([root + 1], [-1]), "CONSTRUCT-01", "node 0 holds token 1 and has parent -1"),
    "roots": (lambda draft, root: ([root] * 2, [-1] * 2), "CONSTRUCT-01", "node 1 has no parent: -1 is no node of the tree"),
    "own parent": (lambda draft, root: ([root, 0], [-1, 1]), "CONSTRUCT-01", "node 1 is its own parent"),
    "late": (lambda draft, root: ([root, 0, 0], [-1, 2, 0]), "CONSTRUCT-01", "node 1 is stored before its parent, node 2"),
    "token": (lambda draft, root: ([root, 8], [-1, 0]), "CONSTRUCT-01", "node 1 holds token 8"),
    "twins": (
        lambda draft, root: ([root, 1, 2, 1], [-1, 0, 0, 0]),
        "CONSTRUCT-03",
        "nodes 1 and 3 are children of node 0 with the same token 1",
    ),
    "impossible": (
        lambda draft, root: ([root, *[0] * 6, 1], [-1, *range(7)]),
        "CONSTRUCT-04",
        f"the tree holds {[*[0] * 6, 1]} (depth 7, probability 0) and lacks {[0] * 7} (depth 7, probability 1)",
    ),
    "root alone": (lambda draft, root: ([root], [-1]), "CONSTRUCT-04", "the tree lacks [0] (depth 1, probability 1)"),
}  # fmt: skip


@pytest.mark.parametrize(("build", "check", "sentence"), WRONG.values(), ids=WRONG)
def test_a_wrong_tree_is_named(build: Callable[[Draft, int], Any], check: str, sentence: str) -> None:
    """The sentence says which node is wrong and how, from the first listed case on."""
    assert told(builder(build, TreeSpark()), check) == sentence


BOUNDS = {
    "budget": (TreeSpark(budget=5), "the tree has 7 nodes, the root not counted"),
    "depth": (TreeSpark(depth=2), "the tree has 7 levels below the root"),
    "branching": (TreeSpark(branching=2), "the tree has 4 children below node 0"),
    "frontier": (TreeSpark(frontier=2), "the tree has 4 nodes with children at depth 1"),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_each_bound_that_is_broken_is_named(name: str) -> None:
    """Nodes, levels, children and proposing nodes are counted, and a policy may declare some of the bounds only."""
    policy, sentence = BOUNDS[name]
    alone = SimpleNamespace(**{name: getattr(policy, name)})
    assert told(builder(right, alone), "CONSTRUCT-02") == sentence
    found = result_of(ground().report(builder(right, alone), "CONSTRUCT-02"), "CONSTRUCT-02").findings[0]
    assert found.expected == f"at most {getattr(policy, name)}, the declared {name}"


def failing(*_: Any) -> Any:
    raise ValueError("no policy today")


def policy_with(**methods: Any) -> Any:
    plain = TreeSpark(budget=1)  # so that the tree is never its own and admits is asked
    return SimpleNamespace(**{"build": plain.build, "admits": plain.admits, **methods})


UNREADABLE: dict[str, tuple[Any, Any, str, str]] = {
    "nothing": (lambda draft, root: None, None, "CONSTRUCT-01", "build_tree is NoneType None; expected a list with tokens"),
    "floats": (lambda draft, root: ([0.0], [-1]), None, "CONSTRUCT-01", "tokens has dtype float64; expected integers"),
    "lengths": (lambda draft, root: ([0, 1], [-1]), None, "CONSTRUCT-01", "parents has shape (1,); expected shape (2,)"),
    "three": (lambda draft, root: ([0], [-1], [0]), None, "CONSTRUCT-01", "expected a list with tokens and parents"),
    "bound": (right, policy_with(budget="32"), "CONSTRUCT-02", "tree_policy.budget is str '32'; expected an integer"),
    "raises": (right, policy_with(build=failing), "CONSTRUCT-04", "tree_policy.build raised ValueError: no policy today"),
    "no tree": (right, policy_with(build=lambda *_: 7), "CONSTRUCT-04", "tree_policy.build gave tree NoneType None"),
    "no method": (right, SimpleNamespace(budget=3), "CONSTRUCT-04", "has no attribute 'build'"),
    "no answer": (right, policy_with(admits=lambda *_: 1), "CONSTRUCT-04", "tree_policy.admits answered int 1; expected True"),
}  # fmt: skip


@pytest.mark.parametrize(("build", "policy", "check", "sentence"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_the_adapters_fault(build: Any, policy: Any, check: str, sentence: str) -> None:
    """An answer of the wrong form and a declaration that does not work are errors, named, and no failure of the decoder."""
    decoder = builder(build, policy)
    assert result_of(ground().report(decoder, check), check).status is ERROR
    assert sentence in told(decoder, check)


def changing() -> Iterator[int]:
    yield from range(10**9)


def test_a_builder_that_changes_its_mind_fails() -> None:
    """The same draft and root must give the same tree twice, whatever policy there is."""
    count = changing()
    decoder = builder(lambda draft, root: ([root, next(count) % 8], [-1, 0]))
    assert told(decoder, "CONSTRUCT-01") == "build_tree answered differently the second time, on the same input: tokens"


def test_a_builder_may_do_what_it_likes_with_a_law() -> None:
    """A law that was asked for is a copy: writing into it changes no later answer."""

    def spoils(draft: Draft, root: int) -> CandidateTree:
        tree = right(draft, root)
        for depth in range(1, 9):
            draft.log_probs(depth, root)[:] = 0.0
        assert right(draft, root) == tree
        return tree

    assert judged(builder(spoils, TreeSpark())) == [PASSED] * 4


def test_a_failure_can_be_seen_again() -> None:
    """A failing case is kept whole, draft and all, and replaying it fails in the same words."""
    fault = FAULTS["budget-counts-root"]
    report = ground(cases=25).report(
        fault.decoder, fault.check, budget=Budget(cases=25, shrink_runs=100, diagnose=False)
    )
    (found,) = result_of(report, fault.check).findings
    assert found.case is not None
    assert found.case.draft is not None
    assert found.drawing.startswith("[0] ")
    file = CaseFile(check=fault.check, target="exact", decoder="reference", case=found.case)
    again = replay(file, ground().subject(fault.decoder))
    assert again.results[0].findings[0].sentence == found.sentence
    assert replay(file, ground().subject(ReferenceDecoder)).results[0].status is PASSED


def test_what_is_no_tree_is_not_drawn() -> None:
    """A finding about broken parents shows the arrays, and no drawing of a tree that there is not."""
    report = ground().report(only_builds(FAULTS["parent-row-off-by-one"].decoder), "CONSTRUCT-01")
    (found,) = report.results[0].findings
    assert found.drawing == ""
    assert "parents [-1, 1," in found.seen


def test_the_cause_is_named() -> None:
    """Of all suspects the one that builds the same wrong trees is named, and alone."""
    budget = Budget(cases=0, shrink_runs=0, diagnose=True)
    wrong = partial(ReferenceDecoder, parts=Parts(build=builds.law_of_root))
    (found,) = ground().report(wrong, "CONSTRUCT-04", budget=budget).results[0].findings
    assert found.causes == ("law-of-root: every law is asked for after the root's token",)
    assert found.certain


@given(tree=candidate_trees(vocab_size=8, distinct_siblings=True))
def test_every_tree_of_distinct_siblings_passes_the_laws_of_every_tree(tree: CandidateTree) -> None:
    """Shape, order and labels are the decoder's own."""
    assert not findings("CONSTRUCT-01", tree.tokens, tree.parents)
    assert not findings("CONSTRUCT-03", tree.tokens, tree.parents)


NO_TREE = set(TreeFault) - {TreeFault.DTYPE, TreeFault.LENGTH, TreeFault.DUPLICATE_SIBLINGS, TreeFault.LOG_PROBABILITY}


@given(broken=invalid_trees(vocab_size=8, faults=tuple(NO_TREE)))
def test_whatever_is_no_tree_fails(broken: Any) -> None:
    """Orphans, cycles, second roots, foreign tokens and late parents are found, wherever they stand."""
    assert findings("CONSTRUCT-01", broken.tokens, broken.parents)


@given(broken=invalid_trees(vocab_size=8, faults=(TreeFault.DUPLICATE_SIBLINGS,)))
def test_equal_siblings_fail_the_law_of_siblings_alone(broken: Any) -> None:
    """A tree with a node twice is a tree, but not one of distinct siblings."""
    assert not findings("CONSTRUCT-01", broken.tokens, broken.parents)
    assert findings("CONSTRUCT-03", broken.tokens, broken.parents)


@given(data=tables, policy=small, drawn=st.data())
def test_a_tree_passes_exactly_when_some_resolution_of_ties_gives_it(
    data: DraftData, policy: TreeSpark, drawn: st.DataObject
) -> None:
    """The judge's verdict is membership in the list of all ways through all ties, on trees a node or two from right."""
    trees = listed(data, policy)
    paths = drawn.draw(close_to(trees, data.vocab_size))
    tree = tree_of(paths)
    passed = not findings("CONSTRUCT-04", tree.tokens, tree.parents, draft=data, policy=policy)
    assert passed == (frozenset(paths) in trees)


def test_every_listed_law_sums_to_one() -> None:
    """The listed drafts are drafts: no probability is lost or made, so that normalising them again changes nothing."""
    for case in DRAFTS.listed(ground().stock.stage):
        assert case.draft is not None
        for law in (law for below in case.draft.laws for law in below):
            assert sum(2.0 ** -int(letter) for letter in law if letter != "-") == 1.0
        assert oracle.probability(case.draft, case.prefix[-1], ()) == 1


@given(draft_tables())
def test_a_drawn_draft_can_be_frozen(data: DraftData) -> None:
    """Drafts can be kept among the frozen cases and come back the same."""
    assert thawed(frozen(data), 60) == data
