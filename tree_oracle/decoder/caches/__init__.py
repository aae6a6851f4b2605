"""Reference caches: pools and block tables, the move of a commit, a paged cache, deferred compaction, recurrent states.

All but whole sessions over a store need no torch; those are resolved on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_oracle._lazy import lazy_names
from tree_oracle.decoder.caches.block_table import BlockTable as BlockTable
from tree_oracle.decoder.caches.deferred import DeferredCache as DeferredCache
from tree_oracle.decoder.caches.move import Moved as Moved
from tree_oracle.decoder.caches.move import move as move
from tree_oracle.decoder.caches.paged import PagedCache as PagedCache
from tree_oracle.decoder.caches.pools import Part as Part
from tree_oracle.decoder.caches.pools import Pool as Pool
from tree_oracle.decoder.caches.recurrent import RecurrentCache as RecurrentCache
from tree_oracle.decoder.caches.recurrent import RecurrentModel as RecurrentModel
from tree_oracle.decoder.caches.recurrent import States as States

if TYPE_CHECKING:
    from tree_oracle.decoder.caches.stored import StoredDecoder as StoredDecoder
    from tree_oracle.decoder.caches.stored import deferred_store as deferred_store
    from tree_oracle.decoder.caches.stored import paged_store as paged_store

_STORED = "tree_oracle.decoder.caches.stored"
__getattr__, __dir__ = lazy_names(
    __name__, {"StoredDecoder": _STORED, "deferred_store": _STORED, "paged_store": _STORED}
)
