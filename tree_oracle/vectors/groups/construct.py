"""Groups ``construct`` and ``construct-ties``: the trees of every published policy over drafts of integer counts."""

from __future__ import annotations

from collections.abc import Iterator

from tree_oracle.construct import EAGLE_25, MEDUSA_63, DDTree, Eagle2, TreeSpark
from tree_oracle.tree import CandidateTree
from tree_oracle.vectors.admitted import admitted, rules_of
from tree_oracle.vectors.answers import answer, canonical
from tree_oracle.vectors.chance import Chance
from tree_oracle.vectors.counts import CLEAR, CountDraft, far_apart, laws_of
from tree_oracle.vectors.drafts import HALVED_TOTAL, PLAIN_TOTAL, drawn, halved_law, plain_law
from tree_oracle.vectors.groups.kit import Kit
from tree_oracle.vectors.groups.parameters import CHAINS, PARAMETERS, comparable
from tree_oracle.vectors.model import Admitted, Build, Marginal, Markov, Tree, Value
from tree_oracle.vectors.policies import policy_of

_CASES, _TIES, _CHAIN_TIES, _DECISIVE = 24, 11, 4, 6
# A bound of the policy that drawn cases seldom hang on, and what it is where it does not matter.
_OTHERWISE: dict[str, dict[str, Value]] = {
    "treespark": {"frontier": 99},
    "opt-tree": {"threshold": (0, 1)},
    "taps": {"costs": (1, 1, 1)},
}


def construct() -> Kit:
    """Drafts in which no two paths are equally probable: one tree is right, or one for each of Sequoia's best shapes."""
    kit = Kit("construct", "build", "A policy's tree over a draft. All paths have distinct probabilities.")
    for policy in PARAMETERS:
        chance = Chance("construct", policy)
        for number in range(_CASES):
            vocab, depth = chance.between(3, 5), chance.between(1, 3)
            asked = _drawn_apart(chance, policy, vocab, depth)
            if asked is not None:
                _add(kit, f"{policy}, case {number}", asked)
    for policy, other in _OTHERWISE.items():
        for number, asked in enumerate(_decisive(policy, other)):
            _add(kit, f"{policy}, decided by {' and '.join(other)}, case {number}", asked)
    for asked in _published():
        tree = _built(asked)
        flags = {*_flags(asked, tree), "PublishedSize"}
        kit.add(f"{asked.policy} at its published size", flags, asked, Admitted((canonical(tree),)))
    return kit


def _add(kit: Kit, comment: str, asked: Build) -> None:
    draft = CountDraft(asked.draft)
    found = sorted(canonical(rule.build(draft, asked.root).tree) for rule in rules_of(asked))
    kit.add(comment, _flags(asked, _built(asked)), asked, Admitted(tuple(found)))


def _drawn_apart(chance: Chance, policy: str, vocab: int, depth: int) -> Build | None:
    """A case whose draft may go on below the policy's last level; None if two paths of it are too near to each other."""
    levels = min(depth + chance.below(2), 3)
    parameters = PARAMETERS[policy](chance, depth, 9)
    asked = Build(policy, parameters, drawn(chance, plain_law, PLAIN_TOTAL, vocab, levels), chance.below(vocab))
    return asked if far_apart(asked.draft, asked.root, levels) else None


def _decisive(policy: str, other: dict[str, Value]) -> Iterator[Build]:
    """Cases in which these parameters would give another tree, so that a program which overlooks theirs is found."""
    chance, seen = Chance("construct", "decisive", policy), 0
    while seen < _DECISIVE:
        asked = _drawn_apart(chance, policy, chance.between(3, 5), 3)
        if asked is None:
            continue
        overlooked = Build(policy, asked.parameters | other, asked.draft, asked.root)
        if canonical(_built(asked)) != canonical(_built(overlooked)):
            seen += 1
            yield asked


def construct_ties() -> Kit:
    """Drafts of halvings, where paths tie: every admissible tree is listed."""
    kit = Kit("construct-ties", "build", "A policy's trees over a draft with equal paths. Any of them is right.")
    for policy, parameters in PARAMETERS.items():
        chance = Chance("construct-ties", policy)
        for number in range(_CHAIN_TIES if policy in CHAINS else _TIES):
            depth = chance.between(1, 3)
            draft = drawn(chance, halved_law, HALVED_TOTAL, 3, min(depth + chance.below(2), 3))
            chosen = comparable(policy, parameters(chance, depth, 4))
            asked = Build(policy, chosen, draft, chance.below(3))
            found = admitted(asked)
            tree = _built(asked)
            assert canonical(tree) in found.trees, f"{policy} does not admit its own tree over {asked}"
            equal = {"EqualScores"} if len(found.trees) > 1 else set()
            kit.add(f"{policy}, equal paths, case {number}", _flags(asked, tree) | equal, asked, found)
    return kit


def _published() -> list[Build]:
    """Cases of the sizes in the publications, each over the first draft whose scores are far apart."""
    cases: list[tuple[str, dict[str, Value], int, int]] = [
        ("medusa", {"choices": MEDUSA_63}, 12, 4),
        ("eagle1", {"choices": EAGLE_25}, 8, 5),
        ("specinfer", {"widths": (1, 1, 3, 1, 1, 1, 1, 1)}, 8, 8),
        ("treespark", {"branching": 4, "frontier": 4, "budget": 32, "depth": 7}, 12, 7),
        ("eagle2", {"branching": 10, "budget": 59, "depth": 8}, 12, 8),
        ("ddtree", {"budget": 64, "depth": 15}, 8, 15),
        ("dflash", {"block": 16}, 8, 15),
    ]
    return [_first_apart(*case) for case in cases]


def _first_apart(policy: str, parameters: dict[str, Value], vocab: int, depth: int) -> Build:
    chance = Chance("construct", "published", policy)
    while True:
        below = [tuple(plain_law(chance, vocab, PLAIN_TOTAL) for _ in range(vocab)) for _ in range(depth)]
        markov = policy in ("treespark", "eagle2")
        draft = Markov(PLAIN_TOTAL, tuple(below)) if markov else Marginal(PLAIN_TOTAL, tuple(laws[0] for laws in below))
        asked = Build(policy, parameters, draft, 0)
        if _apart(asked):
            return asked


def _apart(asked: Build) -> bool:
    """Whether no two scores among all candidates are near each other."""
    policy, draft = policy_of(asked.policy, asked.parameters), CountDraft(asked.draft)
    match policy:
        case TreeSpark():
            scores = policy.pool(draft, asked.root).scores.tolist()
        case Eagle2(branching, budget, depth):
            scores = TreeSpark(branching, branching, budget, depth).pool(draft, asked.root).scores.tolist()
        case DDTree(budget, depth):
            scores = DDTree(budget + 1, depth).build(draft, asked.root).scores.tolist()
        case _:
            return True  # no choice but among the tokens of one law, whose counts are distinct
    ordered = sorted(scores)
    return all(after - before > CLEAR for before, after in zip(ordered, ordered[1:], strict=False))


def _built(asked: Build) -> CandidateTree:
    found = answer(asked)
    assert isinstance(found, Tree)
    return CandidateTree(found.tokens, found.parents)


def _flags(asked: Build, tree: CandidateTree) -> set[str]:
    policy = policy_of(asked.policy, asked.parameters)
    laws = list(laws_of(asked.draft))
    found = {
        "BudgetCut": len(tree) - 1 == policy.budget and asked.policy not in CHAINS,
        "RoomLeft": len(tree) - 1 < policy.budget,
        "FrontierCut": _frontier_cut(asked),
        "DepthReached": tree.max_depth == policy.depth,
        "NeverProposed": any(0 in law for law in laws),
        "CertainEdge": any(asked.draft.total in law for law in laws),
        "ParentMatters": not isinstance(asked.draft, Marginal),
    }
    return {flag for flag, there in found.items() if there}


def _frontier_cut(asked: Build) -> bool:
    """Whether some level offers more nodes than may propose."""
    policy = policy_of(asked.policy, asked.parameters)
    if isinstance(policy, Eagle2):
        policy = TreeSpark(policy.branching, policy.frontier, policy.budget, policy.depth)
    if not isinstance(policy, TreeSpark):
        return False
    depths = policy.pool(CountDraft(asked.draft), asked.root).tree.depths.tolist()
    return any(depths.count(depth) > policy.frontier for depth in range(1, policy.depth))
