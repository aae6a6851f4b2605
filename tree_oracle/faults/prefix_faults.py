"""Planted faults of shared prefixes: which requests are taken to begin alike."""

from __future__ import annotations

from tree_oracle.decoder import BatchParts, Parts
from tree_oracle.faults import prefix_hits
from tree_oracle.faults.fault import Fault

_TWIN = (
    "two prefixes are the same if every token is, the last compared first",
    Parts(batch=BatchParts(share=prefix_hits.by(prefix_hits.same_tokens))),
)

PREFIX_FAULTS = (
    Fault(
        "prefix-known-by-its-set",
        "PREFIX",
        "BATCH-01",
        "two prefixes that hold the same tokens are taken for the same, in whatever order they stand",
        "two prompts of the same tokens in another order",
        "prefix keys that add or XOR the hashes of single tokens",
        Parts(batch=BatchParts(share=prefix_hits.by(prefix_hits.same_set))),
        *_TWIN,
    ),
    Fault(
        "prefix-known-by-its-ends",
        "PREFIX",
        "BATCH-01",
        "two prefixes of one length that begin and end alike are taken for the same",
        "two prompts that differ between their first and their last tokens",
        "prefix keys of length, first and last token",
        Parts(batch=BatchParts(share=prefix_hits.by(prefix_hits.same_ends))),
        *_TWIN,
    ),
)
