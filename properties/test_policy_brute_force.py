"""Every policy against a second reading of its rule, by brute force over random small drafts: 500 and more in a deep run.

    TREE_ORACLE_PROFILE=deep pytest properties/test_policy_brute_force.py

The second implementation (``vectors_policies``) takes exact fractions through all ways to resolve all ties, and imports nothing
of the project. Half of the drafts are halvings, where nearly everything ties and the whole set of right trees is compared; in
the other half no two paths are equally probable, and the one right tree is.
"""

from __future__ import annotations

import json
import os

import msgspec
import pytest
from vectors_policies import admitted as by_brute_force

from tree_oracle.construct import POLICIES
from tree_oracle.tree import CandidateTree
from tree_oracle.vectors.admitted import admitted
from tree_oracle.vectors.answers import answer, canonical
from tree_oracle.vectors.chance import Chance
from tree_oracle.vectors.counts import far_apart
from tree_oracle.vectors.drafts import HALVED_TOTAL, PLAIN_TOTAL, drawn, halved_law, plain_law
from tree_oracle.vectors.groups.parameters import PARAMETERS, comparable
from tree_oracle.vectors.model import Build, Tree

# Seeds are listed, not drawn: how many cases there were must not depend on what a search finds interesting.
DEEP = os.environ.get("TREE_ORACLE_PROFILE") == "deep"
TIED, APART = (300, 300) if DEEP else (8, 8)


def tied(policy: str, seed: int) -> Build:
    """A draft of three tokens whose probabilities are powers of two."""
    chance = Chance("brute force", policy, seed)
    depth = chance.between(1, 3)
    parameters = comparable(policy, PARAMETERS[policy](chance, depth, 4))
    return Build(policy, parameters, drawn(chance, halved_law, HALVED_TOTAL, 3, depth), chance.below(3))


def apart(policy: str, seed: int) -> Build | None:
    """A draft of up to five tokens; None where two paths are too near to each other to be compared in floats."""
    chance = Chance("brute force apart", policy, seed)
    vocab, depth = chance.between(3, 5), chance.between(1, 3)
    draft = drawn(chance, plain_law, PLAIN_TOTAL, vocab, depth)
    asked = Build(policy, PARAMETERS[policy](chance, depth, 9), draft, chance.below(vocab))
    return asked if far_apart(draft, asked.root, depth) else None


def plain(value: object) -> object:
    return json.loads(msgspec.json.encode(value))


@pytest.mark.parametrize("policy", POLICIES)
def test_with_ties_the_admissible_trees_are_those_of_brute_force(policy: str) -> None:
    """Over drafts of halvings the reference admits exactly the trees that some way through all ties gives."""
    for seed in range(TIED):
        asked = tied(policy, seed)
        assert plain(admitted(asked).trees) == by_brute_force(plain(asked)), (policy, seed)


@pytest.mark.parametrize("policy", POLICIES)
def test_without_ties_the_tree_is_that_of_brute_force(policy: str) -> None:
    """Over drafts without equal paths the reference builds the tree, or one for each of Sequoia's best shapes."""
    seen, seed = 0, 0
    while seen < APART:
        asked, seed = apart(policy, seed), seed + 1
        if asked is None:
            continue
        seen += 1
        found = answer(asked)
        assert isinstance(found, Tree)
        tree = plain(canonical(CandidateTree(found.tokens, found.parents)))
        right = by_brute_force(plain(asked))
        assert tree in right, (policy, seed)
        assert len(right) == 1 or policy == "sequoia", (policy, seed)
