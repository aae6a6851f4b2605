"""Groups ``merge`` and ``merge-draws``: one tree out of several drafts, and what each draft drew."""

from __future__ import annotations

from tree_oracle.tree import CandidateTree
from tree_oracle.vectors.answers import answer, canonical
from tree_oracle.vectors.chance import Chance
from tree_oracle.vectors.groups.kit import Kit
from tree_oracle.vectors.joined import joined, tried
from tree_oracle.vectors.model import Admitted, Joined, Merge, MergeDraws, Proposed, Tree, Tried
from tree_oracle.vectors.shapes import SHAPES, named

_TOTAL = 1000


def merge() -> Kit:
    """Trees of several drafts below one root."""
    kit = Kit("merge", "merge", "The tree whose paths are those of all sources together.")
    chance = Chance("merge")
    for number in range(70):
        root, sources = chance.below(4), list[Tree]()
        for _ in range(chance.between(1, 4)):
            tree = named(chance, SHAPES[chance.pick(list(SHAPES))](chance, chance.between(1, 7)), 4)
            sources.append(Tree((root, *tree.tokens[1:]), tree.parents))
        asked = Merge(tuple(sources))
        found = answer(asked)
        assert isinstance(found, Tree)
        whole = canonical(CandidateTree(found.tokens, found.parents))
        shared = len(whole) < sum(len(tree.tokens) - 1 for tree in sources)
        apart = len({path[-1] for path in whole}) < len(whole)
        flags = {
            flag for flag, there in (("SharedPath", shared), ("Unshared", not shared), ("EqualTokens", apart)) if there
        }
        kit.add(f"{len(sources)} sources, case {number}", flags, asked, Admitted((whole,)))
    return kit


def merge_draws() -> Kit:
    """Drafts that drew with chances of their own, now and then one token twice."""
    kit = Kit(
        "merge-draws",
        "merge_draws",
        "The merged tree, with every draft's draws and the chances they were drawn with.",
    )
    chance = Chance("merge-draws")
    for number in range(70):
        root, drafts = chance.below(3), list[Proposed]()
        for _ in range(chance.between(2, 3)):
            parents = SHAPES[chance.pick(list(SHAPES))](chance, chance.between(2, 7))
            tokens = (root, *(chance.below(3) for _ in parents[1:]))
            drafts.append(Proposed(tokens, parents, (_TOTAL, *(chance.between(1, _TOTAL) for _ in parents[1:]))))
        asked = MergeDraws(_TOTAL, tuple(drafts))
        found = joined(asked)
        wanted = tried(found, CandidateTree(found.tokens, found.parents))
        assert isinstance(wanted, Tried)
        kit.add(f"{len(drafts)} drafts with chances, case {number}", _traits(found), asked, wanted)
    return kit


def _traits(found: Joined) -> set[str]:
    drawn = [(child, draft) for below in found.draws for child, draft, _ in below]
    shared = len({child for child, _ in drawn}) < len(set(drawn))
    apart = {
        "OwnChance": shared,
        "DrawnTwice": len(set(drawn)) < len(drawn),
        "Unshared": not shared,
        "EqualTokens": len(set(found.tokens)) < len(found.tokens),
    }
    return {flag for flag, there in apart.items() if there}
