"""Decoders that misbehave: whatever they do, the run ends with a status, a clear sentence and an exit code, never with a pass.

Every decoder here is right but for one thing, so that nothing else can be what was noticed.
"""

from __future__ import annotations

import asyncio
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import hypothesis.errors
import msgspec
import numpy as np
import pytest
import torch
from grounds import all_of, ground, result_of, sentences, statuses, with_methods

from tree_oracle import check_decoder
from tree_oracle.checks import choose
from tree_oracle.decoder import Parts, ReferenceDecoder
from tree_oracle.record import AdapterError, Array, DecoderError, Limits, Report, Round, Status, UsageError, to_json
from tree_oracle.run import Budget, make_subject, run_battery
from tree_oracle.target import Target, load_target

FAILED, ERROR, UNSEEN = Status.FAILED, Status.ERROR, Status.NOT_OBSERVABLE


def only(method: str, hostile: Callable[..., Any]) -> Callable[[Target], Any]:
    """A factory of decoders with one method, ``hostile(right, *arguments)`` with the reference's method as ``right``."""

    def factory(target: Target) -> Any:
        right = getattr(ReferenceDecoder(target), method)
        return with_methods(**{method: lambda *arguments: hostile(right, *arguments)})

    return factory


def stepping(hostile: Callable[..., Any]) -> Callable[[Target], Any]:
    """A factory of decoders with a session whose ``step(right, trees)`` is hostile; it shows no cache."""

    def opened(right: Any, prompts: Any, limits: Any) -> Any:
        session = right(prompts, limits)
        return with_methods(step=lambda trees: hostile(session.step, trees))

    return only("open", opened)


# The sessions of this file serve one request; batches have hostile decoders of their own.
ALONE = tuple(check.id for check in choose() if check.family not in ("BATCH", "SESSION"))


def judged(factory: Any, *ids: str, budget: Budget | None = None) -> Report:
    return ground().report(factory, *(ids or ALONE), budget=budget)


def raising(error: BaseException | type[BaseException]) -> Callable[..., Any]:
    def hostile(*_: Any) -> Any:
        raise error

    return hostile


# ---------------------------------------------------------------------------------------------------------- it raises


class Untold(Exception):
    """Will not say what it is about."""

    def __str__(self) -> str:
        raise RuntimeError("no")


class Unusual(BaseException):
    """No ``Exception``."""


RAISED: dict[str, tuple[BaseException | type[BaseException], str]] = {
    "an error": (ValueError("planted"), "raised ValueError: planted (test_hostile_decoders.py:"),
    "an assertion": (AssertionError, "raised AssertionError"),
    "an exit with success": (SystemExit(0), "raised SystemExit: 0"),
    "an exception of its own": (Unusual("mine"), "raised Unusual: mine"),
    "a cancelled task": (asyncio.CancelledError(), "raised CancelledError"),
    "a generator's end": (GeneratorExit(), "raised GeneratorExit"),
    "an iterator's end": (StopIteration(), "raised StopIteration"),
    "no memory": (MemoryError(), "raised MemoryError"),
    "one of ours": (AdapterError("blame him"), "raised AdapterError: blame him"),
    "one of Hypothesis": (hypothesis.errors.UnsatisfiedAssumption("no"), "raised UnsatisfiedAssumption: no"),
    "no message": (Untold(), "raised Untold: a message that raises RuntimeError"),
    "half a character": (ValueError("a\ud800"), "raised ValueError: a\\ud800"),
    "a long message": (ValueError("line\n" * 999), "raised ValueError: line line line"),
}


@pytest.mark.parametrize("what", RAISED)
@pytest.mark.parametrize("method", ["lay_out", "tree_logits", "accept", "open", "generate"])
def test_a_decoder_that_raises_has_failed(method: str, what: str) -> None:
    """Any exception, exit and assertion on valid input is the decoder's failure, told in one line with its own place."""
    error, message = RAISED[what]
    report = judged(only(method, raising(error)))
    assert all_of(report, (FAILED, UNSEEN))
    assert report.exit_code == 1
    (said,) = {finding.sentence for result in report.results for finding in result.findings}
    assert said.startswith(f"{method} {message}")
    assert "\n" not in said
    assert len(said) < 400
    assert to_json(report)


def test_a_session_that_raises_later_has_failed() -> None:
    """A round that raises fails the text; laws that the rounds before it keep are left undecided, not blamed."""

    def hostile(right: Any, prompts: Any, limits: Any) -> Any:
        session, calls = right(prompts, limits), []

        def step(trees: Any) -> Any:
            calls.append(trees)
            return session.step(trees) if len(calls) < 2 else raising(ValueError("planted"))()

        return with_methods(step=step)

    report = judged(only("open", hostile))
    found = statuses(report)
    assert found["SEQUENCE-01"] is FAILED
    assert found["HISTORY-01"] is Status.UNDECIDED
    assert found["COMMIT-01"] is UNSEEN
    assert "the decoder broke down in round 1: step raised ValueError" in result_of(report, "HISTORY-01").reason
    assert Status.PASSED not in found.values()
    assert report.exit_code == 1


def test_a_refusal_decides_nothing() -> None:
    """A decoder that refuses everything is judged by nothing: not applicable, with its reason, and exit code 4."""
    for error, reason in (
        (NotImplementedError("no trees"), "refused: no trees"),
        (NotImplementedError, "not implemented"),
    ):
        report = judged(lambda _, error=error: with_methods(lay_out=raising(error), open=raising(error)))
        assert all_of(report, (Status.NOT_APPLICABLE, UNSEEN))
        assert any(reason in said for said in sentences(report))
        assert (report.exit_code, report.held) == (4, None)


def test_a_decoder_may_not_refuse_what_it_answered() -> None:
    """The first answer shows that the input is valid, so a refusal of the same input is a contradiction."""
    asked: list[Any] = []

    def hostile(right: Any, tree: Any, length: int) -> Any:
        asked.append(tree)
        return right(tree, length) if len(asked) == 1 else raising(NotImplementedError("tired"))()

    report = judged(only("lay_out", hostile), "VISIBLE-01")
    assert all_of(report, FAILED)
    assert "lay_out answered once; the second time, on the same input: tired" in sentences(report)


# ------------------------------------------------------------------------------------------------ it changes its input


def writable(values: np.ndarray) -> np.ndarray:
    values.setflags(write=True)
    return values


def shared(values: np.ndarray) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.from_numpy(values)


class Incomparable:
    """Takes the place of a token and cannot be compared with one."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("do not compare me")

    __hash__ = None  # type: ignore[assignment]


def new_token(prefix: list[Any], tree: Any) -> None:
    prefix[0] = Incomparable()


CHANGES: dict[str, tuple[str, Callable[..., Any], str]] = {
    "tokens": ("lay_out", lambda tree, _: writable(tree.tokens).fill(7), "the tree's tokens were ["),
    "parents": ("lay_out", lambda tree, _: writable(tree.parents).fill(-1), "the tree's parents were ["),
    "tokens through torch": ("lay_out", lambda tree, _: shared(tree.tokens).fill_(7), "the tree's tokens were ["),
    "the whole tree": ("lay_out", lambda tree, _: cast(dict[str, Any], vars(tree)).clear(), "comparing it with what it was raised"),
    "another tree": ("lay_out", lambda tree, _: cast(dict[str, Any], vars(tree)).update(tokens=np.array([1, 2])), "the tree's tokens were ["),
    "prefix": ("tree_logits", lambda prefix, tree: prefix.append(1), "entries was changed"),
    "prefix token": ("tree_logits", lambda prefix, tree: prefix.insert(0, prefix.pop() + 1), "entries was changed"),
    "prefix object": ("tree_logits", new_token, "entries was changed"),
    "limit object": (
        "generate",
        lambda prompts, limits: msgspec.structs.force_setattr(limits, "max_new_tokens", Incomparable()),
        "comparing it with what it was raised RuntimeError: do not compare me",
    ),
    "rows": ("accept", lambda tree, rows: rows.fill(0), "the array it was handed holds other values now"),
    "rows through torch": ("accept", lambda tree, rows: shared(rows).neg_(), "the array it was handed holds other values"),
    "prompt": ("open", lambda prompts, limits: prompts[0].append(1), "a list of"),
    "prompts": ("open", lambda prompts, limits: prompts.clear(), "a list of 1 entry was changed"),
    "limits": (
        "generate", lambda prompts, limits: msgspec.structs.force_setattr(limits, "max_new_tokens", 0), "'max_new_tokens'"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_a_decoder_that_changes_its_input_has_failed(what: str) -> None:
    """A right answer does not excuse a changed tree, row, prefix, prompt or limit, and the change is named."""
    method, change, message = CHANGES[what]

    def hostile(right: Any, *arguments: Any) -> Any:
        answer = right(*arguments)
        change(*arguments)
        return answer

    report = judged(only(method, hostile))
    assert all_of(report, (FAILED, UNSEEN))
    assert report.exit_code == 1
    assert any(f"{method} changed its input: " in said and message in said for said in sentences(report))


def test_what_is_changed_later_reaches_nobody() -> None:
    """A decoder that keeps everything it was handed and spoils it in the next call spoils no other case."""
    kept: list[Any] = []

    def hostile(right: Any, prefix: list[int], tree: Any) -> Any:
        for old, tokens in kept:
            old.clear()
            writable(tokens).fill(0)
        answer = right(prefix, tree)
        kept.append((prefix, tree.tokens))
        return answer

    assert judged(only("tree_logits", hostile), "HISTORY-01", "HISTORY-02").exit_code == 0


# -------------------------------------------------------------------------------------------- it contradicts itself


@dataclass
class Memory:
    """What a decoder carries from call to call."""

    calls: int = 0
    last: dict[Any, Any] = field(default_factory=dict)


def test_a_decoder_that_answers_differently_has_failed() -> None:
    """A counter, a die and a mask left over from the last call all show when the same question is asked twice."""
    memory, die = Memory(), random.Random(0)

    def counting(right: Any, tree: Any, length: int) -> Any:
        memory.calls += 1
        found = right(tree, length)
        return {"visible": found.visible, "positions": found.positions + (memory.calls - 1) % 2}

    def rolling(right: Any, tree: Any, rows: Any) -> Any:
        accepted, bonus = right(tree, rows)
        return accepted, bonus if die.random() < 0.9 else (bonus + 1) % rows.shape[1]

    def stale(right: Any, prefix: Any, tree: Any) -> Any:
        answer = right(prefix, tree)
        old, memory.last[answer.shape] = memory.last.get(answer.shape, answer), answer
        return old

    for method, hostile, check in (
        ("lay_out", counting, "POSITION-01"),
        ("accept", rolling, "GREEDY-01"),
        ("tree_logits", stale, "HISTORY-01"),
    ):
        assert all_of(judged(only(method, hostile), check), FAILED)
    message = "lay_out answered differently the second time, on the same input: positions"
    assert message in sentences(judged(only("lay_out", counting), "POSITION-01"))


def test_a_flaky_failure_is_kept_as_it_was_found() -> None:
    """Shrinking a failure that comes and goes ends with a failure, not with a complaint about the search."""
    die = random.Random(1)

    def hostile(right: Any, tree: Any, length: int) -> Any:
        found = vars_of(right(tree, length))
        return found if die.random() < 0.5 else found | {"positions": found["positions"] + 1}

    report = judged(only("lay_out", hostile), "POSITION-01", budget=Budget(cases=0, shrink_runs=20, diagnose=False))
    assert all_of(report, FAILED)
    assert result_of(report, "POSITION-01").findings[0].case is not None


def test_a_score_without_a_value_is_no_contradiction() -> None:
    """The root has no score: a NaN there equals the NaN of the second answer."""

    def hostile(right: Any, trees: Any) -> Any:
        (round_,) = right(trees)
        return [msgspec.structs.replace(round_, scores=Array.of(np.array([np.nan, *round_.scores.numpy()[1:]])))]

    assert judged(stepping(hostile), "GATHER-02", "HISTORY-01").exit_code == 0


# ------------------------------------------------------------------------------------------------- its answers are odd


class Liar(list):  # type: ignore[type-arg]
    """A list that says one thing and holds another, and never comes to its end."""

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield 0

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(0)


class Unreadable(list):  # type: ignore[type-arg]
    """A list that cannot be measured."""

    def __len__(self) -> int:
        raise RuntimeError("no length")


class SealedLayout:
    """A layout whose fields cannot be looked at."""

    @property
    def visible(self) -> Any:
        raise RuntimeError("sealed")


def spoiled(place: tuple[Any, ...], value: float) -> Callable[..., Any]:
    def hostile(right: Any, prefix: Any, tree: Any) -> Any:
        rows = right(prefix, tree).copy()
        rows[place] = value
        return rows

    return hostile


def sharpened(right: Any, prefix: Any, tree: Any) -> Any:
    rows = right(prefix, tree).copy()
    rows[np.arange(len(rows)), rows.argmax(axis=1)] += 1
    return rows


ODD: dict[str, tuple[Callable[[Target], Any], Status, str]] = {
    "a NaN": (only("tree_logits", spoiled((-1, 3), np.nan)), FAILED, "holds NaN"),
    "all NaN": (only("tree_logits", spoiled((), np.nan)), FAILED, "the row of node 0 holds NaN"),
    "an infinity": (only("tree_logits", spoiled((0, 3), np.inf)), FAILED, "is not the law after its own history"),
    "nothing allowed": (only("tree_logits", spoiled((0,), -np.inf)), FAILED, "is not the law after its own history"),
    "a raised maximum": (only("tree_logits", sharpened), FAILED, "is not the law after its own history"),
    "too few rows": (only("tree_logits", lambda right, *given: right(*given)[1:]), ERROR, "one row per node, root first"),
    "rows with batch": (only("tree_logits", lambda right, *given: right(*given)[None]), ERROR, "has shape (1, "),
    "no rows": (only("tree_logits", lambda right, *given: None), ERROR, "expected numbers in a list"),
    "a mask too wide": (
        only("lay_out", lambda right, tree, length: vars_of(right(tree, length + 1))), ERROR, "layout.visible has shape"
    ),
    "a sealed layout": (only("lay_out", lambda *_: SealedLayout()), FAILED, "reading the answer of lay_out raised RuntimeError: sealed"),
    "a token out of range": (only("accept", lambda right, *given: (right(*given)[0], 10**6)), ERROR, "bonus[0] is token 1000000"),
    "a node out of range": (only("accept", lambda right, *given: ([10**6], 1)), ERROR, "accepted[0] is node 1000000"),
    "unreadable": (only("accept", lambda right, *given: Unreadable([(), 1])), FAILED, "raised RuntimeError: no length"),
    "a generator": (only("generate", lambda right, *given: iter(right(*given))), ERROR, "expected a list with 1 entry"),
    "text": (only("generate", lambda *_: ["once upon a time"]), ERROR, "expected numbers in a list"),
    "texts by name": (
        only("generate", lambda right, *given: {"tokens": [tokens_of(right(*given)[0])]}),
        ERROR, "generate answers a dict with keys 'tokens'; expected a list with one entry for each prompt",
    ),
    "a text by name": (
        only("generate", lambda right, *given: [{"tokens": tokens_of(right(*given)[0])}]),
        ERROR, "an entry of what generate answers is a dict with keys 'tokens'; expected the new tokens of one prompt",
    ),
    "a lie": (only("generate", lambda right, prompts, limits: [Liar([0, 1]) for _ in prompts]), FAILED, "plain greedy decoding emits"),
    "a lie about rounds": (stepping(lambda right, trees: Liar([{"emitted": [0]}, 1])), FAILED, "plain greedy decoding emits"),
    "a runaway text": (
        only("generate", lambda right, *given: [tokens_of(rounds) + [5] * 2500 for rounds in right(*given)]),
        FAILED, "tokens; the limits end it at",
    ),
    "a runaway round": (
        stepping(lambda right, trees: [{"emitted": (*right(trees)[0].emitted, *[5] * 3000)}]),
        FAILED, "tokens for a tree of 1 node; expected at most 1",
    ),
    "no text": (only("generate", lambda right, prompts, limits: [[] for _ in prompts]), FAILED, "the text has 0 tokens; the limits end it at 1"),
    "nothing forever": (stepping(lambda *_: [{"emitted": []}]), FAILED, "step emitted nothing and named no end"),
    "an end at once": (
        stepping(lambda *_: [{"emitted": [], "end": "eos"}]), FAILED, "the text has 0 tokens; the limits end it at 64"
    ),
    "an early end": (
        stepping(lambda right, trees: [{"emitted": right(trees)[0].emitted, "end": "cap"}]),
        FAILED, "; the limits end it at 64",
    ),
    "no session": (only("open", lambda *_: None), ERROR, "open answered NoneType; expected a session, an object with a method"),
    "no round": (stepping(lambda *_: []), ERROR, "step is list []; expected a list with 1 entry, one per request"),
    "one argument too few": (lambda _: with_methods(accept=lambda tree: ((), 0)), ERROR, "accept cannot be called with 2 arg"),
}  # fmt: skip


def vars_of(layout: Any) -> dict[str, Any]:
    return {"visible": layout.visible, "positions": layout.positions}


def tokens_of(rounds: list[Round]) -> list[int]:
    return [token for round_ in rounds for token in round_.emitted]


@pytest.mark.parametrize("what", ODD)
def test_an_odd_answer_is_no_pass(what: str) -> None:
    """Wrong numbers fail, wrong forms are errors of the adapter, each in a clear sentence; no check passes."""
    factory, status, message = ODD[what]
    report = judged(factory)
    found = set(statuses(report).values())
    assert status in found
    assert not found & ({FAILED, ERROR, Status.UNDECIDED} - {status})
    assert report.exit_code == (1 if status is FAILED else 3)
    assert any(message in said for said in sentences(report)), sentences(report)
    assert not any("Traceback" in said or "tree_oracle/" in said for said in sentences(report))


# ---------------------------------------------------------------------------------------- it reaches for the rest


def heavier(target: Target) -> None:
    with torch.no_grad():
        next(target.model.parameters())[0].add_(1)


def weights_changed(target: Target) -> Any:
    heavier(target)
    return ReferenceDecoder(target)


def weights_changed_later(target: Target) -> Any:
    right = ReferenceDecoder(target)

    def tree_logits(prefix: Any, tree: Any) -> Any:
        answer = right.tree_logits(prefix, tree)
        heavier(target)
        return answer

    return with_methods(tree_logits=tree_logits)


@pytest.mark.parametrize("factory", [weights_changed, weights_changed_later])
@pytest.mark.parametrize("target", ["exact", load_target("exact")], ids=["named", "handed over"])
def test_changed_weights_do_not_change_the_truth(target: Any, factory: Any) -> None:
    """A decoder that changes the target's weights is judged by what they were, even where it was handed the target."""
    if isinstance(target, Target):
        target = load_target("exact")  # a new one, which nobody has changed yet
    subject = make_subject(factory, target)
    report = run_battery(subject, choose(ids=["HISTORY-01"]), Budget(cases=0, shrink_runs=0, diagnose=False))
    assert all_of(report, FAILED)


@pytest.fixture
def settings() -> Iterator[None]:
    """Torch's and numpy's settings, put back afterwards."""
    random_state, errors = torch.get_rng_state(), np.geterr()
    yield
    torch.set_default_dtype(torch.float32)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(False)
    torch.set_grad_enabled(True)
    torch.set_rng_state(random_state)
    np.seterr(**errors)


def reaches(target: Target, parts: Parts) -> Any:
    right = ReferenceDecoder(target, parts)

    def tree_logits(prefix: Any, tree: Any) -> Any:
        answer = right.tree_logits(prefix, tree)
        torch.set_default_dtype(torch.bfloat16)
        torch.set_num_threads(2)
        torch.use_deterministic_algorithms(True)
        torch.set_grad_enabled(False)
        torch.manual_seed(len(prefix))
        np.seterr(all="raise")
        return answer

    return with_methods(tree_logits=tree_logits)


@pytest.mark.usefixtures("settings")
def test_settings_change_no_verdict() -> None:
    """A decoder that changes the settings of torch and numpy is judged as without: right passes and wrong fails."""
    from tree_oracle.faults import FAULTS

    errors = np.geterr()
    assert judged(lambda target: reaches(target, Parts()), "HISTORY-01", "HISTORY-02").exit_code == 0
    assert np.geterr() == errors
    wrong = FAULTS["rows-one-slot-late"].parts
    assert judged(lambda target: reaches(target, wrong), "HISTORY-01").exit_code == 1


# ------------------------------------------------------------------------------------------------ what is no decoder


def nothing(_: Target) -> None:
    return None


NO_DECODERS: dict[str, tuple[Any, type[Exception], str]] = {
    "raises": (raising(ValueError("no GPU")), DecoderError, "the factory raised ValueError: no GPU"),
    "exits": (lambda _: sys.exit(0), DecoderError, "the factory raised SystemExit: 0"),
    "refuses": (raising(NotImplementedError("no such model")), NotImplementedError, "no such model"),
    "takes nothing": (lambda: None, AdapterError, "the factory cannot be called with 1 argument:"),
    "makes nothing": (nothing, UsageError, "NoneType offers no seam; expected at least one of the methods "),
    "makes something else": (lambda _: SimpleNamespace(decode=print), UsageError, "SimpleNamespace offers no seam"),
    "no target": (SimpleNamespace(generate=print), UsageError, "--target SPEC on a command line"),
    "no method": (lambda _: SimpleNamespace(accept=5), UsageError, "offers no seam"),
}


@pytest.mark.parametrize("what", NO_DECODERS)
def test_what_is_no_decoder_is_one_typed_error(what: str) -> None:
    """A factory that raises, exits or makes nothing usable gives no report but one of our errors, with the reason."""
    factory, kind, message = NO_DECODERS[what]
    with pytest.raises(kind, match=message):
        check_decoder(factory, cases=0)


class Guarded:
    """Its method cannot be looked at."""

    @property
    def lay_out(self) -> Any:
        raise RuntimeError("do not look")


class Sealed:
    """Nothing of it can be looked at."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"do not look at {name}")


def test_a_method_that_cannot_be_looked_up_has_failed() -> None:
    """An attribute that raises is driven and blamed, not taken for a method that is not there."""
    report = judged(lambda _: Guarded())
    assert all_of(report, (FAILED, UNSEEN))
    assert any("lay_out raised RuntimeError: do not look" in said for said in sentences(report))
    with pytest.raises(DecoderError, match="raised RuntimeError: do not look at"):
        judged(lambda _: Sealed())


class Proxy:
    """Hands everything on to a decoder elsewhere."""

    def __init__(self, target: Target) -> None:
        self._right = ReferenceDecoder(target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._right, name)


def test_a_proxy_is_a_decoder() -> None:
    """Methods that are only found when they are asked for count as methods, in every release of Python."""
    report = judged(Proxy, "GREEDY-02")
    assert {"accept", "open"} <= set(result_of(report, "GREEDY-02").seams)
    assert report.exit_code == 0


def test_a_cache_that_is_no_method_is_not_shown() -> None:
    """A session that keeps its cache under that name does not show it by that: not observable, never failed."""

    def opened(right: Any, prompts: Any, limits: Any) -> Any:
        session = right(prompts, limits)
        return SimpleNamespace(step=session.step, cache=object())

    report = judged(only("open", opened), "COMMIT-01", "COMMIT-02")
    assert statuses(report) == {"COMMIT-01": UNSEEN, "COMMIT-02": Status.PASSED}


@pytest.mark.parametrize("kind", ["probabilities", "log-probabilities"])
def test_rows_are_judged_as_what_they_are_declared_to_be(kind: str) -> None:
    """Rows that are declared to be no logits are not failed for being none."""

    def hostile(right: Any, trees: Any) -> Any:
        (round_,) = right(trees)
        logs = torch.log_softmax(torch.tensor(round_.rows.numpy()), dim=-1)
        return [{"emitted": round_.emitted, "rows": logs.exp() if kind == "probabilities" else logs, "row_kind": kind}]

    report = judged(stepping(hostile), "HISTORY-01")
    assert all_of(report, UNSEEN)
    assert f"the rows are declared {kind}; only logits are judged" in sentences(report)


def plain(target: Target, *, claims: bool) -> Any:
    """Looks at no tree: one plain step per round."""
    right = ReferenceDecoder(target)

    def opened(prompts: Any, limits: Limits) -> Any:
        session = right.open(prompts, limits)

        def step(trees: Any) -> Any:
            (root,) = (tree.keep([0])[0] for tree in trees)
            (round_,) = session.step([root])
            return [{"emitted": round_.emitted} | ({"accepted": []} if claims else {})]

        return with_methods(step=step)

    return with_methods(open=opened)


def test_plain_decoding_in_disguise_is_no_pass() -> None:
    """A session that ignores the trees emits the right text and shows no speculation: where it ends is decided, that the trees
    were never run, and that its tokens were."""
    report = judged(lambda target: plain(target, claims=False))
    found = statuses(report)
    assert found["SEQUENCE-01"] is UNSEEN
    assert found["WITNESS-01"] is FAILED
    passed = {check for check, status in found.items() if status is Status.PASSED}
    assert all(check.startswith("STOP-") for check in passed - {"WITNESS-02"})
    assert report.exit_code == 4
    assert "no witness that speculation ran: no round shows a draft" in sentences(report)


def test_plain_decoding_that_claims_to_verify_is_caught() -> None:
    """Who says that no node was accepted, where the tree held the right ones, has stopped too early."""
    report = judged(lambda target: plain(target, claims=True))
    assert statuses(report)["GREEDY-02"] is FAILED
