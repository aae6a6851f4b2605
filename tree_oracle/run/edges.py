"""The windows and chunks of a target that the listed texts are long enough to cross: only there can an edge come about."""

from __future__ import annotations

from tree_oracle.masked.kinds import CHUNKED, FULL, layer_kinds, size_of
from tree_oracle.record import Unsupported
from tree_oracle.target import Target

_WITHIN_REACH = 8  # positions: the listed prefixes have up to nine tokens


def edges_of(target: Target) -> tuple[tuple[int, bool], ...]:
    """The windows and chunks of the target that texts as long as the listed ones reach; of larger ones nothing is said."""
    try:
        config = target.model.config
        kinds = sorted(set(layer_kinds(config)) - {FULL})
    except (Unsupported, AttributeError, TypeError):  # a model of another type: nothing is known of its layers
        return ()
    found = [(size_of(config, kind), kind == CHUNKED) for kind in kinds]
    return tuple(edge for edge in found if edge[0] <= _WITHIN_REACH)
