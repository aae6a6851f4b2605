"""Static trees: the shape is fixed before anything is drafted, as a set of rank paths.

The path (r_1, ..., r_d) stands for the node that is reached by the r_1-th best child of the root, its r_2-th best child and
so on, ranks from 0. A set of paths is a tree when it is prefix closed. Nodes are stored by (length, ranks), so level by level.
The node's token is the one of that rank in the law below its parent: by descending probability, equal ones by ascending token
id. With a ``draw`` the ranks are those of the draws instead. A rank that the law has no token for is left out, and what is
below it.

The shape knows no ties; the ranks may. ``admits`` lets equally probable tokens swap their ranks, below each node for itself
(``tree_oracle.construct.rank_fit``). Drawn trees are decided by their coins, and one tree is admissible.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tree_oracle.construct.admissible import paths_of
from tree_oracle.construct.draws import Draw, draw_children
from tree_oracle.construct.laws import NOTHING, AnyDraft, History, Laws, Ranked
from tree_oracle.construct.policy import Built
from tree_oracle.construct.rank_fit import Ranks, fits
from tree_oracle.construct.sapling import Sapling
from tree_oracle.record import UsageError
from tree_oracle.tree import CandidateTree


@dataclass(frozen=True)
class RankTree:
    """The policy: build exactly this shape.

    Raises:
        UsageError: no choices, equal ones, one that is no tuple of integers, a negative rank, or one whose parent is missing.
    """

    choices: tuple[Ranks, ...]
    draw: Draw | None = None  # None: the most probable tokens

    def __post_init__(self) -> None:
        for ranks in self.choices:
            if not isinstance(ranks, tuple) or not all(map(_is_rank, ranks)):
                raise UsageError(f"choice {ranks!r}; expected ranks from 0 on in a tuple")
        known = {(), *self.choices}
        if not self.choices or len(known) != len(self.choices) + 1:
            raise UsageError(f"{len(self.choices)} choices, {len(known) - 1} distinct paths; expected distinct ones")
        for ranks in self.choices:
            if ranks[:-1] not in known:
                raise UsageError(
                    f"choice {ranks}; expected ranks from 0 on, and its parent {ranks[:-1]} among the choices"
                )

    @property
    def budget(self) -> int:
        return len(self.choices)

    @property
    def depth(self) -> int:
        return max(map(len, self.choices))

    @property
    def branching(self) -> int:
        return max(map(len, self._children.values()))

    def build(self, draft: AnyDraft, root: int) -> Built:
        """The tree, level by level.

        Raises:
            InvalidDraft: a law of the draft is none.
        """
        laws, growing = Laws(draft), Sapling(root)
        slots: dict[Ranks, int] = {(): 0}
        for ranks in sorted(self.choices, key=lambda ranks: (len(ranks), ranks)):
            parent = slots.get(ranks[:-1])
            if parent is None:
                continue
            ranked = self._ranked(laws, growing.history(parent), ranks[:-1])
            if ranks[-1] < len(ranked.tokens):
                edge = float(ranked.edges[ranks[-1]])
                slots[ranks] = growing.add(parent, int(ranked.tokens[ranks[-1]]), edge)
        return growing.built()

    def admits(self, tree: CandidateTree, draft: AnyDraft, root: int) -> bool:
        """Whether some order of equally probable tokens gives this tree; for a drawn one, whether it is the one drawn."""
        if tree.tokens[0] != root or len(paths_of(tree)) != len(tree) - 1:
            return False
        if self.draw is not None:
            return paths_of(tree) == paths_of(self.build(draft, root).tree)
        return fits(tree, self.choices, Laws(draft))

    @cached_property
    def _children(self) -> dict[Ranks, list[int]]:
        """The ranks below each inner node of the shape, ascending."""
        below: dict[Ranks, list[int]] = {}
        for ranks in sorted(self.choices):
            below.setdefault(ranks[:-1], []).append(ranks[-1])
        return below

    def _ranked(self, laws: Laws, history: History, ranks: Ranks) -> Ranked:
        """The tokens that the ranks below a node of the shape stand for."""
        count = max(self._children.get(ranks, [-1])) + 1
        if count == 0:
            return NOTHING
        if self.draw is None:
            return laws.top(history, count)
        law = laws.after(history)
        tokens = draw_children(self.draw, law, count, history)
        return Ranked(tokens, law[tokens])


def _is_rank(rank: object) -> bool:
    return isinstance(rank, int) and not isinstance(rank, bool) and rank >= 0
