"""From a case to rounds for the seam ``attend``: one call per tree."""

from __future__ import annotations

from typing import Any

from tree_oracle.checks import answers
from tree_oracle.checks.attend_inputs import inputs_of, refuse_misfit
from tree_oracle.checks.guard import call, protect
from tree_oracle.decoder.attention import attention_layout
from tree_oracle.record import AdapterError, Array, Attended, Case, Round, TreeData
from tree_oracle.tree import CandidateTree

_DTYPES = ("float64", "float32", "bfloat16", "float16")


def attended_rounds(decoder: Any, case: Case, vocab_size: int) -> tuple[Round, ...]:
    """A round per tree, in order.

    Raises:
        UsageError: sizes that do not fit together.
    """
    refuse_misfit(case)
    return tuple(_attended(decoder, case, tree) for tree in case.trees)


def _attended(decoder: Any, case: Case, tree: TreeData) -> Round:
    assert case.attend is not None
    given, made = inputs_of(case), CandidateTree.from_data(tree)
    layout = attention_layout(made, case.attend.prefix_len, case.attend.window)
    answer = call(
        "attend",
        lambda *arguments: decoder.attend(*arguments),
        *(given.q.copy(), given.k.copy(), given.v.copy(), made, case.attend.prefix_len, layout),
    )
    out = protect("attend", lambda: answers.heads(answer, "attend", given.q.shape))
    dtype = protect("attend_dtype", lambda: _dtype(decoder))
    return Round(emitted=(), tokens=tree.tokens, parents=tree.parents, attended=Attended(Array.of(out), dtype))


def _dtype(decoder: Any) -> str:
    """What the decoder declares that it computes in."""
    declared = getattr(decoder, "attend_dtype", "float32")
    if declared not in _DTYPES:
        raise AdapterError(f"attend_dtype is {declared!r}; expected one of {', '.join(_DTYPES)}")
    return str(declared)
