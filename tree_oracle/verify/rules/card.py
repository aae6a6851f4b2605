"""What is known of a rule: its formula, where it comes from, and under which proposals it is exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tree_oracle.verify.rules.proposals import Proposal
from tree_oracle.verify.rules.protocol import NodeRule, TreeRule

# What every rule assumes, beside its own assumptions.
COMMON_ASSUMPTIONS = (
    "tests, residual and bonus use one processed law of the target",
    "whether a node exists depends on nothing that is known only after its token was drawn",
    "coins are tossed anew for every node and every round",
)


@dataclass(frozen=True, slots=True)
class Card:
    """One rule. ``exact_under`` is a claim, which ``tree_oracle.verify.law`` proves or refutes on small laws."""

    name: str
    number: str  # R0 to R10; empty for approximate modes
    formula: str
    source: str
    assumptions: tuple[str, ...]  # beside COMMON_ASSUMPTIONS: order, duplicates, which laws
    exact_under: frozenset[str]  # names of PROPOSALS
    node: Callable[[Proposal], NodeRule] | None = (
        None  # the rule for siblings of that proposal; exactly one of the two is set
    )
    tree: Callable[[Proposal], TreeRule] | None = None
    exact_alone: frozenset[str] = frozenset()  # the same where no node has more than one child
    siblings: int | None = None  # the only number of children that it is defined for
    ignores_draft: bool = False  # it never looks at the draft law
    approximate: bool = False
    greedy: bool = False  # exact for greedy decoding only

    def exact_for(self, proposal: str, siblings: int) -> bool:
        """Whether it is claimed to be exact for that proposal and that number of children."""
        return proposal in self.exact_under or (siblings == 1 and proposal in self.exact_alone)
