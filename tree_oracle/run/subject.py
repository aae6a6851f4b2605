"""What is under test: a decoder, the target it runs, and the truth about that target.

A decoder comes with its target, or as a factory ``target -> decoder``. Only a factory lets the oracle bring the exact
model. The truth runs a copy of the target of its own, made before the decoder is asked for anything, so that a decoder
that changes its weights cannot change the truth with them.
"""

from __future__ import annotations

import copy
import inspect
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tree_oracle.checks.guard import call, protect
from tree_oracle.checks.mode import mode_of
from tree_oracle.checks.policy import DeclaredPolicy, policy_of
from tree_oracle.decoder import Seam, can_tap, seams_of, watched_by
from tree_oracle.record import TieRule, ToleranceFile, Truth, UsageError, tolerance_file
from tree_oracle.run.ties import tie_rule_of
from tree_oracle.target import SequentialTruth, Target, load_target
from tree_oracle.verify.law import Declaration

DEFAULT_TARGET = "exact"

# What the cases ask of a target: twelve nodes with choices of their own and tokens to spare, and three rounds of such trees.
MIN_VOCAB = 60
MIN_CONTEXT = 64


@dataclass(frozen=True, slots=True)
class Subject:
    """A decoder ready to be driven."""

    name: str
    decoder: Any
    target: Target
    truth: Truth
    tie_rule: TieRule = TieRule.SMALLEST
    tree_policy: DeclaredPolicy | None = None
    declared_mode: Declaration | None = None
    factory: Any = None  # what the decoder was made by; None: it was handed over ready
    tolerance: ToleranceFile | None = None  # that the truth takes its floor from

    @property
    def declared(self) -> tuple[TieRule, DeclaredPolicy | None, Declaration | None]:
        """What judges have to know of it."""
        return self.tie_rule, self.tree_policy, self.declared_mode

    @property
    def watched(self) -> Any:
        """The module whose calls are the target's."""
        return watched_by(self.decoder, self.target.model)

    @property
    def seams(self) -> frozenset[Seam]:
        """What it can be seen through: what it offers, and the tap if it generates with a target that can be tapped."""
        offered = seams_of(self.decoder)
        tapped = Seam.GENERATE in offered and can_tap(self.watched)
        return offered | {Seam.TAP} if tapped else offered


def is_factory(decoder: Any) -> bool:
    """Whether ``decoder`` makes decoders: a class, or a callable that offers no seam itself."""
    return isinstance(decoder, type) or (callable(decoder) and not seams_of(decoder))


def make_subject(
    decoder: Any,
    target: Target | str | None = None,
    *,
    name: str | None = None,
    truth: Truth | None = None,
    device: str = "cpu",
    dtype: str = "float32",
    attention: str = "sdpa",
    tolerance: str | Path | None = None,
) -> Subject:
    """Put a decoder together with its target and the truth, a new one unless ``truth`` is given.

    ``tolerance``: the report that the new truth takes its floor from.

    Raises:
        UsageError: a decoder without its target, one that offers no seam, a target too small for the cases, or a report that
            says nothing of this target.
        FileError: the report cannot be read.
        AdapterError, DecoderError: the factory does not take a target, or raised; or the tie rule cannot be told.
    """
    factory = is_factory(decoder)
    if target is None and not factory:
        raise UsageError(
            "a decoder that already holds its target is given together with it: target=... in Python, --target SPEC on a "
            "command line, --tree-target SPEC in pytest"
        )
    spec = target or DEFAULT_TARGET
    options = {"device": device, "dtype": dtype, "attention": attention}
    own = load_target(spec, **options) if isinstance(spec, str) else spec
    refuse_small(own)
    read = None if truth is not None or tolerance is None else tolerance_file(Path(tolerance))
    truth = truth or truth_of(own, tolerance)
    built = call("the factory", decoder, own) if factory else decoder
    if not seams_of(built):
        known = ", ".join(dict.fromkeys(seam.method for seam in Seam))
        raise UsageError(f"{_name_of(built)} offers no seam; expected at least one of the methods {known}")
    tie_rule = protect("tie_rule", lambda: tie_rule_of(built, truth))
    protect("watched", lambda: watched_by(built, own.model))
    policy = protect("tree_policy", lambda: policy_of(built))
    made_by = decoder if factory else None
    return Subject(name or _name_of(decoder), built, own, truth, tie_rule, policy, mode_of(built), made_by, read)


def truth_of(target: Target, tolerance: str | Path | None = None) -> SequentialTruth:
    """The truth on a copy of the target, with the floor of a tolerance report if one is given.

    Raises:
        UsageError: the report says nothing of this target.
        FileError: it cannot be read.
    """
    floor = None
    if tolerance is not None:
        from tree_oracle.numerics import floor_from  # resolved here: few runs need it

        floor = floor_from(Path(tolerance), target)
    return SequentialTruth(replace(target, model=copy.deepcopy(target.model)), floor)


def refuse_small(target: Target) -> None:
    """Return if the cases fit into the target.

    Raises:
        UsageError: it has too few tokens or positions.
    """
    if target.vocab_size < MIN_VOCAB or target.context_length < MIN_CONTEXT:
        raise UsageError(
            f"target {target.spec!r} has {target.vocab_size} tokens and a context of {target.context_length}; "
            f"the cases need {MIN_VOCAB} and {MIN_CONTEXT}"
        )


def _name_of(decoder: Any) -> str:
    named = decoder if isinstance(decoder, type) or inspect.isroutine(decoder) else type(decoder)
    return f"{named.__module__}:{named.__qualname__}".removeprefix("builtins:")
