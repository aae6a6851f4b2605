"""Handing processors or a drafter to a decoder: by the keywords ``processors`` and ``draft``, to methods that name such a
parameter and to no others.

A method that takes anything may do nothing with it, so ``**options`` is no declaration.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

from tree_oracle.checks.guard import call, protect
from tree_oracle.record import Case, Limits, TreeOracleError
from tree_oracle.tree import CandidateTree

PROCESSORS, DRAFT = "processors", "draft"
Draft = Callable[[Sequence[int]], CandidateTree]


class NotTaken(TreeOracleError):
    """The method has no place for what the case hands over: nothing can be seen of it."""


def ask_with_limits(
    decoder: Any,
    method: str,
    prompts: Sequence[Sequence[int]],
    limits: Limits,
    case: Case,
    draft: Draft | None = None,
) -> Any:
    """The answer of ``open`` or ``generate``, with the case's processors where it has some, and with a draft if one is given.

    Raises:
        NotTaken: there is something to be handed over, and the method has no parameter for it.
        AdapterError, DecoderError, Unsupported: as for ``call``.
    """
    texts = [list(prompt) for prompt in prompts]
    handed = {PROCESSORS: deepcopy(case.processors), DRAFT: draft}
    given = {name: value for name, value in handed.items() if value is not None}
    if not given:
        return call(method, lambda *arguments: getattr(decoder, method)(*arguments), texts, limits)
    found = protect(method, lambda: getattr(decoder, method))
    for name in given:
        if not protect(method, lambda name=name: _takes(found, name)):  # type: ignore[misc]
            raise NotTaken(f"{method} has no parameter {name}")
    return call(
        method,
        lambda one, two, *values: found(one, two, **dict(zip(given, values, strict=True))),
        texts,
        limits,
        *given.values(),
    )


def _takes(method: Callable[..., Any], name: str) -> bool:
    try:
        found = inspect.signature(method).parameters.get(name)
    except ValueError:  # something that is not written in Python
        return False
    return found is not None and found.kind in (found.KEYWORD_ONLY, found.POSITIONAL_OR_KEYWORD)
