"""Adapters that lie at the seam ``move``: nothing they do to what they were handed reaches the judges, and faults are named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from grounds import ground, sentences, statuses, with_methods

from tree_oracle.checks import choose
from tree_oracle.checks.drive import drive
from tree_oracle.construct import TableDraft
from tree_oracle.decoder import BlockTable, Part, Pool, Seam
from tree_oracle.decoder.caches import Moved, move
from tree_oracle.decoder.caches.move import per_token
from tree_oracle.record import Case, DecoderError, DraftData, Report, Status
from tree_oracle.run import Budget, run_battery
from tree_oracle.strategies import placed

Ints = Sequence[int]
Pools = list[Pool]
Mover = Callable[[Ints, Ints, BlockTable, Pools], Any]

SMALL = placed((-1, 0, 0, 1, 3), 4, page_size=4, length=3, layers=2, heads=2, width=2, side=True)
SPLIT = placed((-1, 0, 0, 2), 3, page_size=4, length=3, shared=True, width=4, side=True)
CASES = [Case(prefix=(0,), move=data) for data in (SMALL, SPLIT)]
IDS = ("MOVE-01", "MOVE-02", "MOVE-03", "MOVE-04")


def judged(mover: Mover) -> Report:
    found = ground()
    subject = found.subject(lambda _: with_methods(move=mover))
    plan = Budget(cases=0, shrink_runs=0, diagnose=False)
    return run_battery(subject, choose(ids=IDS), plan, cases=CASES, stock=found.stock)


def after(change: Callable[[Pools], object]) -> Mover:
    """A right move, and then something done to the list or the objects that were handed over."""

    def moved(accepted: Ints, slots: Ints, table: BlockTable, pools: Pools) -> Moved:
        found = move(accepted, slots, table, pools)
        change(pools)
        return found

    return moved


TRICKS: dict[str, Callable[[Pools], object]] = {
    "the list is emptied": lambda pools: pools.clear(),
    "a pool is taken out": lambda pools: pools.pop(),
    "the list is turned": lambda pools: pools.reverse(),
    "a pool is exchanged": lambda pools: pools.__setitem__(0, Pool(0, Part.KEYS, np.zeros((1, 1, 1), dtype=np.int32))),
    "a pool loses its array": lambda pools: object.__setattr__(pools[0], "data", None),
    "an array gets another shape": lambda pools: setattr(pools[0].data, "shape", (-1,)),
    "an array gets another dtype": lambda pools: setattr(pools[0].data, "dtype", np.uint8),
}


@pytest.mark.filterwarnings("ignore:Setting the")  # numpy would rather have a view made than a shape set
@pytest.mark.parametrize("trick", TRICKS)
def test_what_becomes_of_the_handed_over_objects_is_the_adapters_own_affair(trick: str) -> None:
    """The list, the pools and their shapes are private copies; only the numbers are shared, and those were moved rightly."""
    assert set(statuses(judged(after(TRICKS[trick]))).values()) == {Status.PASSED}


def by_force(accepted: Ints, slots: Ints, table: BlockTable, pools: Pools) -> Moved:
    found = move(accepted, slots, table, pools)
    object.__setattr__(table, "length", found.length)
    return found


def test_a_block_table_that_is_changed_is_said_to_be() -> None:
    """A frozen object changed by force is an input that was changed, in a block table and in a draft alike."""
    with pytest.raises(DecoderError, match="move changed its input: length: 3 became 7"):
        drive(with_methods(move=by_force), Seam.MOVE, CASES[0], 60)

    def build(draft: TableDraft, root: int) -> tuple[list[int], list[int]]:
        object.__setattr__(draft, "laws", draft.laws * 2)
        return [root], [-1]

    case = Case(prefix=(0,), draft=DraftData((("11",),)))
    with pytest.raises(DecoderError, match="build_tree changed its input: laws: the array it was handed holds other"):
        drive(with_methods(build_tree=build), Seam.BUILD, case, 60)


def padded(accepted: Ints, slots: Ints, table: BlockTable, pools: Pools) -> Moved:
    """A twin: behind the pages that hold rows the table is padded, as kernels want it."""
    found = move(accepted, slots, table, pools)
    return replace(found, pages=(*found.pages[: -(-found.length // table.page_size)], -1, -1, 10**6))


def test_padding_behind_the_rows_is_no_fault() -> None:
    """Only pages that hold rows are looked at."""
    assert set(statuses(judged(padded)).values()) == {Status.PASSED}


# -------------------------------------------------------------------------------------------- faults planted by hand


def unknown_page(accepted: Ints, slots: Ints, table: BlockTable, pools: Pools) -> Moved:
    found = move(accepted, slots, table, pools)
    return replace(found, pages=(999, *found.pages[1:]))


def accumulated(accepted: Ints, slots: Ints, table: BlockTable, pools: Pools) -> int:
    """Rows are added to what the destinations hold."""
    nodes = [0, *accepted]
    there = table.rows(range(table.length, table.length + len(nodes)))
    for pool in per_token(pools):
        pool.write(there, pool.read(there) + pool.read([slots[node] for node in nodes]))
    return table.length + len(nodes)


def a_row_early(accepted: Ints, slots: Ints, table: BlockTable, pools: Pools) -> Moved:
    found = move(accepted, slots, table, pools)
    moved = replace(table, pages=found.pages)
    for pool in per_token(pools):
        pool.write([moved.row(table.length - 1)], pool.read([moved.row(table.length)]))
    return found


def leaf_first(accepted: Ints, slots: Ints, table: BlockTable, pools: Pools) -> Moved:
    return move(accepted[::-1], slots, table, pools)


def keys_for_values(accepted: Ints, slots: Ints, table: BlockTable, pools: Pools) -> Moved:
    found = move(accepted, slots, table, pools)
    rows = replace(table, pages=found.pages).rows(range(table.length, found.length))
    for keys, values in zip(pools, pools[1:], strict=False):
        if keys.part is Part.KEYS:
            values.write(rows, keys.read(rows))
    return found


def heads_turned(accepted: Ints, slots: Ints, table: BlockTable, pools: Pools) -> Moved:
    found = move(accepted, slots, table, pools)
    rows = replace(table, pages=found.pages).rows(range(table.length, found.length))
    for pool in pools:
        if pool.part is not Part.SIDE and pool.data.shape[1] > 1:
            pool.data[rows] = np.roll(pool.data[rows], 1, axis=1)
    return found


def one_page_for_all(accepted: Ints, slots: Ints, table: BlockTable, pools: Pools) -> Moved:
    found = move(accepted, slots, table, pools)
    return replace(found, pages=(found.pages[0],) * len(found.pages))


def all_else_wiped(accepted: Ints, slots: Ints, table: BlockTable, pools: Pools) -> Moved:
    found = move(accepted, slots, table, pools)
    kept = set(replace(table, pages=found.pages).rows(range(found.length)))
    for pool in per_token(pools):
        rows = [row for row in range(len(pool.read())) if row not in kept]
        pool.write(rows, np.zeros_like(pool.read(rows)))
    return found


PLANTED: dict[str, tuple[Mover, str, str]] = {
    "an unknown page": (unknown_page, "MOVE-01", "names page 999, which the pools do not have"),
    "a sum": (accumulated, "MOVE-01", "no whole row, but numbers of"),
    "a row early": (a_row_early, "MOVE-02", "(row 2 of the request) holds the row of"),
    "leaf first": (leaf_first, "MOVE-01", "(row 4 of the request) holds the row of"),
    "keys for values": (keys_for_values, "MOVE-01", "holds the row of slot"),
    "heads turned": (heads_turned, "MOVE-01", "no whole row, but numbers of"),
    "one page for all": (one_page_for_all, "MOVE-01", "holds the row of"),
    "all else wiped": (all_else_wiped, "MOVE-03", "a row of another request, was changed"),
}


@pytest.mark.parametrize(("mover", "check", "sentence"), PLANTED.values(), ids=PLANTED)
def test_a_wrong_move_is_caught_by_the_check_of_its_law(mover: Mover, check: str, sentence: str) -> None:
    """Each fault that nobody put into the catalogue fails the check whose law it breaks, in a sentence that says how."""
    report = judged(mover)
    assert statuses(report)[check] is Status.FAILED
    assert any(sentence in said for said in sentences(report))
