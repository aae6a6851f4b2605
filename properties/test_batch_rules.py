"""What was asked of a request is kept in a session that several share; who breaks down there fails the law of whole texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from grounds import ground, result_of, statuses, with_methods
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tree_oracle import ReferenceDecoder
from tree_oracle.checks import CHECKS
from tree_oracle.checks.batch_paths import BATCH_PATHS
from tree_oracle.checks.batches import BATCHES
from tree_oracle.decoder import BatchParts, Decision, Parts
from tree_oracle.decoder.batch_parts import decide
from tree_oracle.record import Case, CaseFile, Limits, Status, UsageError
from tree_oracle.run import Budget, run_battery
from tree_oracle.run.cases import replay
from tree_oracle.run.misfits import refuse_misfit
from tree_oracle.target import Target

LITTLE = Budget(shrink_runs=0, diagnose=False)
IDS = ("SESSION-01", "PATHSTATE-02")


@settings(max_examples=max(2, settings().max_examples // 6))
@given(st.data())
def test_any_session_with_processors_passes(data: st.DataObject) -> None:
    """Whatever the processors and the prompts, the reference's batch is held to nothing wrong by either law of whole texts."""
    found = ground()
    case = data.draw(BATCH_PATHS.generated(found.stock.stage))
    checks = [CHECKS[name] for name in IDS]
    report = run_battery(found.subject(ReferenceDecoder), checks, LITTLE, cases=[case], stock=found.stock)
    assert set(statuses(report).values()) == {Status.PASSED}, str(report)


@pytest.mark.parametrize("check", IDS)
def test_a_session_with_processors_can_be_seen_again(check: str) -> None:
    """A case file of several requests with processors is replayed; a sequence longer than a prompt of theirs is refused."""
    case = BATCH_PATHS.listed(ground().stock.stage)[1]
    file = CaseFile(check=check, target="exact", decoder="reference", case=case)
    assert statuses(replay(file, ground().subject(ReferenceDecoder))) == {check: Status.PASSED}

    assert case.processors is not None
    long = replace(case, processors=replace(case.processors, banned=((1, 2, 3, 4),)))
    with pytest.raises(UsageError, match="a sequence has 4 tokens; expected no more than the prompt, 3"):
        refuse_misfit(long, [CHECKS[check]], ground().target)


def sessions(**changed: Callable[[Any, Any], Any]) -> Callable[[Target], Any]:
    """The reference, some of whose session's methods are replaced: each gets the session and the argument."""

    def made(target: Target) -> Any:
        def opened(prompts: Sequence[Sequence[int]], limits: Limits) -> Any:
            session = ReferenceDecoder(target).open(prompts, limits)
            methods = {name: getattr(session, name) for name in ("step", "admit", "drop")}
            wrong = {name: lambda given, change=change: change(session, given) for name, change in changed.items()}
            return with_methods(**(methods | wrong))

        return with_methods(open=opened)

    return made


def raising(_: Any, places: Sequence[int]) -> None:
    raise RuntimeError(f"cannot drop {list(places)}")


def last_prompt_first(session: Any, prompts: Sequence[Sequence[int]]) -> None:
    session.admit(prompts[::-1])


def note_with(words: str) -> list[Case]:
    return [case for case in ground().stock.of(BATCHES) if words in case.note]


@pytest.mark.parametrize(("method", "wrong"), [("drop", raising), ("admit", last_prompt_first)])
def test_who_breaks_down_between_steps_fails(method: str, wrong: Callable[[Any, Any], Any]) -> None:
    """A session that cannot drop what it is told to, or admits in another order, fails SESSION-01: its texts have no end."""
    subject, cases = ground().subject(sessions(**{method: wrong})), note_with("leave together")
    report = run_battery(subject, [CHECKS["SESSION-01"]], LITTLE, cases=cases)
    assert result_of(report, "SESSION-01").status is Status.FAILED
    assert report.exit_code == 1


def test_the_sixth_request_of_a_batch_is_looked_at() -> None:
    """A wrong bonus of the fifth and later requests alone is seen: a listed session has six."""

    def wrong_behind(walk: Any, trees: Any, rows: Any) -> list[Decision]:
        right = decide(walk, trees, rows)
        width = rows[0].shape[1]
        return [*right[:4], *(Decision(one.accepted, (one.bonus + 1) % width) for one in right[4:])]

    def decoder(target: Target) -> ReferenceDecoder:
        return ReferenceDecoder(target, Parts(batch=BatchParts(decide=wrong_behind)))

    report = ground().report(decoder, "BATCH-02", "SESSION-01")
    assert set(statuses(report).values()) == {Status.FAILED}
