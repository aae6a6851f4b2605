"""The tap: from the target's calls and the text alone, the rounds that a decoder really ran."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tree_oracle.checks import CHECKS
from tree_oracle.checks.drive import drive
from tree_oracle.decoder import ReferenceDecoder, Seam, Unexplained, recover, tap
from tree_oracle.decoder.tap_tree import mask_of, parents_first, possible_links, settled, tree_of_mask
from tree_oracle.record import Case, Limits, Status
from tree_oracle.run.outcome import outcome_of
from tree_oracle.strategies import candidate_trees
from tree_oracle.target import (
    SequentialTruth,
    Target,
    forward_with_cache,
    layer_tensors,
    load_target,
    new_cache,
    set_layer_tensors,
)
from tree_oracle.tree import CandidateTree

TARGETS = [("exact", "sdpa"), ("tiny:llama", "eager"), ("tiny:llama", "sdpa"), ("tiny:gpt2", "sdpa")]
SHOWN = ("emitted", "prefix", "tokens", "parents", "positions", "visible", "rows")
PROMPT = (3, 5, 2, 3, 5, 2, 3, 4, 5, 2)
Prompt = tuple[int, ...]
Keep = Callable[[Any, int, int], Any]


@cache
def target_of(spec: str, attention: str = "sdpa") -> Target:
    return load_target(spec, attention=attention)


@cache
def truth_of(spec: str, attention: str = "sdpa") -> SequentialTruth:
    return SequentialTruth(target_of(spec, attention))


def plain(target: Target, prompt: Prompt, count: int) -> Prompt:
    """The prompt and what plain greedy decoding makes of it."""
    truth = truth_of(target.spec, target.attention)
    return (*prompt, *truth.greedy(prompt, Limits(max_new_tokens=count)).tokens)


@dataclass(frozen=True)
class WildDraft:
    """Random trees, another for every prefix, in which some branch holds the first tokens of the right text."""

    text: Prompt
    seed: int
    vocab_size: int

    def __call__(self, prefix: Sequence[int]) -> CandidateTree:
        random = np.random.default_rng([self.seed, len(prefix)])
        size = int(random.integers(1, 9))
        parents = [-1, *(int(random.integers(0, node)) for node in range(1, size))]
        tokens = [prefix[-1], *random.permutation(self.vocab_size)[: size - 1].tolist()]
        branch = [size - 1]
        while parents[branch[-1]] >= 0:
            branch.append(parents[branch[-1]])
        right = branch[-2 : -2 - int(random.integers(0, size)) : -1]
        for node, token in zip(right, self.text[len(prefix) :], strict=False):
            tokens[node] = token
        return CandidateTree(tokens, parents)


# One example is a whole generation, some ten to thirty target calls, and as many again for the right text.
@settings(max_examples=8)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=9).map(tuple), st.integers(0, 999), st.integers(1, 12))
@pytest.mark.parametrize(("spec", "attention"), TARGETS)
def test_the_rounds_are_those_that_were_run(spec: str, attention: str, prompt: Prompt, seed: int, cap: int) -> None:
    """Prefixes, trees, positions, masks, rows and accepted paths come out as the decoder that knows them reports them."""
    target = target_of(spec, attention)
    draft = WildDraft(plain(target, prompt, cap + 8), seed, target.vocab_size)
    with tap(target.model) as seen:
        (reported,) = ReferenceDecoder(target, draft=draft).generate([prompt], Limits(max_new_tokens=cap))
    found = recover(seen, prompt, [token for round_ in reported for token in round_.emitted])
    assert len(found) == len(reported)
    for mine, theirs in zip(found, reported, strict=True):
        assert [getattr(mine, name) for name in SHOWN] == [getattr(theirs, name) for name in SHOWN]
        assert theirs.accepted is not None
        assert mine.accepted == theirs.accepted[: len(theirs.emitted) - 1]


def _cut(kv: Any, rows: int) -> Any:
    for layer, (keys, values) in enumerate(layer_tensors(kv)):
        set_layer_tensors(kv, layer, keys[..., :rows, :], values[..., :rows, :])
    return kv


def _built_anew(kv: Any, before: int, after: int) -> Any:
    fresh = new_cache()
    for layer, (keys, values) in enumerate(layer_tensors(kv)):
        fresh.update(keys[..., : after - 1, :].clone(), values[..., : after - 1, :].clone(), layer)
    return fresh


KEEPS: dict[str, Keep] = {
    "compacted": lambda kv, before, after: _cut(kv, after - 1),
    "only the root kept": lambda kv, before, after: _cut(kv, before),
    "nothing kept": lambda kv, before, after: _cut(kv, before - 1),
    "built anew": _built_anew,
}


def chain(target: Target, prompt: Prompt, count: int, keep: Keep) -> list[int]:
    """Plain speculative decoding with a prompt in two pieces; every fourth guess is wrong."""
    right, text, kv = plain(target, prompt, count + 4), list(prompt), new_cache()
    forward_with_cache(target.model, torch.tensor([prompt[:4]]), cache=kv)
    while len(text) < len(prompt) + count:
        guesses = [right[i] if i % 4 else (right[i] + 1) % 50 for i in range(len(text), len(text) + 3)]
        held, before = int(kv.get_seq_length()), len(text)
        logits = forward_with_cache(target.model, torch.tensor([[*text[held:], *guesses]]), cache=kv)
        for guess, row in zip([*guesses, None], logits[0, before - held - 1 :], strict=True):
            text.append(int(row.argmax()))
            if text[-1] != guess:
                break
        kv = keep(kv, before, len(text))
    return text[len(prompt) :][:count]


def judged(target: Target, prompt: Prompt, output: Sequence[int], rounds: Sequence[Any]) -> dict[str, Status]:
    """What the checks say of the rounds, without COMMIT-03 where it says rightly that nothing was kept of a draft."""
    case = Case(prefix=prompt, limits=Limits(max_new_tokens=len(output)))
    truth = truth_of(target.spec, target.attention)
    tapped = (check for check in CHECKS.values() if any(source.seam is Seam.TAP for source in check.sources))
    named = [check for check in tapped if check.id != "WITNESS-03"]  # claims: nobody makes one here
    whole = [name for name in named if name.id != "GREEDY-02"]  # it asks for an end, which the target is not told
    found = {check.id: outcome_of(check, case, truth, lambda case: tuple(rounds)).status for check in whole}
    if not any(len(round_.emitted) > 1 for round_ in rounds[:-1]):
        assert found.pop("COMMIT-03") in (Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE)
    return found


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("spec", ["exact", "tiny:llama"])
def test_no_decoder_is_known_beforehand(spec: str, keep: str) -> None:
    """Chunked prompts, compacted, truncated and rebuilt caches, tokens fed again: every emitted token finds its round."""
    target = target_of(spec)
    with tap(target.model) as seen:
        output = chain(target, PROMPT, 14, KEEPS[keep])
    rounds = recover(seen, PROMPT, output)
    assert [token for round_ in rounds for token in round_.emitted] == output
    assert max(len(round_.emitted) for round_ in rounds) > 2
    assert set(judged(target, PROMPT, output, rounds).values()) == {Status.PASSED}


@pytest.mark.parametrize(("spec", "attention"), TARGETS)
@pytest.mark.parametrize("way", ["prompt lookup", "its own drafter"])
def test_speculation_of_the_transformers_library_is_recovered(spec: str, attention: str, way: str) -> None:
    """Two decoders that nobody adapted are read and found right, the second although its drafter is the target itself."""
    target = target_of(spec, attention)
    prompt = torch.tensor([PROMPT])
    with tap(target.model) as seen:
        settings = {"prompt_lookup_num_tokens": 3} if way == "prompt lookup" else {"assistant_model": target.model}
        whole = target.model.generate(prompt, max_new_tokens=12, do_sample=False, **settings)
    output = whole[0, len(PROMPT) :].tolist()
    rounds = recover(seen, PROMPT, output)
    assert [token for round_ in rounds for token in round_.emitted] == output
    assert any(len(round_.tokens or ()) > 1 for round_ in rounds)
    assert set(judged(target, PROMPT, output, rounds).values()) == {Status.PASSED}


def test_a_text_that_no_draft_made_is_no_evidence() -> None:
    """Plain decoding is read as rounds without candidates, and a check is told that speculation did not run."""
    target = target_of("exact")

    class Plain:
        def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[int]]:
            ids = torch.tensor([list(prompts[0])])
            whole = target.model.generate(ids, max_new_tokens=limits.max_new_tokens, do_sample=False)
            return [whole[0, ids.shape[1] :].tolist()]

    with tap(target.model) as seen:
        (output,) = Plain().generate([PROMPT], Limits(max_new_tokens=5))
    assert [len(round_.tokens or ()) for round_ in recover(seen, PROMPT, output)] == [1] * 5
    case = Case(prefix=PROMPT, limits=Limits(max_new_tokens=5))
    with pytest.raises(Unexplained, match="no target call scores a draft"):
        drive(Plain(), Seam.TAP, case, target.vocab_size, model=target.model)


def test_a_call_that_nobody_saw_leaves_a_hole() -> None:
    """Whichever verify call is missing, as when a graph is replayed, no rounds come out but a reason."""
    target = target_of("exact:vocab=1021")
    with tap(target.model) as seen:
        (rounds,) = ReferenceDecoder(target).generate([PROMPT], Limits(max_new_tokens=12))
    output = [token for round_ in rounds for token in round_.emitted]
    stream = [index for index, call in enumerate(seen.calls) if call.handed]
    assert len(stream) == len(rounds) + 1
    for missing in stream[1:]:  # the first fills the cache and emits nothing
        part = copy.copy(seen)
        part.calls = [call for index, call in enumerate(seen.calls) if index != missing]
        with pytest.raises(Unexplained, match=r"account for \d+ of 12 emitted tokens|goes on from the prompt"):
            recover(part, PROMPT, output)


def test_a_model_that_was_not_asked_says_nothing() -> None:
    """A decoder that runs a copy of the target is not taken for one that runs the target."""
    target = target_of("exact")
    other = load_target("exact")
    with tap(target.model) as seen:
        (rounds,) = ReferenceDecoder(other).generate([PROMPT], Limits(max_new_tokens=3))
    with pytest.raises(Unexplained, match="was not called"):
        recover(seen, PROMPT, [token for round_ in rounds for token in round_.emitted])


@given(candidate_trees(vocab_size=5), st.randoms(use_true_random=False), st.integers(0, 9))
def test_a_right_mask_tells_its_tree(tree: CandidateTree, random: Any, start: int) -> None:
    """In whatever order the nodes are stored behind the root, the mask of a tree gives back its parents."""
    order = np.array([0, *random.sample(range(1, len(tree)), len(tree) - 1)])
    visible = (tree.ancestors | np.eye(len(tree), dtype=bool))[np.ix_(order, order)]
    stored = [int(np.flatnonzero(order == tree.parents[node])[0]) if tree.parents[node] >= 0 else -1 for node in order]
    assert tree_of_mask(visible) == tuple(stored)

    sorted_order = parents_first(visible)
    straight = visible[np.ix_(sorted_order, sorted_order)]
    depths = tree.depths[order][sorted_order]
    parents = settled(possible_links(straight, (start + depths).tolist()), straight, ())
    assert all(parent < node for node, parent in enumerate(parents))
    assert [sorted_order[parents[node]] for node in range(1, len(tree))] == [stored[v] for v in sorted_order[1:]]
    assert np.array_equal(mask_of(parents), straight)


@given(candidate_trees(vocab_size=5), st.data())
def test_the_tree_that_was_meant_shows_through_a_wrong_mask(tree: CandidateTree, data: st.DataObject) -> None:
    """Nodes of one's own depth that leak and ancestors that are hidden change no parent as long as positions are right."""
    right = tree.ancestors | np.eye(len(tree), dtype=bool)
    flips = np.array(data.draw(st.lists(st.booleans(), min_size=right.size, max_size=right.size))).reshape(right.shape)
    level = tree.depths[:, None] == tree.depths[None, :]
    above = tree.ancestors.copy()
    above[np.arange(1, len(tree)), tree.parents[1:]] = False
    wrong = (right | (level & flips)) & ~(above & flips)
    assert settled(possible_links(wrong, tree.depths.tolist()), wrong, ()) == tuple(tree.parents.tolist())


def test_the_text_decides_between_parents() -> None:
    """Where the mask is causal over slots, either node of the level above may be the parent: the one that was followed is."""
    visible = np.tri(4, dtype=bool)
    links = possible_links(visible, (7, 8, 8, 9))
    assert settled(links, visible, (1, 3)) == (-1, 0, 0, 1)
    assert settled(links, visible, (2, 3)) == (-1, 0, 0, 2)
