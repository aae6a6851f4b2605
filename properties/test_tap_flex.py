"""Under flex attention the tap reads a BlockMask as the dense mask that it is, or says that it cannot.

torch compiles flex attention, which takes most of a minute on a CPU. Here its rule is applied to dense scores instead, behind the
very call that transformers makes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Bool
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, create_mask
from torch.nn.functional import scaled_dot_product_attention
from transformers.integrations import flex_attention as integration

from tree_oracle.decoder import Unexplained, recover, tap
from tree_oracle.decoder.tap_calls import can_tap
from tree_oracle.decoder.tap_mask import EAGER, FLEX, SDPA, Asked, Sight, acting
from tree_oracle.decoder.tap_tree import tree_of_mask
from tree_oracle.record import Round
from tree_oracle.strategies import candidate_trees
from tree_oracle.target import forward_with_cache, new_cache
from tree_oracle.target.tiny import CONFIGURATIONS, seeded_model
from tree_oracle.tree import CandidateTree

PROMPT = (3, 5, 2, 9, 4)
HEADS = 4
Visible = Bool[np.ndarray, "n columns"]


def blocks_of(seen: Tensor, size: int = 128) -> BlockMask:
    """A mask whose rule looks the cell up, as a decoder makes one."""

    def rule(lane: Tensor, head: Tensor, row: Tensor, key: Tensor) -> Tensor:
        return seen[row, key]

    return create_block_mask(rule, None, None, seen.shape[0], seen.shape[1], device="cpu", BLOCK_SIZE=size)


def additive(seen: Tensor) -> Tensor:
    return torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)[None, None]


def visible(tree: CandidateTree, past: int) -> Tensor:
    nodes = torch.tensor(tree.ancestors) | torch.eye(len(tree), dtype=torch.bool)
    return torch.cat([torch.ones(len(tree), past, dtype=torch.bool), nodes], dim=1)


def read(mask: object, rows: int, past: int, kernel: str = FLEX, **asked: Any) -> Sight | None:
    return acting(mask, Asked(rows, past, kernel, heads=HEADS, **asked))


@given(candidate_trees(vocab_size=50, max_nodes=24), st.integers(0, 40), st.sampled_from([8, 16, 128]))
def test_a_block_mask_is_read_as_the_dense_one(tree: CandidateTree, past: int, size: int) -> None:
    """Whatever the size of its blocks, the same cells are visible, and the same tree comes out."""
    seen = visible(tree, past)
    found, dense = read(blocks_of(seen, size), len(tree), past), read(additive(seen), len(tree), past, EAGER)
    assert found is not None
    assert found == dense
    assert tree_of_mask(found.mask[:, past:]) == tuple(tree.parents.tolist())


@given(st.integers(1, 20), st.integers(0, 30), st.sampled_from([8, 128]), st.integers(0, 999))
def test_any_cells_are_read(rows: int, past: int, size: int, seed: int) -> None:
    """Masks of no tree are read as they are too, with whole blocks that are full or empty among them."""
    seen = torch.tensor(np.random.default_rng(seed).random((rows, past + rows)) < 0.5)
    seen[: rows // 2, :past] = True
    seen[rows // 2 :, : past // 2] = False
    found = read(blocks_of(seen, size), rows, past)
    assert found is not None
    assert np.array_equal(found.mask, seen.numpy())


def test_a_static_cache_shows_slots_behind_the_rows() -> None:
    """Keys are laid over the rows that the cache says they are, and a slot that holds nothing is told."""
    shown = np.array([0, 1, 2, 3, -1, -1])
    seen = torch.ones(2, 6, dtype=torch.bool)
    for last, stale in ((True, True), (False, False)):
        seen[:, 4:] = last
        found = read(blocks_of(seen), 2, 2, shown=shown)
        assert found is not None
        assert found.mask.all()
        assert found.stale is stale


def by_head(lane: Tensor, head: Tensor, row: Tensor, key: Tensor) -> Tensor:
    return (key <= row + 3) & (head < 2)


def by_lane(lane: Tensor, head: Tensor, row: Tensor, key: Tensor) -> Tensor:
    return key <= row + lane


def everything(lane: Tensor, head: Tensor, row: Tensor, key: Tensor) -> Tensor:
    return row >= 0


def astray(lane: Tensor, head: Tensor, row: Tensor, key: Tensor) -> Tensor:
    return torch.ones(2, 2, dtype=torch.bool)[row, key]


def block_mask(rule: Callable[..., Tensor], rows: int = 4, keys: int = 7, **more: Any) -> BlockMask:
    return create_block_mask(rule, None, more.pop("heads", None), rows, keys, device="cpu", **more)


def test_what_means_two_things_is_not_read() -> None:
    """Heads that differ, a table that contradicts the rule, a rule that cannot be asked, and too few cells are no evidence."""
    right = blocks_of(torch.ones(16, 16, dtype=torch.bool), 8)
    assert read(right, 16, 0) is not None
    other = blocks_of(visible(CandidateTree([1] * 16, [-1] + [0] * 15), 0), 8)
    fields = {
        name: getattr(right, name) for name in ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")
    }
    stale = BlockMask.from_kv_blocks(**fields, BLOCK_SIZE=8, mask_mod=other.mask_mod, seq_lengths=(16, 16))
    assert read(stale, 16, 0) is None
    assert read(block_mask(by_head, heads=HEADS), 4, 3) is None
    assert read(block_mask(everything), 5, 2) is None  # made for four rows
    spoilt = block_mask(everything)
    spoilt.mask_mod = astray
    assert read(spoilt, 4, 3) is None
    assert read(right, 16, 0, SDPA) is None


def test_rows_of_a_batch_may_differ() -> None:
    """Each row of a batch is read by its own number."""
    mask = create_block_mask(by_lane, 2, None, 3, 5, device="cpu")
    for lane in (0, 1):
        found = read(mask, 3, 2, lane=lane)
        assert found is not None
        assert np.array_equal(found.mask, np.tri(3, 5, lane, dtype=bool))


def test_a_dense_mask_under_flex_is_added() -> None:
    """As under eager: a boolean mask hides nothing, and no mask at all neither; transformers adds it to the scores."""
    seen = torch.eye(3, dtype=torch.bool)
    for mask in (seen[None, None], None):
        found = read(mask, 3, 0)
        assert found is not None
        assert found.mask.all()
    found = read(additive(seen), 3, 0)
    assert found is not None
    assert np.array_equal(found.mask, seen.numpy())


def dense_attention(
    query: Tensor, key: Tensor, value: Tensor, *, block_mask: BlockMask, scale: float, **rest: Any
) -> Tensor:
    """What flex attention is defined to compute where no score is changed."""
    seen = create_mask(block_mask.mask_mod, 1, query.shape[1], query.shape[2], key.shape[2], device="cpu")
    return scaled_dot_product_attention(query, key, value, attn_mask=seen, scale=scale, enable_gqa=True)


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flex attention without the compiler."""
    monkeypatch.setattr(integration, "WrappedFlexAttention", lambda training: lambda: dense_attention)


def model_under(attention: str) -> Any:
    return seeded_model(CONFIGURATIONS["llama"](), seed=0, attention=attention).eval().requires_grad_(False)


def decoded(model: Any, count: int, form: Callable[[Tensor], Any], leak: bool = False) -> tuple[int, ...]:
    """A decoder that drafts two siblings, of which the second is greedy's, and a child of it."""
    text, drafter = list(PROMPT), model_under(EAGER)  # which nobody watches

    def row(ids: Sequence[int]) -> int:
        return int(drafter(torch.tensor([list(ids)])).logits[0, -1].argmax())

    with torch.no_grad():
        while len(text) < len(PROMPT) + count:
            best = row(text)
            then = row([*text, best])
            tree = CandidateTree([text[-1], (best + 1) % 50, best, then], [-1, 0, 0, 2])
            past, kv = len(text) - 1, new_cache()  # built anew every round
            before = torch.ones(past, past, dtype=torch.bool).tril()
            forward_with_cache(model, torch.tensor([text[:-1]]), cache=kv, attention_mask=form(before))
            seen = visible(tree, past)
            if leak:
                seen[2, past + 1] = True
            rows = forward_with_cache(
                model, torch.tensor([tree.tokens.tolist()]), cache=kv, attention_mask=form(seen),
                position_ids=torch.tensor([(past + tree.depths).tolist()]),
            )[0]  # fmt: skip
            here = 0
            while True:
                text.append(int(rows[here].argmax()))
                child = next((v for v in tree.children(here) if tree.tokens[v] == text[-1]), None)
                if child is None:
                    break
                here = int(child)
    return tuple(text[len(PROMPT) :])


def recovered(attention: str, form: Callable[[Tensor], Any], leak: bool = False) -> tuple[Round, ...]:
    model = model_under(attention)
    with tap(model) as seen:
        text = decoded(model, 4, form, leak)
    return tuple(recover(seen, PROMPT, text))


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("leak", [False, True])
def test_the_rounds_are_those_of_a_dense_mask(leak: bool) -> None:
    """One decoder, handing its target a BlockMask or a dense mask, is seen to run the same rounds, a leaked sibling included."""
    assert can_tap(model_under(FLEX))
    flex, dense = recovered(FLEX, blocks_of, leak), recovered(EAGER, additive, leak)
    assert len(flex) == len(dense) > 0
    for mine, theirs in zip(flex, dense, strict=True):
        names = ("emitted", "prefix", "tokens", "parents", "positions", "visible", "accepted")
        assert [getattr(mine, name) for name in names] == [getattr(theirs, name) for name in names]
        assert mine.rows is not None
        assert theirs.rows is not None
        assert np.allclose(mine.rows.numpy(), theirs.rows.numpy(), rtol=0, atol=1e-3)
    trees = [round_ for round_ in flex if len(round_.tokens or ()) == 4]
    assert trees
    for round_ in trees:
        assert round_.visible is not None
        assert bool(round_.visible.numpy()[2, -3]) is leak


@pytest.mark.usefixtures("uncompiled")
def test_a_mask_that_cannot_be_read_is_named() -> None:
    """Where the two halves of a BlockMask contradict each other the tap has nothing to say, and says why."""

    def contradictory(seen: Tensor) -> BlockMask:
        made, empty = blocks_of(seen), torch.zeros(1, 1, 1, dtype=torch.int32)
        return BlockMask.from_kv_blocks(
            empty,
            torch.zeros(1, 1, 1, 1, dtype=torch.int32),
            BLOCK_SIZE=128,
            mask_mod=made.mask_mod,
            seq_lengths=made.seq_lengths,
        )

    with pytest.raises(Unexplained, match="no BlockMask whose blocks say what its rule says"):
        recovered(FLEX, contradictory)
