"""Stop rules that are wrong in ways that no planted fault is, and stop sequences that nobody can mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from grounds import ground, statuses
from msgspec.structs import replace

from tree_oracle.checks import choose
from tree_oracle.checks.stop_sequences import STOPS
from tree_oracle.decoder import Parts, ReferenceDecoder
from tree_oracle.decoder.seams import Opens, Session
from tree_oracle.decoder.stop import Ending, Tokens, cut
from tree_oracle.record import EndReason, FileError, Limits, Status, UsageError, read_case
from tree_oracle.run import Budget, run_battery
from tree_oracle.target import Target

IDS = ("STOP-01", "STOP-02", "STOP-03", "STOP-04")
Rule = Callable[[int, Tokens, Tokens, Limits], Ending]


def met(text: Tokens, limits: Limits) -> bool:
    return any(text[-len(sequence) :] == sequence for sequence in limits.stop)


class OnlyOpens:
    """The reference decoder with a stop rule made for each session; it can be driven and does not generate by itself."""

    def __init__(self, target: Target, rule_for: Callable[[Tokens], Rule]) -> None:
        self._target, self._rule_for = target, rule_for

    def open(self, prompts: Sequence[Sequence[int]], limits: Limits) -> Session:
        rule = self._rule_for(tuple(prompts[0]))
        decoder: Opens = ReferenceDecoder(self._target, parts=Parts(stop=rule))
        return decoder.open(prompts, limits)


def prompt_too(prompt: Tokens) -> Rule:
    """Stop sequences are looked for in prompt and text."""

    def rule(length: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
        for count in range(1, len(proposed) + 1):
            found = cut(length, emitted, proposed[:count], limits)
            if found[1] is not None:
                return found
            if met(prompt + emitted + proposed[:count], limits):
                return proposed[:count], EndReason.STOP
        return proposed, None

    return rule


def two_rounds(prompt: Tokens) -> Rule:
    """Only the round before is remembered."""
    begins = [0]

    def rule(length: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
        if begins[-1] != len(emitted):
            begins.append(len(emitted))
        gone = begins[-2] if len(begins) > 1 else 0
        blind = replace(limits, max_new_tokens=limits.max_new_tokens - gone)
        return cut(length + gone, emitted[gone:], proposed, blind)

    return rule


def first_sequence_only(prompt: Tokens) -> Rule:
    return lambda length, emitted, proposed, limits: cut(
        length, emitted, proposed, replace(limits, stop=limits.stop[:1])
    )


def sequence_cut_off(prompt: Tokens) -> Rule:
    """The stop sequence is not emitted."""

    def rule(length: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
        tokens, end = cut(length, emitted, proposed, limits)
        return (tokens[:-1] if end is EndReason.STOP else tokens), end

    return rule


def reason_of_the_cap(prompt: Tokens) -> Rule:
    """The cap is named where a stop sequence is the reason."""

    def rule(length: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
        tokens, end = cut(length, emitted, proposed, limits)
        full = len(emitted) + len(tokens) >= limits.max_new_tokens
        return tokens, EndReason.CAP if full and end is EndReason.STOP else end

    return rule


def reason_of_the_sequence(prompt: Tokens) -> Rule:
    """The stop sequence is named where an end token is the reason."""

    def rule(length: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
        tokens, end = cut(length, emitted, proposed, limits)
        return tokens, EndReason.STOP if end is EndReason.EOS and met(emitted + tokens, limits) else end

    return rule


PLANTED: dict[str, tuple[Callable[[Tokens], Rule], str]] = {
    "prompt too": (prompt_too, "STOP-04"),
    "two rounds": (two_rounds, "STOP-04"),
    "first sequence only": (first_sequence_only, "STOP-04"),
    "sequence cut off": (sequence_cut_off, "STOP-04"),
    "reason of the cap": (reason_of_the_cap, "STOP-03"),
    "reason of the sequence": (reason_of_the_sequence, "STOP-03"),
}


@pytest.mark.parametrize(("rule_for", "check"), PLANTED.values(), ids=PLANTED)
def test_a_wrong_stop_rule_is_caught_by_the_check_of_its_law(rule_for: Callable[[Tokens], Rule], check: str) -> None:
    """Driven round by round alone, each fails the check whose law it breaks."""
    found = ground()
    subject = found.subject(lambda target: OnlyOpens(target, rule_for))
    plan = Budget(cases=0, shrink_runs=0, diagnose=False)
    report = run_battery(subject, choose(ids=(check,)), plan, stock=found.stock)
    assert statuses(report)[check] is Status.FAILED


def test_the_listed_cases_hold_every_way_to_stop() -> None:
    """Thinning drops cases and no way: each of the scene's conditions is there, the third round and the prompt among them."""
    ways = {case.note.partition(";")[0] for case in STOPS.listed(ground().stock.stage)}
    assert {"a stop sequence crosses into the third round", "a stop sequence begins in the prompt"} <= ways
    assert len(ways) >= 12


@pytest.mark.parametrize("stop", [[(1, 2)], ([1, 2],), ("12",), (1, 2), ((),)])
def test_a_stop_sequence_that_no_text_can_equal_is_refused(stop: object) -> None:
    """Lists and strings equal no tuple of tokens, so that a text would never end; they are refused instead."""
    with pytest.raises(UsageError, match="stop"):
        Limits(9, stop=stop)  # type: ignore[arg-type]


@pytest.mark.parametrize("limits", ['{"max_new_tokens":9,"stop":[[]]}', '{"max_new_tokens":9,"stop":[1]}'])
def test_a_case_file_with_such_a_sequence_is_none(tmp_path: Path, limits: str) -> None:
    """What a file says is held to the same."""
    path = tmp_path / "case.json"
    head = '"format":"tree-oracle-case","version":1,"check":"STOP-04","target":"t","decoder":"d"'
    path.write_text(f'{{{head},"case":{{"prefix":[1],"limits":{limits}}}}}', encoding="utf-8")
    with pytest.raises(FileError, match="is not a tree-oracle-case file"):
        read_case(path)


def test_a_path_that_no_file_can_have_is_no_file() -> None:
    """The error is ours and not the operating system's."""
    with pytest.raises(FileError, match="cannot read"):
        read_case(Path("a\0b"))
