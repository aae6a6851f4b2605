"""The doctor lets texts end and looks at how they are handed over: what an adapter leaves out there is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from grounds import ground, result_of

from tree_oracle.checks import CHECKS, choose
from tree_oracle.decoder import ReferenceDecoder, Seam
from tree_oracle.record import DecoderError, Limits, Round, Status
from tree_oracle.run import Budget, examine, make_subject, run_battery
from tree_oracle.run.battery import Battery
from tree_oracle.run.conventions import fitting_convention
from tree_oracle.run.doctor_ends import examine_ends

pytestmark = pytest.mark.sweep

ONCE = Budget(cases=0, shrink_runs=0, diagnose=False)


class Texts:
    """Tokens alone, in the way that ``hand_over`` says."""

    def __init__(self, target: Any, hand_over: Any) -> None:
        self._inner, self._hand_over = ReferenceDecoder(target), hand_over

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> Any:
        """What is handed over for all prompts."""
        rounds = self._inner.generate(prompts, limits)
        return self._hand_over(prompts, [[t for round_ in text for t in round_.emitted] for text in rounds])


HANDED = {
    "the prompt stands before each text": lambda prompts, texts: [
        [*p, *t] for p, t in zip(prompts, texts, strict=True)
    ],
    "one text is answered and not a list of texts": lambda prompts, texts: texts[0],
    "": lambda prompts, texts: texts,
}


@pytest.mark.parametrize("named", HANDED)
def test_how_texts_are_handed_over_is_named(named: str) -> None:
    """A text with its prompt before it, and a text that is no list of texts, are named as what they are; others are not."""
    subject = ground("exact", cases=0).subject(lambda target: Texts(target, HANDED[named]))
    hint = fitting_convention(subject, Seam.GENERATE)
    assert named in hint
    assert bool(hint) == bool(named)


class Silent:
    """A session whose rounds show no end, and which, once a text has ended, does with the next tree what ``then`` says."""

    def __init__(self, session: Any, then: str) -> None:
        self._session, self._then, self._over = session, then, False

    def step(self, trees: Any) -> list[dict[str, Any]]:
        """One round."""
        if self._over and self._then != "go on":
            if self._then == "raise":
                raise RuntimeError("nothing left to decode")
            return [{"emitted": []}] if self._then == "nothing" else []
        found: list[Round] = self._session.step(trees)
        self._over = found[0].end is not None
        return [{"emitted": found[0].emitted, "accepted": found[0].accepted, "bonus": found[0].bonus}]


class Steps:
    """One request at a time; ``"go on"`` takes any tree for an ended text as well."""

    def __init__(self, target: Any, then: str) -> None:
        self._inner, self._then = ReferenceDecoder(target), then

    def open(self, prompts: Sequence[Sequence[int]], limits: Limits) -> Silent:
        """A session without ends."""
        if len(prompts) > 1:
            raise NotImplementedError("one request")
        endless = Limits(1 << 20) if self._then == "go on" else limits
        return Silent(self._inner.open(prompts, endless), self._then)


@pytest.mark.parametrize("then", ["raise", "nothing", "fewer", "go on"])
def test_a_session_that_ends_in_silence_is_blamed_for_it(then: str) -> None:
    """Whatever it does with one more tree, the doctor lets a text end and says that ``end`` is missing; where the session just goes
    on there is nothing to blame."""
    subject = ground("exact", cases=0).subject(lambda target: Steps(target, then))
    (line,) = examine_ends(Battery(subject, ONCE), Seam.SESSION)
    assert line.what == "ends"
    if then == "go on":
        assert (line.good, "no round shows end" in line.sentence) == (None, True)
    else:
        assert line.good is False
        assert "show end in that round" in line.sentence


@pytest.mark.parametrize("seam", [Seam.SESSION, Seam.GENERATE])
def test_rounds_that_show_their_end_are_well(seam: Seam) -> None:
    """The reference ends by an end token and by a cap, and says so."""
    (line,) = examine_ends(Battery(ground("exact", cases=0).subject(ReferenceDecoder), ONCE), seam)
    assert line.good is True


class Endless:
    """Whole generations whose rounds show everything but their end."""

    def __init__(self, target: Any) -> None:
        self._inner = ReferenceDecoder(target)

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> Any:
        """Rounds."""
        names = ("emitted", "tokens", "parents", "accepted")
        rounds = self._inner.generate(prompts, limits)
        return [[{name: getattr(round_, name) for name in names} for round_ in text] for text in rounds]


def test_a_cut_round_that_does_not_say_so_is_no_failure() -> None:
    """Where the limits end a text inside a round the round counts as cut, said or not; the doctor says that it is not said."""
    found = ground("exact", cases=0)
    report = run_battery(found.subject(Endless), choose(ids=("METRIC-01",)), ONCE, stock=found.stock)
    assert result_of(report, "METRIC-01").status is Status.PASSED
    (line,) = examine_ends(Battery(found.subject(Endless), ONCE), Seam.GENERATE)
    assert (line.good, "STOP-03" in line.sentence) == (None, True)


class Withheld(Endless):
    """The bonus of a round that ends nothing is left out, and comes with the next round."""

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> Any:
        """Rounds, of which the first emits one token less and the second one more."""
        texts = super().generate(prompts, limits)
        for text in texts:
            if len(text) > 2:
                text[1]["emitted"] = (*text[0]["emitted"][-1:], *text[1]["emitted"])
                text[0]["emitted"] = text[0]["emitted"][:-1]
        return texts


def test_a_bonus_that_is_withheld_still_fails() -> None:
    """That a round may be cut in silence excuses no round before the end."""
    found = ground("exact", cases=0)
    check, source = CHECKS["METRIC-01"], CHECKS["METRIC-01"].sources[1]
    battery = Battery(found.subject(Withheld), ONCE, found.stock)
    statuses = [battery.judge(check, source, case).status for case in found.stock.of(source.scene)]
    assert Status.FAILED in statuses


def test_a_breakdown_after_a_silent_end_says_what_is_missing() -> None:
    """Requests of a session that keep their places when they have ended, and never say so, are told what to show."""
    found = ground("exact", cases=0)
    check = CHECKS["BATCH-02"]
    source = check.sources[0]

    class Keeps:
        def __init__(self, target: Any) -> None:
            self._inner = ReferenceDecoder(target)

        def open(self, prompts: Sequence[Sequence[int]], limits: Limits) -> Any:
            inner, count, over = self._inner.open(prompts, limits), len(prompts), set[int]()

            def step(trees: Any) -> list[dict[str, Any]]:
                if len(trees) != count:
                    raise ValueError(f"{len(trees)} trees for {count} places")
                live = [place for place in range(count) if place not in over]
                shown = dict(zip(live, inner.step([trees[place] for place in live]), strict=True))
                over.update(place for place, round_ in shown.items() if round_.end)
                return [{"emitted": shown[p].emitted if p in shown else ()} for p in range(count)]

            return type("Session", (), {"step": staticmethod(step)})()

    battery = Battery(found.subject(Keeps), ONCE, found.stock)
    said = []
    for case in found.stock.of(source.scene):
        try:
            battery.driver.rounds(source.seam, case)
        except DecoderError as error:
            said.append(str(error))
        except Exception:
            continue
    assert any("had come to its end by the limits and no round said so: show end" in sentence for sentence in said)


def test_the_doctor_tells_of_ends() -> None:
    """Among what is examined there is a line about ends for sessions and for whole generations, and for nothing else."""
    subject = make_subject(lambda target: Steps(target, "raise"), "exact")
    assert [line.seam for line in examine(subject) if line.what == "ends"] == [Seam.SESSION.value]
