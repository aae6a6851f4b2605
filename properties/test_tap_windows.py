"""The tap on models with windows and chunks: a mask for each kind of layer, over caches that keep every row or only some."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_tap_finds_faults import battery, by_the_tap
from test_tap_recovers import SHOWN, WildDraft, judged, plain, target_of

from tree_oracle.checks import CHECKS
from tree_oracle.decoder import Parts, ReferenceDecoder, recover, tap
from tree_oracle.decoder.tap_mask import Sight
from tree_oracle.decoder.tap_sights import nodes_of, whole
from tree_oracle.decoder.tap_tree import mask_of
from tree_oracle.faults import windows
from tree_oracle.masked.kinds import CHUNKED, FULL, SLIDING, near
from tree_oracle.record import Limits, Status
from tree_oracle.strategies import candidate_trees
from tree_oracle.target.tiny_configurations import EAGER_ONLY
from tree_oracle.tree import CandidateTree, Layout

MIXED = "exact:layers=full+sliding+chunked,window=4,chunk=4"
EXACT = (MIXED, "exact:layers=sliding+chunked,window=3,chunk=4", "exact:layers=sliding+sliding,window=4")
TINY = tuple(f"tiny:{name}" for name in ("cohere2", "gemma2", "gemma3", "gptoss", "llama4", "mistral"))
PROMPT = (3, 5, 2, 3, 5, 2, 3, 4, 5, 2)

FEW = max(2, settings().max_examples // 15)  # an example is a whole generation


def attention_of(spec: str) -> str:
    return "eager" if spec[5:] in EAGER_ONLY else "sdpa"


@pytest.mark.parametrize("spec", [*EXACT, *TINY])
@settings(max_examples=FEW)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=12).map(tuple), st.integers(0, 999))
def test_the_rounds_are_those_that_were_run(spec: str, prompt: tuple[int, ...], seed: int) -> None:
    """From below the window to twice its size, prefixes, trees, positions, masks and rows are those of the decoder itself."""
    target = target_of(spec, attention_of(spec))
    draft = WildDraft(plain(target, prompt, 20), seed, target.vocab_size)
    with tap(target.model) as seen:
        (reported,) = ReferenceDecoder(target, draft=draft).generate([prompt], Limits(max_new_tokens=12))
    found = recover(seen, prompt, [token for round_ in reported for token in round_.emitted])
    for mine, theirs in zip(found, reported, strict=True):
        assert [getattr(mine, name) for name in SHOWN] == [getattr(theirs, name) for name in SHOWN]


WAYS: dict[str, dict[str, Any]] = {
    "prompt lookup": {"prompt_lookup_num_tokens": 3},
    "static slots": {"prompt_lookup_num_tokens": 3, "cache_implementation": "static"},
}


@pytest.mark.parametrize(
    ("spec", "way"),
    [
        (MIXED, "prompt lookup"),
        ("tiny:gemma3", "prompt lookup"),
        ("tiny:mistral", "prompt lookup"),
        ("tiny:qwen3", "static slots"),
    ],
)
def test_caches_with_windows_or_slots_are_read(spec: str, way: str) -> None:
    """A decoder of the transformers library is read and found right, over sliding layers, which drop rows and are rolled back, and
    over slots, of which those that are not filled are no part of a record."""
    target, chosen = target_of(spec, attention_of(spec)), WAYS[way]
    with tap(target.model) as seen:
        text = target.model.generate(torch.tensor([PROMPT]), max_new_tokens=14, do_sample=False, **chosen)
    output = text[0, len(PROMPT) :].tolist()
    rounds = recover(seen, PROMPT, output)
    assert [token for round_ in rounds for token in round_.emitted] == output
    assert any(len(round_.tokens or ()) > 1 for round_ in rounds)
    assert all(round_.visible is not None for round_ in rounds)
    assert set(judged(target, PROMPT, output, rounds).values()) == {Status.PASSED}


@given(
    tree=candidate_trees(vocab_size=5),
    cached=st.integers(0, 9),
    kind=st.sampled_from([SLIDING, CHUNKED]),
    size=st.integers(2, 6),
)
def test_a_right_window_shows_the_whole_tree(tree: CandidateTree, cached: int, kind: str, size: int) -> None:
    """What a window hides rightly is put back, so a record shows the mask of the tree; every other cell is left as it is."""
    due, positions = mask_of(tree.parents.tolist()), cached + tree.depths
    full = np.concatenate([np.ones((len(tree), cached), dtype=bool), due], axis=1)
    within = near(kind, size, positions, np.concatenate([np.arange(cached), positions]))
    sight = Sight(kind, size, full & within)
    assert np.array_equal(whole(sight.mask, sight, positions.tolist(), due), full)
    if kind == SLIDING:
        assert np.array_equal(nodes_of(sight, len(tree)), due)
    wrong = Sight(kind, size, sight.mask ^ within)
    assert np.array_equal(whole(wrong.mask, wrong, positions.tolist(), due)[within], wrong.mask[within])
    leaks = Sight(kind, size, np.ones_like(full))
    assert whole(leaks.mask, leaks, positions.tolist(), due).all()


def a_sibling_leaks(kind: str, size: int, layout: Layout, mask: np.ndarray) -> np.ndarray:
    wrong = mask.copy()
    wrong[2:, mask.shape[1] - len(mask) + 1] = True
    return wrong


def newest_hidden(kind: str, size: int, layout: Layout, mask: np.ndarray) -> np.ndarray:
    wrong = mask.copy()
    wrong[1:, max(mask.shape[1] - len(mask) - 1, 0)] = False
    return wrong


WRONG: dict[str, tuple[windows.Change, str]] = {
    "a sibling leaks": (a_sibling_leaks, "VISIBLE-03"),
    "the newest cached token is hidden": (newest_hidden, "VISIBLE-01"),
}


@pytest.mark.parametrize("kind", [FULL, SLIDING, CHUNKED])
@pytest.mark.parametrize("wrong", WRONG)
def test_the_mask_of_every_kind_of_layer_is_judged(kind: str, wrong: str) -> None:
    """A mask that is wrong for the layers of one kind alone is blamed by the check of its law, seen from the target."""
    change, check = WRONG[wrong]
    parts = Parts(target_pass=windows.in_layers(kind, change))
    result = battery(lambda target: ReferenceDecoder(target, parts), MIXED).run(by_the_tap(CHECKS[check]))
    assert (result.status, result.seams) == (Status.FAILED, ("tap",))
