"""Planted faults of a commit that leaves one layer out."""

from __future__ import annotations

from tree_oracle.decoder import Parts
from tree_oracle.faults import commits
from tree_oracle.faults.fault import Fault

_PIECES = (
    "prefix and path are cut out apart and put together again, in every layer",
    Parts(commit=commits.two_pieces),
)

LAYER_FAULTS = (
    Fault(
        "one-layer-not-moved",
        "KV-MOVE",
        "COMMIT-01",
        "one layer's keys and values are cut to their new number, and not moved to their new rows",
        "a scattered path",
        "loops over the layers that end one layer early, or begin one late",
        Parts(commit=commits.last_layer_cropped),
        *_PIECES,
    ),
    Fault(
        "one-layers-values-not-moved",
        "KV-MOVE",
        "COMMIT-01",
        "one layer's values are cut to their new number, and not moved to their new rows",
        "a scattered path",
        "a layer with a branch of its own, in which the second of two tensors is forgotten",
        Parts(commit=commits.last_values_cropped),
        *_PIECES,
    ),
)
