"""The conventions in which published systems differ, one enumeration each. The member's value is its line in the docs.

Nothing here is guessed from data: the same bits are a right mask under one polarity and a wrong one under another. Who uses
which is in ``systems``; ``docs/conventions.md`` is made from both.
"""

from __future__ import annotations

from enum import Enum, unique


@unique
class Polarity(Enum):
    """What an entry of a mask means."""

    ONE_ATTENDS = "true or 1 attends"
    ONE_HIDES = "true or 1 hides"
    ADDITIVE_INF = "added: 0 attends, -inf hides"
    ADDITIVE_MIN = "added: 0 attends, the lowest finite value hides"
    ADDITIVE_SUM = "added: 0 attends, the lowest finite value or -inf hides"  # two minima summed overflow


@unique
class Orientation(Enum):
    """Which side of a mask is the row that looks."""

    QUERY_KEY = "[query, key]"
    KEY_QUERY = "[key, query]"


@unique
class Causality(Enum):
    """What the mask does to the model's own causal mask."""

    REPLACES = "replaces the causal mask"
    NARROWS = "only removes from the causal mask, so parents must be stored before children"


@unique
class PrefixColumns(Enum):
    """Whether the cached prefix has columns."""

    DENSE = "a column for each cached token"
    IMPLICIT = "none: the prefix is visible to all"


@unique
class RootRow(Enum):
    """Where the row after the root comes from."""

    IN_FORWARD = "in the tree, computed in this pass"
    PREFIX_ROW = "not in the tree: the last row of the prefix"


@unique
class Budget(Enum):
    """Whether a budget counts the root."""

    WITHOUT_ROOT = "candidates only"
    WITH_ROOT = "the root counts"


@unique
class DepthParameter(Enum):
    """What a depth parameter d means, in levels of candidates."""

    LEVELS = "d levels"
    ONE_LESS = "d + 1 levels"
    ONE_MORE = "d - 1 levels"


@unique
class RootParent(Enum):
    """How a parent list says "the root"."""

    MINUS_ONE = "root listed, its parent is -1"
    ITSELF = "root listed, its parent is 0"
    UNLISTED_MINUS_ONE = "root not listed, its children have parent -1"
    UNLISTED_ITSELF = "root not listed, its children are their own parents"
    POOL_GROUP_ZERO = "pool index; group 0 belongs to the root, its entry is -1"


@unique
class NodeOrder(Enum):
    """How nodes are stored."""

    PARENTS_FIRST = "any order with parents first"
    LEVELS = "level by level, siblings together"
    POPPED = "as taken from the heap"
    SCORE = "by score"


@unique
class Position(Enum):
    """What a position counts from. Depth decides it everywhere, the slot nowhere."""

    ABSOLUTE = "root at the length of the prefix without it"
    OFFSET = "root at 0"


@unique
class PrefixLength(Enum):
    """Whether a prefix length counts the root."""

    WITH_ROOT = "the root counts"
    WITHOUT_ROOT = "the root does not count"


@unique
class Bonus(Enum):
    """When the target's own token at the end of the accepted path is committed."""

    NOW = "in the same round"
    NEXT_ROOT = "as the root of the next round"


@unique
class AcceptCount(Enum):
    """What a count of accepted tokens holds."""

    DRAFTS = "accepted candidates"
    DRAFTS_AND_ONE = "accepted candidates and one more (the bonus, or the root)"


@unique
class Metric(Enum):
    """How rounds are averaged."""

    RATIO_OF_SUMS = "committed tokens / rounds"
    MEAN_OF_MEANS = "mean over responses of the mean per round"
    ONE_PLUS_ACCEPTED = "1 + accepted / drafts"
    PERCENT_OF_LEVELS = "accepted / drafted levels, in percent"


@unique
class LinkIndex(Enum):
    """What a retrieve index names."""

    GLOBAL = "the row in the flattened batch"
    LOCAL = "the node"


@unique
class LeafOrder(Enum):
    """The order of the rows of a path table."""

    SLOTS = "leaves by slot"
    REVERSED = "leaves by slot, the last first"
    SORTED = "rows in lexicographic order, padding last"


@unique
class PadToken(Enum):
    """The token that a padded path entry gathers."""

    ZERO = "token 0, which is also a real token"
    MINUS_ONE = "token -1, which is none"


@unique
class Duplicates(Enum):
    """Which of two equal siblings a map from tokens to children keeps."""

    REFUSED = "equal siblings are refused"
    FIRST = "the first wins"
    LAST = "the last wins"


@unique
class Listing(Enum):
    """How a list of choices numbers its nodes."""

    SORTED = "sorted by (length, ranks) before numbering"
    AS_LISTED = "place in the list plus one; levels together, parents first"


@unique
class Packing(Enum):
    """How mask bits are packed."""

    ROW_BYTES = "1, 2 or 4 bytes for each row, lowest bit first, at most 32 nodes"
    ROW_WORDS = "32-bit words for each row, lowest bit first"
    SEGMENT = "each request flattened row by row, lowest bit first, ended at a whole byte"
    KEY_WORDS = "one 64-bit word for each key, bit = query, at most 64 nodes"
