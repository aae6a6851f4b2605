"""Suspects: wrong parts that a diagnosis tries on the reference decoder, to see which of them reproduces what was seen.

The planted faults are among them, and beside them their common relatives, so that a cause is told from its neighbours. A
suspect is a hypothesis and no ground truth: it says what a decoder *would* show if this one thing were wrong with it.

One fault may have several forms: a mask is of the wrong polarity in the layout, where the model gets it, or where it is read,
as numbers or as booleans, and most of what is shown is the same. They have one name, and one form has to explain every case.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_oracle.decoder import Parts
from tree_oracle.faults import builds, commits, handed, keeps, layouts, lengths, masks, passes, scorers, stops, walks
from tree_oracle.faults.catalogue import FAULTS
from tree_oracle.tree import lay_out


@dataclass(frozen=True, slots=True)
class Suspect:
    """One thing that may be wrong."""

    name: str
    sentence: str
    parts: Parts
    others: tuple[Parts, ...] = ()  # further forms of the same fault

    @property
    def forms(self) -> tuple[Parts, ...]:
        """Every way in which it may be wrong."""
        return self.parts, *self.others


_RELATIVES = (
    Suspect("packed-by-edge", "nodes are packed by their own probability", Parts(build=builds.packed_by_edge)),
    Suspect("frontier-not-cut", "every node of a level proposes", Parts(build=builds.frontier_not_cut)),
    Suspect("law-of-root", "every law is asked for after the root's token", Parts(build=builds.law_of_root)),
    Suspect("law-of-depth-above", "laws are asked for one depth too early", Parts(build=builds.law_of_depth_above)),
    Suspect("whole-tree-visible", "every node sees every node of the tree", Parts(lay_out=layouts.whole_tree)),
    Suspect("all-siblings-leak", "a node sees all of its siblings", Parts(lay_out=layouts.all_siblings)),
    Suspect("itself-hidden", "a node does not see itself", Parts(lay_out=layouts.itself_hidden)),
    Suspect("parent-hidden", "a node does not see its parent", Parts(lay_out=layouts.parent_hidden)),
    Suspect("root-hidden", "no node sees the root", Parts(lay_out=layouts.root_hidden)),
    Suspect("oldest-column-lost", "the first prefix token is hidden", Parts(lay_out=layouts.oldest_column_lost)),
    Suspect("elder-siblings-leak", "a node sees the siblings stored before it", Parts(lay_out=masks.elders_direct)),
    Suspect(
        "next-elder-inherited",
        "a node sees the sibling stored before it, and so does all that is below it",
        Parts(lay_out=masks.next_elder_inherited),
    ),
    Suspect(
        "mask-of-parents-with-root",
        "a node takes the row of the slot before its parent's",
        Parts(lay_out=masks.parents_numbered_with_root),
    ),
    Suspect("nodes-one-column-late", "the mask of the nodes is a column late", Parts(lay_out=masks.one_column_late)),
    Suspect("nodes-one-column-early", "the mask of the nodes is a column early", Parts(lay_out=masks.one_column_early)),
    Suspect(
        "boolean-mask-added",
        "a boolean mask is handed to an attention that adds it to its scores",
        Parts(target_pass=handed.handed(handed.as_booleans)),
    ),
    Suspect("position-one-late", "every position is one too large", Parts(lay_out=layouts.position_one_late)),
    Suspect("position-one-early", "every position is one too small", Parts(lay_out=layouts.position_one_early)),
    Suspect("position-of-root", "every node sits at the root's position", Parts(lay_out=layouts.position_of_root)),
    Suspect(
        "position-by-parent-slot",
        "a node sits behind its parent's slot",
        Parts(lay_out=layouts.position_by_parent_slot),
    ),
    Suspect("rows-one-slot-early", "every node is given the next slot's logits", Parts(target_pass=passes.rows_early)),
    Suspect("rows-of-parent", "every node is given its parent's logits", Parts(target_pass=passes.rows_of_parent)),
    Suspect(
        "rows-of-first-sibling",
        "all children of a node are given the logits of the first of them",
        Parts(target_pass=passes.rows_of_first_sibling),
    ),
    Suspect("own-row", "a child is judged with its own row", Parts(walk=walks.own_row)),
    Suspect("matched-by-depth", "a token is matched at its depth under any parent", Parts(walk=walks.by_depth)),
    Suspect("top-two", "a child in the top two of its parent's row is accepted", Parts(walk=walks.top_two)),
    Suspect("bonus-from-root", "the bonus is read from the root's row", Parts(walk=walks.bonus_from_root)),
    Suspect(
        "bonus-from-last-slot", "the bonus is read from the last slot's row", Parts(walk=walks.bonus_from_last_slot)
    ),
    Suspect(
        "scored-by-previous-slot", "a node is scored under the previous slot's row", Parts(score=scorers.previous_slot)
    ),
    Suspect("scored-by-root", "a node is scored under the root's row", Parts(score=scorers.root_row)),
    Suspect("keys-not-moved", "values are moved to their new rows and keys are not", Parts(commit=commits.values_only)),
    Suspect("one-row-missing", "the last kept row is dropped", Parts(commit=commits.one_row_fewer)),
    Suspect("rejected-rows-stay", "every row of the round is kept", Parts(commit=commits.everything)),
    Suspect(
        "rejected-rows-seen",
        "every row of the round is kept and seen, at positions that are right",
        Parts(commit=commits.everything, target_pass=lengths.in_committed_places),
    ),
    Suspect("root-not-kept", "the root's row is dropped", Parts(keep=keeps.without_root)),
    Suspect("end-tokens-ignored", "end tokens do not end the text", Parts(stop=stops.no_end_tokens)),
    Suspect(
        "end-tokens-ignored-in-first-round",
        "end tokens do not end the text in the first round",
        Parts(stop=stops.no_end_tokens_in_first_round),
    ),
    Suspect(
        "first-token-never-ends",
        "an end token that is the text's first is passed over",
        Parts(stop=stops.first_token_never_ends),
    ),
    Suspect(
        "stop-sequence-named-first",
        "a stop sequence is named as the reason where an end token completes it",
        Parts(stop=stops.stop_sequence_named_first),
    ),
    Suspect("end-token-not-emitted", "the end token itself is dropped", Parts(stop=stops.end_token_dropped)),
)

# Where layouts alone are asked for these are right: a packed fault of the same kind says there what is wrong.
_INVERTED = (
    Parts(encode=lay_out, lay_out=masks.hidden_for_seen),
    Parts(target_pass=handed.handed(handed.as_inverted_booleans)),
    Parts(target_pass=handed.read(handed.inverted)),
)
_EXCHANGED = (Parts(encode=lay_out, lay_out=masks.transposed),)
_OTHER_FORMS = {
    "mask-polarity-inverted": _INVERTED,
    "queries-and-keys-exchanged": _EXCHANGED,
    "one-layer-not-moved": (Parts(commit=commits.first_layer_cropped),),
    "one-layers-values-not-moved": (Parts(commit=commits.first_values_cropped),),
}

SUSPECTS: tuple[Suspect, ...] = (
    *(Suspect(f.name, f.sentence, f.parts, _OTHER_FORMS.get(f.name, ())) for f in FAULTS.values()),
    *_RELATIVES,
)
