"""``tree-oracle law`` and the page on what lossless means say what the code says."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tree_oracle.cli import main
from tree_oracle.decoder.sampled import SampledDecoder
from tree_oracle.faults.laws import LAW_FAULTS
from tree_oracle.record import LawData, UsageError
from tree_oracle.run.law_sampling import sample
from tree_oracle.verify.approximate import APPROXIMATE, REDUCED
from tree_oracle.verify.law import Standing, declarations, rule_on, stored_answers
from tree_oracle.verify.law.page import render
from tree_oracle.verify.rules import RULES

PAGE = Path(__file__).parents[1] / "docs" / "what-lossless-means.md"
GOLDEN = LawData(target=(1, 5, 9, 5), draft=(8, 6, 2, 4), rounds=3, sessions=300)


def law(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["law", *arguments])


def data(*arguments: str) -> Any:
    return json.loads(law(*arguments, "--json").output)


@pytest.mark.sweep
def test_the_committed_page_is_the_generated_one() -> None:
    """``docs/what-lossless-means.md`` is what the command writes, byte for byte, and has a line per declaration."""
    page = render()
    assert PAGE.read_text(encoding="utf-8") == page
    for declaration in declarations():
        assert f"| {declaration.rule} | {declaration.siblings} {declaration.proposal} | " in page
    for name in {**RULES, **REDUCED, **APPROXIMATE}:
        assert f"\n| {name} | " in page


def test_one_rule_with_every_proposal() -> None:
    """Each line has the standing that ``rule_on`` gives, and only what is proven has no reason against it."""
    rows = data("multi-round")
    due = {one.proposal: rule_on(one) for one in declarations() if one.rule == "multi-round"}
    assert {row["proposal"]: row["standing"] for row in rows} == {name: r.standing.value for name, r in due.items()}
    assert all((row["reason"] == "") == (row["standing"] == "proven") for row in rows)
    assert [row["proposal"] for row in rows if row["standing"] == "proven"] == ["independent"]
    text = law("multi-round").output
    assert "multi-round  an exact rule, R3" in text
    assert "SpecInfer" in text


def test_the_figures_of_a_pair_of_laws_are_those_on_record() -> None:
    """Distances and acceptances are the stored fractions, whatever way they are printed."""
    rows = data("without-replacement", "--instance", "golden")
    for row in rows:
        stored = stored_answers()["golden"][row["proposal"]]["without-replacement"]
        assert (row["total_variation"], row["acceptance"]) == (stored["total_variation"], stored["acceptance"])
    printed = law("without-replacement", "--instance", "golden").output
    assert all(row["acceptance"] in printed for row in rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("r4",), "there is no rule 'r4'; expected one of sample-match"),
        (("--instance", "gold"), "there is no instance 'gold'; expected one of golden"),
        (("block", "--sample"), "a decoder declares its rule itself; take RULE away"),
        (("spec-hub", "--instance", "exhausted"), "spec-hub takes none of the proposals on exhausted"),
    ],
)
def test_what_does_not_exist_is_named(arguments: tuple[str, ...], message: str) -> None:
    """A wrong name ends with exit code 2 and says what there is."""
    result = law(*arguments)
    assert result.exit_code == 2
    assert message in result.output


@pytest.fixture
def decoders(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module whose decoders sample rightly and wrongly."""
    module = ModuleType("law_subjects")
    module.right = lambda target: SampledDecoder()  # type: ignore[attr-defined]
    module.wrong = LAW_FAULTS["likelier-of-two"].decoder  # type: ignore[attr-defined]
    module.flagged = LAW_FAULTS["top-k-with-ratio"].decoder  # type: ignore[attr-defined]
    module.mute = lambda target: type("Mute", (), {"accept": lambda self, tree, rows: ((), 0)})()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "law_subjects", module)


@pytest.mark.usefixtures("decoders")
def test_a_decoder_is_sampled_until_the_evidence_is_enough() -> None:
    """A right decoder uses all sessions; a wrong one is stopped early, and its exit code is 1."""
    right = data("--decoder", "law_subjects:right", "--sessions", "100")
    assert (right["sampled"]["refuted"], right["sampled"]["sessions"]) == (False, 100)
    assert right["declared"]["standing"] == "proven"
    result = law("--decoder", "law_subjects:wrong", "--sessions", "2000")
    assert result.exit_code == 1
    assert "does not follow the target: e = 10^6" in result.output
    assert "a right decoder is called wrong at most once in 1,000,000 runs" in result.output
    assert "is expected to show after the commonest history" in result.output


@pytest.mark.usefixtures("decoders")
def test_a_mode_that_is_not_exact_is_said_to_be_none() -> None:
    """A flagged declaration ends with exit code 1, with its reason and counterexample, however few texts are sampled."""
    result = law("--decoder", "law_subjects:flagged", "--sessions", "1")
    assert result.exit_code == 1
    assert "standing   flagged" in result.output
    assert "multi-round is exact under independent siblings, not deterministic" in result.output


@pytest.mark.usefixtures("decoders")
def test_a_decoder_that_cannot_be_sampled_is_told_so() -> None:
    """Without ``open_sampled`` there is nothing to sample."""
    result = law("--decoder", "law_subjects:mute")
    assert result.exit_code == 2
    assert "law_subjects:mute has no method open_sampled; nothing can be sampled" in result.output


def test_the_same_seed_gives_the_same_figures() -> None:
    """Coins come from the seed alone."""
    assert sample(SampledDecoder(), None, GOLDEN) == sample(SampledDecoder(), None, GOLDEN)


def test_nothing_to_sample_is_refused() -> None:
    """At least one session and one round must be asked for."""
    with pytest.raises(UsageError, match="0 sessions of 3 rounds; expected at least one of each"):
        sample(SampledDecoder(), None, LawData(target=(1, 1), draft=(1, 1), rounds=3))


def test_only_what_is_refuted_says_so() -> None:
    """A ruling is refuted exactly where a counterexample stands beside it."""
    for declaration in declarations():
        if declaration.proposal == "deterministic":
            ruling = rule_on(declaration)
            assert ruling.refuted == (ruling.counterexample is not None)
            assert not (ruling.refuted and ruling.standing is Standing.PROVEN)
