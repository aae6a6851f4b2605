"""What is on record about a published policy: where it comes from, what its authors count, and what they tried it on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tree_oracle.construct.laws import AnyDraft, Sight
from tree_oracle.construct.policy import Built
from tree_oracle.record import DraftLaw
from tree_oracle.tree import CandidateTree


class ReferencePolicy(Protocol):
    """A ``TreePolicy`` that builds over any kind of draft and has a budget and a depth."""

    @property
    def budget(self) -> int:
        """The most nodes without the root."""
        ...

    @property
    def depth(self) -> int:
        """The most levels below the root."""
        ...

    def build(self, draft: AnyDraft, root: int) -> Built:
        """See ``TreePolicy``."""
        ...

    def admits(self, tree: CandidateTree, draft: AnyDraft, root: int) -> bool:
        """See ``TreePolicy``."""
        ...


@dataclass(frozen=True, slots=True)
class Published:
    """One entry of ``POLICIES``."""

    name: str
    title: str
    source: str  # the paper, and the public program that the rule was read from
    budget: str  # what the authors' own numbers count; ours are non-root nodes and levels below the root
    law: DraftLaw  # how siblings are proposed by ``make()``
    sees: Sight  # what the drafts look at that its decoders have
    scope: str  # what the authors evaluated; no claim is made beyond it
    closed_under_ties: bool  # whether every order of equal scores leaves each node its parent
    make: Callable[..., ReferencePolicy]  # the policy; callable without arguments
    aliases: tuple[str, ...] = ()  # systems that build this very tree
    own: tuple[
        str, ...
    ] = ()  # parameters that each decoder has its own of: the defaults of ``make`` only illustrate them
