"""Freezing cases for scenes that have none yet: ``python -m tree_oracle.checks.frozen.freeze``.

Not part of any build. What was frozen stays: the draws of a scene depend on the release of Hypothesis that made them, and the
digest of every ``ci`` run on them. To draw a scene anew, raise the version, which names a new file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tree_oracle.checks.check import CHECKS
from tree_oracle.checks.frozen.drawn import VOCAB, frozen
from tree_oracle.checks.frozen.thaw import FILE, VERSION, frozen_scenes
from tree_oracle.checks.scene import Drawn, Stage
from tree_oracle.record import case_id
from tree_oracle.target import SequentialTruth, load_target

CASES = 25
_DRAWN = 4 * CASES  # Hypothesis begins with the simplest; one in four spreads over all that it tries


def draws_of(drawn: Drawn, stage: Stage) -> list[list[Any]]:
    """The draws behind ``CASES`` different cases of the scene."""
    found: dict[str, list[Any]] = {}

    @st.composite
    def recorded(draw: st.DrawFn) -> None:
        log: list[Any] = []

        def note(strategy: st.SearchStrategy[Any], label: object = None) -> Any:
            value = draw(strategy)
            log.append(frozen(value))
            return value

        found.setdefault(case_id(drawn(cast(st.DrawFn, note), stage)), log)

    @seed(VERSION)
    @settings(
        max_examples=_DRAWN,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(recorded())
    def collect(_: None) -> None:
        """Everything is noted while it is drawn."""

    collect()
    every = list(found.values())
    return every[:: max(1, len(every) // CASES)][:CASES]


def text_of(scenes: Mapping[str, Sequence[list[Any]]]) -> str:
    """The file, one case a line."""
    parts = []
    for name, cases in sorted(scenes.items()):
        lines = ",\n".join(json.dumps(draws, separators=(",", ":")) for draws in cases)
        parts.append(f"{json.dumps(name)}: [\n{lines}\n]")
    head = f'"format": "tree-oracle-frozen", "version": {VERSION}, "vocab": {VOCAB}'
    return f'{{{head}, "scenes": {{\n' + ",\n".join(parts) + "\n}}\n"


def main() -> None:
    """Add the scenes that are missing."""
    import tree_oracle.checks  # noqa: F401  (registers the checks)

    stage = Stage(SequentialTruth(load_target(f"exact:vocab={VOCAB}")))
    held = frozen_scenes() if FILE.exists() else {}
    scenes = {source.scene.name: source.scene for check in CHECKS.values() for source in check.sources}
    new = {name: draws_of(scene.drawn, stage) for name, scene in scenes.items() if scene.drawn and name not in held}
    FILE.write_text(text_of({**held, **new}), encoding="utf-8")


if __name__ == "__main__":
    main()
