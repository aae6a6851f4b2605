"""The coverage ledger: which outcomes came about, which had to, and that a run that misses one is no pass."""

from __future__ import annotations

from io import StringIO
from typing import Any

import numpy as np
import pytest
from grounds import ground, with_methods

from tree_oracle.checks import CHECKS, OUTCOMES, outcomes_of
from tree_oracle.checks.outcomes import WINDOW_EDGE
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.faults import FAULTS
from tree_oracle.record import (
    Array,
    Case,
    CheckResult,
    EndReason,
    Ledger,
    Level,
    Limits,
    MoveData,
    Report,
    RequestData,
    Round,
    Status,
    TreeData,
)
from tree_oracle.report.terminal import make_console, print_report
from tree_oracle.run import Budget, run_battery

pytestmark = pytest.mark.sweep

#      0
#    1   2        a later child, and slots in depth-first order of the second branch
#        3 4
FORK = (-1, 0, 0, 2, 2)
TREE = TreeData((9, 1, 2, 3, 4), FORK)
PLAIN = TreeData((9,), (-1,))
CASE = Case(prefix=(9,), trees=(TREE,), limits=Limits(64))


def told(name: str, case: Case, *rounds: Round) -> bool | None:
    return outcomes_of(case, rounds).get(name)


def over(accepted: tuple[int, ...], parents: tuple[int, ...] = FORK, **more: Any) -> Round:
    emitted = tuple(range(1, len(accepted) + 2))
    return Round(
        **{"emitted": emitted, "tokens": tuple(range(len(parents))), "parents": parents, "accepted": accepted} | more
    )


PATHS = {
    "whole draft rejected": ((), (2,)),
    "path accepted down to a leaf": ((2, 4), (2,)),
    "leaf accepted above the deepest": ((1,), (2, 3)),
    "later child accepted": ((2,), (1,)),
    "accepted slots scattered": ((2,), (1,)),
    "one node accepted": ((2,), (2, 4)),
    "node of another depth before an accepted one": ((2, 4), (2,)),
}


@pytest.mark.parametrize("name", PATHS)
def test_a_path_is_told_by_its_round(name: str) -> None:
    """Each outcome of one path comes about with a path of its kind and not with another."""
    shown, other = PATHS[name]
    assert told(name, CASE, over(shown)) is True
    assert told(name, CASE, over(other)) is False
    assert told(name, CASE, over(other), over(shown)) is True


def test_a_slot_that_is_overwritten_too_early_is_told() -> None:
    """Of the kept slots 0, 1, 3, 4 the third is equal to the rank of the fourth; of 0, 1, 4 none is."""
    parents = (-1, 0, 0, 1, 3)
    assert told("kept slot equal to a later rank", CASE, over((1, 3, 4), parents)) is True
    assert told("kept slot equal to a later rank", CASE, over((1, 4), (-1, 0, 0, 0, 1))) is False


def test_what_a_round_does_not_show_is_not_asked() -> None:
    """Without a tree, without accepted nodes and without siblings nobody is asked for a later child."""
    name = "later child accepted"
    for round_ in (
        Round(emitted=(1,)),
        Round(emitted=(1,), tokens=(9, 1, 2), parents=(-1, 0, 0)),
        over((1,), (-1, 0, 1)),
        over((), (-1,)),
    ):
        assert told(name, CASE, round_) is None


def test_ends_are_told_by_the_limits() -> None:
    """Ends inside a path, at the cap, in the context and across rounds are read off the text, whether or not a reason is shown."""
    cut = over((2, 4), emitted=(1, 2))
    eos = Case(prefix=(9,), trees=(TREE,), limits=Limits(2, (2,)))
    assert told("end token before the end of a path", eos, cut) is True
    assert told("end token before the end of a path", eos, over((2,), emitted=(1, 2))) is False
    assert told("end token and cap in the same token", eos, cut) is True
    assert told("cap inside a round", Case(prefix=(9,), trees=(TREE,), limits=Limits(2)), cut) is True
    assert told("cap inside a round", Case(prefix=(9,), trees=(TREE,), limits=Limits(3)), over((2, 4))) is False
    assert told("cap inside a round", CASE, cut) is None
    context = Case(prefix=(9,), trees=(TREE,), limits=Limits(64, max_length=3))
    assert told("end of the context", context, cut) is True
    assert told("end of the context", context, over((), emitted=(1,))) is False
    stop = Case(prefix=(9,), trees=(TREE, TREE), limits=Limits(64, stop=((2, 3),)))
    first = over((2,), emitted=(1, 2))
    assert told("stop sequence across rounds", stop, first, over((), emitted=(3,))) is True
    assert told("stop sequence across rounds", stop, over((), emitted=(1,)), over((2,), emitted=(2, 3))) is False


def test_sessions_are_told_by_their_steps() -> None:
    """Who joins, leaves, goes without a draft and accepts how much is read off the requests of each step."""
    case = Case(
        prefix=(),
        batch=(
            RequestData(prompt=(1,), trees=(TREE,)),
            RequestData(prompt=(2,), trees=(TREE, PLAIN, TREE)),
            RequestData(prompt=(3,), trees=(TREE, PLAIN)),
            RequestData(prompt=(4,), trees=(TREE,)),
            RequestData(trees=(PLAIN,), joins=2, resumes=0),
        ),
        limits=Limits(64),
    )

    def at(request: int, accepted: tuple[int, ...], parents: tuple[int, ...], end: EndReason | None = None) -> Round:
        return over(accepted, parents, request=request, end=end, prefix=(1, 2, 3 + request))

    first = [at(0, (2,), FORK), at(1, (), FORK), at(2, (), FORK), at(3, (), FORK)]
    smaller = [at(1, (), (-1, 0)), at(2, (), (-1, 0))]
    plain = [at(1, (), (-1,)), at(2, (), (-1,), EndReason.CAP)]
    last = [at(1, (), (-1, 0)), at(4, (), (-1,))]
    reached = {name for name, came in outcomes_of(case, [*first, *smaller, *plain, *last]).items() if came}
    due = {name for name, outcome in OUTCOMES.items() if outcome.scenes == ("batches",)}
    assert due <= reached
    alone = Case(prefix=(), batch=case.batch[1:3], limits=Limits(64))
    quiet = [at(0, (), FORK), at(1, (), FORK)]
    unreached = {name for name, came in outcomes_of(alone, quiet).items() if not came}
    assert "unequal acceptance in one step" in unreached
    assert "step without any draft after one with drafts" not in outcomes_of(alone, quiet)
    assert not any(name in outcomes_of(CASE, [over((2,))]) for name in due)


def test_pages_are_told_by_the_move() -> None:
    """A path crosses a page where the rows before and behind it lie in different ones."""

    def moved(length: int) -> Case:
        move = MoveData(
            page_size=4, pool_pages=8, pages=(0, 1), length=length, slots=(4, 5), accepted=(1,), others=((1, 2),)
        )
        return Case(prefix=(), move=move)

    shown = Round(emitted=(), accepted=(1,))
    assert told("path across a page", moved(3), shown) is True
    assert told("path across a page", moved(1), shown) is False
    assert told("path across a page", moved(3)) is None
    assert told("page shared with another request", moved(3), shown) is True
    assert told("pages of one row", moved(3), shown) is told("side buffers", moved(3), shown) is False


def test_large_masks_are_told_by_their_shape() -> None:
    """A mask of 3 x 5 bits ends inside a byte, one of 65 x 8 is wider than a word, and one of 8 x 8 neither."""

    def shown(rows: int, columns: int) -> Round:
        return Round(emitted=(), visible=Array.of(np.ones((rows, columns), dtype=bool)))

    names = ("mask that fills no whole byte", "more nodes than a word of 64 bits holds")
    for shape, expected in {(3, 5): (True, False), (65, 8): (False, True), (8, 8): (False, False)}.items():
        assert tuple(told(name, CASE, shown(*shape)) for name in names) == expected
    assert told(names[0], CASE, Round(emitted=())) is None


SCENES = {
    "rounds": "COMMIT-01",
    "ends": "STOP-01",
    "stops": "STOP-04",
    "batches": "BATCH-02",
    "batch paths": "PATHSTATE-02",
    "moves": "MOVE-01",
    "ties": "GREEDY-03",
    "near": "RANK-02",
    "wide": "VISIBLE-03",
    "paths": "PATHSTATE-02",
    "minimums": "STOP-05",
}


def test_every_outcome_has_a_scene_that_exists() -> None:
    """No line of the ledger waits for a scene that no check uses."""
    known = {source.scene.name for check in CHECKS.values() for source in check.sources}
    assert {scene for outcome in OUTCOMES.values() for scene in outcome.scenes} == {*SCENES, "trees"}
    assert {*SCENES, "trees"} <= known


@pytest.mark.parametrize("scene", SCENES)
def test_a_scene_brings_about_what_it_is_made_for(scene: str) -> None:
    """The listed cases of each scene alone reach every outcome that names the scene, with the reference."""
    report = ground().report(ReferenceDecoder, SCENES[scene])
    due = {name for name, outcome in OUTCOMES.items() if scene in outcome.scenes} - {WINDOW_EDGE}
    assert due <= set(report.ledger.reached)
    assert (report.ledger.missed, report.exit_code) == ((), 0)


@pytest.mark.parametrize(
    ("spec", "check"),
    [
        ("exact", "POSITION-01"),
        ("exact:layers=full+sliding,window=4", "POSITION-01"),
        ("exact:layers=full+sliding,window=4", "COMMIT-02"),
        ("exact:layers=chunked+full,chunk=5", "POSITION-01"),
    ],
)
def test_the_window_edge_is_due_where_there_is_one(spec: str, check: str) -> None:
    """On a target with windows or chunks trees and rounds lie across their edge; on one without nobody is asked for it."""
    report = ground(spec).report(ReferenceDecoder, check)
    assert (WINDOW_EDGE in report.ledger.reached) == (spec != "exact")
    assert not report.ledger.missed


def test_the_window_edge_is_told_by_positions() -> None:
    """A window has one edge, behind its first positions; a chunk has one after every so many. A chain lies across none."""
    deep = over((2, 4), prefix=(1,) * 7)  # root at 6, leaves at 8
    for edges, expected in {
        ((8, False),): True,
        ((9, False),): False,
        ((6, False),): False,
        ((4, True),): True,
    }.items():
        assert outcomes_of(CASE, [deep], edges)[WINDOW_EDGE] is expected
    assert outcomes_of(CASE, [deep], ((9, True), (8, False)))[WINDOW_EDGE] is True
    assert WINDOW_EDGE not in outcomes_of(CASE, [over((1,), (-1, 0), prefix=(1,) * 7)], ((7, False),))
    assert WINDOW_EDGE not in outcomes_of(CASE, [deep])


def test_a_run_that_misses_an_outcome_is_no_pass() -> None:
    """Every check passed and an outcome was due and never came about: exit code 4, and the terminal names it."""
    passed = CheckResult(check="X-1", law="", rung=2, level=Level.MUST, status=Status.PASSED, cases=1)

    def report(*missed: str, status: Status = Status.PASSED) -> Report:
        results = (passed, CheckResult(check="X-2", law="", rung=2, level=Level.MUST, status=status, cases=1))
        return Report(decoder="d", target="t", grade="A", results=results, ledger=Ledger(("tie on the path",), missed))

    assert report().exit_code == 0
    assert report("later child accepted").exit_code == 4
    assert report("later child accepted", status=Status.FAILED).exit_code == 1
    out = StringIO()
    print_report(make_console(out), report("later child accepted", "whole draft rejected"))
    assert "ledger    1 of 3 outcomes came about" in out.getvalue()
    assert "missed    no round shows: later child accepted, whole draft rejected" in out.getvalue()


def never_far(target: Any) -> Any:
    """Accepts no draft: the text is right and nothing is ever learned of a path."""
    right = ReferenceDecoder(target)

    def opened(prompts: Any, limits: Limits) -> Any:
        session = right.open(prompts, limits)

        def step(trees: Any) -> Any:
            roots = [type(tree)(tree.tokens[:1], tree.parents[:1]) for tree in trees]
            return [{"emitted": r.emitted, "accepted": (), "bonus": r.bonus, "end": r.end} for r in session.step(roots)]

        return with_methods(step=step)

    return with_methods(open=opened)


def test_a_decoder_that_never_accepts_misses_outcomes() -> None:
    """A check that has nothing against it passes, and the run is no pass: what it waits for never came about."""
    report = ground().report(never_far, "SEQUENCE-01")
    assert report.results[0].status is Status.PASSED
    assert "later child accepted" in report.ledger.missed
    assert "whole draft rejected" in report.ledger.reached
    assert report.exit_code == 4


def test_cases_that_were_picked_by_hand_owe_nothing() -> None:
    """A replay of one case, or a share of them, is not asked for outcomes that other cases would have reached."""
    found = ground()
    cases = [case for case in found.stock.of(CHECKS["COMMIT-01"].sources[0].scene) if len(case.trees[0].tokens) == 1]
    report = run_battery(found.subject(ReferenceDecoder), (CHECKS["COMMIT-01"],), Budget(shrink_runs=0), cases=cases)
    assert (report.ledger.missed, report.exit_code) == ((), 0)


def test_a_check_that_fails_owes_nothing() -> None:
    """A failure stops a check at its case, so what later cases would have reached is not missed: the failure counts."""
    report = ground().report(FAULTS["keep-first-rows"].decoder, "COMMIT-01")
    assert report.results[0].status is Status.FAILED
    assert (report.ledger.missed, report.exit_code) == ((), 1)
