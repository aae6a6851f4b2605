"""What a check is: a judge with an id, a level, a rung of the ladder, and the sources that its rounds may come from.

A judge is a pure function of one ``View`` (case, rounds, truth). It yields findings: none means that the case passed. It
never drives a decoder. The first line of its docstring is the law that it checks.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tree_oracle.checks.scene import Scene
from tree_oracle.checks.view import View
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Finding, Level

Judge = Callable[[View], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Source:
    """One way to come by rounds: a seam to drive and the cases to drive it with."""

    seam: Seam
    scene: Scene


@dataclass(frozen=True, slots=True)
class Check:
    """One law."""

    id: str
    judge: Judge
    level: Level
    rung: int
    needs: tuple[str, ...]  # fields of a round without which nothing can be said
    sources: tuple[Source, ...]
    source: str  # where the law comes from

    @property
    def family(self) -> str:
        """``HISTORY`` for ``HISTORY-01``."""
        return self.id.partition("-")[0]

    @property
    def reads_texts(self) -> bool:
        """Whether its law is about whole texts: then it needs nothing of their rounds but the tokens, and the prompt once."""
        return self.needs == ("prefix",)

    @property
    def reads_rounds(self) -> bool:
        """Whether its law is about what rounds show beside the tokens that they emit."""
        return not set(self.needs) <= {"prefix", "emitted"}

    @property
    def law(self) -> str:
        """The law in one sentence."""
        return (inspect.getdoc(self.judge) or "").splitlines()[0]

    @property
    def page(self) -> str:
        """The judge's whole docstring."""
        return inspect.getdoc(self.judge) or ""


CHECKS: dict[str, Check] = {}


def check(
    name: str,
    *,
    rung: int,
    needs: tuple[str, ...],
    sources: tuple[Source, ...],
    source: str,
    level: Level = Level.MUST,
) -> Callable[[Judge], Judge]:
    """Register a judge as a check."""

    def register(judge: Judge) -> Judge:
        assert name not in CHECKS, f"check {name} is defined twice"
        CHECKS[name] = Check(name, judge, level, rung, needs, sources, source)
        return judge

    return register
