"""A Hugging Face target run with a project's own mask and positions, or by the project itself: ``tree_logits``.

A mask with four axes, or one for each kind of layer, is handed to the model as it is. Any other is read by what was said of it
and given to the model in the form that its attention adds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from tree_oracle.adapters.arguments import TREE, ask, one_row, taken, tree_offers
from tree_oracle.adapters.convention import Convention
from tree_oracle.adapters.described_trees import LaidOut, stated
from tree_oracle.checks import answers, encodings
from tree_oracle.decoder.parts import Rows
from tree_oracle.masked import tree_pass
from tree_oracle.target import Target, forward_with_cache, prefill
from tree_oracle.tree import CandidateTree

ROWS = (*TREE, "prefix", "prefix_len", "model", "input_ids")


@dataclass(frozen=True, slots=True)
class MaskedTarget:
    """``masked``: as ``layout``, and the target is run with what it gives."""

    layout: LaidOut
    target: Target

    @torch.no_grad()
    def tree_logits(self, prefix: Sequence[int], tree: CandidateTree) -> Rows:
        """One pass over the nodes above a cache of the prefix."""
        given, model = self.layout.given(tree, len(prefix)), self.target.model
        if self.layout.buffers is None:
            mask, positions = stated(given)
            if _for_the_model(mask, self.layout.convention):
                return self._as_it_is(prefix, tree, mask, positions)
        answer = self.layout.answer(given, tree, len(prefix))
        shown, count = encodings.laid_out(answer, tree.to_data(), len(prefix)), len(tree)
        visible = answers.visible(shown, count, len(prefix) - 1 + count)
        placed = answers.positions(shown, count)
        at = len(prefix) - 1 + tree.depths if placed is None else np.array(placed)
        return tree_pass(model, prefill(model, prefix[:-1]), tree.tokens, at, visible)

    def _as_it_is(self, prefix: Sequence[int], tree: CandidateTree, mask: Any, positions: Any) -> Rows:
        model, convention = self.target.model, self.layout.convention
        first = 0 if convention.root_in_pass else 1
        cache = prefill(model, prefix[:-1])
        rows = [forward_with_cache(model, one_row(prefix[-1:], model), cache=cache)[0]] if first else []
        if len(tree) > first:
            placed = convention.placed(positions, len(prefix))[first:]
            rows.append(
                forward_with_cache(
                    model,
                    one_row(tree.tokens[first:].tolist(), model),
                    cache=cache,
                    attention_mask=mask,
                    position_ids=one_row(placed.tolist(), model),
                )[0]
            )
        found: Float[np.ndarray, "n vocab"] = answers.array(torch.cat(rows), "the rows")
        return found


@dataclass(frozen=True, slots=True)
class OwnRows:
    """``rows``: the project runs the target itself and gives a row per node, root first."""

    function: Callable[..., Any]
    convention: Convention
    target: Target

    def tree_logits(self, prefix: Sequence[int], tree: CandidateTree) -> Any:
        """As the seam has it."""
        offers = tree_offers(tree, self.convention, len(prefix))
        offers |= {
            "prefix": lambda: list(prefix),
            "prefix_len": lambda: self.convention.prefix_len(len(prefix)),
            "model": lambda: self.target.model,
            "input_ids": lambda: one_row(prefix, self.target.model),
        }
        with torch.no_grad():
            return ask(self.function, rows_taken(self.function), offers)


def rows_taken(function: Callable[..., Any]) -> frozenset[str]:
    """What a function of rows takes.

    Raises:
        UsageError: it needs something that is not known here.
    """
    return taken("rows", function, ROWS)


def _for_the_model(mask: Any, convention: Convention) -> bool:
    """Whether the mask is in the form that a model takes."""
    if not convention.prefix_columns or convention.keys_first or convention.mask == "hidden":
        return False
    shown = list(mask.values()) if isinstance(mask, Mapping) else [mask]
    flags = convention.mask == "visible"
    return all(isinstance(one, torch.Tensor) and one.dim() == 4 and (one.dtype == torch.bool) == flags for one in shown)
