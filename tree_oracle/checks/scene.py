"""Where cases come from: a list that wakes every known class of fault, then whatever Hypothesis can think of.

Cases know the target: a tree in which the target's own next tokens stand where the case wants them makes the walk go where
a fault shows. That is asked of the truth, by plain greedy decoding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from tree_oracle.record import Case, Limits, TreeData, Truth
from tree_oracle.strategies import ScriptedTree


@dataclass(frozen=True, slots=True)
class Stage:
    """What the makers of cases may know of the target."""

    truth: Truth

    @property
    def vocab_size(self) -> int:
        return self.truth.vocab_size

    @property
    def in_half(self) -> bool:
        """Whether the target computes in half precision, so that a decoder may round rows to it before it chooses."""
        target = getattr(self.truth, "target", None)  # only a truth that runs one has it
        return getattr(target, "dtype", "") in ("float16", "bfloat16")

    @property
    def special(self) -> tuple[int, ...]:
        """The ids of padding and mask, of those that the target's configuration names."""
        config = getattr(getattr(getattr(self.truth, "target", None), "model", None), "config", None)
        of_blocks = getattr(config, "dflash_config", None) or {}
        named = [getattr(config, name, None) for name in ("pad_token_id", "mask_token_id")]
        named.append(of_blocks.get("mask_token_id") if isinstance(of_blocks, dict) else None)
        return tuple(one for one in dict.fromkeys(named) if isinstance(one, int) and 0 <= one < self.vocab_size)

    def choices(self, history: Sequence[int], count: int) -> tuple[int, ...]:
        """The next ``count`` tokens of plain greedy decoding."""
        return self.truth.greedy(history, Limits(max_new_tokens=count)).tokens

    def script(self, prefix: Sequence[int], shape: ScriptedTree) -> TreeData:
        """The tree over ``prefix`` in which the branch to ``shape.goal`` holds the target's own choices."""
        path = self.choices(prefix, shape.goal_depth)
        return shape.with_path_tokens(prefix[-1], path).to_data()

    def after(self, prefix: tuple[int, ...], tree: TreeData) -> tuple[int, ...]:
        """The committed tokens after one round: greedy choices as long as the tree holds them, then one more."""
        node, here = 0, prefix
        while True:
            (token,) = self.choices(here, 1)
            here = (*here, token)
            below = (v for v in range(node + 1, len(tree.tokens)) if tree.parents[v] == node)
            child = next((v for v in below if tree.tokens[v] == token), None)
            if child is None:
                return here
            node = child


Drawn = Callable[[st.DrawFn, Stage], Case]


@dataclass(frozen=True, slots=True)
class Scene:
    """A set of cases."""

    name: str
    listed: Callable[[Stage], list[Case]]
    generated: Callable[[Stage], st.SearchStrategy[Case]]
    trees: range  # how many trees a case of this scene holds
    fed: bool = False  # whether it holds made-up rows
    limited: bool = False  # whether it holds limits
    drafted: bool = False  # whether it holds a draft
    moved: bool = False  # whether it holds a move
    attended: bool = False  # whether it holds queries, keys and values
    batched: bool = False  # whether it holds several requests
    asked: bool = False  # whether these requests hold prompts alone
    chancy: bool = False  # whether it holds laws
    heavy: bool = False  # whether a case of it weighs as much as several of other scenes
    processed: bool = False  # whether it holds processors
    minimum: bool | None = False  # whether its limits ask for a minimum length; None: some do
    handed: bool = False  # whether it holds a drafter
    drawn: Drawn | None = (
        None  # what ``generated`` composes, if its draws do not depend on the target and can be frozen
    )

    def fits(self, case: Case) -> bool:
        """Whether the case could be one of this scene's."""
        return (
            len(case.trees) in self.trees
            and self.fed == (case.rows is not None)
            and self.limited == (case.limits is not None)
            and self.drafted == (case.draft is not None)
            and self.moved == (case.move is not None)
            and self.attended == (case.attend is not None)
            and self.batched == bool(case.batch)
            and self.asked == (bool(case.batch) and not any(request.trees for request in case.batch))
            and self.chancy == (case.law is not None)
            and self.handed == (case.drafter is not None)
            and self.processed == (case.processors is not None)
            and self.minimum in (None, case.limits is not None and case.limits.min_new > 0)
        )
