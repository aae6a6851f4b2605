"""Work as trees grow: the dense block fourfold when N doubles, what is visible with depth alone, as the target was really called."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from grounds import ground
from hypothesis import assume, given
from hypothesis import strategies as st

from tree_oracle.checks.drive import drive
from tree_oracle.cli import main
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.decoder.seams import Seam
from tree_oracle.numerics.ledger import RoundWork, shape_of, work_of
from tree_oracle.numerics.mask_cost import mask_cost, mask_of
from tree_oracle.numerics.profile import sized_case, sized_parents
from tree_oracle.record import UsageError
from tree_oracle.tree import CandidateTree, lay_out


def depth_of(parents: tuple[int, ...], node: int) -> int:
    found = 0
    while parents[node] >= 0:
        node, found = parents[node], found + 1
    return found


@given(nodes=st.integers(1, 40), depth=st.integers(0, 41))
def test_there_is_one_tree_of_every_size_and_depth(nodes: int, depth: int) -> None:
    """It has N nodes, reaches depth B and no further, lists parents first; where there is none, the message says which there are."""
    if not (1 <= depth < nodes or (nodes, depth) == (1, 0)):
        with pytest.raises(UsageError, match=f"no tree of {nodes} nodes? has depth {depth}; expected 1 to"):
            sized_parents(nodes, depth)
        return
    parents = sized_parents(nodes, depth)
    assert len(parents) == nodes
    assert all(parent < node for node, parent in enumerate(parents))
    assert max(depth_of(parents, node) for node in range(nodes)) == depth
    mask = mask_of(depth, nodes, 3) if depth else mask_of("star", nodes, 3)
    assert (mask == lay_out(CandidateTree(range(nodes), parents), 3).visible).all()


def stepped(nodes: int, depth: int, prefix: int) -> RoundWork:
    """The ledger of one step of the reference over a tree of this size."""
    target = ground().target
    case = sized_case(nodes, depth, prefix, target.vocab_size)
    rounds = drive(ReferenceDecoder(target), Seam.SESSION, case, target.vocab_size, model=target.model)
    (work,) = work_of(rounds, shape_of(target.model))
    return work


@given(nodes=st.integers(2, 20), depth=st.integers(1, 19), prefix=st.integers(1, 9))
def test_twice_the_nodes_are_four_times_the_block(nodes: int, depth: int, prefix: int) -> None:
    """Of a real pass: the block among nodes grows fourfold, rows and logits twofold, pairs with the prefix twofold."""
    assume(depth < nodes)
    one, two = stepped(nodes, depth, prefix), stepped(2 * nodes, depth, prefix)
    assert two.block == 4 * one.block
    assert (two.rows, two.logit_bytes, two.cache_bytes) == (2 * one.rows, 2 * one.logit_bytes, 2 * one.cache_bytes)
    assert two.computed - two.block == 2 * (one.computed - one.block)


@given(nodes=st.integers(3, 30), depth=st.integers(1, 28), prefix=st.integers(1, 9))
def test_depth_changes_what_is_visible_alone(nodes: int, depth: int, prefix: int) -> None:
    """At one N a deeper tree shows more pairs, and costs a dense kernel the same rows, pairs and bytes."""
    assume(depth + 1 < nodes)
    flat, deep = stepped(nodes, depth, prefix), stepped(nodes, depth + 1, prefix)
    assert flat.visible is not None
    assert deep.visible is not None
    assert flat.visible < deep.visible <= deep.computed
    parents = sized_parents(nodes, depth)
    assert flat.visible == sum(prefix + depth_of(parents, node) for node in range(nodes))
    for name in ("rows", "padding", "computed", "block", "mask_bytes", "logit_bytes", "cache_bytes"):
        assert getattr(flat, name) == getattr(deep, name)


def test_depths_are_timed_beside_the_three_shapes() -> None:
    """Every depth has its pairs and its time; one depth alone is compared with nothing."""
    found = mask_cost("eager", nodes=8, prefix=3, times=3, depths=(4, 1))
    assert list(found.median) == ["star", "chain", "all", "depth 1", "depth 4"]
    assert found.pairs["depth 1"] == found.pairs["star"] < found.pairs["depth 4"] < found.pairs["chain"]
    assert found.deeper in (True, False)
    assert mask_cost("eager", nodes=8, prefix=3, times=1, depths=(4,)).deeper is None
    with pytest.raises(UsageError, match="no tree of 8 nodes has depth 8; expected 1 to 7"):
        mask_cost("eager", nodes=8, prefix=3, depths=(8,))


def called(*arguments: str) -> Any:
    return CliRunner().invoke(main, ["tolerance", *arguments])


def test_the_commands_print_both_profiles() -> None:
    """``work`` lists every size depth by depth with the growth of its block, ``masks`` every depth; misuse is named."""
    shown = called("work", "--target", "exact", "--nodes", "4", "--nodes", "8", "--depth", "1", "--depth", "3")
    assert shown.exit_code == 0, shown.output
    assert [line.split()[:2] for line in shown.output.splitlines()[1:]] == [
        ["4", "1"],
        ["8", "1"],
        ["4", "3"],
        ["8", "3"],
    ]
    assert shown.output.count("64 (x 4)") == 2
    data = json.loads(called("work", "--target", "exact", "--nodes", "4", "--depth", "3", "--json").output)
    assert (data[0]["nodes"], data[0]["depth"], data[0]["work"]["block"]) == (4, 3, 16)
    timed = called("masks", "--kernel", "eager", "--nodes", "8", "--prefix", "3", "--depth", "1", "--depth", "4")
    assert timed.exit_code == 0, timed.output
    assert "deeper takes longer" in timed.output
    for wrong, words in (
        (("work", "--target", "exact", "--depth", "3"), "--depth is about trees of --nodes"),
        (("work", "--target", "exact", "--nodes", "3"), "no tree of 3 nodes has depth 4"),
        (("work", "--target", "exact", "--nodes", "62"), "62 nodes behind 16 tokens; expected"),
        (("work", "--target", "exact:positions=64", "--nodes", "60"), "the context is 64"),
        (
            ("work", "--target", "exact", "--decoder", "tree_oracle.adapters.attention:eager", "--nodes", "5"),
            "no method open",
        ),
    ):
        refused = called(*wrong)
        assert refused.exit_code == 2, refused.output
        assert words in refused.output
