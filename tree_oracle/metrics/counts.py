"""What one round counts, before any convention.

    drafted    nodes without the root
    levels     depth of the deepest node
    matched    nodes that verification followed
    emitted    tokens committed; a limit may cut it below matched
    bonus      whether the target's own token is among them: emitted > matched

In a round that an end token or a cap cuts short, "accepted" may mean matched or emitted: both are kept, and each convention
says which it takes.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_oracle.record import Round, TreeOracleError


class MetricError(TreeOracleError, ValueError):
    """A figure that these rounds do not allow."""


@dataclass(frozen=True, slots=True)
class RoundCounts:
    """Integers of one round. ``parents`` as in the round, ``accepted`` in path order."""

    parents: tuple[int, ...]
    accepted: tuple[int, ...]
    emitted: int
    ended: bool

    @property
    def depths(self) -> tuple[int, ...]:
        """Depth by node, the root at 0."""
        found: list[int] = []
        for parent in self.parents:
            found.append(found[parent] + 1 if found else 0)
        return tuple(found)

    @property
    def drafted(self) -> int:
        return len(self.parents) - 1

    @property
    def levels(self) -> int:
        return max(self.depths)

    @property
    def matched(self) -> int:
        return len(self.accepted)

    @property
    def bonus(self) -> bool:
        return self.emitted > self.matched


def count_round(round_: Round) -> RoundCounts:
    """The counts of a round that shows its tree and its accepted path.

    Raises:
        MetricError: it does not, they are no tree and no path in it, or it emits more than the accepted nodes and one.
    """
    if round_.parents is None or round_.accepted is None:
        missing = "parents" if round_.parents is None else "accepted"
        raise MetricError(
            f"a round does not show {missing}; figures need the tree and the accepted path of every round"
        )
    _refuse_no_path(round_.parents, round_.accepted)
    if len(round_.emitted) > len(round_.accepted) + 1:
        raise MetricError(
            f"a round emits {len(round_.emitted)} tokens and accepts {len(round_.accepted)}; expected at most one more"
        )
    return RoundCounts(round_.parents, round_.accepted, len(round_.emitted), round_.end is not None)


def _refuse_no_path(parents: tuple[int, ...], accepted: tuple[int, ...]) -> None:
    links = enumerate(parents)
    wrong = next((node for node, parent in links if not (0 <= parent < node if node else parent == -1)), None)
    if wrong is not None or not parents:
        told = f"node {wrong} has parent {parents[wrong]}" if wrong is not None else "it has no root"
        raise MetricError(f"the parents of a round are no tree: {told}; expected -1 for the root, then earlier nodes")
    for above, node in zip((0, *accepted), accepted, strict=False):
        if not 0 < node < len(parents) or parents[node] != above:
            raise MetricError(
                f"a round accepts {accepted}; expected a path from the root of a tree of {len(parents)} nodes"
            )
