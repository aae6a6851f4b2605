"""The tap alone finds what is planted in a decoder that shows nothing but tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from tree_oracle.checks import CHECKS, Check, Stage
from tree_oracle.checks.scenes import PROMPTS
from tree_oracle.decoder import Parts, ReferenceDecoder, Seam
from tree_oracle.decoder.parts import Commit
from tree_oracle.decoder.showing import showing
from tree_oracle.faults import FAULTS, Fault, commits
from tree_oracle.masked import tree_pass
from tree_oracle.record import CheckResult, Limits, Status
from tree_oracle.run import Budget, make_subject
from tree_oracle.run.battery import Battery
from tree_oracle.run.stock import Stock
from tree_oracle.target import SequentialTruth, Target, load_target
from tree_oracle.tree import CandidateTree, Layout

FAMILIES = ("VISIBLE", "POSITION", "HISTORY", "COMMIT")
# A packed mask is no part of a round: such faults show through other seams.
# And sixteen nodes are more than the reference drafts by itself: what goes wrong behind them shows on trees that are handed over.
# Its own trees are stored level by level, and the last node of each level is the ancestor of all that is below.
UNSEEN = ("sixteen-rows-scored", "ancestors-from-a-stack-by-depth", "rows-left-in-level-order")
PLANTED = [
    fault
    for fault in FAULTS.values()
    if fault.family in FAMILIES and Seam.TAP in showing(fault.parts) and fault.name not in UNSEEN
]


def by_the_tap(check: Check) -> Check:
    """The check through the tap alone."""
    return replace(check, sources=tuple(source for source in check.sources if source.seam is Seam.TAP))


TAPPED = [
    by_the_tap(check)
    for check in CHECKS.values()
    if any(source.seam is Seam.TAP for source in check.sources)
    and check.id != "WITNESS-03"  # claims: here none are made
]
ONCE = Budget(cases=0, shrink_runs=0, diagnose=False)

# A decoder that tampers with the rows after the target made them shows it only where it changes a token. A thousandth of
# another row does where the best tokens are that close: among many tokens, of which several have the largest residue.
TARGETS = {"last-node-leaks": "exact:vocab=1021"}


@cache
def ground(spec: str, attention: str) -> tuple[Target, SequentialTruth, Stock]:
    target = load_target(spec, attention=attention)
    truth = SequentialTruth(target)
    return target, truth, Stock(Stage(truth), cases=0)


@dataclass(frozen=True)
class TokensOnly:
    """A decoder that keeps its rounds to itself."""

    decoder: Any

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[int]]:
        return [
            [token for round_ in rounds for token in round_.emitted]
            for rounds in self.decoder.generate(prompts, limits)
        ]


def battery(make: Callable[[Target], Any], spec: str = "exact", attention: str = "sdpa") -> Battery:
    target, truth, stock = ground(spec, attention)
    return Battery(make_subject(lambda target: TokensOnly(make(target)), target, truth=truth), ONCE, stock)


def likely_first(name: str) -> list[Check]:
    return sorted(TAPPED, key=lambda check: (check.id != name, check.id != "GREEDY-01"))


def seen_failing(results: Iterator[CheckResult]) -> CheckResult:
    return next(result for result in results if result.status is Status.FAILED and Seam.TAP in result.seams)


@pytest.mark.parametrize("fault", PLANTED, ids=lambda fault: fault.name)
def test_every_planted_fault_shows_in_what_the_target_is_asked(fault: Fault) -> None:
    """Faults of mask, position, history and commit fail a check through the tap, on the cases that every decoder gets."""
    judge = battery(fault.decoder, TARGETS.get(fault.name, fault.target))
    assert seen_failing(judge.run(check) for check in likely_first(fault.check)).findings


@pytest.mark.parametrize("name", ["flat-causal-mask", "elder-siblings-inherited", "parents-only", "newest-column-lost"])
def test_a_mask_is_blamed_by_the_check_of_its_law(name: str) -> None:
    """A wrong mask is not read as the right mask of another tree: the very check that should catch it does."""
    fault = FAULTS[name]
    result = battery(fault.decoder).run(by_the_tap(CHECKS[fault.check]))
    assert (result.status, result.seams) == (Status.FAILED, ("tap",))


@pytest.mark.parametrize("fault", PLANTED, ids=lambda fault: fault.name)
def test_every_harmless_twin_passes(fault: Fault) -> None:
    """The same detours without the fault pass every check, seen from the target alone."""
    judge = battery(fault.harmless, fault.target)
    done = [judge.finish(check, judge.stock.of(PROMPTS)[::8]) for check in TAPPED]
    assert {one.result.status for one in done} == {Status.PASSED}
    assert all("tap" in one.result.seams for one in done)
    assert any(seen.accepted for one in done for seen in one.witnessed.values())


@pytest.mark.parametrize(("spec", "attention"), [("tiny:qwen3", "eager"), ("tiny:gpt2", "sdpa")])
def test_a_real_architecture_is_tapped_like_the_exact_model(spec: str, attention: str) -> None:
    """On real attention a right decoder passes and a leaking one is named, by the masks that the attention was handed."""
    right = battery(ReferenceDecoder, spec, attention)
    cases = right.stock.of(PROMPTS)[::8]
    assert {right.run(check, cases).status for check in TAPPED} == {Status.PASSED}
    wrong = battery(FAULTS["sibling-leak"].decoder, spec, attention)
    assert wrong.run(CHECKS["VISIBLE-03"], cases).status is Status.FAILED


@contextmanager
def last_layer_unmasked(model: Any) -> Iterator[None]:
    """The last layer sees everything, whatever mask it is handed."""

    def unmask(module: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        mask = kwargs["attention_mask"]
        return args, kwargs | {"attention_mask": None if mask is None else torch.zeros_like(mask)}

    handle = model.model.layers[-1].self_attn.register_forward_pre_hook(unmask, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


def test_a_mask_that_one_layer_ignores_is_seen() -> None:
    """The mask is read at every layer, so a single one that sees the whole tree fails VISIBLE."""
    judge = battery(ReferenceDecoder, "tiny:qwen3", "eager")
    with last_layer_unmasked(judge.subject.target.model):
        result = judge.run(CHECKS["VISIBLE-03"], judge.stock.of(PROMPTS)[-2:])
    assert result.status is Status.FAILED


def over_all_rows(model: Any, cache: Any, tree: CandidateTree, layout: Layout) -> np.ndarray:
    """A target pass with a mask for the rows that the cache really holds."""
    cached = np.ones((len(tree), int(cache.get_seq_length())), dtype=bool)
    visible = np.concatenate([cached, layout.visible[:, -len(tree) :]], axis=1)
    return tree_pass(model, cache, tree.tokens, layout.positions, visible)


@pytest.mark.parametrize("commit", [commits.one_row_more, commits.one_row_fewer, commits.everything])
def test_a_cache_of_the_wrong_size_is_seen(commit: Commit) -> None:
    """A mask that is made for the rows that are there keeps the target from raising, and shows in the rows that follow."""
    judge = battery(lambda target: ReferenceDecoder(target, Parts(target_pass=over_all_rows, commit=commit)))
    assert judge.run(by_the_tap(CHECKS["COMMIT-03"])).status is Status.FAILED


def test_only_a_generating_decoder_of_a_readable_target_is_tapped() -> None:
    """Without ``generate`` there is nothing to run under the tap, and without readable masks nothing to see by it."""
    unread = load_target("exact")
    unread.model.config.use_bidirectional_attention = True
    assert Seam.TAP in make_subject(ReferenceDecoder, "exact").seams
    assert Seam.TAP not in make_subject(ReferenceDecoder, unread).seams
    only_opens = type("OnlyOpens", (), {"open": ReferenceDecoder.open})
    assert Seam.TAP not in make_subject(only_opens(), "exact").seams
    assert Seam.TAP.method == "generate"


def test_a_decoder_that_breaks_down_blames_no_law() -> None:
    """Where ``generate`` raises there is no text to read the calls by: only checks fail that ask for the text itself, and none that
    counts what rounds show."""

    class Broken:
        def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[int]]:
            raise ValueError("out of blocks")

    judge = battery(lambda target: Broken())
    tapped = [CHECKS[check.id] for check in TAPPED]
    status = {check.id: judge.run(check).status for check in tapped}
    asking_for_text = [
        check.id
        for check in tapped
        if not check.reads_rounds and any(source.seam is Seam.GENERATE for source in check.sources)
    ]
    assert {status.pop(name) for name in asking_for_text} == {Status.FAILED}
    assert set(status.values()) == {Status.NOT_OBSERVABLE}
