"""A cause is called certain only if it is the right one: neighbours of a suspect are told from it, listed as suspects or not."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from grounds import ground

from tree_oracle.checks import CHECKS
from tree_oracle.decoder import ReferenceDecoder, Seam
from tree_oracle.decoder.parts import Parts
from tree_oracle.decoder.stop import Ending, Tokens, cut
from tree_oracle.faults import suspects
from tree_oracle.record import Case, EndReason, Finding, Limits, case_id
from tree_oracle.run import Battery, Budget, forms
from tree_oracle.run.diagnosis import Diagnosis

pytestmark = pytest.mark.sweep


def blind(limits: Limits) -> Limits:
    return msgspec.structs.replace(limits, eos_ids=())


def names_the_sequence(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Written apart: right texts, whose reason is the sequence where an end token completes it."""
    text, end = cut(prompt, emitted, proposed, limits)
    without = cut(prompt, emitted, proposed, blind(limits))
    return (text, EndReason.STOP) if end is EndReason.EOS and without == (text, EndReason.STOP) else (text, end)


def first_round_blind(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """Written apart: the first round knows no end tokens."""
    return cut(prompt, emitted, proposed, limits if emitted else blind(limits))


def first_token_blind(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """No suspect: after an end token that is the text's first, the round is emitted whole."""
    text, end = cut(prompt, emitted, proposed, limits)
    missed = not emitted and end is EndReason.EOS and len(text) == 1 and len(proposed) > 1
    return (proposed, None) if missed else (text, end)


CASES = {
    "reason": (names_the_sequence, "STOP-03", "stop-sequence-named-first"),
    "round": (first_round_blind, "STOP-01", "end-tokens-ignored-in-first-round"),
    "token": (first_token_blind, "SESSION-01", ""),
}


# Neighbours that differ from a fault above in less than the cases of other scenes show.
LIKE = {"first-token-never-ends", "end-tokens-ignored-beside-stop-sequences"}


def findings(name: str) -> tuple[Finding, ...]:
    stop, check, _ = CASES[name]
    found, budget = ground(), Budget(cases=0, shrink_runs=0)
    subject = found.subject(lambda target: ReferenceDecoder(target, Parts(stop=stop)))
    sessions = tuple(
        source for source in CHECKS[check].sources if source.seam is Seam.SESSION
    )  # texts would say the same
    return Battery(subject, budget, found.stock).run(replace(CHECKS[check], sources=sessions)).findings


@pytest.mark.parametrize("name", ["round"])  # "reason" takes as long as all the rest of this file
def test_a_fault_that_is_a_suspect_is_named(name: str) -> None:
    """Alone if it is certain, and among the causes wherever there are any."""
    found, right = findings(name), CASES[name][2]
    assert any(finding.causes for finding in found)
    for finding in found:
        named = [cause.partition(":")[0] for cause in finding.causes]
        assert right in named
        assert not finding.certain or named == [right]


@pytest.mark.parametrize("name", CASES)
def test_without_its_like_no_cause_is_certain(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A neighbour fits the failing scene and is not certain: it strays from the decoder in another one."""
    mine = {right for _, _, right in CASES.values()} | LIKE
    monkeypatch.setattr(forms, "SUSPECTS", tuple(s for s in suspects.SUSPECTS if s.name not in mine))
    found = findings(name)
    assert found
    assert not any(finding.certain for finding in found)


def test_one_telling_case_is_not_enough() -> None:
    """What the decoder shows on cases where nothing is to be explained makes no cause certain."""
    suspect = suspects.SUSPECTS[0]
    assert not Diagnosis((suspect,), (), 31, telling=1).certain
    assert Diagnosis((suspect,), (), 31, telling=2).certain
    assert not Diagnosis((suspect,), (), 31, telling=2, contradicted_by=Case(prefix=(1,))).certain


def test_what_certainty_lacks_is_said() -> None:
    """Each thing that is missing is named, all of them if several are; nothing is where a cause is certain, or where none fits."""
    one, two = suspects.SUSPECTS[:2]
    contradicting = Case(prefix=(1,), note="a long prompt")
    assert Diagnosis((), (one,), 31).uncertain == ""
    assert Diagnosis((one,), (), 31, telling=2).uncertain == ""
    assert Diagnosis((one, two), (), 31).uncertain == "no case that was tried tells the 2 apart"
    assert Diagnosis((one,), (), 31, telling=1).uncertain == (
        "the decoder strays from the reference on one case only; 2 are needed"
    )
    assert Diagnosis((one,), (), 31, doubted=3).uncertain == (
        "the decoder strays from the reference on no case, beside 3 cases on which nothing tells which of two trees was drafted; "
        "2 are needed"
    )
    told = Diagnosis((one,), (), 31, drafted_alike=False, contradicted_by=contradicting, telling=2).uncertain
    assert told == (
        f"case {case_id(contradicting)} contradicts it (a long prompt); not all that was drafted was seen, so that suspects drafted trees of their own"
    )
