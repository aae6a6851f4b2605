"""What each flag stands for: the mistake that a vector wakes, what it does to a decoder, and the class of real faults."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tree_oracle.vectors.model import Flag

FLAGS: Mapping[str, Flag] = MappingProxyType(
    {
        # shapes
        "RootAlone": Flag(
            "a loop over candidates that assumes one", "the round crashes or repeats the last one", "BATCH"
        ),
        "Chain": Flag("tree code that differs from plain drafting", "chains decode otherwise than before", "POSITION"),
        "SiblingBefore": Flag("position counted by slot, not by depth", "rotary positions are wrong", "POSITION"),
        "NotAncestor": Flag(
            "a causal mask over the storage order", "a node attends a sibling's branch", "MASK-IGNORED"
        ),
        "EqualTokens": Flag("nodes told apart by token", "a node takes another history's row", "GATHER"),
        "LevelsMixed": Flag("storage assumed level by level", "levels are cut at the wrong slots", "CONSTRUCT"),
        "ByteBoundary": Flag(
            "bits packed without a spill-over", "the ninth node is lost or seen by all", "MASK-LAYOUT"
        ),
        "WordBoundary": Flag(
            "32-bit shift or word count off by one", "nodes from 32 on are masked wrongly", "MASK-LAYOUT"
        ),
        "WideWord": Flag("a 64-bit word kept in a signed or 32-bit integer", "the last node is lost", "MASK-LAYOUT"),
        "OddBits": Flag("rows taken to begin at whole bytes", "every row after the first is shifted", "MASK-LAYOUT"),
        "FirstToken": Flag("a prefix assumed to have cached tokens", "empty prefix columns are read", "PREFIX"),
        "RaggedPrefixes": Flag("one prefix length for the batch", "columns of a neighbour are read", "MASK-LAYOUT"),
        "UnequalTrees": Flag("one tree size for the batch", "padding is taken for nodes", "BATCH"),
        "WideToken": Flag("a token id kept in sixteen bits", "another token is drafted and judged", "CONSTRUCT"),
        "LongPrefix": Flag("a position or a length kept in eight bits", "positions begin anew", "POSITION"),
        "ManyNodes": Flag("a node's index kept in eight bits", "nodes from 256 on are taken for others", "MASK-LAYOUT"),
        # what is malformed
        "OutOfRange": Flag("an index that is used unchecked", "memory of another request is read", "CONSTRUCT"),
        "Orphan": Flag("a node whose parent is missing", "it is judged with another node's row", "CONSTRUCT"),
        "Cycle": Flag("parents followed without an end", "the decoder hangs", "CONSTRUCT"),
        "Contradiction": Flag(
            "one field read, the others believed", "mask, positions and paths disagree", "MASK-LAYOUT"
        ),
        "Duplicate": Flag("a node that is listed twice", "a row or a cache slot is used twice", "CONSTRUCT"),
        "WrongShape": Flag("a length taken from another field", "reads run past the end", "MASK-LAYOUT"),
        "HugeNumber": Flag("an integer that wraps around", "it passes the range check", "CONSTRUCT"),
        "MaskBit": Flag("a mask that no tree has", "a node sees a part of a history", "MASK-LAYOUT"),
        # construction
        "BudgetCut": Flag("the cut off by the root, or before sorting", "the wrong nodes are verified", "CONSTRUCT"),
        "RoomLeft": Flag("a tree padded to its budget", "nodes that nobody proposed are verified", "CONSTRUCT"),
        "FrontierCut": Flag(
            "every node of a level expanded, or the wrong ones", "another pool, another tree", "CONSTRUCT"
        ),
        "DepthReached": Flag("a level too many or too few", "the budget goes to the wrong depth", "CONSTRUCT"),
        "NeverProposed": Flag("a token of probability zero proposed", "a node that cannot be accepted", "CONSTRUCT"),
        "CertainEdge": Flag(
            "a child that scores as its parent does", "the child is kept, the parent dropped", "CONSTRUCT"
        ),
        "EqualScores": Flag(
            "an order that is left to a sorting routine", "ids and parents of different orders", "CONSTRUCT"
        ),
        "ParentMatters": Flag("the parent looked up in another row", "laws of another node are used", "CONSTRUCT"),
        "PublishedSize": Flag(
            "a default that differs from the publication", "another tree than the authors'", "CONSTRUCT"
        ),
        "SharedPath": Flag("drafts merged by token or by depth", "histories are mixed up", "CONSTRUCT"),
        "Unshared": Flag(
            "drafts joined where they have nothing in common", "a branch hangs from another's", "CONSTRUCT"
        ),
        "OwnChance": Flag("one q for a token of several drafts", "what is emitted has another law", "LAW"),
        "DrawnTwice": Flag("a second draw of a token dropped", "one trial less, so another law is emitted", "LAW"),
        # the greedy walk
        "NothingAccepted": Flag("a rejected round rolled back wrongly", "one token too many or none", "ROLLBACK"),
        "AllAccepted": Flag("the walk ended at a leaf without its row", "the bonus is lost", "GATHER"),
        "InnerStop": Flag("a child judged with the row of the previous slot", "a wrong child is accepted", "GATHER"),
        "ShallowLeaf": Flag("padding followed below a leaf", "a node that is none is accepted", "GATHER"),
        "LastChild": Flag("only the first child looked at", "accepted length falls, text does not change", "DECISION"),
        "Scattered": Flag("the path taken for the first slots", "bonus and cache rows of other nodes", "KV-COMMIT"),
        "LaterRank": Flag("rows moved in an order that overwrites", "a cache row is copied from its copy", "KV-MOVE"),
        "Forbidden": Flag("a forbidden token's score read as a number", "a forbidden token is emitted", "PATH-STATE"),
        "SecondBest": Flag("membership in the best few instead of the best", "sampling slips into greedy", "DECISION"),
        "ExactTie": Flag("the other of two equal maxima", "text parts from plain decoding for good", "DECISION"),
        "TieWithChild": Flag(
            "a tie decided by what was drafted", "the tree decides which token is emitted", "DECISION"
        ),
        "EqualSiblings": Flag("a twin's subtree taken for one's own", "path and tokens disagree", "DECISION"),
        # the end of a generation
        "EndInside": Flag("only the last token tested for the end", "text runs on after its end", "STOP"),
        "EndAsBonus": Flag("the bonus not tested for the end", "one more round is run", "STOP"),
        "SeveralEnds": Flag("one end token where there are several", "the second kind is missed", "STOP"),
        "CapInside": Flag("the cap tested once a round", "more tokens than asked for", "STOP"),
        "CapAtEnd": Flag("a cap reached exactly that is noticed late", "an empty round follows", "STOP"),
        "EndAndCap": Flag("the cap tested before the end token", "the wrong reason is reported", "STOP"),
        "ContextInside": Flag("the context limit tested once a round", "positions beyond the model's", "STOP"),
        "ContextAtEnd": Flag(
            "a context limit that is noticed a round late", "a pass at a position that is none", "STOP"
        ),
        "ContextAndCap": Flag("two limits at one token", "the wrong reason is reported", "STOP"),
        "NoRoom": Flag("a round begun without room", "a token after the end", "STOP"),
        "LaterRound": Flag("rounds counted, or tokens of this round alone", "the cap comes too late", "STOP"),
        "GoesOn": Flag("an end that is none", "text is cut short", "STOP"),
    }
)
