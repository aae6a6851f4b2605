"""The catalogue: every planted fault beside the condition that wakes it, the check that must catch it, and its twin.

The kinds and their waking conditions were collected from public reports of real decoders. A check that no entry wakes has
not been shown to be able to fail; a property holds the catalogue to that.
"""

from __future__ import annotations

from tree_oracle.decoder import Parts
from tree_oracle.faults import commits, keeps, layouts, passes, scorers, walks
from tree_oracle.faults.attend_faults import ATTEND_FAULTS
from tree_oracle.faults.batch_faults import BATCH_FAULTS
from tree_oracle.faults.batch_rule_faults import BATCH_RULE_FAULTS
from tree_oracle.faults.build_faults import BUILD_FAULTS
from tree_oracle.faults.drafter_faults import DRAFTER_FAULTS
from tree_oracle.faults.fault import Fault
from tree_oracle.faults.held_faults import HELD_FAULTS
from tree_oracle.faults.layer_faults import LAYER_FAULTS
from tree_oracle.faults.length_faults import LENGTH_FAULTS
from tree_oracle.faults.mask_faults import MASK_FAULTS
from tree_oracle.faults.move_faults import MOVE_FAULTS
from tree_oracle.faults.narrow_faults import NARROW_FAULTS
from tree_oracle.faults.numeric_faults import NUMERIC_FAULTS
from tree_oracle.faults.packing_faults import PACKING_FAULTS
from tree_oracle.faults.path_faults import PATH_FAULTS
from tree_oracle.faults.place_faults import PLACE_FAULTS
from tree_oracle.faults.policy_faults import POLICY_FAULTS
from tree_oracle.faults.prefix_faults import PREFIX_FAULTS
from tree_oracle.faults.rank_faults import RANK_FAULTS
from tree_oracle.faults.round_faults import ROUND_FAULTS
from tree_oracle.faults.sibling_faults import SIBLING_FAULTS
from tree_oracle.faults.state_faults import STATE_FAULTS
from tree_oracle.faults.window_faults import WINDOW_FAULTS
from tree_oracle.faults.witness_faults import WITNESS_FAULTS
from tree_oracle.faults.work_faults import WORK_FAULTS
from tree_oracle.record.names import by_name

_CATALOGUE = (
    *BUILD_FAULTS,
    Fault(
        "newest-column-lost",
        "MASK-LAYOUT",
        "VISIBLE-01",
        "the last cached prefix token is hidden from every node below the root",
        "a prefix of two tokens or more, and one node",
        "masks built for the prefix length of another round",
        Parts(lay_out=layouts.newest_column_lost),
        "the mask is put together from a prefix block and a node block",
        Parts(lay_out=layouts.columns_in_two_blocks),
    ),
    Fault(
        "parents-only",
        "MASK-LAYOUT",
        "VISIBLE-02",
        "a node sees itself and its parent, but no ancestor above that",
        "a node at depth two",
        "ancestor masks that were propagated for one level only",
        Parts(lay_out=layouts.parents_only),
        "the mask is closed under parents step by step",
        Parts(lay_out=layouts.closed_under_parents),
    ),
    Fault(
        "flat-causal-mask",
        "MASK-IGNORED",
        "VISIBLE-03",
        "every node sees all earlier slots, as in a chain",
        "a node that is no ancestor, in an earlier slot",
        "tree masks that were built right and not used",
        Parts(lay_out=layouts.flat_causal),
        "the ancestor mask is ANDed with the causal one",
        Parts(lay_out=layouts.causal_and_ancestors),
    ),
    Fault(
        "sibling-leak",
        "MASK-LAYOUT",
        "VISIBLE-03",
        "a node also sees the sibling stored before it",
        "two siblings",
        "packed masks read with a wrong stride",
        Parts(lay_out=layouts.sibling_leak),
        "a node is shown its parent once more",
        Parts(lay_out=layouts.parent_again),
    ),
    Fault(
        "position-by-slot",
        "POSITION",
        "POSITION-01",
        "positions count storage slots instead of depth",
        "a sibling or cousin in an earlier slot",
        "prefix + index where prefix + depth was meant",
        Parts(lay_out=layouts.position_by_slot),
        "positions are counted from the visible columns",
        Parts(lay_out=layouts.position_by_row_sum),
    ),
    Fault(
        "rows-one-slot-late",
        "GATHER",
        "HISTORY-01",
        "every node is given the logits of the slot before it",
        "one node",
        "a wrong slice of the logits of one forward pass",
        Parts(target_pass=passes.rows_shifted),
        "the rows are gathered through an identity index",
        Parts(target_pass=passes.rows_by_index),
    ),
    Fault(
        "last-node-leaks",
        "NUMERIC",
        "HISTORY-02",
        "a thousandth of the last node's row is added to the root's",
        "the changed node is the last one",
        "quantisation scales shared over rows, so that a later node changes an earlier row",
        Parts(target_pass=passes.last_row_leaks),
        "every logit is moved by the same constant, which changes no probability",
        Parts(target_pass=passes.constant_shift),
    ),
    Fault(
        "previous-slot-row",
        "GATHER",
        "GATHER-01",
        "a child is judged with the row of the slot before it",
        "a parent that is not the previous slot, and a row that misleads",
        "chain verification fed with a tree",
        Parts(walk=walks.previous_slot_row),
        "a child is judged with the row found by looking its parent up",
        Parts(walk=walks.parent_looked_up),
    ),
    Fault(
        "scored-by-own-row",
        "GATHER",
        "GATHER-02",
        "a node is scored under its own row, the law of the token after it",
        "one node",
        "parent and node offsets confused when probabilities are gathered",
        Parts(score=scorers.own_row),
        "probabilities are gathered first and their logarithm is taken last",
        Parts(score=scorers.through_probabilities),
    ),
    Fault(
        "bonus-by-count",
        "GATHER",
        "GATHER-03",
        "the bonus is read from the row whose slot is the number of accepted nodes",
        "an accepted path whose slots are not 1, 2, 3, ...",
        "chain code reused for trees",
        Parts(walk=walks.bonus_by_count),
        "the bonus is read from the row of the last accepted node",
        Parts(walk=walks.bonus_by_last),
    ),
    Fault(
        "best-available-child",
        "DECISION",
        "GREEDY-01",
        "where the argmax has no node, the best scoring child is accepted instead of stopping",
        "a node with children, none of which holds the argmax",
        "tree search mistaken for verification",
        Parts(walk=walks.best_available),
        "the best scoring child is taken only if its token is the argmax",
        Parts(walk=walks.best_if_argmax),
    ),
    Fault(
        "first-child-only",
        "DECISION",
        "GREEDY-02",
        "only the first child of a node is looked at",
        "the right token stands on a later child; never shows in tokens",
        "walks that lost the sibling link",
        Parts(walk=walks.first_child_only),
        "children are looked at from the last to the first",
        Parts(walk=walks.children_reversed),
    ),
    Fault(
        "last-maximum-wins",
        "DECISION",
        "GREEDY-03",
        "of bit-equal maxima the largest token id is chosen",
        "an exact tie",
        "ranks computed with >= where argmax uses >",
        Parts(walk=walks.last_maximum),
        "the choice is the first entry of a stable descending sort",
        Parts(walk=walks.stable_sort),
    ),
    Fault(
        "keep-first-rows",
        "KV-COMMIT",
        "COMMIT-01",
        "as many cache rows as were accepted are kept, but the first ones instead of the accepted ones",
        "accepted slots that are not 1, 2, 3, ...; shows from the next round on",
        "the cache rewound by one number",
        Parts(commit=commits.first_rows),
        "rows are copied down one by one in ascending order",
        Parts(commit=commits.in_place_ascending),
    ),
    Fault(
        "values-not-moved",
        "KV-MOVE",
        "COMMIT-03",
        "keys are moved to their new rows and values are not",
        "a scattered path, and a second round",
        "compaction that forgot one of the two tensors",
        Parts(commit=commits.keys_only),
        "prefix and path are cut out apart and put together again",
        Parts(commit=commits.two_pieces),
    ),
    Fault(
        "copied-in-descending-order",
        "KV-MOVE",
        "COMMIT-01",
        "rows are moved in place from the last to the first, over rows still to be read",
        "a kept slot equal to the rank of a later kept node, as in slots 0, 1, 3, 4",
        "in-place compaction kernels",
        Parts(commit=commits.descending_copy),
        "rows are copied down one by one in ascending order",
        Parts(commit=commits.in_place_ascending),
    ),
    Fault(
        "one-rejected-row-stays",
        "ROLLBACK",
        "COMMIT-01",
        "one rejected row is left in the cache behind the kept ones",
        "one rejected node",
        "rollbacks that trim one row too few",
        Parts(commit=commits.one_row_more),
        "prefix and path are cut out apart and put together again",
        Parts(commit=commits.two_pieces),
    ),
    Fault(
        "kept-by-count",
        "KV-COMMIT",
        "COMMIT-02",
        "the nodes to keep are counted from the root by slot",
        "accepted slots that are not 1, 2, 3, ...",
        "accepted length used where accepted indices were meant",
        Parts(keep=keeps.by_count),
        "the path is found by following parents up from its last node",
        Parts(keep=keeps.up_from_the_last),
    ),
    *MASK_FAULTS,
    *PLACE_FAULTS,
    *SIBLING_FAULTS,
    *ROUND_FAULTS,
    *WINDOW_FAULTS,
    *HELD_FAULTS,
    *LAYER_FAULTS,
    *LENGTH_FAULTS,
    *PREFIX_FAULTS,
    *MOVE_FAULTS,
    *ATTEND_FAULTS,
    *STATE_FAULTS,
    *BATCH_FAULTS,
    *BATCH_RULE_FAULTS,
    *PACKING_FAULTS,
    *POLICY_FAULTS,
    *WORK_FAULTS,
    *WITNESS_FAULTS,
    *RANK_FAULTS,
    *PATH_FAULTS,
    *DRAFTER_FAULTS,
    *NUMERIC_FAULTS,
    *NARROW_FAULTS,
)

FAULTS: dict[str, Fault] = by_name(_CATALOGUE)
