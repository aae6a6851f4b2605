"""The reference ``move`` and the tags that it is judged by, against plain lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.checks.tags import REQUEST, table_of, tagged
from tree_oracle.decoder import BlockTable, Part, Pool
from tree_oracle.decoder.caches import move
from tree_oracle.record import MoveData, UsageError
from tree_oracle.strategies import move_data, placed

PER_TOKEN = {Part.KEYS, Part.VALUES, Part.SIDE}


def by_hand(data: MoveData) -> dict[tuple[int, str], list[list[int]]]:
    """Written apart from the reference: the rows that the request must have, as plain lists, by layer and part."""
    size = data.page_size
    old = [data.pages[row // size] * size + row % size for row in range(data.length)]
    wanted = [*old, data.slots[0], *(data.slots[node] for node in data.accepted)]
    pools = [pool for pool in tagged(data) if pool.part in PER_TOKEN]
    return {(pool.layer, pool.part): [plain_row(pool, row, size) for row in wanted] for pool in pools}


def plain_row(pool: Pool, row: int, size: int) -> list[int]:
    if pool.packed:
        return [byte // 16 if row % 2 else byte % 16 for byte in pool.data[row // 2].ravel().tolist()]
    found = pool.data[row // size][row % size] if pool.part is Part.SIDE else pool.data[row]
    return [int(value) for value in found.ravel()]


@given(data=move_data() | move_data(recurrent=True))
def test_the_reference_moves_what_it_should_and_nothing_else(data: MoveData) -> None:
    """In every pool the request's rows are the old ones and then the path's, and no page of another request changes."""
    pools = tagged(data)
    before = [pool.read() for pool in pools]
    found = move(list(data.accepted), list(data.slots), table_of(data), pools)
    size, expected = data.page_size, by_hand(data)
    theirs = {page * size + offset for other in data.others for page in other for offset in range(size)}

    assert found.length == data.length + 1 + len(data.accepted)
    for pool, old in zip(pools, before, strict=True):
        if pool.part not in PER_TOKEN:
            continue
        rows = pool.read().tolist()
        held = [found.pages[row // size] * size + row % size for row in range(found.length)]
        assert [rows[place] for place in held] == expected[pool.layer, pool.part]
        assert not theirs & set(held[data.length :])
        assert all(rows[row] == old[row].tolist() for row in theirs)


@given(data=move_data(recurrent=True))
def test_the_reference_keeps_states_along_the_path(data: MoveData) -> None:
    """The state is the last kept node's snapshot, the window the newest inputs, and other requests' entries stay."""
    pools = {(pool.layer, pool.part): pool for pool in tagged(data)}
    before = {key: pool.data.tolist() for key, pool in pools.items()}
    move(list(data.accepted), list(data.slots), table_of(data), list(pools.values()))
    nodes = [0, *data.accepted]
    for layer in range(data.layers):
        window = [*before[layer, Part.WINDOW][REQUEST], *(before[layer, Part.INPUTS][node] for node in nodes)]
        due = {Part.STATE: before[layer, Part.SNAPSHOTS][nodes[-1]], Part.WINDOW: window[-data.window :]}
        for part, mine in due.items():
            after = pools[layer, part].data.tolist()
            assert after[REQUEST] == mine
            assert [after[0], after[2]] == [before[layer, part][0], before[layer, part][2]]


@given(data=move_data() | move_data(recurrent=True))
def test_every_tag_has_one_home(data: MoveData) -> None:
    """No two rows of one case look alike and none is zero, so whatever stands anywhere says where it came from."""
    rows = [(pool.packed, tuple(row)) for pool in tagged(data) for row in pool.read().tolist()]
    plain = [value for packed, row in rows if not packed for value in row]
    packed_rows = [row for packed, row in rows if packed]
    assert len(set(plain)) == len(plain)
    assert 0 not in plain
    assert len(set(packed_rows)) == len(packed_rows)
    assert all(any(row) for row in packed_rows)
    assert max(plain, default=0) < 2**24


def test_too_few_pages_to_share_are_refused() -> None:
    """A shared page needs a free one to be copied to; a request that ends with a page shares none in half."""
    with pytest.raises(UsageError, match="a request of 4 rows in pages of 2 ends with a page; no page is half shared"):
        placed((-1,), 0, page_size=2, length=4, shared=True)
    table = BlockTable((0,), 2, 1, shared=frozenset({0}))
    with pytest.raises(UsageError, match="page 0 is shared and must be copied before it is written; no page is free"):
        move([], [2], table, [Pool(0, Part.KEYS, np.zeros((4, 1, 1), dtype=np.int32))])
    with pytest.raises(UsageError, match="row 2 of a request with 1 pages of 2; expected 0 to 1"):
        BlockTable((0,), 2, 1).row(2)


@given(entries=st.lists(st.integers(0, 7), min_size=1, max_size=8, unique=True), data=st.data())
def test_writing_packed_rows_leaves_their_neighbours(entries: list[int], data: st.DataObject) -> None:
    """A packed pool behaves as a plain one of four-bit numbers, whichever rows are written."""
    values = np.array(data.draw(st.lists(st.integers(0, 255), min_size=12, max_size=12)), dtype=np.uint8).reshape(
        4, 1, 3
    )
    pool = Pool(0, Part.KEYS, values.copy(), packed=True)
    plain = pool.read().copy()
    new = np.array(
        data.draw(st.lists(st.integers(0, 15), min_size=3 * len(entries), max_size=3 * len(entries)))
    ).reshape(-1, 3)
    pool.write(entries, new)
    plain[entries] = new
    assert pool.read().tolist() == plain.tolist()


def test_a_pool_that_cannot_be_changed_in_place_is_refused() -> None:
    """A view whose rows cannot be laid out flat would be copied, and the copy changed in vain."""
    with pytest.raises(UsageError, match="the keys of layer 0 are not contiguous"):
        Pool(0, Part.KEYS, np.zeros((4, 3, 2)).transpose(1, 0, 2)).read()
