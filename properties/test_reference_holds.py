"""The reference decoder passes, every check has been shown to fail, and decoders that show less are told what they lack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from grounds import Ground, all_of, ground, listed, result_of, sentences, statuses, with_methods

from tree_oracle.checks import CHECKS, choose
from tree_oracle.decoder import Parts, ReferenceDecoder
from tree_oracle.faults import FAULTS
from tree_oracle.faults.laws import LAW_FAULTS
from tree_oracle.faults.length_faults import LENGTH_FAULTS
from tree_oracle.faults.works import newest_row_again
from tree_oracle.record import Limits, Report, Round, Status
from tree_oracle.run import Budget, run_battery
from tree_oracle.target import Target


def few(found: Ground, decoder: Any, step: int, *ids: str) -> Report:
    """The named checks, or all of them, on one listed case in ``step``."""
    cases, budget = listed(found, step), Budget(shrink_runs=0, diagnose=False)
    return run_battery(found.subject(decoder), choose(ids=ids), budget, cases=cases, stock=found.stock)


def test_the_reference_passes_every_check(pytestconfig: pytest.Config) -> None:
    """On all listed cases of the exact model, or of the target and device of the options, the reference passes every check."""
    spec, device = pytestconfig.getoption("--tree-target"), pytestconfig.getoption("--tree-device")
    report = ground(spec or "exact", device=device or "cpu").report(ReferenceDecoder)
    assert all_of(report, Status.PASSED)
    assert {result.check for result in report.results} == set(CHECKS)
    assert (report.exit_code, report.broken) == (0, None)
    assert (report.grade == "A") is (report.target == "exact")
    assert all(result.cases > 0 and not result.findings and not result.reason for result in report.results)
    assert report.witness.accepted > 0
    assert report.witness.drafted > report.witness.accepted


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("spec", "options", "step"),
    [
        ("exact", {"dtype": "bfloat16", "attention": "eager"}, 240),
        ("tiny:qwen3", {}, 300),
    ],
    ids=str,
)
def test_the_reference_passes_on_every_target(spec: str, options: dict[str, str], step: int) -> None:
    """In half precision, under eager attention and on a real architecture no right answer is called wrong."""
    report = few(ground(spec, **options), ReferenceDecoder, step)
    assert not {Status.FAILED, Status.ERROR, Status.UNDECIDED} & set(statuses(report).values()), sentences(report)
    assert report.exit_code == 0


def test_every_check_has_been_shown_to_fail() -> None:
    """Each check is the one that must catch some planted fault, and no fault names a check that does not exist."""
    assert {one.check for one in FAULTS.values()} | {one.check for one in LAW_FAULTS.values()} == set(CHECKS)


def replaced(parts: Parts) -> set[str]:
    usual = Parts()
    return {part.name for part in fields(Parts) if getattr(parts, part.name) is not getattr(usual, part.name)}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_and_its_twin_replace_the_same_one_part(name: str) -> None:
    """A fault is one wrong part, its twin a detour through the same part, and each is described in words of its own. What stays in
    a cache and the pass that goes by it are two."""
    fault = FAULTS[name]
    assert replaced(fault.twin) == replaced(fault.parts)
    assert replaced(fault.parts)
    one = replaced(fault.parts) - {"prefill"}  # the kind of cache, and what is done with it
    assert len(one) <= 1 or (fault in LENGTH_FAULTS and one == {"commit", "target_pass"})
    assert fault.parts != fault.twin
    assert fault.sentence != fault.twin_sentence
    assert all((fault.name, fault.kind, fault.sentence, fault.wakes, fault.seen_in, fault.twin_sentence))


# ------------------------------------------------------------------------------------------------- who shows less


def tokens_of(rounds: list[Round]) -> list[int]:
    return [token for round_ in rounds for token in round_.emitted]


def tokens_only(target: Target, parts: Parts, change: Callable[[list[int]], list[int]] = list) -> Any:
    """A decoder in another process, as far as the oracle can tell: text in, text out."""
    right = ReferenceDecoder(target, parts)
    return with_methods(
        generate=lambda prompts, limits: [change(tokens_of(found)) for found in right.generate(prompts, limits)]
    )


def test_right_text_alone_is_no_witness() -> None:
    """A decoder that shows only tokens, all of them right, passes no speculation check: nothing shows that it speculates."""
    target = ground().target  # not the one that the subject is tapped at
    report = few(ground(), lambda _: tokens_only(target, Parts()), 3)
    assert not {Status.FAILED, Status.ERROR, Status.UNDECIDED} & set(statuses(report).values())
    sequence = result_of(report, "SEQUENCE-01")
    assert sequence.status is Status.NOT_OBSERVABLE
    assert report.witness.accepted == report.witness.drafted == 0
    assert all(r.reason for r in report.results if r.status is not Status.PASSED)
    assert all(
        r.status is Status.PASSED or r.status in (Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE) for r in report.results
    )


def test_a_pass_that_writes_the_cache_is_not_taken_for_a_walk_that_stopped() -> None:
    """A right decoder that computes the newest cached row by a pass of its own fails nothing that the tap can see."""
    report = few(
        ground(), lambda target: tokens_only(target, Parts(hold=newest_row_again)), 3, "HISTORY-01", "GREEDY-02"
    )
    assert statuses(report) == {"HISTORY-01": Status.PASSED, "GREEDY-02": Status.NOT_OBSERVABLE}, sentences(report)


def test_right_text_alone_decides_nothing() -> None:
    """Asked for what is said of speculation alone, the answer to text without a witness is exit code 4."""
    target = ground().target
    report = few(ground(), lambda _: tokens_only(target, Parts()), 3, "SEQUENCE-01", "HISTORY-01", "COMMIT-01")
    assert all_of(report, Status.NOT_OBSERVABLE)
    assert (report.exit_code, report.held) == (4, None)


def test_wrong_text_has_failed() -> None:
    """A decoder that shows only tokens and emits a wrong one fails, and the first wrong token is named."""
    target = ground().target

    def wrong(text: list[int]) -> list[int]:
        return [*text[:-1], (text[-1] + 1) % target.vocab_size] if text else text

    report = ground().report(lambda _: tokens_only(target, Parts(), wrong), "SEQUENCE-01")
    assert all_of(report, Status.FAILED)
    assert report.exit_code == 1
    assert "plain greedy decoding emits" in sentences(report)[0]


def chains_only(target: Target) -> Any:
    """Speaks no trees: whatever branches is refused."""
    right = ReferenceDecoder(target)

    def chain(tree: Any) -> Any:
        if max(len(tree.children(node)) for node in range(len(tree))) > 1:
            raise NotImplementedError("only chains are supported")
        return tree

    def opened(prompts: Any, limits: Limits) -> Any:
        session = right.open(prompts, limits)
        return with_methods(step=lambda trees: session.step([chain(tree) for tree in trees]), cache=session.cache)

    return with_methods(
        lay_out=lambda tree, prefix_len: right.lay_out(chain(tree), prefix_len),
        tree_logits=lambda prefix, tree: right.tree_logits(prefix, chain(tree)),
        accept=lambda tree, rows: right.accept(chain(tree), rows),
        open=opened,
    )


def test_a_chain_decoder_gets_every_check_that_needs_no_sibling() -> None:
    """A decoder without trees refuses what branches; the chains among the cases are judged, and nothing is held against it."""
    report = few(ground(), chains_only, 2)
    found = statuses(report)
    assert set(found.values()) <= {Status.PASSED, Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE}
    asked = (
        "POSITION-01",
        "VISIBLE-01",
        "VISIBLE-02",
        "HISTORY-01",
        "HISTORY-02",
        "GREEDY-01",
        "GREEDY-02",
        "GATHER-01",
    )
    assert all(found[check] is Status.PASSED for check in asked)
    whole = few(ground(), ReferenceDecoder, 2, *asked)
    assert all(0 < result_of(report, check).cases < result_of(whole, check).cases for check in asked)
    assert report.exit_code == 0


METHODS = ("build_tree", "lay_out", "tree_logits", "accept", "move", "attend", "open", "generate")


@pytest.mark.parametrize("method", METHODS)
def test_what_is_not_shown_is_said_with_its_reason(method: str) -> None:
    """With one method alone every check either passes by it or says which methods or fields it misses; none is failed."""
    target = ground().target
    report = few(ground(), lambda _: with_methods(**{method: getattr(ReferenceDecoder(target), method)}), 4)
    for result in report.results:
        through = {source.seam.method for source in CHECKS[result.check].sources}
        if method not in through:
            assert result.status is Status.NOT_OBSERVABLE
            assert result.reason == f"needs the method {' or '.join(sorted(through))}"
        else:
            assert result.status in (Status.PASSED, Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE)
            assert result.cases if result.status is Status.PASSED else result.reason
    assert any(result.status is Status.PASSED for result in report.results)
