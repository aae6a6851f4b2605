"""From frozen draws to cases: the scene is run as when it was drawn, and gets the recorded values in the same order."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, cast

from hypothesis import strategies as st

from tree_oracle.checks.frozen.drawn import thawed
from tree_oracle.checks.scene import Scene, Stage
from tree_oracle.record import Case

VERSION = 1
FILE = Path(__file__).parent / f"cases-{VERSION}.json"


def frozen_cases(scene: Scene, stage: Stage) -> list[Case]:
    """The frozen cases of the scene for one target; none if the scene has none."""
    if scene.drawn is None:
        return []
    replays = [_Replay(values, stage.vocab_size) for values in frozen_scenes().get(scene.name, ())]
    return [scene.drawn(cast(st.DrawFn, replay), stage) for replay in replays]


class _Replay:
    """Stands where a scene expects Hypothesis, and hands out what was drawn then."""

    def __init__(self, values: list[Any], vocab_size: int) -> None:
        self._values, self._vocab_size = iter(values), vocab_size

    def __call__(self, strategy: object, label: object = None) -> Any:
        return thawed(next(self._values), self._vocab_size)


@cache
def frozen_scenes() -> dict[str, list[list[Any]]]:
    """What the file holds: for each scene the draws of each case."""
    scenes: dict[str, list[list[Any]]] = json.loads(FILE.read_text(encoding="utf-8"))["scenes"]
    return scenes
