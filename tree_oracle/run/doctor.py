"""The doctor: is the *adapter* fit to be judged through? It blames the adapter and never the decoder.

For each seam, on one small valid case: the answer can be read; the same question gets the same answer; a convention that is
off by something usual is named together with the one that would fit; a text may come to its end; and a wrong answer planted
behind the adapter is noticed by the check that should notice it. An adapter through which nothing wrong can be seen would make
every check pass.

Rule: answers that are right under another usual convention are laid at the adapter, though a decoder may really be wrong in
that way: whoever reads the line looks at the adapter first, and the checks judge what is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from tree_oracle.checks import CHECKS, Check, Source
from tree_oracle.decoder import Seam
from tree_oracle.record import AdapterError, Case, Catch, DecoderError, Status, TreeOracleError, Unsupported, counted
from tree_oracle.run.battery import Battery
from tree_oracle.run.budget import Budget
from tree_oracle.run.conventions import fitting_convention
from tree_oracle.run.doctor_ends import examine_ends
from tree_oracle.run.examined import Examined
from tree_oracle.run.power import Power
from tree_oracle.run.reasons import Reasons
from tree_oracle.run.round_conventions import UNSEEN, session_rounds, unseen_in
from tree_oracle.run.stock import Stock
from tree_oracle.run.subject import Subject

_LISTED_ONLY = Budget(cases=0, shrink_runs=0, diagnose=False)
_TRIED = 6  # listed cases per seam: enough for a prefix of one token, a branching tree and a second round


def examine(subject: Subject) -> Iterator[Examined]:
    """Everything about one adapter, seam by seam."""
    battery = Battery(subject, _LISTED_ONLY)
    power = Power(subject, battery.stock)
    for seam in Seam:
        if seam not in subject.seams:
            yield Examined(seam=seam.value, what="answers", good=None, sentence="the adapter does not offer it")
            continue
        answers, readable = _answers(battery, seam)
        yield answers
        if readable:
            yield from _unseen(subject, seam)
            yield from examine_ends(battery, seam)
            yield from _notices(power, seam)


def _cases(stock: Stock, seam: Seam) -> tuple[tuple[Check, Source, Case], ...]:
    """Small cases for a seam, with a check that reads them."""
    found = next(((c, s) for c in CHECKS.values() for s in c.sources if s.seam is seam), None)
    if found is None:
        return ()
    check, source = found
    return tuple((check, source, case) for case in stock.of(source.scene)[:_TRIED])


def _answers(battery: Battery, seam: Seam) -> tuple[Examined, bool]:
    """Whether answers can be read, are repeated and follow our conventions; and whether there is more to be looked at."""
    count, refused, unseen = 0, "", Reasons()
    for _, source, case in _cases(battery.stock, seam):
        try:
            battery.driver.rounds(source.seam, case)
            count += 1
        except Unsupported as refusal:  # what it does not take is no answer, and says nothing of the others
            refused = str(refusal)
        except (AdapterError, DecoderError) as error:
            hint = fitting_convention(battery.subject, seam)
            return _line(seam, False, f"{error}{hint}"), False
        except TreeOracleError as error:  # nor does what shows nothing of one case
            unseen.add(Status.NOT_OBSERVABLE, str(error))
    why = unseen.of(Status.NOT_OBSERVABLE, "")
    if not count and (why or refused):
        return _line(seam, None, why or refused), True
    hint = fitting_convention(battery.subject, seam)
    if hint:
        return _line(seam, False, f"can be read{hint}"), True
    beside = f"; nothing is seen in the others: {why}" if why else ""
    return _line(seam, True, f"{counted(count, 'case')} answered, twice the same{beside}"), True


def _line(seam: Seam, good: bool | None, sentence: str) -> Examined:
    return Examined(seam=seam.value, what="answers", good=good, sentence=sentence)


def _unseen(subject: Subject, seam: Seam) -> Iterator[Examined]:
    """One line that names conventions of a session which nobody can see, since its rounds show nothing of the kind."""
    if seam is not Seam.SESSION:
        return
    with suppress(TreeOracleError):  # what cannot be driven was told already
        names = unseen_in(session_rounds(subject))
        if names:
            dark = ", ".join(f"{name} ({UNSEEN[name]})" for name in names)
            sentence = f"not visible through this adapter, since no round shows it: {dark}"
            yield Examined(seam=seam.value, what="shows", good=None, sentence=sentence)


def _notices(power: Power, seam: Seam) -> Iterator[Examined]:
    """Whether planted wrong answers are noticed through this adapter."""
    for planted in power.through(seam):
        said = {
            Catch.CAUGHT: f"{planted.wrong} is noticed by {planted.check}",
            Catch.MISSED: f"{planted.wrong} is NOT noticed by {planted.check}",
            Catch.NOT_PLANTED: f"{planted.wrong}: {planted.reason}",
        }
        good = {Catch.CAUGHT: True, Catch.MISSED: False, Catch.NOT_PLANTED: None}[planted.catch]
        yield Examined(seam=seam.value, what="notices", good=good, sentence=said[planted.catch])
