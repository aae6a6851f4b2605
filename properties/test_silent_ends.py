"""A session whose rounds say nothing of their end is driven to where the limits end it, and no further."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from grounds import ground, statuses, with_methods

from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.faults import FAULTS
from tree_oracle.record import Limits, Status
from tree_oracle.target import Target

SEEN_IN_TEXT = ("SESSION-01", "STOP-01", "STOP-04")


def silent(made: Callable[[Target], Any] = ReferenceDecoder) -> Callable[[Target], Any]:
    """The decoder, whose rounds show what they emit and nothing else."""

    def factory(target: Target) -> Any:
        def opened(prompts: Any, limits: Limits, processors: Any = None) -> Any:
            session = made(target).open(prompts, limits, processors=processors)

            def step(trees: Any) -> list[dict[str, Any]]:
                return [{"emitted": list(round_.emitted)} for round_ in session.step(trees)]

            return with_methods(step=step, admit=session.admit, drop=session.drop)

        return with_methods(open=opened)

    return factory


def test_a_right_session_that_shows_emitted_alone_passes() -> None:
    """Emitted tokens are all that a round must show: nothing fails and nothing is left undecided."""
    found = statuses(ground().report(silent(), *SEEN_IN_TEXT))
    assert set(found.values()) == {Status.PASSED}


@pytest.mark.parametrize(
    ("name", "check"),
    [("end-token-inside-passed-over", "STOP-01"), ("stop-sequence-across-rounds-missed", "STOP-04")],
)
def test_a_wrong_end_is_seen_though_no_end_is_shown(name: str, check: str) -> None:
    """That the limits end a silent text hides no text that goes on."""
    assert statuses(ground().report(silent(FAULTS[name].decoder), check))[check] is Status.FAILED


def test_a_session_that_breaks_down_while_a_text_goes_on_has_failed() -> None:
    """Only at the end that the limits set is a refused tree no failure."""

    def short_lived(target: Target) -> Any:
        def opened(prompts: Any, limits: Limits) -> Any:
            session, steps = ReferenceDecoder(target).open(prompts, limits), []

            def step(trees: Any) -> list[dict[str, Any]]:
                steps.append(trees)
                if len(steps) > 1:
                    raise RuntimeError("one round is enough")
                return [{"emitted": list(round_.emitted)} for round_ in session.step(trees)]

            return with_methods(step=step)

        return with_methods(open=opened)

    assert statuses(ground().report(short_lived, "SESSION-01"))["SESSION-01"] is Status.FAILED
