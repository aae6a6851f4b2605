"""LAW: every planted fault of a law is caught by the check that must catch it, through the seam, and every twin passes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest
from law_decoders import LAW, judged, listed, outcomes, status_of

from tree_oracle.checks import CHECKS
from tree_oracle.decoder import Seam
from tree_oracle.decoder.sampled import SampledDecoder
from tree_oracle.faults.laws import LAW_FAULTS
from tree_oracle.record import Case, Status
from tree_oracle.verify.approximate import APPROXIMATE
from tree_oracle.verify.law import Declaration, Temperature, scheme_of
from tree_oracle.verify.rules import PROPOSALS, RULES, ByDepth

DEEP = os.environ.get("TREE_ORACLE_PROFILE") == "deep"
FINE = {Status.PASSED, Status.NOT_APPLICABLE}
FIRST = "LAW-03"  # rules on the declaration alone: any case will do


def decoder_of(rule: str, proposal: str, siblings: int = 2) -> SampledDecoder:
    """A decoder with that rule, that says so."""
    card = {**RULES, **APPROXIMATE}[rule]
    mode = Declaration(rule=rule, proposal=proposal, siblings=siblings)
    return SampledDecoder(scheme_of(card, PROPOSALS[proposal], ByDepth((siblings, 1))), mode)


def shorter(case: Case) -> Case:
    """The same with a quarter of the texts: what is right is right on fewer."""
    assert case.law is not None
    return msgspec.structs.replace(case, law=msgspec.structs.replace(case.law, sessions=case.law.sessions // 4))


@pytest.mark.sweep
@pytest.mark.parametrize("name", LAW_FAULTS)
def test_a_fault_is_caught_and_its_twin_is_not(name: str) -> None:
    """The named check fails on a listed case and says what was seen; on that same case the twin passes."""
    fault = LAW_FAULTS[name]
    found = outcomes(fault.sampling(), fault.check)
    outcome, seam, case = next((one for one in found if one[0].status is Status.FAILED), (None, None, None))
    assert outcome is not None, f"{fault.check} misses {name}"
    assert seam is not None
    assert case is not None
    finding = outcome.findings[0]
    assert "raised" not in finding.sentence
    assert all((finding.sentence, finding.expected, finding.seen))
    twin = judged(fault.twin_sampling(), fault.check, seam, shorter(case))
    due = FINE if name == "pruned-after-the-draw" else {Status.PASSED}  # its twin needs no law of the draft
    assert twin.status in due, twin.reason


@pytest.mark.skipif(not DEEP, reason="thirty decoders judged by six checks take minutes: in the deep profile")
@pytest.mark.parametrize("name", LAW_FAULTS)
def test_a_twin_passes_every_check(name: str) -> None:
    """No listed case of any check of the family is held against a twin."""
    fault = LAW_FAULTS[name]
    for check in LAW:
        for outcome, _, _ in outcomes(fault.twin_sampling(), check):
            assert outcome.status in {*FINE, Status.NOT_OBSERVABLE}, (check, outcome.reason)


def test_every_check_of_the_family_must_catch_some_fault() -> None:
    """No check of the family is without a planted fault that it alone has to catch."""
    assert {fault.check for fault in LAW_FAULTS.values()} == set(LAW)


@pytest.mark.parametrize("check", LAW)
def test_the_reference_passes(check: str) -> None:
    """The reference way to sample passes on every listed case that the check applies to, and on most of them."""
    statuses = [outcome.status for outcome, _, _ in outcomes(SampledDecoder(), check)]
    assert set(statuses) <= FINE
    assert statuses.count(Status.PASSED) > len(statuses) / 2


RIGHT = [(card.name, proposal) for card in RULES.values() for proposal in sorted(card.exact_under)[:1]]


@pytest.mark.parametrize(("rule", "proposal"), RIGHT)
def test_every_exact_rule_follows_itself_and_the_target(rule: str, proposal: str) -> None:
    """Each exact rule, run in floats, takes the scripted coins as its own fractions do, and emits the target."""
    decoder = decoder_of(rule, proposal, RULES[rule].siblings or 2)
    # pairs and chains over four tokens; spec-hub and chain rules refuse one of the two
    follows, emits = status_of(decoder, "LAW-01", 2), status_of(decoder, "LAW-02", 2)
    assert follows | emits <= FINE
    # what is no single coupling has no edges that are known
    assert (Status.PASSED in follows) == (Status.PASSED in emits) == (rule != "transport")


def test_edges_hold_in_half_the_digits() -> None:
    """Scripted coins keep so far from every edge that laws and coins rounded to float32 decide the same."""

    class Single(SampledDecoder):
        def accept_sampled(self, tree: Any, target: Any, draft: Any, coins: Iterator[float]) -> Any:
            rounded = (rows.astype(np.float32).astype(np.float64) for rows in (target, draft))
            near, far = rounded
            return SampledDecoder.accept_sampled(self, tree, near, far, (float(np.float32(u)) for u in coins))

    assert status_of(Single(), "LAW-01", 4) == {Status.PASSED}


@pytest.mark.parametrize("rule", APPROXIMATE)
def test_an_approximate_mode_never_passes_as_exact(rule: str) -> None:
    """What is approximate by name is not judged as a law, and its distance is in the reason."""
    decoder = decoder_of(rule, "independent", APPROXIMATE[rule].siblings or 2)
    seam, case = listed(FIRST)[0]
    outcome = judged(decoder, FIRST, seam, case)
    assert outcome.status is Status.NOT_APPLICABLE
    assert f"{rule} is an approximate mode" in outcome.reason
    assert "total variation" in outcome.reason
    assert status_of(decoder, "LAW-02", 1) == {Status.NOT_APPLICABLE}


def test_texts_of_an_approximate_mode_are_shown_and_not_judged() -> None:
    """The joint test of a mode that is approximate by name says what it saw, and does not apply."""
    outcome = judged(decoder_of("typical", "deterministic"), "LAW-04", *listed("LAW-04")[-1])
    assert outcome.status is Status.NOT_APPLICABLE
    assert "typical is an approximate mode; 450 times after []" in outcome.reason


def test_an_approximate_mode_is_held_to_what_it_declares() -> None:
    """Two lenient rules differ, so one that declares the other fails LAW-01, whatever their distance from the target."""
    strict = decoder_of("ratio-chain", "independent", 1)
    strict.declared_mode = Declaration(rule="lenience", proposal="independent", siblings=1)
    assert Status.FAILED in status_of(strict, "LAW-01", 2)


def test_a_flagged_mode_fails_with_its_counterexample() -> None:
    """A declaration outside the proven table names its reason, and laws on which the text is wrong."""
    decoder = decoder_of("multi-round", "deterministic")
    outcome = judged(decoder, FIRST, *listed(FIRST)[0])
    assert outcome.status is Status.FAILED
    assert "multi-round is exact under independent siblings, not deterministic" in outcome.reason
    assert "total variation 1/2 at p = (1/2, 1/2), q = (1/2, 1/2)" in outcome.findings[0].seen


def test_a_processed_text_is_judged_by_the_processed_law() -> None:
    """A decoder that declares a temperature and applies it passes; the same one without the declaration fails."""
    mode = Declaration(
        rule="without-replacement", proposal="without-replacement", processing=Temperature(Fraction(1, 2))
    )
    seam, case = listed("LAW-04")[0]
    cooled = SampledDecoder(declared_mode=mode)
    assert judged(cooled, "LAW-04", seam, shorter(case)).status is Status.PASSED

    class Silent(SampledDecoder):
        declared_mode = None  # type: ignore[assignment]

        def __init__(self) -> None:
            self.open_sampled = cooled.open_sampled  # type: ignore[method-assign]

    assert judged(Silent(), "LAW-04", seam, case).status is Status.FAILED


class OwnChance:
    """A decoder that draws from the target with numbers of its own, and shows tokens alone."""

    def __init__(self) -> None:
        self._chance = np.random.default_rng(5)

    def open_sampled(self, target: Any, draft: Any) -> OwnChance:
        self._target, self._text = target, tuple[int, ...]()
        return self

    def step(self, coins: Iterator[float]) -> dict[str, Any]:
        law = self._target(self._text)
        self._text += (int(self._chance.choice(len(law), p=law)),)
        return {"emitted": self._text[-1:]}


def test_a_decoder_with_chance_of_its_own_is_judged_by_its_texts() -> None:
    """It passes the joint test; what needs our coins, its trees or a declaration is not observable."""
    seen = {check: {judged(OwnChance(), check, *one).status for one in through(check)} for check in LAW[2:]}
    assert seen == {
        "LAW-03": {Status.NOT_OBSERVABLE},
        "LAW-04": {Status.PASSED},
        "LAW-05": {Status.NOT_OBSERVABLE},
        "LAW-06": {Status.NOT_OBSERVABLE},
    }


def through(check: str) -> list[tuple[Any, Any]]:
    """The cases of a check for whole texts, the first two of them."""
    return [one for one in listed(check) if one[0] is Seam.SAMPLED_SESSION][:2]


def test_without_a_declared_mode_nothing_is_said_of_a_rule() -> None:
    """Rules and modes are not observable, never passed, where nothing is declared."""
    silent = SampledDecoder(declared_mode=None)  # type: ignore[arg-type]
    for check in ("LAW-01", "LAW-02", "LAW-03"):
        seam, case = next(one for one in listed(check) if one[0] is Seam.ACCEPT_SAMPLED)
        outcome = judged(silent, check, seam, case)
        assert outcome.status is Status.NOT_OBSERVABLE
        assert outcome.reason == "the decoder declares no mode (declared_mode)"


def test_the_family_is_on_the_fourth_rung() -> None:
    """Laws come after greedy equality on the ladder, and each has its law as a sentence."""
    for check in LAW:
        assert CHECKS[check].rung == 4
        assert CHECKS[check].law.endswith(".")
