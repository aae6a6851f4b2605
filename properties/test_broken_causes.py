"""A decoder that breaks down is told from others by where it does and by what its answers hold, and by nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from grounds import ground

from tree_oracle.checks import CHECKS
from tree_oracle.decoder import Parts, ReferenceDecoder, Seam
from tree_oracle.decoder.encoded import BuiltAs
from tree_oracle.faults import FAULTS
from tree_oracle.record import Finding, Status
from tree_oracle.run import Battery, Budget
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.formats.parents import ParentList


def findings(factory: Callable[..., Any], check: str, seam: Seam) -> tuple[Finding, ...]:
    """What a check finds through one seam."""
    found = ground()
    sources = tuple(source for source in CHECKS[check].sources if source.seam is seam)
    battery = Battery(found.subject(factory), Budget(cases=0, shrink_runs=0), found.stock)
    result = battery.run(replace(CHECKS[check], sources=sources))
    assert result.status is Status.FAILED
    return result.findings


def names(finding: Finding) -> list[str]:
    return [cause.partition(":")[0] for cause in finding.causes]


def other_parents(tree: CandidateTree, prefix_len: int) -> ParentList:
    """No suspect: every node is put below the first one, itself among them."""
    return ParentList(tree.tokens, np.zeros(len(tree) - 1, dtype=np.int64))


def test_an_answer_that_is_no_tree_is_compared_in_full() -> None:
    """Parents that count the root are named by what the list holds; another list, refused in the same words, is not put to it."""
    (right,) = findings(FAULTS["built-with-root-counted"].decoder, "CONSTRUCT-01", Seam.BUILD)
    assert names(right) == ["built-with-root-counted"]
    parts = Parts(build=BuiltAs("parents-unlisted", other_parents))
    (other,) = findings(lambda target: ReferenceDecoder(target, parts), "CONSTRUCT-01", Seam.BUILD)
    assert other.sentence == right.sentence
    assert names(other) == []


@pytest.mark.sweep
def test_speculation_that_is_off_is_told_from_counters_that_count_too_much() -> None:
    """What a tap sees of nodes that are run one by one is no tree to be drafted again: the suspects draft by themselves."""
    for finding in findings(FAULTS["speculation-silently-off"].decoder, "WITNESS-03", Seam.TAP):
        assert names(finding) == ["speculation-silently-off"]
    for finding in findings(FAULTS["round-without-a-draft-counted"].decoder, "WITNESS-03", Seam.SESSION):
        assert "round-without-a-draft-counted" in names(finding)
        assert "speculation-silently-off" not in names(finding)


class Crashing:
    """Raises whatever it is asked."""

    def __init__(self, target: Any) -> None:
        pass

    def generate(self, prompts: Any, limits: Any, *, processors: Any = None) -> Any:
        raise RuntimeError("out of pages")


@pytest.mark.sweep
def test_a_decoder_that_always_raises_has_no_cause() -> None:
    """Nothing that it shows on any text, of this scene or another, tells a suspect from the others that raise."""
    for finding in findings(Crashing, "PATHSTATE-02", Seam.GENERATE):
        assert (finding.causes, finding.diagnosed_on) == ((), 0)


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["one-rejected-row-stays"])
def test_a_decoder_that_raises_from_the_second_round_on_has_a_hint(name: str) -> None:
    """The texts on which it does not raise tell suspects apart, and none is certain, since its drafts were not seen."""
    for finding in findings(FAULTS[name].decoder, "PATHSTATE-02", Seam.GENERATE):
        assert name in names(finding)
        assert not finding.certain
