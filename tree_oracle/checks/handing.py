"""Handing processors to a decoder: by the keyword ``processors``, to methods that name such a parameter and to no others.

A method that takes anything may do nothing with it, so ``**options`` is no declaration.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

from tree_oracle.checks.guard import call, protect
from tree_oracle.record import Case, Limits, TreeOracleError

KEYWORD = "processors"


class NotTaken(TreeOracleError):
    """The method has no place for what the case hands over: nothing can be seen of it."""


def ask_with_limits(decoder: Any, method: str, prompts: Sequence[Sequence[int]], limits: Limits, case: Case) -> Any:
    """The answer of ``open`` or ``generate``, with the case's processors where it has some.

    Raises:
        NotTaken: the case has processors, and the method has no parameter for them.
        AdapterError, DecoderError, Unsupported: as for ``call``.
    """
    texts = [list(prompt) for prompt in prompts]
    if case.processors is None:
        return call(method, lambda *given: getattr(decoder, method)(*given), texts, limits)
    found = protect(method, lambda: getattr(decoder, method))
    if not protect(method, lambda: _takes(found)):
        raise NotTaken(f"{method} has no parameter {KEYWORD}")
    return call(method, lambda one, two, own: found(one, two, processors=own), texts, limits, deepcopy(case.processors))


def _takes(method: Callable[..., Any]) -> bool:
    try:
        found = inspect.signature(method).parameters.get(KEYWORD)
    except ValueError:  # something that is not written in Python
        return False
    return found is not None and found.kind in (found.KEYWORD_ONLY, found.POSITIONAL_OR_KEYWORD)
