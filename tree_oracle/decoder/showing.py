"""Through which seams a replaced part of the reference decoder can show.

Rule: a seam shows what it runs. ``build_tree`` runs the part ``build``, a round runs everything but that, ``encode``,
``move`` and ``attend``; a part that is listed nowhere is taken to show everywhere.
"""

from __future__ import annotations

from dataclasses import fields

from tree_oracle.decoder.parts import Parts
from tree_oracle.decoder.seams import Seam

_ROUNDS = frozenset({Seam.SESSION, Seam.GENERATE, Seam.TAP})
_SHOWN: dict[str, frozenset[Seam]] = {
    "build": frozenset({Seam.BUILD}),
    "move": frozenset({Seam.MOVE}),
    "attend": frozenset({Seam.ATTEND}),
    "encode": frozenset({Seam.LAY_OUT}),
    "lay_out": _ROUNDS | {Seam.LAY_OUT, Seam.TREE_LOGITS},
    "hold": _ROUNDS,
    "target_pass": _ROUNDS | {Seam.TREE_LOGITS},
    "prefill": _ROUNDS | {Seam.TREE_LOGITS},
    "walk": _ROUNDS | {Seam.ACCEPT},
    "batch": frozenset({Seam.SESSION}),
    "path": frozenset({Seam.SESSION, Seam.GENERATE}),
    "score": _ROUNDS,
    "keep": _ROUNDS,
    "commit": _ROUNDS,
    "stop": _ROUNDS,
    "work": _ROUNDS,
    "ranks": _ROUNDS,
}


def replaced(parts: Parts) -> tuple[str, ...]:
    """The names of the parts that are not those of the reference decoder."""
    right = Parts()
    return tuple(f.name for f in fields(Parts) if getattr(parts, f.name) is not getattr(right, f.name))


def showing(parts: Parts) -> frozenset[Seam]:
    """The seams through which these parts may show something else than the reference decoder."""
    return frozenset(seam for name in replaced(parts) for seam in _SHOWN.get(name, frozenset(Seam)))
