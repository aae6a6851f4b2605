"""The encodings that hold parents, children, paths or numbers instead of a mask."""

from __future__ import annotations

from functools import partial

from tree_oracle.tree.formats import shown
from tree_oracle.tree.formats.buffers import MEDUSA_TOP_K
from tree_oracle.tree.formats.children import (
    decode_child_maps,
    decode_successors,
    encode_child_maps,
    encode_successors,
)
from tree_oracle.tree.formats.choices import decode_choices, encode_choices
from tree_oracle.tree.formats.convention import LeafOrder, LinkIndex, Listing, RootParent
from tree_oracle.tree.formats.format import Demands, Format, of_batch, of_request
from tree_oracle.tree.formats.intervals import decode_intervals, encode_intervals
from tree_oracle.tree.formats.links import decode_links, encode_links
from tree_oracle.tree.formats.parents import decode_parents, encode_parents
from tree_oracle.tree.formats.paths import decode_node_paths, decode_paths, encode_node_paths, encode_paths
from tree_oracle.tree.formats.plain import from_json, to_json
from tree_oracle.tree.formats.pool import decode_pool, encode_pool
from tree_oracle.tree.formats.sequences import decode_sequences, encode_sequences
from tree_oracle.tree.formats.shape import Part, each_node, leaf_rows, node_rows, ranks

_TOKENS = each_node("tokens")
_LINKS = tuple(map(each_node, ("tokens", "retrieve_index", "next_token", "next_sibling")))


def _parents(name: str, systems: tuple[str, ...], root: RootParent) -> Format:
    listed = root in (RootParent.MINUS_ONE, RootParent.ITSELF)
    codec = of_request(lambda tree, _: encode_parents(tree, root), lambda document: decode_parents(document, root))
    return Format(name, root.value, systems, (_TOKENS, each_node("parents", less=int(not listed))), *codec)


def _links(name: str, systems: tuple[str, ...], index: LinkIndex) -> Format:
    codec = of_batch(lambda trees, _: encode_links(trees, index), lambda document, _: decode_links(document, index))
    return Format(name, f"first child, next sibling; {index.value}", systems, _LINKS, *codec, Demands(one_size=True))


LINK_FORMATS = (
    _parents("parents", ("tree_oracle", "DDTree", "CaDDTree", "JetSpec"), RootParent.MINUS_ONE),
    _parents("parents-itself", ("TreeFlash",), RootParent.ITSELF),
    _parents("parents-unlisted", ("calibrated TreeSpark", "economize"), RootParent.UNLISTED_MINUS_ONE),
    _parents("parents-unlisted-itself", ("OPT-Tree",), RootParent.UNLISTED_ITSELF),
    Format(
        "child-maps",
        "token -> child, a map for each node",
        ("DDTree", "CaDDTree", "JetSpec"),
        (Part("maps", "n - 1", lambda shape: shape.n - 1), Part("root", "1", lambda _: 1)),
        *of_request(lambda tree, _: encode_child_maps(tree), decode_child_maps),
        Demands(distinct_siblings=True),
    ),
    Format(
        "successors",
        "children, a list for each node",
        ("Sequoia",),
        (_TOKENS, each_node("successors", less=1)),
        *of_request(lambda tree, _: encode_successors(tree), decode_successors),
    ),
    _links("links-global", ("SGLang",), LinkIndex.GLOBAL),
    _links("links-local", ("TensorRT-LLM",), LinkIndex.LOCAL),
    Format(
        "pool",
        "selected pool indices, and the owner of each expansion of ten",
        ("EAGLE", "HASS", "SGLang", "TensorRT-LLM"),
        (
            _TOKENS,
            each_node("selected", less=1),
            Part("parent_list", "inner nodes, or 1", lambda shape: max(1, shape.inner)),
        ),
        *of_request(lambda tree, _: encode_pool(tree, top_k=MEDUSA_TOP_K), partial(decode_pool, top_k=MEDUSA_TOP_K)),
        Demands(level_order=True, most_siblings=MEDUSA_TOP_K),
    ),
    Format(
        "choices",
        "rank paths, sorted when read",
        ("Medusa", "vLLM", "economize"),
        (_TOKENS, ranks("choices")),
        *of_request(lambda tree, _: encode_choices(tree), lambda document: decode_choices(document, Listing.SORTED)),
        Demands(level_order=True),
    ),
    Format(
        "choices-as-listed",
        "rank paths, numbered as listed",
        ("TensorRT-LLM",),
        (_TOKENS, ranks("choices")),
        *of_request(lambda tree, _: encode_choices(tree), lambda document: decode_choices(document, Listing.AS_LISTED)),
        Demands(level_order=True),
    ),
    Format(
        "leaf-paths",
        "retrieve rows, padded with -1",
        ("Medusa", "EAGLE", "HASS"),
        (_TOKENS, leaf_rows("rows")),
        *of_request(lambda tree, _: encode_paths(tree, LeafOrder.SLOTS), decode_paths),
    ),
    Format(
        "node-paths",
        "a row for each node, padded with -1",
        ("TensorRT-LLM",),
        (_TOKENS, node_rows("rows")),
        *of_request(lambda tree, _: encode_node_paths(tree), decode_node_paths),
    ),
    Format(
        "sequence-ids",
        "the leaves below each node, and positions",
        ("llama.cpp",),
        (
            _TOKENS,
            each_node("positions"),
            Part("starts", "n + 1", lambda shape: shape.n + 1),
            Part("ids", "sum of depth + 1 over leaves", lambda shape: shape.nodes_to_leaves),
        ),
        *of_request(encode_sequences, decode_sequences),
        shows=shown.sequence_ids,
    ),
    Format(
        "intervals",
        "the in/out test",
        ("tree_oracle",),
        (_TOKENS, each_node("enter"), each_node("leave")),
        *of_request(lambda tree, _: encode_intervals(tree), decode_intervals),
        shows=shown.intervals,
    ),
    Format(
        "json",
        "plain JSON text",
        ("tree_oracle",),
        (_TOKENS, each_node("parents")),
        *of_request(lambda tree, _: to_json(tree), from_json),
    ),
)
