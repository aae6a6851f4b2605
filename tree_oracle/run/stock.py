"""The cases of each scene, made once and judged by every check that uses the scene.

Without a seed the generated cases are the frozen ones that are installed with this library, then, where more are asked for
than are frozen, the same ones every time with the same release of Hypothesis. With a seed all are fresh.

The digest of a scene is the SHA-256 over the sorted ids of its cases, one a line; that of a run the SHA-256 over the sorted
lines ``scene digest``. Two runs with the same digest judged the same inputs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from tree_oracle.checks import CHECKS, Scene, Source, Stage
from tree_oracle.checks.frozen import frozen_cases
from tree_oracle.decoder import Seam
from tree_oracle.record import Case, case_id

_HEAVY = 5  # cases of other scenes for one of a heavy scene, or of one that judges chance


def search(
    strategy: st.SearchStrategy[Case], visit: Callable[[Case], None], *, cases: int, seed: int | None, shrink: bool
) -> None:
    """Hand cases to ``visit``; an exception from it makes a case interesting, to be shrunk if ``shrink``."""

    @settings(
        max_examples=cases,
        database=None,
        derandomize=seed is None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
        print_blob=False,
    )
    @given(strategy)
    def visited(case: Case) -> None:
        visit(case)

    (visited if seed is None else seeded(seed)(visited))()


class Stock:
    """Listed and generated cases by scene, for one target."""

    def __init__(self, stage: Stage, *, cases: int, seed: int | None = None) -> None:
        self.stage, self.cases, self.seed = stage, cases, seed
        self._listed: dict[str, list[Case]] = {}
        self._made: dict[str, tuple[Case, ...]] = {}

    def of(self, scene: Scene) -> tuple[Case, ...]:
        """The listed cases, then up to ``cases`` different generated ones, a fifth as many where a case is heavy."""
        if scene.name not in self._made:
            found = {case_id(case): case for case in self.listed(scene)}
            missing = self._wanted(scene) - self._thaw(scene, found)
            if missing > 0:
                self._generate(scene, found, missing)
            self._made[scene.name] = tuple(found.values())
        return self._made[scene.name]

    def listed(self, scene: Scene) -> list[Case]:
        """The listed cases alone."""
        if scene.name not in self._listed:
            self._listed[scene.name] = scene.listed(self.stage)
        return self._listed[scene.name]

    def digest(self, scene: Scene) -> str:
        """The digest of one scene, in hex."""
        return _sha256(sorted(map(case_id, self.of(scene))))

    def _wanted(self, scene: Scene) -> int:
        """How many cases to generate: one that judges chance holds hundreds of rounds, and weighs as much as several."""
        return -(-self.cases // _HEAVY) if scene.chancy or scene.heavy else self.cases

    def _thaw(self, scene: Scene, found: dict[str, Case]) -> int:
        """How many frozen cases there are to take."""
        if self.seed is not None:
            return 0
        frozen = frozen_cases(scene, self.stage)[: self._wanted(scene)]
        for case in frozen:
            found.setdefault(case_id(case), case)
        return len(frozen)

    def _generate(self, scene: Scene, found: dict[str, Case], cases: int) -> None:
        def note(case: Case) -> None:
            found.setdefault(case_id(case), case)

        search(scene.generated(self.stage), note, cases=cases, seed=self.seed, shrink=False)


def elsewhere(stock: Stock, source: Source) -> Iterator[Case]:
    """Listed cases of the other scenes for the same seam, one of each in turn; a scene is made when its turn comes.

    The tap sees texts on drafts that are handed over too, whose trees are of more shapes than a decoder's own.
    """
    scenes = {s.scene.name: s.scene for check in CHECKS.values() for s in check.sources if _suits(source.seam, s)}
    waiting = [_listed(stock, scene) for name, scene in scenes.items() if name != source.scene.name]
    while waiting:
        for cases in list(waiting):
            case = next(cases, None)
            if case is None:
                waiting.remove(cases)
            else:
                yield case


def _suits(seam: Seam, other: Source) -> bool:
    """Whether the cases of another source can be driven through the seam."""
    return other.seam is seam or (seam is Seam.TAP and other.seam is Seam.GENERATE and other.scene.handed)


def _listed(stock: Stock, scene: Scene) -> Iterator[Case]:
    yield from stock.listed(scene)


def digest_of(scenes: Mapping[str, str]) -> str:
    """The digest of a run that used these scenes, by their own digests; empty if it used none."""
    return _sha256(sorted(f"{name} {digest}" for name, digest in scenes.items())) if scenes else ""


def _sha256(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
