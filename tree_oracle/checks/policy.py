"""The rule by which a decoder says it builds trees: ``tree_policy``, in one of the forms of ``tree_oracle.construct.declared``.

It is read once per run and reaches the judges in their ``View``, as the tie rule does, so that a judge still is a pure
function of what it is shown. It is somebody's object: it is only asked under guard, and what is wrong with it is the
adapter's fault.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tree_oracle.checks.answers import field, short
from tree_oracle.checks.guard import call, protect
from tree_oracle.construct import Draft, Published, Sight, declared
from tree_oracle.record import AdapterError, DecoderError, DraftData, Unsupported, UsageError
from tree_oracle.tree import CandidateTree


@dataclass(frozen=True, slots=True)
class DeclaredPolicy:
    """A policy behind a guard."""

    policy: Any
    published: Published | None = None  # the entry that was named
    unknown: tuple[str, ...] = ()  # parameters of it that are the decoder's own and were not given
    fault: str = ""  # why there is none

    def unfit(self, draft: DraftData) -> str:
        """Why the policy does not say which tree to build of this draft; empty if it does."""
        if self.published is None:
            return ""
        name = self.published.name
        if self.unknown:
            return f"{name} depends on the decoder's own {' and '.join(self.unknown)}, which were not declared"
        if self.published.sees is Sight.DEPTH and any(len(set(below)) > 1 for below in draft.laws):
            return f"the draft looks at the parent's token, and one of {name} at the depth alone"
        return ""

    def bound(self, name: str) -> int | None:
        """One of its bounds; None if it has none of that name.

        Raises:
            AdapterError: the bound is no integer of at least 1, or there is no policy.
        """
        self._refuse_fault()
        value = getattr(self.policy, name, None)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise AdapterError(f"tree_policy.{name} is {short(value)}; expected an integer of at least 1")
        return value

    def build(self, draft: Draft, root: int) -> CandidateTree:
        """The policy's own tree.

        Raises:
            AdapterError: it has no such method, raised, or built no ``CandidateTree``.
        """
        tree = field(self._ask("build", draft, root), "tree")
        if not isinstance(tree, CandidateTree):
            raise AdapterError(f"tree_policy.build gave tree {short(tree)}; expected a CandidateTree")
        return tree

    def admits(self, tree: CandidateTree, draft: Draft, root: int) -> bool:
        """Whether the policy allows this tree.

        Raises:
            AdapterError: it has no such method, raised, or answered anything but True or False.
        """
        answer = self._ask("admits", tree, draft, root)
        if not isinstance(answer, bool):
            raise AdapterError(f"tree_policy.admits answered {short(answer)}; expected True or False")
        return answer

    def _refuse_fault(self) -> None:
        if self.fault:
            raise AdapterError(f"tree_policy: {self.fault}")

    def _ask(self, method: str, *arguments: Any) -> Any:
        self._refuse_fault()
        try:
            return call(f"tree_policy.{method}", lambda *given: getattr(self.policy, method)(*given), *arguments)
        except (DecoderError, Unsupported) as error:
            raise AdapterError(str(error)) from error


def policy_of(decoder: object) -> DeclaredPolicy | None:
    """The policy that the decoder declares, if it does.

    Raises:
        DecoderError: looking for it raised.
    """
    policy = protect("tree_policy", lambda: getattr(decoder, "tree_policy", None))
    return None if policy is None else protect("tree_policy", lambda: _declared(policy))


def _declared(policy: Any) -> DeclaredPolicy:
    """What is wrong with it is said by the checks that ask it, and by those alone."""
    try:
        found = declared(policy)
    except UsageError as error:
        return DeclaredPolicy(policy, fault=str(error))
    return DeclaredPolicy(found.policy, found.published, found.unknown)
