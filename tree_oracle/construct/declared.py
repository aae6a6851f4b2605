"""How a decoder says by which policy it builds: by name, by name and parameters, or as a policy of its own.

    tree_policy = "eagle2"
    tree_policy = {"name": "ddtree", "budget": 31}
    tree_policy = TreeSpark(budget=16)

A name stands for the published policy: its drafts see no more than the published ones do, and parameters that every decoder
has its own of (measured costs, a learned scorer, the coins of a draw) are not known unless they are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tree_oracle.construct.policy import TreePolicy
from tree_oracle.construct.published import Published
from tree_oracle.construct.registry import find_policy
from tree_oracle.record import UsageError

Declared: TypeAlias = TreePolicy | str | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Declaration:
    """What was declared, made."""

    policy: Any
    published: Published | None = None  # the entry that was named
    unknown: tuple[str, ...] = ()  # parameters that are the decoder's own and were not given


def declared(policy: Declared) -> Declaration:
    """The policy.

    Raises:
        UsageError: no policy of that name, or parameters that it does not take.
    """
    if isinstance(policy, str):
        return _named(policy, {})
    if not isinstance(policy, Mapping):
        return Declaration(policy)
    if not isinstance(policy.get("name"), str):
        raise UsageError(
            f"a policy is declared with the fields {', '.join(map(str, policy))}; expected name and parameters"
        )
    return _named(policy["name"], {key: value for key, value in policy.items() if key != "name"})


def _named(name: str, parameters: Mapping[str, Any]) -> Declaration:
    entry = find_policy(name)
    try:
        made = entry.make(**parameters)
    except TypeError as error:
        raise UsageError(f"the policy {name} cannot be made of {', '.join(map(str, parameters))}: {error}") from error
    return Declaration(made, entry, tuple(one for one in entry.own if one not in parameters))
