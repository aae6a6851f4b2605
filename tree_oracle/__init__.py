"""The correctness harness and verification oracle for tree speculative decoding.

Importing this package loads neither torch nor numpy: the public names are resolved on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_oracle._lazy import lazy_names

if TYPE_CHECKING:
    from tree_oracle.api import check_decoder as check_decoder
    from tree_oracle.conformance import parametrize_with_checks as parametrize_with_checks
    from tree_oracle.decoder import ReferenceDecoder as ReferenceDecoder
    from tree_oracle.record import Limits as Limits
    from tree_oracle.record import Processors as Processors
    from tree_oracle.record import Report as Report
    from tree_oracle.record import Round as Round
    from tree_oracle.record import Status as Status
    from tree_oracle.record import Unsupported as Unsupported
    from tree_oracle.target import Target as Target
    from tree_oracle.target import load_target as load_target
    from tree_oracle.tree import CandidateTree as CandidateTree

__version__ = "0.1.0"

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "check_decoder": "tree_oracle.api",
        "parametrize_with_checks": "tree_oracle.conformance",
        "ReferenceDecoder": "tree_oracle.decoder",
        "Limits": "tree_oracle.record",
        "Processors": "tree_oracle.record",
        "Report": "tree_oracle.record",
        "Round": "tree_oracle.record",
        "Status": "tree_oracle.record",
        "Unsupported": "tree_oracle.record",
        "Target": "tree_oracle.target",
        "load_target": "tree_oracle.target",
        "CandidateTree": "tree_oracle.tree",
    },
)
