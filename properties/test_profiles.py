"""Profiles: ``ci`` judges frozen cases and says which, ``deep`` explores and says how to see it again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from grounds import SMALL_DECODERS, ground
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle import check_decoder
from tree_oracle.checks import CHECKS, Scene, Stage
from tree_oracle.checks.frozen import frozen_cases
from tree_oracle.checks.frozen.drawn import VOCAB, frozen, thawed
from tree_oracle.checks.frozen.freeze import text_of
from tree_oracle.checks.frozen.thaw import FILE
from tree_oracle.cli import main
from tree_oracle.record import Case, UsageError, case_id, read_report
from tree_oracle.run import PROFILES, Budget, profile_budget, stock
from tree_oracle.run.stock import Stock, digest_of
from tree_oracle.run.subject import MIN_VOCAB
from tree_oracle.strategies import scripted_trees
from tree_oracle.tree import CandidateTree

SCENES = {source.scene.name: source.scene for check in CHECKS.values() for source in check.sources}
FROZEN = [scene for scene in SCENES.values() if scene.drawn is not None]


def test_the_frozen_cases_are_the_ones_that_were_committed() -> None:
    """The cases of a scene, once frozen, stay: a new scene may be added here, any other change is a new version."""
    assert FILE.name == "cases-1.json"
    assert (
        hashlib.sha256(FILE.read_bytes()).hexdigest()
        == "08593346fb56c39c8c3452a6d207da6043f9ed7fbb4a7e0ed0c2110308c19699"
    )
    assert FILE.stat().st_size < 200_000


def test_every_scene_with_free_draws_has_frozen_cases() -> None:
    """The file holds 25 cases for each scene that can be frozen, and for none that does not exist."""
    held = json.loads(FILE.read_text(encoding="utf-8"))["scenes"]
    assert sorted(held) == sorted(scene.name for scene in FROZEN)
    assert {name: len(cases) for name, cases in held.items()} == dict.fromkeys(held, 25)
    assert text_of(held) == FILE.read_text(encoding="utf-8")  # so adding a scene changes no other line


@pytest.mark.sweep
@pytest.mark.parametrize("spec", ["exact:vocab=60", "tiny:qwen3"])
@pytest.mark.parametrize("scene", FROZEN, ids=lambda scene: scene.name)
def test_frozen_cases_fit_every_target(scene: Scene, spec: str) -> None:
    """For any target the frozen draws give different cases of their scene: trees and tokens that the target knows."""
    truth = ground(spec).truth
    cases = frozen_cases(scene, Stage(truth))

    assert len({case_id(case) for case in cases}) > 20
    for case in cases:
        assert scene.fits(case)
        trees = [CandidateTree(tree.tokens, tree.parents, vocab_size=truth.vocab_size) for tree in case.trees]
        assert all(0 <= token < truth.vocab_size for token in case.prefix)
        assert case.rows is None or case.rows.shape == (len(trees[-1]), truth.vocab_size)


@pytest.mark.sweep
def test_a_run_without_a_seed_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """All cases of ``ci`` come from lists and files: Hypothesis is not asked, so its release cannot matter."""

    def draw(*_: object, **__: object) -> None:
        raise AssertionError("Hypothesis was asked for a case")

    monkeypatch.setattr(stock, "search", draw)
    made = Stock(Stage(ground().truth), cases=profile_budget("ci").cases)

    assert all(len(made.of(scene)) > len(scene.listed(made.stage)) for scene in FROZEN)
    with pytest.raises(AssertionError, match="was asked"):
        Stock(Stage(ground().truth), cases=1, seed=0).of(FROZEN[0])


def test_more_cases_than_are_frozen_are_still_the_same_every_time() -> None:
    """Beyond the frozen cases the stock goes on without a seed, the frozen ones first."""
    scene = SCENES["trees"]
    many, again, few = (Stock(Stage(ground().truth), cases=cases).of(scene) for cases in (40, 40, 25))

    assert many == again
    assert many[: len(few)] == few
    assert len(many) > len(few)


@pytest.mark.sweep
def test_seeds_explore() -> None:
    """A seed gives its own cases each time it is given, and other seeds give others; none are the frozen ones."""
    scene, truth = SCENES["trees"], ground().truth

    def fresh(seed: int | None) -> set[str]:
        made = Stock(Stage(truth), cases=25, seed=seed)
        return {case_id(case) for case in made.of(scene)} - {case_id(case) for case in scene.listed(made.stage)}

    assert fresh(1) == fresh(1)
    assert len(fresh(1) & fresh(2)) < 10  # the simplest cases come up for every seed
    assert len(fresh(1) & fresh(None)) < 10


def sha(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def test_the_digest_is_of_the_cases_that_were_judged() -> None:
    """The digest of a report is the one that its module defines, taken over the cases that the decoder was really handed."""
    handed: set[str] = set()
    real = ground().subject(_reference()).decoder

    class Listening:
        def __init__(self, target: Any) -> None:
            self.target = target

        def lay_out(self, tree: CandidateTree, prefix_len: int) -> Any:
            handed.add(f"{tree.tokens.tolist()} {tree.parents.tolist()} {prefix_len}")
            return real.lay_out(tree, prefix_len)

    report = check_decoder(Listening, checks=["VISIBLE-01"])
    stocked = Stock(Stage(ground().truth), cases=25)
    cases = {name: stocked.of(SCENES[name]) for name in ("trees", "wide")}

    assert report.digest == sha([f"{name} {sha(sorted(map(case_id, found)))}" for name, found in cases.items()])
    every = [(case, tree) for found in cases.values() for case in found for tree in case.trees]
    assert handed == {f"{list(tree.tokens)} {list(tree.parents)} {len(case.prefix)}" for case, tree in every}


def _reference() -> Callable[..., Any]:
    from tree_oracle import ReferenceDecoder

    return ReferenceDecoder


@given(scenes=st.dictionaries(st.text(min_size=1), st.text("0123", min_size=1)), data=st.data())
def test_the_digest_does_not_depend_on_the_order(scenes: dict[str, str], data: st.DataObject) -> None:
    """Scenes in any order give one digest; another digest of one scene gives another; no scene gives none."""
    shuffled = dict(data.draw(st.permutations(list(scenes.items()))))
    assert digest_of(shuffled) == digest_of(scenes)
    if not scenes:
        assert digest_of(scenes) == ""
        return
    name = data.draw(st.sampled_from(sorted(scenes)))
    assert digest_of(scenes | {name: scenes[name] + "x"}) != digest_of(scenes)


@pytest.mark.parametrize("seed", [None, 0, 5])
@pytest.mark.parametrize("cases", [None, 0, 7])
def test_profiles_are_budgets(cases: int | None, seed: int | None) -> None:
    """Without a profile a seed explores; deep tries ten times as many, and takes a fresh seed if none is given."""
    plain, deep = profile_budget(None, cases=cases, seed=seed), profile_budget("deep", cases=cases, seed=seed)

    assert plain == Budget(cases=25 if cases is None else cases, seed=seed)
    assert deep.cases == (250 if cases is None else cases)
    assert deep.seed is not None
    assert seed in (None, deep.seed)
    if seed is None:
        assert profile_budget("ci", cases=cases) == plain
        assert len({profile_budget("deep").seed for _ in range(9)}) > 1
    else:
        with pytest.raises(UsageError, match=f"--profile ci judges the same cases every time, .* got {seed}"):
            profile_budget("ci", cases=cases, seed=seed)


def test_an_unknown_profile_is_refused() -> None:
    """The message names those that there are."""
    with pytest.raises(UsageError, match="profile 'fast' is none of ci, deep"):
        profile_budget("fast")
    assert PROFILES == ("ci", "deep")


def test_the_command_line_prints_what_repeats_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A deep run prints its seed, and that seed repeats its digest; ci prints the same digest every time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "small_profiles.py").write_text(SMALL_DECODERS, encoding="utf-8")
    command = [
        "check",
        "--decoder",
        "small_profiles:Right",
        "--in-process",
        "--check",
        "GREEDY-03",
        "--output",
        "r.json",
    ]

    def run(*arguments: str) -> tuple[str, int | None]:
        done = CliRunner().invoke(main, [*command, *arguments])
        assert done.exit_code == 0, done.output
        report = read_report(tmp_path / "r.json")
        assert f"digest {report.digest}" in done.output
        assert report.seed is None or f"again with --seed {report.seed}" in done.output
        return report.digest, report.seed

    few = ("--cases", "5")
    assert run("--profile", "ci") == run()
    digest, seed = run("--profile", "deep", *few)
    assert seed is not None
    assert run("--profile", "deep", "--seed", str(seed), *few) == (digest, seed)
    assert CliRunner().invoke(main, ["check", "--profile", "ci", "--seed", "1"]).exit_code == 2


values = st.recursive(
    st.none() | st.integers(-99, 99) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple),
)


@given(value=values | scripted_trees(vocab_size=VOCAB, distinct_siblings=True) | st.permutations(range(VOCAB)))
def test_what_is_frozen_thaws_as_it_was(value: Any) -> None:
    """Every drawn value comes back through JSON, for a target of the same size, with its type."""
    again = thawed(json.loads(json.dumps(frozen(value))), VOCAB)
    assert again == value
    assert type(again) is type(value)


@given(
    rows=st.lists(st.lists(st.integers(0, 2), min_size=VOCAB, max_size=VOCAB), min_size=1, max_size=3),
    more=st.integers(0, 9),
)
def test_a_larger_vocabulary_adds_what_cannot_matter(rows: list[list[int]], more: int) -> None:
    """Rows go on with their most frequent value, orders with the new tokens in order."""
    wide = thawed(frozen(np.array(rows, dtype=np.float64)), VOCAB + more)
    assert wide[:, :VOCAB].tolist() == rows
    for row, before in zip(wide.tolist(), rows, strict=True):
        assert all(before.count(int(value)) == max(map(before.count, before)) for value in row[VOCAB:])
    assert thawed(frozen(list(range(VOCAB))[::-1]), VOCAB + more)[VOCAB:] == list(range(VOCAB, VOCAB + more))


def test_what_depends_on_a_target_cannot_be_frozen() -> None:
    """A draw that holds a target's own tokens is refused when it is frozen, by its type."""
    with pytest.raises(UsageError, match="a scene drew Case .* which cannot be frozen"):
        frozen(Case(prefix=(1,)))
    assert VOCAB == MIN_VOCAB
