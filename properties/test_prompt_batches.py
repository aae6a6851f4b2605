"""Prompts that are handed to ``generate`` in one call: each text is judged by its own prompt, and a refusal is no failure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from grounds import ground, listed, result_of, statuses, with_methods
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tree_oracle import ReferenceDecoder
from tree_oracle.checks import CHECKS, witness_of
from tree_oracle.checks.drive import drive
from tree_oracle.checks.prompt_batches import PROMPT_BATCHES, together
from tree_oracle.decoder import Seam
from tree_oracle.record import CaseFile, Limits, Report, RequestData, Round, Status, TreeData, UsageError
from tree_oracle.run import Budget, run_battery
from tree_oracle.run.cases import replay
from tree_oracle.target import Target

pytestmark = pytest.mark.sweep

LITTLE = Budget(shrink_runs=0, diagnose=False)
Answers = list[list[Round]]


def answering(change: Callable[[Sequence[Sequence[int]], Answers], Any]) -> Callable[[Target], Any]:
    """The reference, of whose answers for several prompts something else is made."""

    def made(target: Target) -> Any:
        def generate(prompts: Sequence[Sequence[int]], limits: Limits) -> Any:
            return change(prompts, ReferenceDecoder(target).generate(prompts, limits))

        return with_methods(generate=generate)

    return made


def judged(decoder: Any, *, whole: bool = False) -> Report:
    cases = listed(ground(), 6) if whole else ground().stock.of(PROMPT_BATCHES)
    checks = [CHECKS["SEQUENCE-01"]]
    return run_battery(ground().subject(decoder), checks, LITTLE, cases=cases, stock=ground().stock)


@settings(max_examples=max(2, settings().max_examples // 4))
@given(st.data())
def test_any_prompts_of_the_reference_pass(data: st.DataObject) -> None:
    """Whatever is asked together, the reference answers each prompt with plain greedy decoding's text."""
    case = data.draw(PROMPT_BATCHES.generated(ground().stock.stage))
    assert PROMPT_BATCHES.fits(case)
    report = run_battery(ground().subject(ReferenceDecoder), [CHECKS["SEQUENCE-01"]], LITTLE, cases=[case])
    assert statuses(report) == {"SEQUENCE-01": Status.PASSED}, str(report)


def untold(found: Answers) -> Answers:
    """The rounds without prefix and layout, which contradict a prompt that they do not belong to."""
    return [[replace(round_, prefix=None, visible=None, positions=None) for round_ in rounds] for rounds in found]


def of_first(_: Any, found: Answers) -> Answers:
    return untold([found[0]] * len(found))


def in_reverse(_: Any, found: Answers) -> Answers:
    return untold(found[::-1])


def cut_to_shortest(_: Any, found: Answers) -> Answers:
    texts = [[token for round_ in rounds for token in round_.emitted] for rounds in found]
    count = min(map(len, texts))
    return [[Round(emitted=(token,), tokens=(0, token), parents=(-1, 0)) for token in text[:count]] for text in texts]


def known_by(key: Callable[[Sequence[int]], Any]) -> Callable[[Any, Answers], Answers]:
    """Prompts with the same key get the text of the first of them."""

    def answers(prompts: Any, found: Answers) -> Answers:
        keys = [key(prompt) for prompt in prompts]
        return untold([found[keys.index(one)] for one in keys])

    return answers


WRONG = {
    "of the first": of_first,
    "in reverse": in_reverse,
    "cut to the shortest": cut_to_shortest,
    "known by the set": known_by(frozenset),
    "known by the ends": known_by(lambda prompt: (len(prompt), prompt[0], prompt[-1])),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_text_of_another_prompt_fails(wrong: Callable[[Any, Answers], Answers]) -> None:
    """The first prompt's text for all or for those that are alike, texts in another order, and all as long as the shortest:
    SEQUENCE-01 names the prompt."""
    (finding,) = result_of(judged(answering(wrong)), "SEQUENCE-01").findings
    assert finding.status is Status.FAILED
    assert finding.sentence.startswith("request ")
    assert finding.case is not None
    file = CaseFile(check="SEQUENCE-01", target="exact", decoder="wrong", case=finding.case)
    assert replay(file, ground().subject(answering(wrong))).exit_code == 1


def one_only(prompts: Sequence[Sequence[int]], found: Answers) -> Answers:
    if len(prompts) > 1:
        raise NotImplementedError("one prompt at a time")
    return found


def test_a_decoder_of_one_prompt_refuses_and_passes() -> None:
    """The refused cases are not applicable, and the check passes by all others."""
    assert statuses(judged(answering(one_only))) == {"SEQUENCE-01": Status.NOT_APPLICABLE}
    assert statuses(judged(answering(one_only), whole=True)) == {"SEQUENCE-01": Status.PASSED}


def tokens_alone(_: Any, found: Answers) -> list[list[int]]:
    return [[token for round_ in rounds for token in round_.emitted] for rounds in found]


def test_lumps_of_several_prompts_are_no_witness() -> None:
    """Right tokens alone, one lump per prompt, show no draft: not observable, and nothing is counted."""
    assert statuses(judged(answering(tokens_alone))) == {"SEQUENCE-01": Status.NOT_OBSERVABLE}
    lumps = tuple(Round(emitted=(1, 2, 3), prefix=(7,), request=number) for number in range(2))
    assert witness_of(lumps).rounds == 0
    assert witness_of((*lumps, replace(lumps[0], emitted=(4, 5)))).rounds == 2


def test_generate_is_asked_for_prompts_alone() -> None:
    """A case file whose requests have trees is no case for ``generate``."""
    case = together([(1,), (2,)], Limits(3))
    wrong = replace(case, batch=(RequestData(prompt=(1,), trees=(TreeData((1,), (-1,)),)),))
    with pytest.raises(UsageError, match="request 0 has trees, joins later or resumes"):
        drive(ReferenceDecoder(ground().target), Seam.GENERATE, wrong, 61)
