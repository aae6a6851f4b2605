"""Wrong ways to keep the history of every path, and detours to the right one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from msgspec.structs import replace as changed

from tree_oracle.decoder.path_parts import Rows, Walked, carry, shape, track
from tree_oracle.decoder.path_state import PathState, Rules, follow, follow_all, shaped
from tree_oracle.record import Processors
from tree_oracle.tree import CandidateTree
from tree_oracle.verify import walk

States = Sequence[PathState]


# ------------------------------------------------------------------------------------------------------ at every node


def root_for_all(rules: Rules, root: PathState, tree: CandidateTree) -> list[PathState]:
    """Fault: one state for the whole tree, that of the prefix."""
    return [root] * len(tree)


def whole_tree(rules: Rules, root: PathState, tree: CandidateTree) -> list[PathState]:
    """Fault: every drafted token is in the history of every node."""
    every = follow_all(root, tree.tokens[1:].tolist(), rules)
    return [root, *[every] * (len(tree) - 1)]


def in_slot_order(rules: Rules, root: PathState, tree: CandidateTree) -> list[PathState]:
    """Fault: one state is advanced from slot to slot, as along a chain."""
    return [follow_all(root, tree.tokens[1 : node + 1].tolist(), rules) for node in range(len(tree))]


def one_token_late(rules: Rules, root: PathState, tree: CandidateTree) -> list[PathState]:
    """Fault: a node has the state of its parent."""
    states = track(rules, root, tree)
    return [root, *(states[int(parent)] for parent in tree.parents[1:])]


def sibling_counted(rules: Rules, root: PathState, tree: CandidateTree) -> list[PathState]:
    """Fault: the state is handed from a node to its next sibling, and not put back before."""
    states, given = [root], {0: root}
    for node in range(1, len(tree)):
        parent = int(tree.parents[node])
        given[parent] = follow(given[parent], int(tree.tokens[node]), rules)
        given[node] = given[parent]
        states.append(given[node])
    return states


def first_of_each_depth(rules: Rules, root: PathState, tree: CandidateTree) -> list[PathState]:
    """Fault: of every depth above a node the first node stored is taken for its ancestor."""
    firsts = [int(np.flatnonzero(tree.depths == depth)[0]) for depth in range(tree.max_depth + 1)]
    paths = [[*firsts[1 : int(tree.depths[node])], node] if node else [] for node in range(len(tree))]
    return [follow_all(root, tree.tokens[path].tolist() if path else [], rules) for path in paths]


def grammar_in_slot_order(rules: Rules, root: PathState, tree: CandidateTree) -> list[PathState]:
    """Fault: counts are kept per path, and one automaton is advanced from slot to slot."""
    pairs = zip(track(rules, root, tree), in_slot_order(rules, root, tree), strict=True)
    return [replace(own, state=flat.state) for own, flat in pairs]


def minimum_of_root(rules: Rules, root: PathState, tree: CandidateTree) -> list[PathState]:
    """Fault: how many tokens are emitted is asked once per round."""
    return [replace(state, emitted=root.emitted) for state in track(rules, root, tree)]


def path_by_path(rules: Rules, root: PathState, tree: CandidateTree) -> list[PathState]:
    """Twin: every node's state is computed anew from the root's, along its own path."""
    return [follow_all(root, tree.tokens[list(tree.path(node)[1:])].tolist(), rules) for node in range(len(tree))]


# ---------------------------------------------------------------------------------------------------- to every row


def _with(rules: Rules, **processors: Any) -> Rules:
    """The same rules with other processors."""
    return replace(rules, processors=changed(rules.processors, **processors))


def _below_root(rules: Rules, states: States, tree: CandidateTree, rows: Rows, others: Rules) -> Rows:
    """The root's row as it should be, all others by other rules."""
    found = shape(others, states, tree, rows)
    found[0] = shape(rules, states, tree, rows)[0]
    return found


def bias_at_root(rules: Rules, states: States, tree: CandidateTree, rows: Rows) -> Rows:
    """Fault: biases are added to the first row of a round only."""
    return _below_root(rules, states, tree, rows, _with(rules, bias=()))


def ban_at_root(rules: Rules, states: States, tree: CandidateTree, rows: Rows) -> Rows:
    """Fault: banned sequences are ruled out in the first row of a round only."""
    return _below_root(rules, states, tree, rows, _with(rules, banned=()))


def at_bonus_only(rules: Rules, states: States, tree: CandidateTree, rows: Rows) -> Rows:
    """Fault: drafted tokens are accepted by the raw rows; only the row that chooses the bonus is processed."""
    found, last = rows.copy(), [0, *walk(tree, rows).accepted][-1]
    found[last] = shape(rules, states, tree, rows)[last]
    return found


def without_grammar(rules: Rules, states: States, tree: CandidateTree, rows: Rows) -> Rows:
    """Fault: the grammar is accepted as an option and never used."""
    return shape(_with(rules, grammar=()), states, tree, rows)


def counted_once(rules: Rules, states: States, tree: CandidateTree, rows: Rows) -> Rows:
    """Fault: counts are kept as a set, so that a token that was emitted twice has the penalty of one."""
    once = [replace(state, counts=dict.fromkeys(state.counts, 1)) for state in states]
    return shape(rules, once, tree, rows)


def minimum_at_root(rules: Rules, states: States, tree: CandidateTree, rows: Rows) -> Rows:
    """Fault: end tokens are ruled out in the first row of a round only."""
    return _below_root(rules, states, tree, rows, replace(rules, min_new=0))


def minimum_for_first_id(rules: Rules, states: States, tree: CandidateTree, rows: Rows) -> Rows:
    """Fault: of several end tokens only the first is ruled out."""
    return shape(replace(rules, eos_ids=rules.eos_ids[:1]), states, tree, rows)


def without_minimum(rules: Rules, states: States, tree: CandidateTree, rows: Rows) -> Rows:
    """Fault: the minimum length is accepted as an option and never used."""
    return shape(replace(rules, min_new=0), states, tree, rows)


def without_minimum_beside_processors(rules: Rules, states: States, tree: CandidateTree, rows: Rows) -> Rows:
    """Fault: the minimum length is dropped where there are processors."""
    plain = rules.processors == Processors()
    return shape(rules if plain else replace(rules, min_new=0), states, tree, rows)


def bans_of_two_at_most(rules: Rules, states: States, tree: CandidateTree, rows: Rows) -> Rows:
    """Fault: banned sequences of more than two tokens are dropped."""
    short = tuple(sequence for sequence in rules.processors.banned if len(sequence) < 3)
    return shape(replace(rules, processors=changed(rules.processors, banned=short)), states, tree, rows)


def repetition_always_divides(rules: Rules, states: States, tree: CandidateTree, rows: Rows) -> Rows:
    """Fault: tokens that were there before have their logits divided, below zero too, which makes them likelier there."""
    found = np.array(shape(rules, states, tree, rows))
    by, biased = (
        rules.processors.repetition,
        replace(rules, processors=Processors(bias=rules.processors.bias), min_new=0),
    )
    for row, right, state in zip(rows, found, states, strict=True):
        before = shaped(row, state, biased)
        below = [token for token in sorted(state.seen) if before[token] < 0]
        right[below] += before[below] / by - before[below] * by
    return found


def last_row_first(rules: Rules, states: States, tree: CandidateTree, rows: Rows) -> Rows:
    """Twin: the rows are processed from the last to the first."""
    return shape(rules, states[::-1], tree, rows[::-1])[::-1]


# -------------------------------------------------------------------------------------------------- after the round


def last_token_only(rules: Rules, states: States, tree: CandidateTree, walked: Walked) -> PathState:
    """Fault: of what a round emitted the last token is counted."""
    return follow_all(states[0], walked.emitted[-1:], rules)


def bonus_forgotten(rules: Rules, states: States, tree: CandidateTree, walked: Walked) -> PathState:
    """Fault: accepted tokens are counted, and the bonus is not."""
    return follow_all(states[0], walked.emitted[: len(walked.accepted)], rules)


def nothing_counted(rules: Rules, states: States, tree: CandidateTree, walked: Walked) -> PathState:
    """Fault: the state stays that of the prompt."""
    return states[0]


def rejected_stays(rules: Rules, states: States, tree: CandidateTree, walked: Walked) -> PathState:
    """Fault: what was counted for rejected nodes is not taken back."""
    rejected = [int(token) for node, token in enumerate(tree.tokens) if node and node not in walked.accepted]
    state = carry(rules, states, tree, walked)
    stale = follow_all(state, rejected, rules)
    return replace(state, seen=stale.seen, counts=stale.counts)


def grammar_of_last_slot(rules: Rules, states: States, tree: CandidateTree, walked: Walked) -> PathState:
    """Fault: the automaton goes on from the node stored last, accepted or not."""
    moved = follow_all(states[-1], walked.emitted[-1:], rules)
    return replace(carry(rules, states, tree, walked), state=moved.state)


def counted_by_slot(rules: Rules, states: States, tree: CandidateTree, walked: Walked) -> PathState:
    """Fault: as many drafted tokens as were accepted are counted, from the first slot on."""
    kept = tree.tokens[1 : len(walked.accepted) + 1].tolist()
    return follow_all(states[0], [*kept, *walked.emitted[len(walked.accepted) :]], rules)


def sequences_cut(rules: Rules, states: States, tree: CandidateTree, walked: Walked) -> PathState:
    """Fault: sequences are looked for within one round; one that began in an earlier round is forgotten."""
    return replace(carry(rules, states, tree, walked), tail=())


def rounds_counted(rules: Rules, states: States, tree: CandidateTree, walked: Walked) -> PathState:
    """Fault: a round counts as one token of the minimum length."""
    return replace(carry(rules, states, tree, walked), emitted=states[0].emitted + 1)


def from_last_accepted(rules: Rules, states: States, tree: CandidateTree, walked: Walked) -> PathState:
    """Twin: the state of the last accepted node that was emitted is taken over, and the bonus counted."""
    kept = walked.accepted[: len(walked.emitted)]
    return follow_all(states[[0, *kept][-1]], walked.emitted[len(kept) :], rules)
