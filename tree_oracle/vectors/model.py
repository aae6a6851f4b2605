"""What a corpus file holds, as typed structures; the committed JSON Schema is made from them.

Every number is an integer. A probability is a count over the draft's ``total``, a rational parameter is ``[numerator,
denominator]``, a row of the target holds integers whose order alone matters, and null for a token that is forbidden. So no
result hangs on how a machine rounds: an order is decided by comparing exact products.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeAlias, TypeVar

import msgspec

FORMAT: Literal["tree-oracle-vectors"] = "tree-oracle-vectors"
VERSION: Literal[1] = 1

Path: TypeAlias = tuple[int, ...]  # the tokens from below the root to a node
Ratio: TypeAlias = tuple[int, int]  # numerator, denominator
Place: TypeAlias = tuple[int | str, ...]  # a way into the input: names of members and indices
Value: TypeAlias = int | tuple[int | tuple[int, ...], ...]


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing but the fields that are listed."""


class Tree(_Strict, frozen=True):
    """Node 0 is the root and has parent -1; parents come first."""

    tokens: tuple[int, ...]
    parents: tuple[int, ...]


class LayOut(_Strict, frozen=True):
    """Operation ``lay_out``: a tree after a prefix of so many tokens, the root its last one."""

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    prefix_len: int


class Laid(_Strict, frozen=True):
    """Its answer, by node. ``visible[v]`` has a 1 for each column that node v attends: cached tokens, then nodes."""

    depths: tuple[int, ...]
    positions: tuple[int, ...]
    score_rows: tuple[int, ...]  # whose row judges the node; -1 for the root
    visible: tuple[str, ...]


class Encode(_Strict, frozen=True):
    """Operation ``encode``: a batch of trees in one of the published encodings."""

    format: str
    trees: tuple[Tree, ...]
    prefix_lens: tuple[int, ...]


class Encoded(_Strict, frozen=True):
    """Its answer: one document for the batch or one for each request, as the encoding has it."""

    documents: list[Any]


class Decode(_Strict, frozen=True):
    """Operation ``decode``: the way back."""

    format: str
    documents: list[Any]
    prefix_lens: tuple[int, ...]


class Decoded(_Strict, frozen=True):
    """Its answer: one tree for each request."""

    trees: tuple[Tree, ...]


class Refused(_Strict, frozen=True):
    """The input must be refused. ``at`` lists every entry that, changed alone, would make it valid."""

    at: tuple[Place, ...]


class Marginal(_Strict, frozen=True, tag_field="kind", tag="marginal"):
    """A draft with one law for each depth: ``laws[depth - 1][token]``."""

    total: int
    laws: tuple[tuple[int, ...], ...]


class Markov(_Strict, frozen=True, tag_field="kind", tag="markov"):
    """A draft that sees the depth and the parent's token: ``laws[depth - 1][parent's token][token]``."""

    total: int
    laws: tuple[tuple[tuple[int, ...], ...], ...]


class After(_Strict, frozen=True):
    """The law below one node."""

    after: Path
    counts: tuple[int, ...]


class PathLaws(_Strict, frozen=True, tag_field="kind", tag="path"):
    """A draft that sees the whole path, below nodes that have a law."""

    total: int
    laws: tuple[After, ...]


Draft: TypeAlias = Marginal | Markov | PathLaws


class Build(_Strict, frozen=True):
    """Operation ``build``: the tree of a policy over a draft."""

    policy: str
    parameters: dict[str, Value]
    draft: Draft
    root: int


class Merge(_Strict, frozen=True):
    """Operation ``merge``: the tree of all paths of several trees below the same root."""

    trees: tuple[Tree, ...]


class Proposed(_Strict, frozen=True):
    """A tree and, for each node but the root, the chance out of ``total`` that its own draft drew it with."""

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    counts: tuple[int, ...]


class MergeDraws(_Strict, frozen=True):
    """Operation ``merge_draws``: the merged tree, and below each node every draw of every draft. Siblings may be equal."""

    total: int
    drafts: tuple[Proposed, ...]


class Below(_Strict, frozen=True):
    """The draws below a node in the order in which they are tried: token, draft, and that draft's count for it."""

    after: Path
    draws: tuple[tuple[int, int, int], ...]


class Tried(_Strict, frozen=True):
    """Every node of the merged tree, shorter paths first."""

    nodes: tuple[Below, ...]


class Joined(_Strict, frozen=True):
    """The answer: by node of the merged tree the draws below it, each as child, draft and count."""

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    draws: tuple[tuple[tuple[int, int, int], ...], ...]


class Admitted(_Strict, frozen=True):
    """Each of these trees is right, and no other: a tree is its set of paths, shorter ones first."""

    trees: tuple[tuple[Path, ...], ...]


class Walk(_Strict, frozen=True):
    """Operation ``walk``: greedy verification. ``rows[v][token]`` is what the target says after node v."""

    tree: Tree
    rows: tuple[tuple[int | None, ...], ...]
    tie_rule: Literal["smallest id", "largest id"]


class Outcome(_Strict, frozen=True):
    """Accepted nodes in path order without the root; their tokens, then the target's own."""

    accepted: tuple[int, ...]
    emitted: tuple[int, ...]


class Walked(_Strict, frozen=True):
    """Each of these outcomes is right, and no other; there are several only where siblings are equal."""

    outcomes: tuple[Outcome, ...]


class Bounds(_Strict, frozen=True):
    """What ends a text: end tokens, the tokens that may be emitted, the tokens of prompt and emission together."""

    max_new_tokens: int
    eos_ids: tuple[int, ...] = ()
    max_length: int | None = None


class Stop(_Strict, frozen=True):
    """Operation ``stop``: what a round emits of the tokens it proposes, accepted ones first, the bonus last."""

    length: int  # committed tokens before the round
    emitted: int  # emitted in earlier rounds
    proposed: tuple[int, ...]
    limits: Bounds


class Stopped(_Strict, frozen=True):
    """Its answer: the tokens, and the first reason why nothing follows; null where the next round does."""

    emitted: tuple[int, ...]
    end: Literal["eos", "cap", "context"] | None


Input = TypeVar("Input")
Expected = TypeVar("Expected")


class Flag(_Strict, frozen=True):
    """What a vector wakes."""

    bug_type: str  # what a program gets wrong
    effect: str  # what that does to a decoder
    fault_class: str  # the class of real faults that it belongs to


class Vector(_Strict, Generic[Input, Expected], frozen=True):
    """One input with its only right answers."""

    id: str
    comment: str
    flags: tuple[str, ...]
    input: Input
    expected: Expected


class Group(_Strict, Generic[Input, Expected], frozen=True):
    """One file."""

    format: Literal["tree-oracle-vectors"]
    version: Literal[1]
    group: str
    operation: str
    about: str
    flags: dict[str, Flag]
    vectors: tuple[Vector[Input, Expected], ...]


AnyInput: TypeAlias = LayOut | Encode | Decode | Build | Merge | MergeDraws | Walk | Stop
AnyExpected: TypeAlias = Laid | Encoded | Decoded | Refused | Admitted | Tried | Walked | Stopped
AnyVector: TypeAlias = Vector[Any, Any]
AnyGroup: TypeAlias = Group[Any, Any]

# Each file's type, by its name.
GROUPS: dict[str, Any] = {
    "trees": Group[LayOut, Laid],
    "malformed-trees": Group[LayOut, Refused],
    "encode": Group[Encode, Encoded],
    "decode": Group[Decode, Decoded],
    "malformed": Group[Decode, Refused],
    "construct": Group[Build, Admitted],
    "construct-ties": Group[Build, Admitted],
    "merge": Group[Merge, Admitted],
    "merge-draws": Group[MergeDraws, Tried],
    "greedy": Group[Walk, Walked],
    "greedy-ties": Group[Walk, Walked],
    "stop": Group[Stop, Stopped],
}
