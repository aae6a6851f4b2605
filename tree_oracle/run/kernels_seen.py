"""Which attention kernels passes of the target ran, by the operators in torch's profile and never by what was asked for.

Two passes are looked at when a run begins, on a copy of the model that no decoder has seen: one plain pass, and one of this
library over a small tree with its mask, since torch may take another kernel where there is a mask. Which kernels a decoder's
own passes run is not seen by this. A large model is not run for it. The exact model calls no attention kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tree_oracle.record import first_line

if TYPE_CHECKING:
    from tree_oracle.target import Target

PLAIN, TREE = "kernel, plain pass", "kernel, tree pass"
_PREFIX, _PARENTS = 4, (-1, 0, 0, 1)  # any text and any tree that branches


def kernels_seen(target: Target | None) -> dict[str, str]:
    """For the environment block: the kernels of both passes, or why none was seen; nothing for the exact model."""
    if target is None or target.exact:
        return {}
    from tree_oracle.target.sequential import SMALL, is_small  # resolved here, since it loads torch

    if not is_small(target.model):
        return dict.fromkeys((PLAIN, TREE), f"not seen: a model of more than {SMALL:,} parameters is not run for it")
    return {PLAIN: _kernels(target, lambda: _plain(target)), TREE: _kernels(target, lambda: _tree(target))}


def _kernels(target: Target, run: Callable[[], Any]) -> str:
    from tree_oracle.target import one_torch_thread
    from tree_oracle.target.backends import backend_for

    try:
        with one_torch_thread():
            kernels = backend_for(target.device).kernel_seen(run).kernels
    except Exception as error:  # a model, a library or a driver may raise anything; the run itself is what judges it
        return f"not seen: {type(error).__name__}: {first_line(error)}"
    return ", ".join(kernels) or "not seen: no known kernel in the profile"


def _plain(target: Target) -> None:
    from tree_oracle.target.sequential_naive import naive_rows

    naive_rows(target.model, [_text(target)])


def _tree(target: Target) -> None:
    from tree_oracle.masked import tree_pass
    from tree_oracle.target import prefill
    from tree_oracle.tree import CandidateTree, lay_out

    text = _text(target)
    tree = CandidateTree([text[-1], *range(1, len(_PARENTS))], list(_PARENTS))
    layout = lay_out(tree, len(text))
    tree_pass(target.model, prefill(target.model, text[:-1]), tree.tokens, layout.positions, layout.visible)


def _text(target: Target) -> tuple[int, ...]:
    return tuple(token % target.vocab_size for token in range(1, 1 + _PREFIX))
