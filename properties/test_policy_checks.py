"""CONSTRUCT for every published policy: its own trees pass, a node from right they fail, and what was not declared is not judged."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import pytest
from grounds import ground, only_builds, result_of, statuses, with_methods

from tree_oracle.checks import CHECKS, View
from tree_oracle.checks.policy import DeclaredPolicy, policy_of
from tree_oracle.checks.say import NothingToJudge
from tree_oracle.construct import POLICIES, Chain, Draft, Sight, TableDraft, TreeSpark
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.record import Case, DraftData, Round, Status, Truth
from tree_oracle.tree import CandidateTree

IDS = ("CONSTRUCT-01", "CONSTRUCT-02", "CONSTRUCT-03", "CONSTRUCT-04")
PASSED, FAILED, ERROR, UNFIT = Status.PASSED, Status.FAILED, Status.ERROR, Status.NOT_APPLICABLE
STEEP = DraftData((("123456-7",), ("23456-17",), ("3456-127",)))  # no two tokens alike, token 5 or its like never
CONDITIONED = DraftData((("11------", "1--1----"),))


def declaring(policy: Any, build: Callable[[Draft, int], Any]) -> Any:
    """A decoder that builds trees by one rule and declares another."""
    decoder = with_methods(build_tree=build)
    decoder.tree_policy = policy
    return decoder


def judged(policy: Any, build: Callable[[Draft, int], Any]) -> list[Status]:
    found = statuses(ground().report(declaring(policy, build), *IDS))
    return [found[name] for name in IDS]


def verdict(declared: DeclaredPolicy, tokens: Any, parents: Any, data: DraftData) -> Status:
    """What CONSTRUCT-04 makes of one tree."""
    root = int(tokens[0])
    shown = Round(emitted=(), prefix=(root,), tokens=tuple(map(int, tokens)), parents=tuple(map(int, parents)))
    view = View(Case(prefix=(root,), draft=data), (shown,), cast(Truth, None), tree_policy=declared)
    try:
        return FAILED if list(CHECKS["CONSTRUCT-04"].judge(view)) else PASSED
    except NothingToJudge as nothing:
        return nothing.status


@pytest.mark.sweep
@pytest.mark.parametrize("name", POLICIES)
def test_the_reference_holds_every_policy_that_is_declared_by_name(name: str) -> None:
    """Its trees keep every law. Where the tree depends on what only the decoder knows, it is not judged, and that is said."""
    report = ground().report(only_builds(lambda target: ReferenceDecoder(target, tree_policy=name)), *IDS)
    own = POLICIES[name].own
    assert list(statuses(report).values()) == [PASSED, PASSED, PASSED, UNFIT if own else PASSED]
    assert all(parameter in result_of(report, "CONSTRUCT-04").reason for parameter in own)


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_that_is_known_in_full_is_judged_on_every_draft(name: str) -> None:
    """An object says all that there is to know, coins and costs among it, and is held to every draft there is."""
    policy = POLICIES[name].make()
    report = ground().report(only_builds(lambda target: ReferenceDecoder(target, tree_policy=policy)), *IDS)
    assert list(statuses(report).values()) == [PASSED] * 4
    assert len({result.cases for result in report.results}) == 1


@pytest.mark.parametrize("name", POLICIES)
def test_a_tree_a_node_from_right_fails(name: str) -> None:
    """A leaf that holds another token, one leaf less, and a leaf too many below the deepest are no trees of the policy."""
    policy, tree = POLICIES[name].make(), tree_by(name)
    tokens, parents = tree.tokens.tolist(), tree.parents.tolist()
    leaf = max(tree.leaves, key=lambda node: (int(tree.depths[node]), node))
    never = next(t for t, letter in enumerate(STEEP.laws[min(int(tree.depths[leaf]), 3) - 1][0]) if letter == "-")
    swapped = [never if node == leaf else token for node, token in enumerate(tokens)]
    kept, _ = tree.keep([node for node in range(len(tree)) if node != leaf])

    declared = DeclaredPolicy(policy)
    assert verdict(declared, tokens, parents, STEEP) is PASSED
    assert verdict(declared, swapped, parents, STEEP) is FAILED
    assert verdict(declared, kept.tokens, kept.parents, STEEP) is FAILED
    assert verdict(declared, [*tokens, 0], [*parents, leaf], STEEP) is FAILED


@pytest.mark.parametrize("name", POLICIES)
def test_the_tree_of_another_policy_fails(name: str) -> None:
    """A decoder that declares this policy and builds by any other one fails, unless the two build the same tree here.

    With equal costs and the draft's own probabilities TAPS is DDTree, and the two differ in how they resolve ties alone.
    """
    alike = {"ddtree", "taps"}
    others = [other for other in POLICIES if other != name and not {other, name} <= alike]
    different = [tree_by(other) for other in others if paths(tree_by(other)) != paths(tree_by(name))]
    assert len(different) > 9
    declared = DeclaredPolicy(POLICIES[name].make())
    assert all(verdict(declared, tree.tokens, tree.parents, STEEP) is FAILED for tree in different)


@cache
def tree_by(name: str) -> CandidateTree:
    """The tree that a policy makes of the steep draft."""
    return POLICIES[name].make().build(TableDraft.of(STEEP), 3).tree


def paths(tree: CandidateTree) -> list[tuple[int, ...]]:
    return sorted(tuple(tree.tokens[list(tree.path(node))].tolist()) for node in range(len(tree)))


@pytest.mark.parametrize("name", [name for name, entry in POLICIES.items() if entry.sees is Sight.DEPTH])
def test_what_drafts_by_depth_is_not_held_to_a_draft_that_sees_more(name: str) -> None:
    """Such a decoder cannot know the law below each parent; where all parents of a level have one law it is judged."""
    declared = DeclaredPolicy(POLICIES[name].make(), POLICIES[name])
    assert declared.unfit(CONDITIONED) == f"the draft looks at the parent's token, and one of {name} at the depth alone"
    assert declared.unfit(DraftData((("11------", "11------"),))) == ""
    assert verdict(declared, [0], [-1], CONDITIONED) is UNFIT


def test_parameters_are_given_beside_the_name() -> None:
    """The policy has the bounds that were declared, and what was unknown is known once it is given."""
    small = {"name": "ddtree", "budget": 5}
    assert judged(small, lambda draft, root: POLICIES["ddtree"].make(budget=5).build(draft, root).tree) == [PASSED] * 4
    whole = judged(small, lambda draft, root: POLICIES["ddtree"].make().build(draft, root).tree)
    assert whole == [PASSED, FAILED, PASSED, FAILED]

    greedy = {"name": "dspark", "depth": 3, "draw": None}
    assert judged(greedy, lambda draft, root: Chain(3).build(draft, root).tree) == [PASSED] * 4
    assert judged(greedy, lambda draft, root: TreeSpark().build(draft, root).tree) == [PASSED, FAILED, PASSED, FAILED]


UNREADABLE = {
    "unknown name": ("eagle9", "tree_policy: no policy 'eagle9'; expected one of blockwise"),
    "no name": (
        {"budget": 3},
        "tree_policy: a policy is declared with the fields budget; expected name and parameters",
    ),
    "unknown parameter": ({"name": "eagle2", "width": 3}, "tree_policy: the policy eagle2 cannot be made of width: "),
    "no bound": ({"name": "eagle2", "budget": 0}, "tree_policy: budget is 0; expected an integer of at least 1"),
}


@pytest.mark.parametrize(("policy", "sentence"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_declaration_that_names_nothing_is_the_adapters_fault(policy: Any, sentence: str) -> None:
    """The checks that need the policy are in error and say why; the laws of every tree are judged all the same."""
    report = ground().report(declaring(policy, lambda draft, root: TreeSpark().build(draft, root).tree), *IDS)
    assert list(statuses(report).values()) == [PASSED, ERROR, PASSED, ERROR]
    assert result_of(report, "CONSTRUCT-04").findings[0].sentence.startswith(sentence)


def test_an_alias_is_a_name() -> None:
    """Systems that build another's tree are declared by their own name."""
    declared = policy_of(declaring("hass", lambda draft, root: None))
    assert declared is not None
    assert declared.published is POLICIES["eagle2"]
