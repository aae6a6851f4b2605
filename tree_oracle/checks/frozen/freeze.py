"""Drawing the frozen cases anew: ``python -m tree_oracle.checks.frozen.freeze``.

Not part of any build. What it writes depends on the release of Hypothesis, and the digest of every ``ci`` run changes with
it; a new file is a new version, and the old one stays.
"""

from __future__ import annotations

import json
from typing import Any, cast

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tree_oracle.checks.check import CHECKS
from tree_oracle.checks.frozen.drawn import VOCAB, frozen
from tree_oracle.checks.frozen.thaw import FILE, VERSION
from tree_oracle.checks.scene import Drawn, Scene, Stage
from tree_oracle.record import case_id
from tree_oracle.target import SequentialTruth, load_target

CASES = 25
_DRAWN = 4 * CASES  # Hypothesis begins with the simplest; one in four spreads over all that it tries


def draws_of(scene: Scene, drawn: Drawn, stage: Stage) -> list[list[Any]]:
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


def main() -> None:
    """Write the file of the current version anew."""
    import tree_oracle.checks  # noqa: F401  (registers the checks)

    stage = Stage(SequentialTruth(load_target(f"exact:vocab={VOCAB}")))
    scenes = {source.scene.name: source.scene for check in CHECKS.values() for source in check.sources}
    parts = []
    for name, scene in sorted(scenes.items()):
        if scene.drawn is not None:
            lines = ",\n".join(
                json.dumps(draws, separators=(",", ":")) for draws in draws_of(scene, scene.drawn, stage)
            )
            parts.append(f"{json.dumps(name)}: [\n{lines}\n]")
    head = f'"format": "tree-oracle-frozen", "version": {VERSION}, "vocab": {VOCAB}'
    FILE.write_text(f'{{{head}, "scenes": {{\n' + ",\n".join(parts) + "\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
