"""The root of a tree that is shown with a text is the last committed token: another one is found, and one left out is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from grounds import ground, result_of, statuses, with_methods

from tree_oracle import ReferenceDecoder
from tree_oracle.adapters import Convention, describe
from tree_oracle.checks import choose
from tree_oracle.checks.scenes import PROMPTS
from tree_oracle.decoder import Seam
from tree_oracle.record import CheckResult, Limits, Report, Round, Status
from tree_oracle.run import Budget, run_battery
from tree_oracle.run.conventions import fitting_convention
from tree_oracle.run.trace_judge import judge_trace
from tree_oracle.target import Target
from tree_oracle.trace import Recorder

PASSED, FAILED, ERROR = Status.PASSED, Status.FAILED, Status.ERROR
ONCE = Budget(cases=0, shrink_runs=0, diagnose=False)
LAW = "CONSTRUCT-01"
ROOTLESS = (
    "the trees leave their root out: put the last committed token first, with parent -1, and add 1 to each parent"
)

Shown = dict[str, Any]


def told(round_: Round) -> Shown:
    """What a project tells of a round, right in every field."""
    return {name: getattr(round_, name) for name in ("emitted", "tokens", "parents", "accepted", "end")}


def of_another_token(round_: Round) -> Shown:
    """Node 0 holds a token that was never committed last."""
    tokens = round_.tokens or ()
    return {**told(round_), "tokens": ((tokens[0] + 1) % 61, *tokens[1:])}


def of_the_round_before(round_: Round) -> Shown:
    """Node 0 still holds what the root was one token earlier."""
    before = (0, *(round_.prefix or ()))[-2]
    return {**told(round_), "tokens": (before, *(round_.tokens or ())[1:])}


def without_root(round_: Round, by: int = 1) -> Shown:
    """The candidates alone; accepted ones are counted from 0, or with ``by`` 0 still from 1."""
    tokens, parents, accepted = (getattr(round_, name) for name in ("tokens", "parents", "accepted"))
    listed = {"tokens": tokens[1:], "parents": [parent - 1 for parent in parents[1:]]}
    return {**told(round_), **listed, "accepted": [node - by for node in accepted]}


def of_one_candidate(round_: Round) -> Shown:
    """The first branch of a tree without its root, of which nothing is accepted: it can be read as a chain."""
    tokens, parents = without_root(round_)["tokens"], without_root(round_)["parents"]
    count = next((node for node in range(1, len(parents)) if parents[node] != node - 1), len(parents))
    return {"emitted": round_.emitted, "tokens": tokens[:count], "parents": parents[:count], "end": round_.end}


WRONG = {
    "another token": of_another_token,
    "the root of the round before": of_the_round_before,
    "none": of_one_candidate,
}


def showing(tell: Callable[[Round], Shown]) -> Callable[[Target], Any]:
    """The reference, its rounds told as ``tell`` says."""

    def factory(target: Target) -> Any:
        right = ReferenceDecoder(target)

        def generate(prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[Shown]]:
            return [list(map(tell, rounds)) for rounds in right.generate(prompts, limits)]

        return with_methods(generate=generate)

    return factory


def pending(prompt: Sequence[int], limits: Limits, path: bool = True, by: int = 0) -> list[Shown]:
    """A right text, told by a loop whose root is the token chosen last, which its own round emits; what is left over at the end
    is emitted without a tree. Accepted nodes are told or not, ``by`` 1 with the root before them."""
    first = ground().truth.greedy(prompt, Limits(1)).tokens
    (rounds,) = ReferenceDecoder(ground().target).generate([(*prompt, *first)], Limits(limits.max_new_tokens - 1))
    shown = []
    for round_ in rounds:
        accepted = round_.accepted or ()
        emitted = ((round_.tokens or ())[0], *round_.emitted[: len(accepted)])
        shown.append({**told(round_), "emitted": emitted, "accepted": [*(0,) * by, *accepted] if path else None})
    last = rounds[-1].emitted[len(rounds[-1].accepted or ()) :]
    return [*shown, {"emitted": last}] if last else shown


PENDING: dict[str, Callable[[Sequence[int], Limits], list[Shown]]] = {
    "root": pending,
    "root, no path": lambda prompt, limits: pending(prompt, limits, path=False),
    "root, and leave the root out of accepted": lambda prompt, limits: pending(prompt, limits, by=1),
}


def telling(tell: Callable[[Sequence[int], Limits], list[Shown]]) -> Callable[[Target], Any]:
    """A decoder of whole texts that ``tell`` makes."""
    return lambda target: with_methods(generate=lambda prompts, limits: [tell(prompt, limits) for prompt in prompts])


def judged(factory: Any, *ids: str) -> Report:
    """By one text, which takes several rounds."""
    found = ground()
    cases = [case for case in found.stock.of(PROMPTS) if case.limits == Limits(13)][:1]
    return run_battery(found.subject(factory), choose(ids=ids), ONCE, cases=cases, stock=found.stock)


def recorded(path: Path, tell: Callable[[Round], Shown], target: str) -> CheckResult:
    """What the law says of a trace of two such texts, with and without a target."""
    with Recorder(path) as trace:
        for prompt in ((3, 5, 2, 7), (9, 4)):
            (rounds,) = ReferenceDecoder(ground().target).generate([prompt], Limits(12))
            number = trace.request(prompt, max_new_tokens=12)
            for round_ in rounds:
                trace.round(number, **tell(round_))
            trace.done(number)
    truth = ground().truth if target else None
    return result_of(judge_trace(path, choose(ids=(LAW,)), truth=truth, target=target), LAW)


@pytest.mark.parametrize("wrong", WRONG)
def test_another_root_than_the_last_committed_token_is_found(wrong: str) -> None:
    """Whatever stands in the place of the root the law of trees fails and no other does; with the right root told it holds."""
    report = judged(showing(WRONG[wrong]), LAW, "SEQUENCE-01")
    assert statuses(report) == {LAW: FAILED, "SEQUENCE-01": PASSED}
    (found,) = result_of(report, LAW).findings
    assert found.sentence.startswith("node 0 holds token ")
    assert "the last one that is committed" in found.expected
    assert (report.exit_code, found.node) == (1, 0)
    assert statuses(judged(showing(told), LAW)) == {LAW: PASSED}


@pytest.mark.parametrize("target", ["exact", ""])
@pytest.mark.parametrize("wrong", WRONG)
def test_it_is_found_in_a_trace(tmp_path: Path, wrong: str, target: str) -> None:
    """A recording of the same fails at the line of the round, with a target and without one; the right one holds."""
    found = recorded(tmp_path / "wrong.jsonl", WRONG[wrong], target)
    assert (found.status, found.findings[0].sentence.startswith("line ")) == (FAILED, True)
    assert recorded(tmp_path / "right.jsonl", told, target).status is PASSED


def test_a_root_alone_is_a_tree_too(tmp_path: Path) -> None:
    """A recorded round that drafts nothing is held to its root; where no round drafts anything that is no pass."""

    def alone(token: int) -> CheckResult:
        path = tmp_path / f"{token}.jsonl"
        with Recorder(path) as trace:
            number = trace.request([3, 5], max_new_tokens=1)
            trace.round(number, emitted=[8], tokens=[token], parents=[-1], accepted=[])
            trace.done(number)
        return result_of(judge_trace(path, choose(ids=(LAW,))), LAW)

    assert alone(3).status is FAILED
    right = alone(5)
    assert (right.status, "no witness" in right.reason) == (Status.NOT_OBSERVABLE, True)


@pytest.mark.parametrize("path", [True, False])
def test_an_empty_tree_is_no_tree(tmp_path: Path, path: bool) -> None:
    """A round that drafts nothing may show no nodes at all: it is passed over, and the rounds with a draft are judged."""

    def tell(round_: Round) -> Shown:
        shown = told(round_)
        nothing: Shown = {"tokens": [], "parents": [], "accepted": [] if path else None}
        return shown if len(round_.accepted or ()) else {**shown, **nothing}

    report = judged(showing(tell), LAW, "SEQUENCE-01", "GREEDY-01", "COMMIT-02")
    assert {result.status for result in report.results} <= {PASSED, Status.NOT_OBSERVABLE}
    assert statuses(report)[LAW] is statuses(report)["GREEDY-01"] is PASSED
    assert recorded(tmp_path / "t.jsonl", tell, "exact").status is PASSED


def test_a_session_is_told_its_trees() -> None:
    """Where the tree is handed over, a round that shows it with another root contradicts what was handed."""

    def factory(target: Target) -> Any:
        def opened(prompts: Any, limits: Limits) -> Any:
            session = ReferenceDecoder(target).open(prompts, limits)
            return with_methods(step=lambda trees: list(map(of_another_token, session.step(trees))))

        return with_methods(open=opened)

    (found,) = result_of(ground().report(factory, "GREEDY-01"), "GREEDY-01").findings
    assert (found.status, "the round shows tokens" in found.sentence) == (ERROR, True)


def without_root_or_path(round_: Round) -> Shown:
    """The candidates alone, and not which of them are accepted."""
    return {**without_root(round_), "accepted": None}


NAMED = {
    f"{ROOTLESS} and each accepted node": without_root,
    ROOTLESS: lambda round_: without_root(round_, 0),
    f"{ROOTLESS} ": without_root_or_path,
    "": told,
    " ": lambda round_: {**told(round_), "accepted": None},
}


@pytest.mark.parametrize("named", NAMED)
def test_trees_without_a_root_are_named(tmp_path: Path, named: str) -> None:
    """The doctor and a trace's finding say that the root is left out, and whether accepted nodes are counted without it; neither is
    said of a right decoder."""
    tell, named = NAMED[named], named.strip()
    hint = fitting_convention(ground().subject(showing(tell)), Seam.GENERATE)
    assert hint == (f"; it looks as if {named}" if named else "")
    found = recorded(tmp_path / "t.jsonl", tell, "exact")
    assert found.status is not PASSED or not named
    assert all(f"it was recorded wrong: {named}" in finding.sentence for finding in found.findings)


@pytest.mark.parametrize("named", PENDING)
def test_a_root_that_is_not_emitted_yet_is_named(tmp_path: Path, named: str) -> None:
    """The doctor, the finding of a check and that of a trace say of a right decoder with a pending root how to tell its rounds."""
    tell, said = (
        PENDING[named],
        "the root of each tree is a token that is not emitted yet: emit each token in the round",
    )
    hint = fitting_convention(ground().subject(telling(tell)), Seam.GENERATE)
    assert (said in hint, hint.endswith("leave the root out of accepted")) == (True, named.endswith("accepted"))
    if "accepted" not in named:  # else the root cannot be read as an accepted node
        shown, found = Budget(cases=0, shrink_runs=0), ground()
        (finding,) = result_of(
            run_battery(found.subject(telling(tell)), choose(ids=(LAW,)), shown, stock=found.stock), LAW
        ).findings
        assert f"if the decoder is right, the adapter tells it otherwise: {said}" in finding.sentence
    with Recorder(tmp_path / "t.jsonl") as trace:
        number = trace.request([3, 5, 2, 7], max_new_tokens=12)
        for shown_round in tell([3, 5, 2, 7], Limits(12)):
            trace.round(number, **shown_round)
        trace.done(number)
    (recorded_finding,) = result_of(judge_trace(tmp_path / "t.jsonl", choose(ids=(LAW,))), LAW).findings
    assert f"it was recorded wrong: {said}" in recorded_finding.sentence


def test_rounds_that_cannot_be_read_are_named_too() -> None:
    """Trees without roots hold -1 below the root, which no tree does: the finding in error says what was left out."""
    found = ground()
    budget = Budget(cases=0, shrink_runs=0)
    report = run_battery(found.subject(showing(without_root)), choose(ids=("GREEDY-01",)), budget, stock=found.stock)
    unread = [finding for finding in result_of(report, "GREEDY-01").findings if finding.status is ERROR]
    assert unread
    assert all(f"it looks as if {ROOTLESS} and each accepted node" in finding.sentence for finding in unread)


@pytest.mark.parametrize("path", [True, False])
@pytest.mark.parametrize("wrong", ["another token", "the root of the round before"])
def test_another_root_is_not_called_a_convention(tmp_path: Path, wrong: str, path: bool) -> None:
    """A tree that holds a wrong root is wrong under every convention, and is given no name, whether or not its path is shown."""

    def tell(round_: Round) -> Shown:
        shown = WRONG[wrong](round_)
        return shown if path else {**shown, "accepted": None}

    assert fitting_convention(ground().subject(showing(tell)), Seam.GENERATE) == ""
    (finding,) = recorded(tmp_path / "t.jsonl", tell, "exact").findings
    assert "recorded wrong" not in finding.sentence


def test_a_project_may_say_that_it_leaves_the_root_out() -> None:
    """Rounds without roots are right where the description says so."""

    def factory(target: Target) -> Any:
        def run(prompt: list[int], max_new_tokens: int, eos_ids: list[int], on_round: Callable[..., Any]) -> list[int]:
            (rounds,) = ReferenceDecoder(target).generate([prompt], Limits(max_new_tokens, tuple(eos_ids)))
            for round_ in rounds:
                on_round(without_root(round_))
            return [token for round_ in rounds for token in round_.emitted]

        return describe(text=run, rounds={}, convention=Convention(root_counted=False))(target)

    assert statuses(judged(factory, LAW, "GREEDY-01")) == {LAW: PASSED, "GREEDY-01": PASSED}
