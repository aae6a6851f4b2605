"""Looking for a failure, making it small, keeping it, and seeing it again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from grounds import ground, result_of, with_methods
from hypothesis import strategies as st

from tree_oracle.checks import Scene, Stage
from tree_oracle.checks.scenes import MARKED, PAIRS, PROMPTS, ROUNDS, TIES, TREES
from tree_oracle.cli import main
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.faults import FAULTS
from tree_oracle.record import (
    Array,
    Case,
    CaseFile,
    Continuation,
    DraftData,
    EndReason,
    Finding,
    Grade,
    LayerRows,
    Limits,
    Noise,
    Status,
    TreeData,
    TreeOracleError,
    UsageError,
    case_id,
    size_of,
    to_json,
    write_file,
)
from tree_oracle.run import Budget, find_decoder, load_case, replay, save_cases
from tree_oracle.run.explore import Exploration
from tree_oracle.run.outcome import Outcome
from tree_oracle.run.stock import Stock
from tree_oracle.target import Target

pytestmark = pytest.mark.sweep


class Formula:
    """A truth that is a formula: cases can be made for it without any model."""

    grade, exact = Grade.EXACT, True

    def __init__(self, vocab_size: int = 61) -> None:
        self.vocab_size = vocab_size

    def greedy(self, prompt: Sequence[int], limits: Limits) -> Continuation:
        text = list(prompt)
        for _ in range(limits.max_new_tokens):
            text.append((3 * sum(text) + len(text)) % self.vocab_size)
        return Continuation(tuple(text[len(prompt) :]), EndReason.CAP)

    def rows(self, histories: Sequence[Sequence[int]]) -> np.ndarray:
        raise NotImplementedError

    def cache(self, tokens: Sequence[int]) -> tuple[LayerRows, ...]:
        raise NotImplementedError

    def reaches(self) -> tuple[int | None, ...]:
        return (None,)

    def noise(self) -> Noise:
        return Noise()

    def error(self, history: Sequence[int]) -> float:
        return 0.0

    def cache_room(self, tokens: Sequence[int]) -> float:
        return 0.0


STAGE = Stage(Formula())


def outcome(status: Status) -> Outcome:
    return Outcome(status, (Finding(status=status, sentence="planted"),))


def judging(fails: Callable[[Case], bool]) -> Callable[[Case], Outcome]:
    return lambda case: outcome(Status.FAILED if fails(case) else Status.PASSED)


def depth(tree: TreeData, node: int) -> int:
    return 0 if node == 0 else 1 + depth(tree, tree.parents[node])


def explored(scene: Scene, fails: Callable[[Case], bool], *, runs: int = 200, seed: int | None = None) -> Exploration:
    """The last failure among generated cases, taken as the first, and shrunk."""
    exploration = Exploration(judging(fails))
    exploration.run(reversed(Stock(STAGE, cases=25, seed=seed).of(scene)))
    assert exploration.worst_case is not None
    exploration.shrink(scene.generated(STAGE), runs=runs, seed=seed)
    return exploration


# What is planted, and the smallest case there is: rounds, nodes, prefix tokens, and the cap where there is one.
PLANTED: dict[str, tuple[Scene, Callable[[Case], bool], tuple[int, int, int]]] = {
    "two children": (TREES, lambda case: any(case.trees[0].parents.count(v) >= 2 for v in range(9)), (1, 3, 1)),
    "depth three": (TREES, lambda case: any(depth(case.trees[0], v) >= 3 for v in range(len(case.trees[0].tokens))), (1, 4, 1)),
    "a scattered parent": (TREES, lambda case: any(p not in (v - 1, 0) for v, p in enumerate(case.trees[0].parents)), (1, 4, 1)),
    "nodes and prefix": (TREES, lambda case: len(case.prefix) >= 3 and len(case.trees[0].tokens) >= 3, (1, 3, 3)),
    "a third round": (ROUNDS, lambda case: len(case.trees) >= 3, (3, 3, 1)),
    "a large second round": (ROUNDS, lambda case: len(case.trees[1].tokens) >= 4, (2, 5, 1)),
    "a fed tree": (MARKED, lambda case: len(case.trees[0].tokens) >= 3, (1, 3, 1)),
    "always": (ROUNDS, lambda case: True, (2, 2, 1)),
}  # fmt: skip


@pytest.mark.parametrize("what", PLANTED)
def test_shrinking_ends_at_the_smallest_case(what: str) -> None:
    """For a planted failure the case that is reported has the fewest rounds, nodes and prefix tokens that can fail."""
    scene, fails, smallest = PLANTED[what]
    found = explored(scene, fails).worst_case
    assert found is not None
    case, _ = found
    assert fails(case)
    assert (len(case.trees), sum(len(tree.tokens) for tree in case.trees), len(case.prefix)) == smallest


def test_a_cap_is_shrunk_too() -> None:
    """Of prompts that fail the one with the lowest cap is reported."""
    found = explored(PROMPTS, lambda case: case.limits is not None and case.limits.max_new_tokens >= 4).worst_case
    assert found is not None
    assert found[0].limits is not None
    assert (len(found[0].prefix), found[0].limits.max_new_tokens) == (1, 4)


@pytest.mark.parametrize("salt", range(4))
def test_nothing_smaller_that_was_seen_failed(salt: int) -> None:
    """Whatever fails by no pattern, the reported case fails and no smaller one that was judged on the way did."""
    failed: list[Case] = []

    def fails(case: Case) -> bool:
        wrong = int(case_id(case), 16) % 4 == salt and len(case.trees[0].tokens) > salt
        failed.extend([case] if wrong else [])
        return wrong

    found = explored(TREES, fails, runs=60, seed=salt).worst_case
    assert found is not None
    assert size_of(found[0]) == min(map(size_of, failed))


@pytest.mark.parametrize("salt", range(4))
def test_the_smallest_of_the_cases_of_a_run_that_fail_is_reported(salt: int) -> None:
    """Cases stand in no order of size, and the first that fails is not the smallest: of those that the run holds that one is found,
    whatever fails and passes around it."""
    cases = Stock(STAGE, cases=25).of(TREES)

    def fails(case: Case) -> bool:
        return int(case_id(case), 16) % 3 == salt % 3 and len(case.trees[0].tokens) > salt

    exploration = Exploration(judging(fails))
    exploration.run(reversed(cases))
    exploration.shrink(st.nothing(), runs=2 * len(cases), seed=None, known=cases)
    assert exploration.worst_case is not None
    assert size_of(exploration.worst_case[0]) == min(size_of(case) for case in cases if fails(case))


@pytest.mark.parametrize("runs", [0, 1, 7, 40])
def test_the_budget_is_kept(runs: int) -> None:
    """No more new cases are judged than the budget allows, none twice, and whatever was found stands."""
    judged: list[str] = []

    def judge(case: Case) -> Outcome:
        judged.append(case_id(case))
        return outcome(Status.FAILED if len(case.trees[0].tokens) >= 4 else Status.PASSED)

    exploration = Exploration(judge)
    exploration.run(Stock(STAGE, cases=25).of(TREES))
    before = len(judged)
    exploration.shrink(TREES.generated(STAGE), runs=runs, seed=None, known=Stock(STAGE, cases=25).of(TREES))
    assert before <= len(judged) <= before + runs
    assert len(set(judged)) == len(judged)
    assert exploration.worst_case is not None
    assert exploration.worst_case[1].status is Status.FAILED
    assert exploration.failed_at == before


@pytest.mark.parametrize("period", [2, 3, 7])
def test_a_flaky_judge_is_survived(period: int) -> None:
    """A failure that comes and goes, whatever the input, is reported as found; it is no error of the search."""
    asked: list[Case] = []

    def judge(case: Case) -> Outcome:
        asked.append(case)
        return outcome(Status.FAILED if len(asked) % period == 0 else Status.PASSED)

    exploration = Exploration(judge)
    exploration.run(Stock(STAGE, cases=20).of(TREES))
    exploration.shrink(TREES.generated(STAGE), runs=50, seed=None)
    assert exploration.failed_at == period
    assert exploration.worst_case is not None
    assert exploration.worst_case[1].status is Status.FAILED


def test_a_failure_is_not_shrunk_into_another_kind() -> None:
    """A smaller case that is in error, where the failure is the decoder's, is no smaller case of the same."""

    def judge(case: Case) -> Outcome:
        nodes = len(case.trees[0].tokens)
        return outcome(Status.FAILED if nodes >= 5 else Status.ERROR if nodes >= 3 else Status.PASSED)

    exploration = Exploration(judge)
    exploration.run(case for case in Stock(STAGE, cases=25).of(TREES) if len(case.trees[0].tokens) not in (3, 4))
    exploration.shrink(TREES.generated(STAGE), runs=200, seed=None)
    assert exploration.worst_case is not None
    case, found = exploration.worst_case
    assert (found.status, len(case.trees[0].tokens)) == (Status.FAILED, 5)


def test_what_passes_is_not_shrunk() -> None:
    """Without a failure all cases are judged and nothing is looked for."""
    exploration = Exploration(judging(lambda case: False))
    cases = Stock(STAGE, cases=20).of(TREES)
    exploration.run(cases)
    exploration.shrink(TREES.generated(STAGE), runs=100, seed=None)
    assert (len(exploration.outcomes), exploration.failed_at, exploration.worst_case) == (len(cases), None, None)


# ---------------------------------------------------------------------------------------------------- the same again

SHORT = Budget(cases=0, shrink_runs=15, diagnose=False)


def test_two_runs_give_the_same_report() -> None:
    """Without a seed the whole report, shrunk cases and drawings included, comes out the same, byte for byte."""

    def leaking(target: Target) -> Any:
        return with_methods(lay_out=FAULTS["sibling-leak"].decoder(target).lay_out)

    texts = []
    for _ in range(2):
        report = ground().report(leaking, "VISIBLE-02", "VISIBLE-03", budget=SHORT)
        assert report.exit_code == 1
        texts.append(to_json(msgspec.structs.replace(report, seconds={})))
    assert texts[0] == texts[1]


def test_a_seed_explores_other_cases_and_repeats_them() -> None:
    """Equal seeds generate equal cases, another seed others, and the listed ones are always there."""
    usual, first, again, other = (Stock(STAGE, cases=10, seed=seed).of(TREES) for seed in (None, 1, 1, 2))
    listed = TREES.listed(STAGE)
    assert first == again
    assert len({first, other, usual}) == 3
    assert all(list(cases[: len(listed)]) == listed for cases in (usual, first, other))


@pytest.mark.parametrize("scene", [TREES, PAIRS, TIES, MARKED, ROUNDS, PROMPTS], ids=lambda scene: scene.name)
def test_fresh_cases_exist_for_a_real_vocabulary(scene: Scene) -> None:
    """What is drawn does not grow with the vocabulary, so fresh cases can be made for a target with thousands of tokens."""
    listed = Stock(Stage(Formula(8_000)), cases=0).of(scene)
    assert len(Stock(Stage(Formula(8_000)), cases=4, seed=0).of(scene)) > len(listed)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """The case files of a decoder that fails several checks on the same case."""
    folder = tmp_path_factory.mktemp("kept") / "cases"
    report = ground().report(lambda _: _Raising(), "POSITION-01", "VISIBLE-01")
    return folder, save_cases(report, folder)


class _Raising:
    def lay_out(self, tree: Any, prefix_len: int) -> Any:
        raise ValueError("planted")


@pytest.mark.parametrize(
    ("fault", "check"),
    [("keep-first-rows", "COMMIT-01"), ("bonus-by-count", "GATHER-03"), ("orphan-kept", "CONSTRUCT-04")],
)
def test_a_kept_case_is_seen_again(tmp_path: Path, fault: str, check: str) -> None:
    """The file of a failure, found by path, name or id, fails in the same words, and passes with a right decoder."""
    report = ground().report(FAULTS[fault].decoder, check, budget=Budget(cases=0, shrink_runs=10, diagnose=False))
    found = result_of(report, check).findings[0]
    path = save_cases(report, tmp_path)[0]
    assert path.name == f"{check}-{found.replay}.json"
    for name in (str(path), path.stem, found.replay):
        file = load_case(name, tmp_path)
        assert (file.check, case_id(file.case), file.case) == (check, found.replay, found.case)
    again = replay(file, ground().subject(FAULTS[fault].decoder))
    assert [r.check for r in again.results] == [check]
    assert again.results[0].findings[0].sentence == found.sentence
    assert again.exit_code == 1
    assert replay(file, ground().subject(ReferenceDecoder)).exit_code == 0


def test_failures_of_two_decoders_on_one_case_are_kept_apart(tmp_path: Path) -> None:
    """Each file names its own decoder and target, whoever writes last; a case that is whose is not clear asks to be told."""
    names = ("last-maximum-wins", "first-child-only", "last-maximum-wins")
    reports = [
        msgspec.structs.replace(
            ground().report(FAULTS["last-maximum-wins"].decoder, "GREEDY-03", budget=SHORT),
            decoder=f"fault:{name}",
            target=target,
        )
        for name, target in zip(names, ("exact", "exact", "tiny:qwen3"), strict=True)
    ]
    for report in (*reports, reports[0]):  # once more, over what is there
        save_cases(report, tmp_path)
    (finding,) = reports[0].results[0].findings[:1]
    for report in reports:
        for name in (finding.replay, f"GREEDY-03-{finding.replay}"):
            file = load_case(name, tmp_path, decoder=report.decoder, target=report.target)
            assert (file.decoder, file.target, file.case) == (report.decoder, report.target, finding.case)
    assert load_case(finding.replay, tmp_path, decoder="mine:Decoder", target="exact").case == finding.case
    assert len(list(tmp_path.glob(f"GREEDY-03-{finding.replay}*.json"))) == len(reports)
    for unsaid in ({}, {"decoder": reports[0].decoder}, {"target": "exact"}):
        with pytest.raises(UsageError, match="was kept for .*; name one with --decoder or --fault, and --target"):
            load_case(finding.replay, tmp_path, **unsaid)


def test_an_id_that_names_no_case_or_several_is_refused(kept: tuple[Path, list[Path]]) -> None:
    """Unknown ids and parts of ids are not found; an id that two checks share lists both names to choose from."""
    folder, paths = kept
    shared = paths[0].stem.rpartition("-")[2]
    assert sum(path.stem.endswith(shared) for path in paths) == 2
    with pytest.raises(
        UsageError, match=f"was kept for several checks: POSITION-01-{shared}, VISIBLE-01-{shared}; name one"
    ):
        load_case(shared, folder)
    assert load_case(f"VISIBLE-01-{shared}", folder).check == "VISIBLE-01"
    for name in (
        "000000000000",
        shared[1:],
        shared[:-1],
        "",
        "*",
        "-",
        ".",
        "..",
        "a\0b",
        "a" * 5000,
        f"../cases/{shared}",
    ):
        with pytest.raises(UsageError, match="no case .*: neither a file nor an id in"):
            load_case(name, folder)
    with pytest.raises(UsageError, match="neither a file nor an id"):
        load_case(shared, folder / "nowhere")


TREE = TreeData((2, 5, 7), (-1, 0, 0))
FED = Array.of(np.zeros((3, 61), dtype=np.float32))
HOLE = Array.of(np.full((3, 61), np.nan, dtype=np.float32))


def placed(check: str, **fields: Any) -> CaseFile:
    case = Case(**({"prefix": (1, 2), "trees": (TREE,)} | fields))
    return CaseFile(check=check, target="exact", decoder="reference", case=case)


MISFITS: dict[str, tuple[CaseFile, str]] = {
    "an unknown check": (placed("HISTORY-99"), "no check 'HISTORY-99'; the nearest is"),
    "no tree": (placed("HISTORY-01", trees=()), "the file holds no case of HISTORY-01"),
    "rows too many": (placed("HISTORY-01", rows=FED), "the file holds no case of HISTORY-01"),
    "no rows": (placed("GREEDY-03", rows=None), "the file holds no case of GREEDY-03"),
    "no prefix": (placed("HISTORY-01", prefix=()), "the case has no prefix"),
    "a foreign token": (placed("HISTORY-01", prefix=(1, 61)), "the case has token 61; target 'exact' needs tokens from 0 to 60"),
    "a negative node": (placed("HISTORY-01", trees=(TreeData((2, -3), (-1, 0)),)), "node 1 has token -3"),
    "two roots": (placed("HISTORY-01", trees=(TreeData((2, 3), (-1, -1)),)), "nodes 0 and 1 both have parent -1"),
    "a cycle": (placed("HISTORY-01", trees=(TreeData((2, 3, 4), (-1, 2, 1)),)), "node 1 is its own ancestor"),
    "ragged": (placed("HISTORY-01", trees=(TreeData((2, 3, 4), (-1, 0)),)), "parents has 2 entries for 3 tokens"),
    "a long prefix": (placed("HISTORY-01", prefix=(*(1,) * 4999, 2)), "the case has 5003 tokens and asks for 0; the context of"),
    "a long text": (placed("SEQUENCE-01", trees=(), limits=Limits(10**9)), "asks for 1000000000; the context of the target"),
    "less than nothing": (placed("SEQUENCE-01", trees=(), limits=Limits(-1)), "Expected `int` >= 0 - at `.*max_new_tokens`"),
    "a root without a law": (
        placed("CONSTRUCT-01", trees=(), draft=DraftData((("11", "11"),))), "the case has root 2; its draft speaks of 2 tokens"
    ),
    "a law without sense": (placed("CONSTRUCT-01", trees=(), prefix=(1,), draft=DraftData((("1x",),))), "law '1x'; expected"),
    "rows of another tree": (placed("GREEDY-03", rows=Array.of(np.zeros((2, 61)))), r"expected numbers of shape \(3, 61\)"),
    "rows that are none": (placed("GREEDY-03", rows=HOLE), "or a NaN in it"),
    "rows without bytes": (placed("GREEDY-03", rows=Array("float32", (3, 61), b"")), "cannot have 0 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("what", MISFITS)
def test_a_file_that_holds_no_case_is_held_against_nobody(what: str, tmp_path: Path) -> None:
    """What no decoder could answer is refused with its reason before any decoder is asked."""
    file, message = MISFITS[what]
    path = tmp_path / "planted.json"
    write_file(path, file)
    with pytest.raises(TreeOracleError, match=message):
        replay(load_case(str(path)), ground().subject(ReferenceDecoder))


def test_two_trees_that_differ_in_more_than_a_token_decide_nothing(tmp_path: Path) -> None:
    """A pair from a file that is none is not applicable: nothing can be said of it, and nothing is raised."""
    for other in (TreeData((2, 6, 8), (-1, 0, 0)), TREE, TreeData((2, 5), (-1, 0)), TreeData((2, 5, 8), (-1, 0, 1))):
        report = replay(placed("HISTORY-02", trees=(TREE, other)), ground().subject(ReferenceDecoder))
        assert report.results[0].status is Status.NOT_APPLICABLE
        assert report.exit_code == 4


# ------------------------------------------------------------------ a file never makes us load a decoder


def test_a_case_file_never_causes_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that names a decoder in a module is not reason enough to import it: the command asks for ``--decoder``."""
    (tmp_path / "planted_module.py").write_text("raise SystemExit('imported')")
    write_file(tmp_path / "case.json", msgspec.structs.replace(placed("HISTORY-01"), decoder="planted_module:make"))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["replay", "case.json"])
    assert done.exit_code == 2
    assert "--decoder" in done.output
    assert "planted_module" not in sys.modules


@pytest.mark.parametrize(
    "ending",
    ["sys.exit(0)", "raise SystemExit", "raise KeyError('no')", "1 / 0", "class X(BaseException): ...\nraise X"],
)
def test_a_module_that_ends_when_imported_is_a_usage_error(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script without a main guard must not end the run with its own exit code, least of all with success."""
    (tmp_path / "planted_script.py").write_text(f"import sys\n{ending}\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match="decoder 'planted_script:make': importing planted_script raised "):
        find_decoder("planted_script:make")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("planted", "'planted' is not module:attribute, as in my_package.adapter:make_decoder"),
        (":make", "is not module:attribute"),
        ("no_such_module_anywhere:make", "no module 'no_such_module_anywhere' can be imported from here"),
        ("json:lodes", "'json' has no attribute 'lodes'"),
        ("json:loads.nothing", "'loads' has no attribute 'nothing'"),
        ("..up:make", "importing ..up raised TypeError"),
        ("fault:sibling-leek", "no planted fault 'sibling-leek'; the nearest is 'sibling-leak'"),
    ],
)
def test_a_decoder_that_cannot_be_found_is_named(name: str, message: str) -> None:
    """Whatever part of the name is wrong is said, with what was expected."""
    with pytest.raises(UsageError, match=message):
        find_decoder(name)


def test_a_fault_is_planted_in_the_reference_only() -> None:
    """Asking for a fault in somebody else's decoder is refused rather than ignored."""
    with pytest.raises(UsageError, match="it cannot be planted in 'mine:make'"):
        find_decoder("mine:make", "sibling-leak")
    assert find_decoder(None)[0] == find_decoder("reference")[0] == "reference"
    assert find_decoder("reference", "sibling-leak")[0] == find_decoder("fault:sibling-leak")[0] == "fault:sibling-leak"
