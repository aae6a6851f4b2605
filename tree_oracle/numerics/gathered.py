"""What the passes of a cell have shown, while it is measured and for whoever draws it later."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool

from tree_oracle.numerics.compared import Compared, join
from tree_oracle.numerics.distance import Gaps
from tree_oracle.numerics.neighbours import Beside


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """The rows behind a cell's figures, for plots and for other tolerances later. Float32, one entry per row."""

    tree: Gaps
    plain: Gaps
    sequential: Gaps
    margin: Gaps
    flipped: Bool[np.ndarray, " k"]
    effect: Gaps

    def named(self) -> dict[str, np.ndarray]:
        """By name, as they are kept."""
        reals = {
            name: getattr(self, name).astype(np.float32) for name in ("tree", "plain", "sequential", "margin", "effect")
        }
        return reals | {"flipped": self.flipped}


@dataclass(slots=True)
class Gathered:
    """What the passes of a cell have shown so far."""

    compared: dict[str, list[Compared]] = field(default_factory=lambda: defaultdict(list))
    changes: dict[str, list[Gaps]] = field(default_factory=lambda: defaultdict(list))
    effects: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    beside: Beside = field(default_factory=Beside)
    routed: int = 0

    def joined(self, name: str) -> Compared:
        return join(self.compared[name])
