"""Claim: a decoder described by functions is judged as the decoder is: the reference passes, and no fault gets lost on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from described_reference import FOREIGN, described
from grounds import ground, result_of, sentences, statuses
from law_decoders import status_of

from tree_oracle.adapters import Convention, describe
from tree_oracle.checks import CHECKS, choose
from tree_oracle.decoder import Seam, seams_of
from tree_oracle.faults import find_fault
from tree_oracle.record import AdapterError, Limits, Status, Unsupported, UsageError
from tree_oracle.run import Budget, run_battery
from tree_oracle.tree import CandidateTree

pytestmark = pytest.mark.sweep

QUICK = Budget(cases=0, shrink_runs=0, diagnose=False)
CONVENTIONS = {"ours": Convention(), "foreign": FOREIGN, "added": Convention(mask="additive", root_counted=False)}
SEAMS = {
    "layout": {"lay_out"},
    "masked": {"lay_out", "tree_logits"},
    "rows": {"tree_logits"},
    "build": {"build_tree"},
    "verify": {"accept"},
    "verify_sampled": {"accept_sampled"},
    "text": {"generate"},
}
FAULTS = {
    "sibling-leak": "layout",
    "position-by-slot": "layout",
    "flat-causal-mask": "masked",
    "rows-one-slot-late": "rows",
    "orphan-kept": "build",
    "previous-slot-row": "verify",
    "bonus-by-count": "verify",
    "cap-not-cut": "text",
    "bonus-withheld": "text",
}


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_the_reference_passes_through_every_kind(convention: str) -> None:
    """Under conventions that differ from ours in everything, no check holds anything against the reference, and all judge it."""
    found, kinds = ground(), [kind for kind in SEAMS if kind not in ("layout", "rows", "verify_sampled")]
    factory = described(*kinds, convention=CONVENTIONS[convention])
    subject = found.subject(factory)
    assert {seam.value for seam in subject.seams} >= set().union(*(SEAMS[kind] for kind in kinds))
    checks = choose(
        families=["CONSTRUCT", "VISIBLE", "POSITION", "HISTORY", "GATHER", "GREEDY", "STOP", "METRIC", "SEQUENCE"]
    )
    scenes = {
        source.scene.name: source.scene for one in checks for source in one.sources if source.seam in subject.seams
    }
    first = list(CONVENTIONS).index(convention)
    cases = [case for scene in scenes.values() for case in found.stock.of(scene)[first::15]]
    report = run_battery(subject, checks, QUICK, cases=cases, stock=found.stock)
    assert Status.FAILED not in statuses(report).values(), sentences(report)
    assert Status.ERROR not in statuses(report).values(), sentences(report)
    for check in ("CONSTRUCT-04", "VISIBLE-03", "POSITION-01", "HISTORY-01", "GATHER-01", "GREEDY-02", "STOP-02"):
        assert result_of(report, check).status is Status.PASSED, check
    assert result_of(report, "SEQUENCE-01").status is Status.PASSED
    assert report.exit_code == 0


@pytest.mark.parametrize("kind", SEAMS)
def test_a_kind_offers_its_seams_and_no_others(kind: str) -> None:
    """What is not described is not there: a report says that it was not observable."""
    made = described(kind)(ground().target)
    assert {seam.value for seam in seams_of(made)} == SEAMS[kind]


@pytest.mark.parametrize("convention", ["ours", "foreign"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_caught_by_its_check_through_the_description(fault: str, convention: str) -> None:
    """The check that must catch a planted fault catches it through the functions of the kind that can show it."""
    planted, said, found = find_fault(fault), CONVENTIONS[convention], ground()
    subject = found.subject(described(FAULTS[fault], make=planted.decoder, convention=said))
    sources = [source for source in CHECKS[planted.check].sources if source.seam in subject.seams - {Seam.TAP}]
    cases = [case for source in sources for case in found.stock.of(source.scene)[:50]]
    report = run_battery(subject, choose(ids=[planted.check]), QUICK, cases=cases, stock=found.stock)
    assert statuses(report) == {planted.check: Status.FAILED}, sentences(report)


def test_a_rule_by_chance_is_judged_through_its_description() -> None:
    """Without-replacement sampling passes LAW-01 on scripted coins; what takes the best token always does not."""
    right = described("verify_sampled", convention=Convention(root_in_path=True))(ground().target)
    assert status_of(right, "LAW-01", 2) <= {Status.PASSED, Status.NOT_APPLICABLE}
    assert Status.PASSED in status_of(right, "LAW-01", 2)
    wrong = describe(
        verify_sampled=lambda tree, target, draft, coins: ([], int(np.argmax(target[0]))),
        declared_mode=right.declared_mode,
    )(ground().target)
    assert Status.FAILED in status_of(wrong, "LAW-01", 2)


def test_a_mask_of_four_axes_reaches_the_model_as_it_is() -> None:
    """The very tensor that the project made is handed to the target, in prefix columns and dtype."""
    target, seen = ground().target, []
    target.model.register_forward_pre_hook(
        lambda _, args, kwargs: seen.append(kwargs.get("attention_mask")), with_kwargs=True
    )
    mask = torch.zeros(1, 1, 2, 4)

    decoder = describe(masked=lambda prefix_len: (mask, [2, 3]), convention=Convention(mask="additive"))(target)
    decoder.tree_logits([5, 6, 7], CandidateTree([7, 1], [-1, 0]))
    assert seen[-1] is mask


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "nothing is described; expected at least one of layout, masked"),
    "unknown parameter": (
        {"verify": lambda tokens, scores: None},
        "verify takes 'scores', which cannot be handed over",
    ),
    "unreadable": ({"verify": 3}, "verify is 3, whose parameters cannot be read; wrap it in a lambda"),
    "two passes": ({"masked": lambda tree: None, "rows": lambda tree: None}, "masked stands for both layout and rows"),
    "names alone": ({"verify": lambda rows: None, "names": {"a": "b"}}, "expected encoding=... beside them"),
    "no encoding": ({"layout": lambda tree: None, "encoding": "medusas"}, "no encoding is named 'medusas'"),
    "no field": (
        {"layout": lambda tree: None, "encoding": "medusa", "names": {"mask": "m"}},
        "medusa has no field 'mask'; expected one of tokens, choices",
    ),
    "no round field": ({"text": lambda prompt: None, "rounds": {"taken": "a"}}, "a round has no field 'taken'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_description_that_makes_no_sense_is_refused(name: str) -> None:
    """What cannot be called is said before anything runs, with what would be known."""
    given, sentence = REFUSED[name]
    with pytest.raises(UsageError, match=sentence):
        describe(**given)


def test_a_convention_has_few_values() -> None:
    """A value that is none of a field's is refused by name."""
    with pytest.raises(UsageError, match="mask is 'inverted'; expected one of 'visible', 'hidden', 'additive'"):
        Convention(mask="inverted")
    with pytest.raises(UsageError, match="root_counted is 1; expected one of True, False"):
        Convention(root_counted=1)  # type: ignore[arg-type]


def text_of(function: Any, limits: Limits, **said: Any) -> Any:
    decoder: Any = describe(text=function, **said)(ground().target)
    return decoder.generate([[3, 4]], limits)


def test_what_a_function_does_not_take_is_not_asked_of_it() -> None:
    """Limits without a parameter are refused; a bound on the whole length becomes a number of tokens."""
    count = lambda prompt, max_new_tokens: [0] * max_new_tokens  # noqa: E731
    assert text_of(count, Limits(5, max_length=4)) == [[0, 0]]
    assert text_of(lambda prompt, max_length: [0] * max_length, Limits(5, max_length=4)) == [[0] * 4]
    for limits in (Limits(5, (1,)), Limits(5, stop=((1,),)), Limits(5, min_new=2)):
        with pytest.raises(Unsupported, match="this function takes"):
            text_of(count, limits)
    with pytest.raises(Unsupported, match="takes one end token"):
        text_of(lambda prompt, max_new_tokens, eos_token_id: [], Limits(5, (1, 2)))


def test_the_rounds_account_for_the_text() -> None:
    """Tokens before the first round and beyond the end are told apart; rounds of another text are the adapter's error."""

    def told(text: list[int], *rounds: list[int]) -> Any:
        def run(prompt: Any, max_new_tokens: int, on_round: Any) -> list[int]:
            for emitted in rounds:
                on_round({"emitted": emitted})
            return text

        (found,) = text_of(run, Limits(9))
        return [round_["emitted"] for round_ in found]

    assert told([1, 2, 3], [1], [2, 3]) == [[1], [2, 3]]
    assert told([1, 2, 3], [2, 3]) == [[1], [2, 3]]
    assert told([1, 2, 3], [2, 3, 4]) == [[1], [2, 3]]
    assert told([1]) == [[1]]
    for wrong in ([[1, 2, 4]], [[1], [2, 3], [4, 5]], [[3], [2]]):
        with pytest.raises(AdapterError, match="the callback was told of tokens"):
            told([1, 2, 3], *wrong)


def test_paths_and_texts_that_are_not_as_was_said_are_the_adapters_error() -> None:
    """A path without its root and a text without its prompt are named, and no failure of the decoder."""
    for said, run in (
        (Convention(root_in_path=True), {"verify": lambda rows: ([1], 0)}),
        (Convention(prompt_in_text=True), {"text": lambda prompt, max_new_tokens: [1] * max_new_tokens}),
    ):
        report = ground().report(describe(**run, convention=said), "GREEDY-02", "SEQUENCE-01", budget=QUICK)
        assert Status.ERROR in statuses(report).values()
        assert report.exit_code == 3
        assert any(
            "as root_in_path=True says" in one or "as prompt_in_text=True says" in one for one in sentences(report)
        )


def test_an_encoding_is_run_on_too() -> None:
    """A target is run with the mask and positions that stand in an engine's buffers under names of its own."""

    def buffers(tree: CandidateTree, eagle: Any) -> dict[str, Any]:
        return {"mask_": torch.from_numpy(eagle.attn_mask), "ids": eagle.position_ids, "rows_": eagle.retrieve_indices}

    names = {"attn_mask": "mask_", "position_ids": "ids", "retrieve_indices": "rows_"}
    report = ground().report(
        describe(masked=buffers, encoding="eagle", names=names), "VISIBLE-03", "POSITION-01", "HISTORY-01", budget=QUICK
    )
    assert set(statuses(report).values()) == {Status.PASSED}, sentences(report)
