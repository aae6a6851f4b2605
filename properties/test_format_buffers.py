"""The buffers of Medusa, EAGLE, SGLang, TensorRT-LLM, vLLM and llama.cpp for one tree, written out by hand, and their quirks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.record import UsageError
from tree_oracle.strategies import candidate_trees
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.formats import (
    Choices,
    Duplicates,
    InvalidEncoding,
    LeafOrder,
    LinkIndex,
    Listing,
    PadToken,
    RootParent,
    SglangLayout,
    decode_choices,
    decode_eagle,
    decode_medusa,
    decode_pool,
    encode_child_maps,
    encode_choices,
    encode_eagle,
    encode_intervals,
    encode_links,
    encode_medusa,
    encode_node_paths,
    encode_parents,
    encode_pool,
    encode_row_words,
    encode_segments,
    encode_sequences,
    encode_sglang_mask,
    encode_successors,
    encode_tensorrt,
    encode_vllm,
    gathered,
    in_level_order,
    medusa_tokens,
    retrieve_rows,
)

# nodes   0           tokens   9
#        / \                  / \
#       1   2                4   5
#      / \   \              / \   \
#     3   4   5            6   7   6
TREE = CandidateTree([9, 4, 5, 6, 7, 6], [-1, 0, 0, 1, 1, 2])
SEEN = [
    [1, 0, 0, 0, 0, 0],
    [1, 1, 0, 0, 0, 0],
    [1, 0, 1, 0, 0, 0],
    [1, 1, 0, 1, 0, 0],
    [1, 1, 0, 0, 1, 0],
    [1, 0, 1, 0, 0, 1],
]
AS_BITS = [0b1, 0b11, 0b101, 0b1011, 0b10011, 0b100101]  # the rows above, lowest bit first


def test_medusa_buffers() -> None:
    """Choices, indices into the heads' best ten, rows from the last leaf to the first, depths, a float mask."""
    buffers = encode_medusa(TREE)
    assert buffers.choices == ((0,), (1,), (0, 0), (0, 1), (1, 0))
    assert buffers.tree_indices.tolist() == [0, 1, 2, 11, 12, 11]
    assert buffers.retrieve_indices.tolist() == [[0, 2, 5], [0, 1, 4], [0, 1, 3]]
    assert buffers.position_ids.tolist() == [0, 1, 1, 2, 2, 2]
    assert buffers.attn_mask.tolist() == [[SEEN]]
    assert buffers.attn_mask.dtype == np.float32


def test_medusa_heads_share_one_list() -> None:
    """Both nodes of rank 0 at depth 2 get the second head's best token: Medusa's trees have no other."""
    heads = [[4, 5, *range(20, 28)], [6, 7, *range(30, 38)]]
    assert medusa_tokens(9, heads, encode_medusa(TREE).tree_indices) == TREE.tokens.tolist()


def test_eagle_buffers() -> None:
    """Rows by leaf, or sorted; the mask and depths are Medusa's."""
    buffers = encode_eagle(TREE)
    assert buffers.retrieve_indices.tolist() == [[0, 1, 3], [0, 1, 4], [0, 2, 5]]
    assert buffers.attn_mask.tolist() == [[SEEN]]
    ragged = CandidateTree([0, 1, 2, 3], [-1, 0, 0, 1])
    assert encode_eagle(ragged).retrieve_indices.tolist() == [[0, 2, -1], [0, 1, 3]]
    assert encode_eagle(ragged, LeafOrder.SORTED).retrieve_indices.tolist() == [[0, 1, 3], [0, 2, -1]]
    with pytest.raises(InvalidEncoding, match=r"retrieve_indices\[0, 1\] is 2; expected 1"):
        decode_eagle(encode_eagle(ragged), LeafOrder.SORTED)


def test_padding_gathers_what_the_system_appends() -> None:
    """A short path ends with token 0 in Medusa, which the target may well choose, and with -1 in EAGLE, which it cannot."""
    ragged = CandidateTree([7, 1, 2, 3], [-1, 0, 0, 1])
    rows = retrieve_rows(ragged, LeafOrder.SLOTS)
    assert gathered(ragged.tokens, rows, PadToken.ZERO).tolist() == [[7, 2, 0], [7, 1, 3]]
    assert gathered(ragged.tokens, rows, PadToken.MINUS_ONE).tolist() == [[7, 2, -1], [7, 1, 3]]


def test_links() -> None:
    """First child, next sibling and retrieve index of two requests, local and in the flattened batch."""
    links = encode_links([TREE, TREE], LinkIndex.GLOBAL)
    assert links.next_token.tolist() == [[1, 3, 5, -1, -1, -1]] * 2
    assert links.next_sibling.tolist() == [[-1, 2, -1, 4, -1, -1]] * 2
    assert links.retrieve_index.tolist() == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    assert encode_links([TREE, TREE], LinkIndex.LOCAL).retrieve_index.tolist() == [[0, 1, 2, 3, 4, 5]] * 2


def test_pool_lists() -> None:
    """With three candidates an expansion: pool places 0, 1 of the root's, 3, 4 of node 1's and 6 of node 2's."""
    lists = encode_pool(TREE, top_k=3)
    assert lists.selected.tolist() == [0, 1, 3, 4, 6]
    assert lists.parent_list.tolist() == [-1, 0, 1]
    assert encode_pool(CandidateTree([5], [-1]), top_k=3).parent_list.tolist() == [-1]


def test_a_pool_may_have_expansions_that_nothing_was_kept_of() -> None:
    """EAGLE expands ten nodes a level and keeps few candidates: unused expansions, kept owners or not, do no harm."""
    lists = encode_pool(TREE, top_k=3)
    wider = type(lists)(TREE.tokens, [0, 1, 6, 7, 9], [-1, 2, 0, 1])
    assert decode_pool(wider, top_k=3) == TREE


def test_packed_words_bytes_and_bits() -> None:
    """The same rows as 32-bit words, as SGLang's bytes, and as flashinfer's run of bits after one cached token."""
    assert encode_row_words([TREE]).mask.tolist() == [[[row] for row in AS_BITS]]
    assert encode_row_words([TREE], rows=7, words=2).mask.tolist() == [[[row, 0] for row in AS_BITS] + [[0, 0]]]
    assert encode_sglang_mask([TREE], [2], SglangLayout.BITPACKING).mask.tolist() == AS_BITS
    run = sum((row << 1 | 1) << (7 * node) for node, row in enumerate(AS_BITS))  # 7 columns a row, 42 bits
    assert encode_segments([TREE], [2]).packed.tolist() == list(run.to_bytes(6, "little"))
    assert encode_segments([TREE, TREE], [2, 1]).indptr.tolist() == [0, 6, 11]


@pytest.mark.parametrize("n", [31, 32, 33, 64, 65])
def test_the_highest_bit_of_a_word_is_a_bit_like_any_other(n: int) -> None:
    """In a chain row v has v + 1 ones; the word of a full row is -1, and bit 31 alone is the sign."""
    chain = CandidateTree(range(n), range(-1, n - 1))
    mask = encode_row_words([chain]).mask[0]
    for node in range(n):
        ones = (1 << (node + 1)) - 1
        words = [(ones >> (32 * word)) & 0xFFFFFFFF for word in range(-(-n // 32))]
        assert mask[node].tolist() == [word - 2**32 if word >= 2**31 else word for word in words]


def test_tensorrt_tensors() -> None:
    """Offsets count depth, paths lead to every node, and both are padded like the words."""
    tensors = encode_tensorrt([TREE, CandidateTree([5, 6], [-1, 0])])
    assert tensors.offsets.tolist() == [[0, 1, 1, 2, 2, 2], [0, 1, 0, 0, 0, 0]]
    assert tensors.paths[0].tolist() == [[0, -1, -1], [0, 1, -1], [0, 2, -1], [0, 1, 3], [0, 1, 4], [0, 2, 5]]
    assert tensors.paths[1].tolist() == [[0, -1, -1], [0, 1, -1], *[[-1, -1, -1]] * 4]
    assert encode_node_paths(TREE).rows.tolist() == tensors.paths[0].tolist()


def test_vllm_bias_and_sequence_ids() -> None:
    """A bias of 0 and -inf; and a node's sequences are the leaves below it, numbered by slot."""
    assert encode_vllm(TREE).bias.tolist() == [[0.0 if one else -np.inf for one in row] for row in SEEN]
    ids = encode_sequences(TREE, 4)
    assert ids.positions.tolist() == [3, 4, 4, 5, 5, 5]
    assert [ids.ids[a:b].tolist() for a, b in zip(ids.starts, ids.starts[1:], strict=False)] == [
        [0, 1, 2],
        [0, 1],
        [2],
        [0],
        [1],
        [2],
    ]


def test_parents_children_and_intervals() -> None:
    """Four ways to write the parents, the children by token and in order, and the depth-first intervals."""
    wanted = {
        RootParent.MINUS_ONE: [-1, 0, 0, 1, 1, 2],
        RootParent.ITSELF: [0, 0, 0, 1, 1, 2],
        RootParent.UNLISTED_MINUS_ONE: [-1, -1, 0, 0, 1],
        RootParent.UNLISTED_ITSELF: [0, 1, 0, 0, 1],
    }
    for root, parents in wanted.items():
        assert encode_parents(TREE, root).parents.tolist() == parents
    assert encode_child_maps(TREE).maps == ({4: 1, 5: 2}, {6: 3, 7: 4}, {6: 5}, {}, {}, {})
    assert encode_successors(TREE).successors == ((1, 2), (3, 4), (5,), (), (), ())
    intervals = encode_intervals(TREE)
    assert intervals.enter.tolist() == [0, 1, 4, 2, 3, 5]
    assert intervals.leave.tolist() == [6, 4, 6, 3, 4, 6]


def test_a_map_holds_one_of_two_equal_siblings() -> None:
    """Which one is a convention: refused unless it is named."""
    twins = CandidateTree([0, 5, 5], [-1, 0, 0])
    with pytest.raises(UsageError, match="nodes 1 and 2 are siblings of one token, 5; a map can hold one of them"):
        encode_child_maps(twins)
    assert encode_child_maps(twins, Duplicates.FIRST).maps[0] == {5: 1}
    assert encode_child_maps(twins, Duplicates.LAST).maps[0] == {5: 2}


def test_choices_may_have_gaps_and_any_order_where_they_are_sorted() -> None:
    """Rank 3 without rank 0 is a node; a sorted list numbers by (length, ranks), a listed one by place."""
    shuffled = Choices([9, 1, 2, 3], [(3, 1), (3,), (7,)])
    assert decode_choices(shuffled, Listing.SORTED).parents.tolist() == [-1, 0, 0, 1]
    with pytest.raises(InvalidEncoding, match=r"choices\[0\] is \(3, 1\); expected its beginning \(3,\) earlier"):
        decode_choices(shuffled, Listing.AS_LISTED)
    listed = Choices([9, 1, 2, 3], [(7,), (3,), (3, 1)])
    assert decode_choices(listed, Listing.AS_LISTED).parents.tolist() == [-1, 0, 0, 2]


@given(candidate_trees(vocab_size=4))
def test_level_order_is_the_order_of_sorted_choices(tree: CandidateTree) -> None:
    """Breadth first: parents never go down, siblings keep their order, and sorting the rank paths changes nothing."""
    levels, order = in_level_order(tree)
    assert sorted(order.tolist()) == list(range(len(tree)))
    assert levels.tokens.tolist() == [int(tree.tokens[old]) for old in order]
    assert [order[parent] if parent >= 0 else -1 for parent in levels.parents] == [tree.parents[old] for old in order]
    assert levels.depths.tolist() == sorted(levels.depths.tolist())
    for node in range(len(tree)):
        old = [int(order[child]) for child in levels.children(node)]
        assert old == sorted(old) == list(tree.children(int(order[node])))
    choices = list(encode_choices(levels).choices)
    assert choices == sorted(choices, key=lambda choice: (len(choice), choice))
    assert in_level_order(levels)[1].tolist() == list(range(len(tree)))


@given(candidate_trees(vocab_size=4), st.integers(1, 12))
def test_a_rank_beyond_the_best_tokens_is_refused_both_ways(tree: CandidateTree, top_k: int) -> None:
    """No head proposes more than its best tokens: neither an encoder nor a decoder lets a node be of a higher rank."""
    levels, _ = in_level_order(tree)
    widest = max(len(tree.children(node)) for node in range(len(tree)))
    buffers = encode_medusa(levels, top_k=20)
    if widest <= top_k:
        assert decode_medusa(encode_medusa(levels, top_k=top_k), top_k=top_k) == levels
        return
    with pytest.raises(UsageError, match="best tokens of a head"):
        encode_medusa(levels, top_k=top_k)
    with pytest.raises(InvalidEncoding, match="best tokens of a head") as caught:
        decode_medusa(buffers, top_k=top_k)
    assert caught.value.index is not None
    assert max(buffers.choices[caught.value.index[0]]) >= top_k
