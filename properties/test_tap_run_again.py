"""A text that is run again from its start is no draft, however a decoder comes to run it: the tap takes none of it for a round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import DynamicCache

from tree_oracle.decoder import Unexplained, recover, tap
from tree_oracle.record import Round
from tree_oracle.target import Target, load_target

TARGET: Target = load_target("exact")
Choose = Callable[[list[int], Any], int]


def choose(tokens: list[int], cache: Any) -> int:
    with torch.no_grad():
        rows = TARGET.model(torch.tensor([tokens]), past_key_values=cache, use_cache=cache is not None).logits[0]
    return int(rows[-1].argmax())


def text_of(prompt: list[int], count: int, fresh: list[bool]) -> list[int]:
    """Plain decoding. Where ``fresh`` is true, in turn, a new cache is made by running the whole text; else it goes on."""
    text, cache = list(prompt), None
    for step in range(count):
        anew = cache is None or fresh[step % len(fresh)]
        cache = DynamicCache() if anew else cache
        text.append(choose(text if anew else text[-1:], cache))
    return text[len(prompt) :]


def drafted(rounds: list[Round]) -> int:
    return sum(len(round_.tokens or ()) - 1 for round_ in rounds)


@given(
    prompt=st.lists(st.integers(0, 60), min_size=1, max_size=5),
    count=st.integers(5, 9),
    fresh=st.lists(st.booleans(), min_size=1, max_size=2),
)
def test_a_text_that_is_run_again_every_few_tokens_shows_no_draft(
    prompt: list[int], count: int, fresh: list[bool]
) -> None:
    """Caches that are made anew from the whole text, every time or every second time, verify nothing, and every token is found."""
    with tap(TARGET.model) as seen:
        output = text_of(prompt, count, fresh)
    rounds = recover(seen, prompt, output)
    assert [token for round_ in rounds for token in round_.emitted] == output
    assert drafted(rounds) == 0


@pytest.mark.parametrize("count", [2, 3, 8])
def test_a_text_that_is_scored_at_the_end_was_not_drafted(count: int) -> None:
    """Tokens that plain passes chose, without a cache, and one pass over all of them to have their rows: no round is read in it."""
    text = [5, 6, 7]
    with tap(TARGET.model) as seen:
        for _ in range(count):
            text.append(choose(text, None))
        choose(text, DynamicCache())
    with pytest.raises(Unexplained, match="runs the whole text again that other calls had come to before"):
        recover(seen, text[:3], text[3:])


@given(right=st.integers(1, 4), wrong=st.integers(0, 2))
def test_a_first_draft_behind_the_prompt_is_still_one(right: int, wrong: int) -> None:
    """A drafter that runs the target over a cache of its own comes to the text first; the pass that verifies is found."""
    prompt, own, cache = [5, 6, 7], DynamicCache(), DynamicCache()
    with tap(TARGET.model) as seen:
        drafts = [choose(prompt, own)]
        for _ in range(right):
            drafts.append(choose(drafts[-1:], own))
        drafts += [(drafts[-1] + step) % 61 for step in range(1, wrong + 1)]
        choose([*prompt, *drafts], cache)
    due = text_of(prompt, right + 3, [False])
    rounds = recover(seen, prompt, due[: right + 2])
    assert drafted(rounds) >= right + 1
