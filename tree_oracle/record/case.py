"""A case: the input that a check drives a decoder with.

The identity of a case is the hash of its canonical JSON, so that the same input has the same name on every machine.
"""

from __future__ import annotations

import hashlib

import msgspec

from tree_oracle.record.array import Array
from tree_oracle.record.limits import Limits
from tree_oracle.record.processors import Processors
from tree_oracle.record.tree_data import TreeData


class DraftData(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A draft as plain data: by depth, then by parent token, a law of one character per token.

    A digit says how often probability 1 is halved, ``-`` that the token is never proposed: ``1-22`` is 1/2, 0, 1/4 and 1/4.
    Probabilities of this kind and their products are exact, so ties are planned and no accident. What comes after the last
    depth, or the last parent token, has the laws of the last one.
    """

    laws: tuple[tuple[str, ...], ...]

    @property
    def vocab_size(self) -> int:
        """How many tokens the first law speaks of."""
        return len(self.laws[0][0]) if self.laws and self.laws[0] else 0


class MoveData(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One commit in pools of cache rows that several requests share, as plain data.

    A pool row is ``page * page_size + offset``. Row r of a request is in the page ``pages[r // page_size]`` of its block
    table, at offset ``r % page_size``. What no table and no slot lies in is free.
    """

    page_size: int
    pool_pages: int  # how many pages the pools have
    pages: tuple[int, ...]  # block table of the request that commits
    length: int  # rows that it held before the round
    slots: tuple[int, ...]  # per node, root first, the pool row that the target pass wrote
    accepted: tuple[int, ...] = ()  # nodes followed, in path order, root excluded
    others: tuple[tuple[int, ...], ...] = ()  # block tables of other requests; what both tables hold is shared
    layers: int = 1
    heads: int = 1
    width: int = 1
    value_width: int = 0  # of the values, where it differs from that of the keys
    side: bool = False  # with a side buffer per layer, indexed by page
    packed: bool = False  # keys and values have four bits an element, and two rows a byte
    window: int = 0  # with recurrent layers, whose convolution looks at so many inputs


class AttendData(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Made-up queries, keys and values for one attention operator, as plain data: their sizes and what they are drawn by.

    The columns of the keys are the ``prefix_len - 1`` cached tokens, then the nodes of the case's tree by slot.
    """

    prefix_len: int  # committed tokens, the root among them
    heads: int = 4  # of the queries
    groups: int = 2  # heads of keys and values
    width: int = 64  # of a head
    window: int = 0  # a row sees so many positions, its own among them; 0: all
    salt: int = 0
    bits: bool = False  # no row aims at a key: all are balanced, so that one bit more or less shows in every dtype


class RequestData(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One request of a session that several share, as plain data.

    It takes part in one step for every tree, from step ``joins`` on, and is dropped after the last one unless it has ended. A
    tree of a root alone is a step without a draft.
    """

    trees: tuple[TreeData, ...]
    prompt: tuple[int, ...] = ()
    joins: int = 0  # the step before which it is admitted; 0: the session opens with it
    resumes: int | None = None  # in place of a prompt: an earlier request that was dropped, whose text it goes on with


class LawData(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Two laws and the chance to be had, as plain data and exact: a probability is a weight over the sum of its law's weights.

    A coin is a whole number of 2**-24, so that every float type in use holds it. A round that asks for more coins than its
    script has gets those of a generator with the seed.
    """

    target: tuple[int, ...]  # weights after no token
    draft: tuple[int, ...]
    turned: bool = True  # after other histories the same weights, turned round; else the same
    rounds: int = 1  # of each session
    sessions: int = 0  # that are sampled
    seed: int = 0
    scripts: tuple[tuple[tuple[int, ...], ...], ...] = ()  # one session each: per round its first coins


class DrafterData(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A drafter as plain data: its name, and the text that its drafts are made for (``tree_oracle.decoder.drafters``)."""

    name: str
    text: tuple[int, ...]  # the target's own tokens after the prefix, further than the limits allow
    special: tuple[int, ...] = ()  # ids that the target gives a meaning of their own, beside end tokens


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One input: a prefix, one tree per round, and where generation must stop."""

    prefix: tuple[int, ...]
    trees: tuple[TreeData, ...] = ()
    limits: Limits | None = None
    rows: Array | None = None  # rows handed to ``accept`` in place of a model's, n x vocabulary
    draft: DraftData | None = None  # handed to ``build_tree``
    move: MoveData | None = None  # what is to be moved, handed to ``move``
    attend: AttendData | None = None  # what is handed to ``attend``, with the trees
    law: LawData | None = None  # laws and coins, handed to ``accept_sampled`` or ``open_sampled``
    batch: tuple[
        RequestData, ...
    ] = ()  # requests of one session in the order of admission, in place of prefix and trees
    processors: Processors | None = None  # what is done to every row of every path before a token is chosen by it
    drafter: DrafterData | None = None  # handed to ``generate``, which takes its trees from it
    note: str = ""  # the condition that the case was made to meet


def case_id(case: Case) -> str:
    """Twelve hex digits of the SHA-256 of the case's canonical JSON; the note does not count."""
    plain = msgspec.structs.replace(case, note="")
    return hashlib.sha256(msgspec.json.encode(plain, order="deterministic")).hexdigest()[:12]
