"""The seams of a decoder under test, and the reference decoder made of swappable parts.

The seams need no torch; the reference does, so its names are resolved on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_oracle._lazy import lazy_names
from tree_oracle.decoder.attention import AttentionLayout as AttentionLayout
from tree_oracle.decoder.caches import BlockTable as BlockTable
from tree_oracle.decoder.caches import Moved as Moved
from tree_oracle.decoder.caches import Part as Part
from tree_oracle.decoder.caches import Pool as Pool
from tree_oracle.decoder.drafters import DRAFTERS as DRAFTERS
from tree_oracle.decoder.drafters import ToldDraft as ToldDraft
from tree_oracle.decoder.seams import Accepts as Accepts
from tree_oracle.decoder.seams import AcceptsSampled as AcceptsSampled
from tree_oracle.decoder.seams import Admits as Admits
from tree_oracle.decoder.seams import Attends as Attends
from tree_oracle.decoder.seams import BuildsTrees as BuildsTrees
from tree_oracle.decoder.seams import Generates as Generates
from tree_oracle.decoder.seams import LaysOut as LaysOut
from tree_oracle.decoder.seams import Moves as Moves
from tree_oracle.decoder.seams import Opens as Opens
from tree_oracle.decoder.seams import OpensSampled as OpensSampled
from tree_oracle.decoder.seams import SampledSession as SampledSession
from tree_oracle.decoder.seams import ScoresTrees as ScoresTrees
from tree_oracle.decoder.seams import Seam as Seam
from tree_oracle.decoder.seams import Session as Session
from tree_oracle.decoder.seams import ShowsCache as ShowsCache
from tree_oracle.decoder.seams import seams_of as seams_of
from tree_oracle.decoder.tap_errors import Unexplained as Unexplained
from tree_oracle.decoder.tap_errors import Unfinished as Unfinished

if TYPE_CHECKING:
    from tree_oracle.decoder.batch_parts import BatchParts as BatchParts
    from tree_oracle.decoder.batch_session import BatchSession as BatchSession
    from tree_oracle.decoder.draft import HalfRightDraft as HalfRightDraft
    from tree_oracle.decoder.encoded import BuiltAs as BuiltAs
    from tree_oracle.decoder.encoded import Encoded as Encoded
    from tree_oracle.decoder.encoded import EncodedLayout as EncodedLayout
    from tree_oracle.decoder.encoded import LaidOutAs as LaidOutAs
    from tree_oracle.decoder.encoded import encoded_decoder as encoded_decoder
    from tree_oracle.decoder.parts import Decision as Decision
    from tree_oracle.decoder.parts import Parts as Parts
    from tree_oracle.decoder.reference import ReferenceDecoder as ReferenceDecoder
    from tree_oracle.decoder.tap_calls import Tap as Tap
    from tree_oracle.decoder.tap_calls import TargetCall as TargetCall
    from tree_oracle.decoder.tap_calls import can_tap as can_tap
    from tree_oracle.decoder.tap_calls import tap as tap
    from tree_oracle.decoder.tap_recover import recover as recover

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BatchParts": "tree_oracle.decoder.batch_parts",
        "BatchSession": "tree_oracle.decoder.batch_session",
        "HalfRightDraft": "tree_oracle.decoder.draft",
        "BuiltAs": "tree_oracle.decoder.encoded",
        "Encoded": "tree_oracle.decoder.encoded",
        "EncodedLayout": "tree_oracle.decoder.encoded",
        "LaidOutAs": "tree_oracle.decoder.encoded",
        "encoded_decoder": "tree_oracle.decoder.encoded",
        "Decision": "tree_oracle.decoder.parts",
        "Parts": "tree_oracle.decoder.parts",
        "ReferenceDecoder": "tree_oracle.decoder.reference",
        "Tap": "tree_oracle.decoder.tap_calls",
        "TargetCall": "tree_oracle.decoder.tap_calls",
        "can_tap": "tree_oracle.decoder.tap_calls",
        "tap": "tree_oracle.decoder.tap_calls",
        "recover": "tree_oracle.decoder.tap_recover",
        "watched_by": "tree_oracle.decoder.watched",
    },
)
