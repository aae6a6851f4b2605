"""The reference decoder, or one with a planted fault, taken apart into functions as a project under some convention has them.

Written from the words of the convention and without the code that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tree_oracle import ReferenceDecoder
from tree_oracle.adapters import Convention, Described, describe
from tree_oracle.record import Limits, Round
from tree_oracle.tree import CandidateTree

Make = Callable[[Any], ReferenceDecoder]

FOREIGN = Convention(
    root_counted=False,
    prefix_counts_root=False,
    root_in_pass=False,
    mask="hidden",
    prefix_columns=False,
    keys_first=True,
    positions="offset",
    root_in_path=True,
    padded=True,
    prompt_in_text=True,
)
LOWEST = float(np.finfo(np.float32).min)


class Functions:
    """What the project has."""

    def __init__(self, one: ReferenceDecoder, convention: Convention) -> None:
        self.one, self.said = one, convention

    def layout(self, tokens: Sequence[int], parents: Sequence[int], root: int, prefix_len: int) -> tuple[Any, Any]:
        """Mask and positions."""
        cached = prefix_len - 1 if self.said.prefix_counts_root else prefix_len
        layout = self.one.lay_out(self._tree(tokens, parents, root), cached + 1)
        return self._laid_out(layout.visible, layout.positions, cached)

    def _laid_out(self, visible: np.ndarray, positions: np.ndarray, cached: int) -> tuple[Any, Any]:
        first = 0 if self.said.root_in_pass else 1
        visible, positions = visible[first:], positions[first:]
        if not self.said.prefix_columns:
            visible = visible[:, cached + first :]
        if self.said.keys_first:
            visible = visible.T
        if self.said.positions == "offset":
            positions = positions - cached
        return self._mask(visible), positions

    def rows(self, prefix: Sequence[int], tokens: Sequence[int], parents: Sequence[int], root: int) -> Any:
        """Rows of a pass of its own."""
        return self.one.tree_logits(prefix, self._tree(tokens, parents, root))

    def build(self, draft: Any, root: int) -> Any:
        """A tree, as a mapping."""
        tree = self.one.build_tree(draft, root)
        return dict(zip(("tokens", "parents"), self._listed(tree.tokens, tree.parents), strict=True))

    def verify(self, tokens: Sequence[int], parents: Sequence[int], root: int, rows: Any) -> Any:
        """The accepted path and the bonus."""
        path, bonus = self.one.accept(self._tree(tokens, parents, root), rows)
        return self._path(path, len(tokens)), bonus

    def verify_sampled(self, tree: CandidateTree, target: Any, draft: Any, coins: Iterator[float]) -> Any:
        """The same by chance, with the nodes in a mapping."""
        path, bonus = self.one.accept_sampled(tree, target, draft, coins)
        return {"accepted": self._path(path, len(tree)), "bonus": bonus}

    def text(
        self, prompt: list[int], max_new_tokens: int, eos_ids: list[int], stop: list[Any], on_round: Callable[..., Any]
    ) -> list[int]:
        """A text, whose rounds are told to the callback."""
        limits = Limits(max_new_tokens, tuple(eos_ids), stop=tuple(map(tuple, stop)))
        (rounds,) = self.one.generate([prompt], limits)
        for round_ in rounds:
            on_round(**self._record(round_))
        text = [token for round_ in rounds for token in round_.emitted]
        return [*prompt, *text] if self.said.prompt_in_text else text

    def _record(self, round_: Round) -> dict[str, Any]:
        assert round_.tokens is not None
        assert round_.accepted is not None
        tokens, parents = self._listed(np.array(round_.tokens), np.array(round_.parents))
        end = round_.end and round_.end.value
        shown = {"nodes": tokens, "links": parents, "new": round_.emitted, "why": end}
        assert round_.visible is not None
        visible, positions = round_.visible.numpy(), np.array(round_.positions)
        mask, places = self._laid_out(visible, positions, visible.shape[1] - len(visible))
        return {**shown, "followed": self._path(round_.accepted, len(tokens)), "mask": mask, "places": places}

    def _tree(self, tokens: Sequence[int], parents: Sequence[int], root: int) -> CandidateTree:
        if self.said.root_counted:
            return CandidateTree(tokens, parents)
        return CandidateTree([root, *tokens], [-1, *(parent + 1 for parent in parents)])

    def _listed(self, tokens: np.ndarray, parents: np.ndarray) -> tuple[list[int], list[int]]:
        if self.said.root_counted:
            return tokens.tolist(), parents.tolist()
        return tokens[1:].tolist(), (parents[1:] - 1).tolist()

    def _path(self, path: Sequence[int], room: int) -> list[int]:
        shift = 0 if self.said.root_counted else 1
        found = [node - shift for node in ([0, *path] if self.said.root_in_path else path)]
        return found + [-1] * (room - len(path)) if self.said.padded else found

    def _mask(self, visible: np.ndarray) -> Any:
        if self.said.mask == "additive":
            return np.where(visible, np.float32(0), np.float32(LOWEST))
        return (visible if self.said.mask == "visible" else ~visible).astype(np.int8)[None, None]


ROUNDS = {"tokens": "nodes", "parents": "links", "emitted": "new", "accepted": "followed", "end": "why"} | {
    "visible": "mask",
    "positions": "places",
}


def described(
    *kinds: str, make: Make = ReferenceDecoder, convention: Convention | None = None, said: Convention | None = None
) -> Callable[[Any], Described]:
    """A factory: the functions of these kinds under ``convention``, described as following ``said``."""
    really = convention or Convention()

    def factory(target: Any) -> Described:
        one = make(target)
        functions = Functions(one, really)
        given: dict[str, Any] = {kind: getattr(functions, "layout" if kind == "masked" else kind) for kind in kinds}
        given |= {"declared_mode": one.declared_mode} if "verify_sampled" in kinds else {}
        given |= {"tree_policy": one.tree_policy} if "build" in kinds else {}
        given |= {"rounds": ROUNDS} if "text" in kinds else {}
        return describe(**given, convention=said or really)(target)

    return factory
