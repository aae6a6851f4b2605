"""A decoder of somebody else's that goes by the length of its cache is told what is wrong, from its tokens alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from grounds import ground, result_of
from transformers import DynamicCache

from tree_oracle.checks import choose
from tree_oracle.checks.scenes import PROMPTS
from tree_oracle.record import Limits, Status
from tree_oracle.run import Budget, run_battery

BUDGET = Budget(cases=0, shrink_runs=0)
WIDTH = 3  # children of the root; the target's own token stands on the last one, in every round but one of three


class ByHand:
    """A tree decoder written apart from the reference: one level of children under the last token, and one cache.

    ``never_crops``: all rows stay; ``whole_prompt``: the prompt is run to its end, and its last token again with its tree.
    """

    def __init__(self, target: Any, *, never_crops: bool = False, whole_prompt: bool = False) -> None:
        self.model, self.vocab, self.never_crops, self.whole_prompt = (
            target.model,
            target.vocab_size,
            never_crops,
            whole_prompt,
        )
        self.truth = ground("exact", cases=0).truth

    @torch.no_grad()
    def run(self, cache: DynamicCache, tokens: Sequence[int]) -> list[int]:
        """The choice after each of these, of which the first is the root of all others."""
        past, n = cache.get_seq_length(), len(tokens)
        mask = torch.ones(1, 1, n, past + n, dtype=torch.bool)
        mask[..., past:] = torch.eye(n, dtype=torch.bool)
        mask[..., past] = True
        positions = torch.tensor([[past, *[past + 1] * (n - 1)]])
        ids = torch.tensor([list(tokens)])
        out = self.model(ids, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True)
        return [int(choice) for choice in out.logits[0].argmax(dim=-1)]

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[int]]:
        """The emitted tokens of every prompt."""
        if len(prompts) > 1:
            raise NotImplementedError("one prompt at a time")
        return [self.text(list(prompts[0]), limits)]

    def text(self, prompt: list[int], limits: Limits) -> list[int]:
        """Round by round, until the limits end it."""
        cache, text = DynamicCache(), list[int]()
        first = prompt if self.whole_prompt else prompt[:-1]
        if first:
            with torch.no_grad():
                self.model(torch.tensor([first]), past_key_values=cache, use_cache=True)
        while not self.over(prompt, text, limits):
            committed = [*prompt, *text]
            (guess,) = self.truth.greedy(tuple(committed), Limits(1)).tokens
            shift = WIDTH - 1 if len(committed) % 3 else 2 * WIDTH
            tree = [committed[-1], *((guess - shift + child) % self.vocab for child in range(WIDTH))]
            past, choices = cache.get_seq_length(), self.run(cache, tree)
            node = next((v for v in range(1, len(tree)) if tree[v] == choices[0]), 0)
            if not self.never_crops:
                self.keep(cache, past, [0, node] if node else [0])
            for token in [choices[0], *([choices[node]] if node else [])]:
                if not self.over(prompt, text, limits):
                    text.append(token)
        return text

    def over(self, prompt: list[int], text: list[int], limits: Limits) -> bool:
        """Whether nothing more may be emitted."""
        full = limits.max_length is not None and len(prompt) + len(text) >= limits.max_length
        return len(text) >= limits.max_new_tokens or full or bool(text and text[-1] in limits.eos_ids)

    def keep(self, cache: DynamicCache, past: int, nodes: list[int]) -> None:
        """Of the rows after ``past`` those of the nodes."""
        index = torch.tensor([*range(past), *(past + node for node in nodes)])
        layers: list[Any] = list(cache.layers)
        for layer in layers:
            layer.keys, layer.values = layer.keys[..., index, :], layer.values[..., index, :]


@pytest.mark.parametrize(
    ("wrong", "cause"),
    [({}, ""), ({"never_crops": True}, "rejected-rows-counted"), ({"whole_prompt": True}, "root-run-before")],
    ids=["right", "never crops", "whole prompt"],
)
def test_what_the_cache_length_does_to_positions_is_named(wrong: dict[str, bool], cause: str) -> None:
    """The tap sees it, and the cause that is named first is the one; a right decoder fails nothing."""
    found = ground("exact", cases=0)
    long = [case for case in found.stock.of(PROMPTS) if case.limits and case.limits.max_new_tokens > 4]
    report = run_battery(
        found.subject(lambda target: ByHand(target, **wrong)),
        choose(ids=("POSITION-01", "COMMIT-03")), BUDGET, stock=found.stock, cases=long[:4],
    )  # fmt: skip
    failed = [result for result in report.results if result.status is Status.FAILED]
    assert bool(failed) == bool(cause)
    if not cause:
        assert result_of(report, "COMMIT-03").status is Status.PASSED
    named = {finding.causes[0].partition(":")[0] for one in failed for finding in one.findings if finding.causes}
    assert named == ({cause} if cause else set())
