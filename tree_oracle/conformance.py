"""One pytest test per check, for somebody else's decoder.

    @tree_oracle.parametrize_with_checks([MyDecoder])
    def test_my_decoder(check):
        check()

A check that fails raises ``AssertionError`` with the whole explanation; an adapter's fault and an undecided check fail too;
what cannot be seen or does not apply is skipped with its reason, and a failure that is known (``--tree-known``) is reported
as one; known and passed fails too. Ids read ``MyDecoder-HISTORY-01``, so ``-k`` works. Decoder
and target are made on the first call, once per process, so collecting is quick and every xdist worker has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tree_oracle.checks import Check, choose
from tree_oracle.record import Asked, Status, UsageError

if TYPE_CHECKING:
    import pytest

    from tree_oracle.run import Battery, KnownFailures
    from tree_oracle.target import Target


@dataclass
class Defaults:
    """What the pytest options say where a test says nothing."""

    target: str | None = None
    device: str = "cpu"
    known: Path | None = None  # file of known failures
    tolerance: Path | None = None  # report that the floor of that target is taken from


DEFAULTS = Defaults()


@dataclass(eq=False)
class TestedDecoder:
    """A decoder under test, made on first use."""

    decoder: Any
    target: Target | str | None
    cases: int
    name: str | None = None

    @cached_property
    def battery(self) -> Battery:
        """The battery that judges it."""
        from tree_oracle.run import Battery, Budget, make_subject

        target, said = self.target or DEFAULTS.target, DEFAULTS
        floor = said.tolerance if self.target is None else None  # it is of the target that the options name
        subject = make_subject(self.decoder, target, name=self.name, device=said.device, tolerance=floor)
        return Battery(subject, Budget(cases=self.cases))

    @cached_property
    def known(self) -> KnownFailures:
        """The failures that are expected of it.

        Raises:
            KnownFailuresError: the file cannot be read as a list of them.
        """
        from tree_oracle.run import no_known_failures, read_known

        return read_known(DEFAULTS.known, self.address) if DEFAULTS.known is not None else no_known_failures()

    @property
    def asked(self) -> Asked:
        """What it takes to run the same again, but for the decoder and its target."""
        return Asked(cases=self.cases, device=DEFAULTS.device, tolerance=self.battery.subject.tolerance)

    @property
    def address(self) -> str:
        """How a command line and a file of known failures name it."""
        return self.name or importable_name(self.decoder)


@dataclass(eq=False)
class BoundCheck:
    """One check bound to one decoder: call it."""

    tested: TestedDecoder
    check: Check

    def __call__(self) -> None:
        """Judge.

        Raises:
            AssertionError: the check failed, is undecided, the adapter's answer cannot be read, or a known failure is none.
            pytest.skip.Exception: it cannot be seen or does not apply.
            pytest.xfail.Exception: it failed, which is known.
        """
        __tracebackhide__ = True
        import pytest

        from tree_oracle.report import result_text
        from tree_oracle.run import keep_case

        result = self.tested.known.mark(self.tested.battery.run(self.check))
        untrue = self.tested.known.violation(result)
        if untrue:
            raise AssertionError(untrue)
        if result.known is not None:
            pytest.xfail(f"{result.known.reason} ({result.known.tracker})")
        if result.status in (Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE):
            pytest.skip(f"{result.status}: {result.reason}")
        if result.status is not Status.PASSED:
            subject = self.tested.battery.subject
            for finding in result.findings:
                keep_case(result, finding, subject.target.spec, subject.name, asked=self.tested.asked)
            raise AssertionError(result_text(result, replay=self._replay_command()))

    def _replay_command(self) -> str:
        """How to see a case again: the decoder is named if a command line can name it."""
        target = f" --target {self.tested.target}" if isinstance(self.tested.target, str) else ""
        return f"tree-oracle replay --decoder {self.tested.address}{target}"

    def __repr__(self) -> str:
        return f"<{self.check.id} of {self.tested.name or self.tested.decoder!r}>"


def parametrize_with_checks(
    decoders: Sequence[Any],
    *,
    target: Target | str | None = None,
    checks: Sequence[str] = (),
    families: Sequence[str] = (),
    cases: int = 25,
) -> pytest.MarkDecorator:
    """A ``pytest.mark.parametrize`` over decoders and checks; the test takes one argument, ``check``, and calls it.

    Args:
        decoders: decoders, or factories ``target -> decoder``.
        target: their target; the option ``--tree-target`` or the exact model where None.
        checks, families: which checks; all if neither is given.
        cases: generated cases per check and seam.

    Raises:
        UsageError: a check or family that does not exist, an argument of the wrong kind, or no decoder.
    """
    import pytest

    from tree_oracle.run.arguments import refuse_bad

    refuse_bad(target=target, checks=checks, families=families, cases=cases)
    _refuse_none(decoders)
    chosen = choose(checks, families)
    subjects = [TestedDecoder(decoder, target, cases) for decoder in decoders]
    bound = [BoundCheck(subject, check) for subject in subjects for check in chosen]
    return pytest.mark.parametrize("check", bound, ids=[f"{name_of(b.tested.decoder)}-{b.check.id}" for b in bound])


def _refuse_none(decoders: Any) -> None:
    if not isinstance(decoders, list | tuple):
        raise UsageError(f"decoders is {type(decoders).__name__}; expected a list, such as [MyDecoder]")
    if not decoders:
        raise UsageError("decoders is empty; expected at least one, or nothing would be tested")
    for decoder in decoders:
        if isinstance(decoder, str):
            raise UsageError(
                f"decoders holds the string {decoder!r}; expected the decoder itself (a name goes to --tree-decoder)"
            )


def importable_name(decoder: Any) -> str:
    """``module:attribute``, or those words where the decoder is not an attribute of a module."""
    module, path = getattr(decoder, "__module__", None), getattr(decoder, "__qualname__", "<")
    return f"{module}:{path}" if module and "<" not in path else "MODULE:ATTRIBUTE"


def name_of(decoder: Any) -> str:
    """A short name for a test id."""
    named: Callable[..., Any] | type = decoder if hasattr(decoder, "__name__") else type(decoder)
    return str(named.__name__)
