"""Wrong ways to commit recurrent states and windows in shared pools, and detours to the right one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tree_oracle.decoder import BlockTable, Moved, Part, Pool
from tree_oracle.decoder.caches.move import keep_states, move, slide
from tree_oracle.decoder.caches.pools import of_layer

Ints = Sequence[int]
Pools = Sequence[Pool]
Keep = Callable[[tuple[int, ...], int, Pools], None]  # (nodes kept, request, pools)
Move = Callable[[Ints, Ints, BlockTable, Pools], Moved]

_PER_REQUEST = (Part.STATE, Part.WINDOW)


def states_by(keep: Keep) -> Move:
    """The reference with another way to commit recurrent layers."""

    def moved(accepted: Ints, slots: Ints, block_table: BlockTable, pools: Pools) -> Moved:
        found = move(accepted, slots, block_table, [pool for pool in pools if pool.part not in _PER_REQUEST])
        keep((0, *accepted), block_table.request, pools)
        return found

    return moved


def _states(pick: Callable[[tuple[int, ...], int], int]) -> Keep:
    """States become the snapshot of the picked node (of the kept ones and the number of all); windows are right."""

    def keep(nodes: tuple[int, ...], request: int, pools: Pools) -> None:
        keep_states(nodes, request, [pool for pool in pools if pool.part is not Part.STATE])
        for pool in (pool for pool in pools if pool.part is Part.STATE):
            snapshots = _beside(pools, pool, Part.SNAPSHOTS).read()
            pool.write([request], snapshots[pick(nodes, len(snapshots))][None])

    return keep


def _beside(pools: Pools, pool: Pool, part: Part) -> Pool:
    found = of_layer(pools, pool.layer, part)
    assert found is not None
    return found


def _windows(push: Callable[[Pool, Pool, tuple[int, ...], int], None]) -> Keep:
    """Windows are pushed in this way (window, inputs, kept nodes, request); states are right."""

    def keep(nodes: tuple[int, ...], request: int, pools: Pools) -> None:
        keep_states(nodes, request, [pool for pool in pools if pool.part is not Part.WINDOW])
        for pool in (pool for pool in pools if pool.part is Part.WINDOW):
            push(pool, _beside(pools, pool, Part.INPUTS), nodes, request)

    return keep


snapshot_of_root = states_by(_states(lambda nodes, count: 0))  # Fault: what stood before the drafts is put back.
snapshot_by_count = states_by(_states(lambda nodes, count: len(nodes) - 1))  # Fault: the number of accepted nodes.
snapshot_of_last_slot = states_by(_states(lambda nodes, count: count - 1))  # Fault: the node stored last.
snapshot_of_largest = states_by(_states(lambda nodes, count: max(nodes)))  # Twin: parents stand before children.


def _to_first_request(nodes: tuple[int, ...], request: int, pools: Pools) -> None:
    keep_states(nodes, 0, pools)


def _through_all_requests(nodes: tuple[int, ...], request: int, pools: Pools) -> None:
    """Every request's entry is written, the others with what they held."""
    old = [pool.data.copy() for pool in pools]
    for entry in range(request + 1):
        keep_states(nodes, entry, pools)
    for pool, before in zip(pools, old, strict=True):
        if pool.part in _PER_REQUEST:
            pool.data[:request] = before[:request]


def _first_layer(nodes: tuple[int, ...], request: int, pools: Pools) -> None:
    keep_states(nodes, request, [pool for pool in pools if pool.layer == 0])


def _last_layer_first(nodes: tuple[int, ...], request: int, pools: Pools) -> None:
    keep_states(nodes, request, sorted(pools, key=lambda pool: -pool.layer))


to_first_request = states_by(_to_first_request)  # Fault: the entry is that of request 0.
through_all_requests = states_by(_through_all_requests)  # Twin
first_layer_only = states_by(_first_layer)  # Fault: the other layers keep what they held.
last_layer_first = states_by(_last_layer_first)  # Twin


def _by_slot(window: Pool, inputs: Pool, nodes: tuple[int, ...], request: int) -> None:
    slide(window, request, inputs.read(range(nodes[-1] + 1)))


def _one_by_one(window: Pool, inputs: Pool, nodes: tuple[int, ...], request: int) -> None:
    for node in nodes:
        slide(window, request, inputs.read([node]))


def _path_alone(window: Pool, inputs: Pool, nodes: tuple[int, ...], request: int) -> None:
    window.data[request] = 0
    slide(window, request, inputs.read(nodes))


def _cleared_where_full(window: Pool, inputs: Pool, nodes: tuple[int, ...], request: int) -> None:
    if len(nodes) >= window.data.shape[1]:
        window.data[request] = 0
    slide(window, request, inputs.read(nodes))


def _all_nodes(window: Pool, inputs: Pool, nodes: tuple[int, ...], request: int) -> None:
    slide(window, request, inputs.read())


def _up_from_the_last(window: Pool, inputs: Pool, nodes: tuple[int, ...], request: int) -> None:
    held, places = window.data[request], len(window.data[request])
    new = inputs.data[list(nodes[::-1][:places])][::-1]
    held[...] = np.concatenate([held[len(new) :], new])


window_by_slot = states_by(_windows(_by_slot))  # Fault: the inputs of the slots before the last kept one.
window_one_by_one = states_by(_windows(_one_by_one))  # Twin
window_of_path_alone = states_by(_windows(_path_alone))  # Fault: what was in the window before the round is lost.
window_cleared_where_full = states_by(_windows(_cleared_where_full))  # Twin: cleared only where the path fills it.
window_with_rejected = states_by(_windows(_all_nodes))  # Fault: the inputs of rejected nodes are pushed too.
window_up_from_the_last = states_by(_windows(_up_from_the_last))  # Twin
