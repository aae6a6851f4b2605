"""The seam ``move``: rows are read off exactly in every form of answer, and what is wrong is the adapter's or the decoder's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from grounds import ground, result_of, sentences, statuses, with_methods
from hypothesis import given

from tree_oracle.checks import choose
from tree_oracle.checks.drive import drive
from tree_oracle.checks.moves import MOVES, STATES
from tree_oracle.decoder import BlockTable, Part, Pool, ReferenceDecoder, Seam
from tree_oracle.decoder.caches import move
from tree_oracle.record import AdapterError, Case, MoveData, Round, Status, UsageError
from tree_oracle.run import Budget, run_battery
from tree_oracle.strategies import move_data, placed

IDS = ("MOVE-01", "MOVE-02", "MOVE-03", "MOVE-04", "MOVE-05", "MOVE-06")
ROWS, PASSED = IDS[:4], Status.PASSED
SMALL = placed((-1, 0, 0, 1, 3), 4, page_size=4, length=3, layers=2, heads=2, width=2, side=True)
PER_TOKEN = {Part.KEYS, Part.VALUES, Part.SIDE}

Ints = Sequence[int]
Mover = Callable[[Ints, Ints, BlockTable, Sequence[Pool]], Any]


def seen(mover: Mover, data: MoveData = SMALL) -> Round:
    """The one round that a decoder with this method shows."""
    (found,) = drive(with_methods(move=mover), Seam.MOVE, Case(prefix=(0,), move=data), 60)
    return found


def arrays(found: Round) -> list[np.ndarray]:
    assert found.pools is not None
    return [np.asarray(pool.numpy()) for pool in found.pools]


def judged(mover: Mover, *ids: str, cases: Sequence[Case] | None = None) -> dict[str, Status]:
    found = ground()
    subject = found.subject(lambda _: with_methods(move=mover))
    report = run_battery(
        subject, choose(ids=ids or IDS), Budget(cases=0, shrink_runs=0, diagnose=False), cases=cases, stock=found.stock
    )
    return statuses(report)


@given(data=move_data())
def test_what_is_generated_is_a_case_of_its_scene(data: MoveData) -> None:
    """Every generated commit can be made, keeps a path of its own tree, and has a place for every row."""
    case = Case(prefix=(0,), move=data)
    assert MOVES.fits(case)
    assert STATES.fits(case)
    assert seen(move, data).length == data.length + 1 + len(data.accepted)
    assert len(set(data.slots)) == len(data.slots)
    assert len({page for table in (data.pages, *data.others[-1:]) for page in table}) == len(data.pages) + len(
        data.others[-1]
    )


# ------------------------------------------------------------------------------------------------- forms of answers


def on_copies(form: Callable[[np.ndarray], Any]) -> Mover:
    """As on a device: the pools that were handed over stay as they are, and new ones are answered."""

    def moved(accepted: Ints, slots: Ints, table: BlockTable, pools: Sequence[Pool]) -> Any:
        device = [Pool(pool.layer, pool.part, pool.data.copy(), pool.packed) for pool in pools]
        found = move(accepted, slots, table, device)
        return {"length": found.length, "pages": list(found.pages), "pools": [form(pool.data) for pool in device]}

    return moved


FORMS: dict[str, Mover] = {
    "in place, with a value": move,
    "in place, with a number": lambda *given: move(*given).length,
    "in place, with a numpy number": lambda *given: np.int64(move(*given).length),
    "in place, with a mapping": lambda *given: {"length": move(*given).length},
    "copies as arrays": on_copies(np.asarray),
    "copies as lists": on_copies(np.ndarray.tolist),
    "copies as tensors": on_copies(torch.tensor),
    "copies in floating point": on_copies(lambda data: torch.tensor(data).float()),
    "an object": lambda *given: SimpleNamespace(**on_copies(np.asarray)(*given)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "data", [SMALL, placed((-1, 0, 1, 0), 2, page_size=2, length=2, width=4, packed=True)], ids=["plain", "packed"]
)
def test_every_form_of_answer_is_read_alike(form: str, data: MoveData) -> None:
    """In place or as copies, on any device: the same pools and the same length are seen."""
    plain, found = seen(move, data), seen(FORMS[form], data)
    assert all(np.array_equal(one, other) for one, other in zip(arrays(plain), arrays(found), strict=True))
    assert found.length == plain.length
    assert found.pages in (None, plain.pages)


DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def on_device(device: str, copy: Callable[[torch.Tensor, list[int], list[int]], None]) -> Mover:
    """A move as an engine makes it: keys and values live on a device as pairs of bfloat16, whose bits are those of the tags."""

    def moved(accepted: Ints, slots: Ints, table: BlockTable, pools: Sequence[Pool]) -> Any:
        if table.shared or any(pool.packed or pool.part not in PER_TOKEN for pool in pools):
            raise NotImplementedError("no sharing, packing or recurrent layers")
        nodes = [0, *accepted]
        sources, there = [slots[node] for node in nodes], table.rows(range(table.length, table.length + len(nodes)))
        held = [torch.tensor(pool.data).view(torch.bfloat16).to(device) for pool in pools]
        for pool, tensor in zip(pools, held, strict=True):
            copy(tensor.flatten(0, 1) if pool.paged else tensor, sources, there)
        return {"length": table.length + len(nodes), "pools": [tensor.cpu().view(torch.int32) for tensor in held]}

    return moved


def gathered(rows: torch.Tensor, sources: list[int], there: list[int]) -> None:
    rows[there] = rows[sources]


def one_late(rows: torch.Tensor, sources: list[int], there: list[int]) -> None:
    rows[there[1:]] = rows[sources[:-1]]


@pytest.mark.parametrize("device", DEVICES)
def test_a_move_on_a_device_is_read_off_exactly(device: str) -> None:
    """Tags go through half precision on any device bit for bit: the right move passes and a wrong one is named."""
    right, wrong = judged(on_device(device, gathered)), judged(on_device(device, one_late))
    assert {name: right[name] for name in ROWS} == dict.fromkeys(ROWS, PASSED)
    assert right["MOVE-05"] is Status.NOT_APPLICABLE
    assert wrong["MOVE-01"] is Status.FAILED


def test_a_move_that_tells_no_length_is_judged_by_what_it_shows() -> None:
    """Without a length MOVE-04 is not observable, never passed; the rows are judged all the same."""
    cases = [Case(prefix=(0,), move=SMALL)]
    found = judged(lambda *given: move(*given) and None, *ROWS, cases=cases)
    assert found == {**dict.fromkeys(ROWS, PASSED), "MOVE-04": Status.NOT_OBSERVABLE}


def remapped(accepted: Ints, slots: Ints, table: BlockTable, pools: Sequence[Pool]) -> Any:
    """No row is moved: with one row a page the block table is."""
    if table.page_size != 1 or any(pool.part not in PER_TOKEN for pool in pools):
        raise NotImplementedError("only pages of one row can be remapped")
    return {
        "length": table.length + 1 + len(accepted),
        "pages": [*table.pages[: table.length], slots[0], *(slots[v] for v in accepted)],
    }


def test_a_decoder_that_moves_the_table_instead_of_rows_passes() -> None:
    """Rows are looked up through the block table, so leaving them where they are is right; what is refused is no pass."""
    found = judged(remapped)
    assert {name: found[name] for name in ROWS} == dict.fromkeys(ROWS, PASSED)
    assert found["MOVE-05"] is found["MOVE-06"] is Status.NOT_APPLICABLE


def test_a_decoder_without_the_method_is_told() -> None:
    """A cache that offers no move is not observable through it, and is told the method that it could have."""
    report = ground().report(
        lambda _: with_methods(accept=lambda tree, rows: ((), 0)), *IDS, budget=Budget(cases=0, shrink_runs=0)
    )
    assert set(statuses(report).values()) == {Status.NOT_OBSERVABLE}
    assert result_of(report, "MOVE-01").reason == "needs the method move"


def test_a_session_whose_cache_cannot_be_shown_is_not_observable_there() -> None:
    """Where the cache refuses to be gathered, COMMIT-01 is not observable and the decisions are still judged."""

    def refuse() -> Any:
        raise NotImplementedError("this cache offers no gather")

    def opened(target: Any) -> Any:
        right = ReferenceDecoder(target)
        return with_methods(
            open=lambda prompts, limits: with_methods(step=right.open(prompts, limits).step, cache=refuse)
        )

    report = ground().report(opened, "COMMIT-01", "COMMIT-02", "GREEDY-02")
    assert list(statuses(report).values()) == [Status.NOT_OBSERVABLE, PASSED, PASSED], sentences(report)


def short_of_a_pool(accepted: Ints, slots: Ints, table: BlockTable, pools: Sequence[Pool]) -> Any:
    return {"pools": [pool.data for pool in pools[1:]]}


WRONG: dict[str, tuple[Mover, str]] = {
    "text": (lambda *given: "done", "move answered str 'done'; expected None, a length, or any of length, pages and pools"),
    "an empty mapping": (lambda *given: {}, "move answered dict {}; expected None, a length"),
    "a real length": (lambda *given: {"length": 7.0}, "length has dtype float64; expected integers"),
    "pages of text": (lambda *given: {"pages": ["a"]}, "of dtype <U1; expected numbers"),
    "a pool too few": (short_of_a_pool, "expected a list with 6 arrays, in the order in which they were handed over"),
    "a pool cut off": (
        lambda a, s, t, pools: {"pools": [pool.data[1:] for pool in pools]},
        "the keys of layer 0 have shape (31, 2, 2); expected (32, 2, 2), as they were handed over",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_an_answer_that_cannot_be_read_is_the_adapters_fault(name: str) -> None:
    """The message says what was answered and what was expected."""
    mover, message = WRONG[name]
    with pytest.raises(AdapterError) as caught:
        seen(mover)
    assert message in str(caught.value)


def test_numbers_that_were_never_handed_over_are_the_decoders_fault() -> None:
    """NaN, infinities and broken numbers in a pool fail the checks, and the finding says that they are nobody's row."""

    def broken(accepted: Ints, slots: Ints, table: BlockTable, pools: Sequence[Pool]) -> Any:
        answer = on_copies(np.asarray)(accepted, slots, table, pools)
        return {**answer, "pools": [data * np.nan for data in answer["pools"]]}

    found = ground()
    report = found.report(
        lambda _: with_methods(move=broken), "MOVE-01", budget=Budget(cases=0, shrink_runs=0, diagnose=False)
    )
    assert statuses(report) == {"MOVE-01": Status.FAILED}
    assert "no single row" in sentences(report)[0]


MISFITS: dict[str, tuple[dict[str, Any], str]] = {
    "no rows in a page": ({"page_size": 0}, "page_size, pool_pages, layers, heads and width are (0, 8, 2, 2, 2)"),
    "too much": ({"pool_pages": 10**9}, "4000000000 rows in 2 layers are too many"),
    "a foreign page": ({"pages": (5, 99)}, "of 8"),
    "a page twice": ({"pages": (5, 5)}, "holds a page twice"),
    "the root accepted": ({"accepted": (0, 1)}, "accepted (0, 1); expected ascending, without root"),
    "a foreign node": ({"accepted": (9,)}, "accepted (9,) of 5 nodes"),
    "no nodes": ({"slots": ()}, "expected ascending, without root"),
    "too few pages": ({"length": 7}, "11 rows in 2 pages"),
    "a slot twice": ({"slots": (9, 9, 10, 11, 12)}, "expected different ones that nobody holds"),
    "packed and narrow": ({"packed": True, "width": 1}, "32 rows of 2 elements cannot be packed and told apart"),
    "a negative window": ({"window": -1}, "a window of -1"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_case_that_cannot_be_moved_is_refused(name: str) -> None:
    """What a file asks for and no decoder could do is refused before any decoder sees it."""
    changes, message = MISFITS[name]
    with pytest.raises(UsageError) as caught:
        seen(move, msgspec.structs.replace(SMALL, **changes))
    assert message in str(caught.value)
