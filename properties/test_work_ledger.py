"""The work ledger counts what was in the pass, and a kernel is said to skip pairs only where its times say so."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.cli import main
from tree_oracle.decoder import ReferenceDecoder, recover, tap
from tree_oracle.numerics.ledger import ModelShape, RoundWork, shape_of, work_of
from tree_oracle.numerics.mask_cost import SHAPES, mask_cost, mask_of, skips
from tree_oracle.record import Array, Call, Limits, Round, TreeData, UsageError
from tree_oracle.strategies import candidate_trees
from tree_oracle.target import load_target
from tree_oracle.tree import CandidateTree, lay_out

SHAPE = ModelShape(vocab=10, cached_per_token=6, mask_kinds=2, item=4)


@given(
    tree=candidate_trees(vocab_size=10), cached=st.integers(0, 6), again=st.integers(0, 3), padding=st.integers(0, 3)
)
def test_every_row_of_the_pass_is_accounted_for(tree: CandidateTree, cached: int, again: int, padding: int) -> None:
    """Nodes, committed tokens that are run again and padding add up; pairs and bytes are those of the pass's sizes."""
    n, again = len(tree), min(again, cached)
    visible = lay_out(tree, cached + 1).visible
    one = Round(
        emitted=(1,),
        prefix=(0,) * (cached + 1),
        tokens=tuple(tree.tokens.tolist()),
        parents=tuple(tree.parents.tolist()),
        visible=Array.of(visible),
        calls=(Call((0,)), Call((7,) * (again + n + padding), past=cached - again)),
        pool=TreeData((0, 1, 2), (-1, 0, 1)),
    )
    (found,) = work_of([one, Round(emitted=(1,))], SHAPE)
    assert (found.rows, found.again, found.padding) == (n + again + padding, again, padding)
    assert found.packed == tuple((tree.depths == depth).sum() for depth in range(1, tree.max_depth + 1))
    assert sum(found.packed) == n - 1
    assert found.visible == sum(cached + depth + 1 for depth in tree.depths.tolist())
    assert (found.computed, found.block) == (n * cached + n * n, n**2)
    assert (found.mask_bytes, found.logit_bytes, found.cache_bytes) == (2 * 4 * found.computed, 40 * n, 24 * n)
    assert found.pool == 2


def test_a_call_too_small_for_the_tree_is_refused() -> None:
    """A record whose calls cannot have held its tree is no ledger."""
    one = Round(emitted=(1,), prefix=(0,), tokens=(0, 1), parents=(-1, 0), calls=(Call((0,)),))
    with pytest.raises(UsageError, match="a call over 1 tokens cannot have held 0 committed tokens and 2 nodes"):
        work_of([one], SHAPE)


def test_the_tap_fills_the_ledger() -> None:
    """Of a decoder that is only watched, every round's pass is counted: no padding, and the bytes of its cache as they are."""
    target = load_target("tiny:gemma3")
    with tap(target.model) as seen:
        (rounds,) = ReferenceDecoder(target).generate([(1, 2, 3)], Limits(max_new_tokens=6))
    text = [token for one in rounds for token in one.emitted]
    found: list[RoundWork] = work_of(recover(seen, (1, 2, 3), text), shape_of(target.model))
    assert found
    assert all(one.padding == 0 and one.visible is not None and one.visible <= one.computed for one in found)
    assert any(one.packed for one in found)
    shape = shape_of(target.model)
    assert (shape.mask_kinds, shape.cached_per_token, shape.item) == (2, 2 * 2 * 2 * 16, 4)


@given(nodes=st.integers(1, 9), prefix=st.integers(1, 9))
def test_masks_of_one_size_differ_in_their_pairs_alone(nodes: int, prefix: int) -> None:
    """Star, chain and all-visible have one shape; their pairs are 2n - 1, n (n + 1) / 2 and n n beside the prefix's."""
    counts = {shape: int(mask_of(shape, nodes, prefix).sum()) - nodes * (prefix - 1) for shape in SHAPES}
    assert counts == {"star": 2 * nodes - 1, "chain": nodes * (nodes + 1) // 2, "all": nodes * nodes}
    assert len({mask_of(shape, nodes, prefix).shape for shape in SHAPES}) == 1


@pytest.mark.parametrize(
    ("star", "everything", "said"),
    [
        ([1.0] * 4, [2.0] * 4, True),
        ([1.0] * 4, [1.0] * 4, False),
        ([1.0] * 7 + [9.0], [2.0] * 4, True),
        ([1, 1, 3, 3.0], [2.0] * 4, False),
    ],
    ids=["faster", "equal", "one hiccup", "unsteady"],
)
def test_only_separate_times_are_called_skipping(star: list[float], everything: list[float], said: bool) -> None:
    """A single slow call changes nothing; times that overlap say nothing."""
    assert skips(star, everything) is said


def test_a_kernel_is_timed_under_every_mask() -> None:
    """Each shape has a time and its pairs; what cannot be timed here is refused with its reason."""
    found = mask_cost("eager", nodes=4, prefix=3, times=3)
    assert set(found.median) == set(found.pairs) == set(SHAPES)
    assert all(np.isfinite(taken) and taken > 0 for taken in found.median.values())
    with pytest.raises(UsageError, match="ascend-infer in float32 on cpu: "):
        mask_cost("ascend-infer", nodes=4, prefix=3)
    with pytest.raises(UsageError, match="0 nodes"):
        mask_cost("eager", nodes=0, prefix=3)


def test_both_commands_print_their_tables() -> None:
    """The ledger of the built-in decoder has a line for each round, and each kernel and size has its times."""
    ledger = CliRunner().invoke(main, ["tolerance", "work", "--target", "exact", "--new-tokens", "4"])
    assert ledger.exit_code == 0, ledger.output
    assert "packed by depth" in ledger.output
    costs = CliRunner().invoke(main, ["tolerance", "masks", "--kernel", "eager", "--nodes", "4", "--prefix", "3"])
    assert costs.exit_code == 0, costs.output
    assert "7 / 10 / 16" not in costs.output  # the pairs of the prefix are counted too
    assert "15 / 18 / 24" in costs.output
