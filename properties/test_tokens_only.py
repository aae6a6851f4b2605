"""Text alone: a decoder that shows only tokens fails exactly where they differ from a right decoder's."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from grounds import ground, sentences, statuses

from tree_oracle.checks import choose
from tree_oracle.decoder import ReferenceDecoder, Seam
from tree_oracle.faults import FAULTS
from tree_oracle.record import Case, Limits, Round, Status
from tree_oracle.run import Budget, run_battery

QUICK = Budget(cases=0, shrink_runs=0, diagnose=False)
SEEN = [name for name, fault in FAULTS.items() if Seam.GENERATE in fault.seams]
DEEP = os.environ.get("TREE_ORACLE_PROFILE") == "deep"  # all faults on all listed cases take minutes
SOME, STEP = (SEEN, 1) if DEEP else (SEEN[8::50], 4)


class TokensOnly:
    """Any decoder behind a wall, its target too, which no tap reads: texts in, texts out."""

    def __init__(self, inner: ReferenceDecoder) -> None:
        self._inner = inner

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits, processors: Any = None) -> list[list[int]]:
        """The emitted tokens of every prompt."""
        found: list[list[Round]] = self._inner.generate(prompts, limits, processors)
        return [[token for round_ in rounds for token in round_.emitted] for rounds in found]


def texts(decoder: TokensOnly, case: Case) -> list[list[int]] | str:
    """The tokens of every request of a case, or that there are none because it broke down."""
    assert case.limits is not None
    asked = [list(request.prompt) for request in case.batch] or [list(case.prefix)]
    try:
        return decoder.generate(asked, case.limits, case.processors)
    except Exception as error:  # whatever a fault leads to
        return type(error).__name__


@cache
def prompts(target: str) -> list[tuple[Case, list[list[int]] | str]]:
    """The listed cases of every scene for ``generate``, or every fourth, each with a right decoder's texts."""
    found = ground(target)
    scenes = {s.scene.name: s.scene for check in choose() for s in check.sources if s.seam is Seam.GENERATE}
    right = TokensOnly(ReferenceDecoder(found.target))
    return [(case, texts(right, case)) for scene in scenes.values() for case in found.stock.of(scene)[::STEP]]


@pytest.mark.parametrize("name", SOME)
def test_a_fault_that_changes_tokens_is_caught_by_the_tokens_alone(name: str) -> None:
    """Something fails if and only if on some prompt the faulty decoder's text is not the right decoder's."""
    fault, found = FAULTS[name], ground(FAULTS[name].target)
    wrong, asked = TokensOnly(fault.decoder(found.target)), prompts(fault.target)
    changed = any(texts(wrong, case) != right for case, right in asked)
    report = run_battery(
        found.subject(lambda _: wrong), choose(), QUICK, cases=[case for case, _ in asked], stock=found.stock
    )
    assert (Status.FAILED in statuses(report).values()) == changed, sentences(report)
