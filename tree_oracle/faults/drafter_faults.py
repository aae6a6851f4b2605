"""Planted faults that ordinary drafts do not wake: walks that mistake a token, a score or an equal sibling."""

from __future__ import annotations

import numpy as np

from tree_oracle.decoder.parts import Decision, Parts, Rows
from tree_oracle.faults.fault import Fault
from tree_oracle.faults.walks import parent_looked_up
from tree_oracle.tree import CandidateTree


def padding_accepted(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: behind the leaf of a short branch stands a padding of token 0, and where the target says 0 it is accepted."""
    return _past_the_leaf(tree, parent_looked_up(tree, rows), rows, padding=0)


def padding_recognised(tree: CandidateTree, rows: Rows) -> Decision:
    """Twin: the padding has a token that no target says."""
    return _past_the_leaf(tree, parent_looked_up(tree, rows), rows, padding=-1)


def _past_the_leaf(tree: CandidateTree, decision: Decision, rows: Rows, padding: int) -> Decision:
    """One node more where the next choice is the padding: the one at index -1, as indices are padded too."""
    leaf = [0, *decision.accepted][-1]
    short = decision.accepted and not tree.children(leaf) and tree.depths[leaf] < tree.max_depth
    if not short or decision.bonus != padding:
        return decision
    return Decision((*decision.accepted, len(tree) - 1), int(rows[-1].argmax()))


def root_by_score(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: the root is found as the last node whose log-probability is 0."""
    scores = tree.edge_log_probs
    return _from(tree, rows, 0 if scores is None else int(np.flatnonzero(scores == 0)[-1]))


def root_by_parent(tree: CandidateTree, rows: Rows) -> Decision:
    """Twin: the root is found as the node without a parent."""
    return _from(tree, rows, int(np.flatnonzero(tree.parents == -1)[-1]))


def _from(tree: CandidateTree, rows: Rows, here: int) -> Decision:
    choices, accepted = rows.argmax(axis=1), list[int]()
    while (child := next((v for v in tree.children(here) if tree.tokens[v] == choices[here]), None)) is not None:
        accepted.append(child)
        here = child
    return Decision(tuple(accepted), int(choices[here]))


def rows_by_token_path(tree: CandidateTree, rows: Rows) -> Decision:
    """Fault: rows are found in a dictionary by the tokens of the path, in which equal siblings take one place."""
    return _by_place(tree, rows, [tuple(tree.tokens[list(tree.path(v))].tolist()) for v in range(len(tree))])


def rows_by_node_path(tree: CandidateTree, rows: Rows) -> Decision:
    """Twin: the dictionary has the nodes of the path."""
    return _by_place(tree, rows, [tuple(tree.path(v)) for v in range(len(tree))])


def _by_place(tree: CandidateTree, rows: Rows, keys: list[tuple[int, ...]]) -> Decision:
    """The walk, with the row of a node where its key stands among the different keys."""
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    return _from(tree, rows[[places[key] for key in keys]], 0)


DRAFTER_FAULTS = (
    Fault(
        "padding-of-zero-accepted",
        "SENTINEL",
        "SEQUENCE-02",
        "the padding behind a short branch is token 0, and is accepted where the target's next token is 0",
        "an accepted path that ends in the leaf of a branch shorter than the deepest, before token 0",
        "candidates gathered through indices that are padded, from a list that ends with token 0",
        Parts(walk=padding_accepted),
        "the padding is a token that no target says",
        Parts(walk=padding_recognised),
    ),
    Fault(
        "root-found-by-its-score",
        "SENTINEL",
        "SEQUENCE-02",
        "the node whose log-probability is 0 is taken for the root, the last one where there are several",
        "a draft with an edge of probability 1; never shows on trees without scores",
        "trees whose root is marked by a score instead of a parent",
        Parts(walk=root_by_score),
        "the root is the node without a parent",
        Parts(walk=root_by_parent),
    ),
    Fault(
        "equal-siblings-share-a-place",
        "MERGE",
        "SEQUENCE-02",
        "rows are found by the tokens of a path, so that behind equal siblings every row is one too early",
        "two siblings of one token, and an accepted node stored after them",
        "tries and dictionaries keyed by token",
        Parts(walk=rows_by_token_path),
        "rows are found by the nodes of a path",
        Parts(walk=rows_by_node_path),
    ),
)
