"""The door for programs: one call, one report. Needs no pytest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tree_oracle.checks import choose
from tree_oracle.record import Report, UsageError
from tree_oracle.run import Caps, Plan, carry_out, find_decoder, make_subject, profile_budget, run_battery
from tree_oracle.run.arguments import refuse_bad, refuse_no_report
from tree_oracle.target import Target


def check_decoder(
    decoder: Any,
    *,
    target: Target | str | None = None,
    checks: Sequence[str] = (),
    families: Sequence[str] = (),
    profile: str | None = None,
    cases: int | None = None,
    seed: int | None = None,
    require: int | None = None,
    name: str | None = None,
    device: str = "cpu",
    dtype: str = "float32",
    attention: str = "sdpa",
    tolerance: str | Path | None = None,
    power: bool = False,
    isolate: bool = False,
    python: str | None = None,
    timeout: float | None = None,
    memory: int | None = None,
) -> Report:
    """Judge a tree decoder.

    Args:
        decoder: an object with any of the methods in ``tree_oracle.decoder.seams``, a factory ``target -> decoder``, or the
            name of either, ``module:attribute``. Only a factory lets the oracle bring the exact model.
        target: the target that the decoder runs: a ``Target``, or a specification such as ``exact`` or ``tiny:qwen3``.
            Defaults to ``exact`` for a factory.
        checks: ids of the checks to run, such as ``HISTORY-01``; all if neither this nor ``families`` is given.
        families: families to run, such as ``COMMIT``.
        profile: ``ci`` (frozen cases, no randomness) or ``deep`` (ten times as many, from a fresh seed).
        cases: generated cases per check and seam, on top of the listed ones; 25 unless the profile says otherwise.
        seed: explore other cases; None judges the same cases every time.
        require: the rung of the ladder that must be held for exit code 0; None asks for the highest that can be seen.
        name: what to call the decoder in the report.
        device, dtype, attention: how a target given by specification is loaded.
        tolerance: file of a report by ``tree-oracle tolerance measure`` that the noise floor is taken from; it has to be of
            this target, device, dtype and kernel. None measures a small floor on the spot.
        power: also plant wrong answers behind the adapter, and see whether they are noticed; a missed one is exit code 3.
        isolate: run in a child process, so that crashes and hangs become results. Decoder and target are then given by
            name, since an object of this process cannot be sent to another.
        python: another interpreter to run the decoder under, which then answers ``generate`` (``docs/another-python.md``).
            Decoder and target are given by name, and the target is needed.
        timeout: with ``isolate``, seconds per check, with ``python``, per prompt; 600 if not given.
        memory: with either, MiB that the child may hold; no limit if not given.

    Raises:
        UsageError: an argument is of the wrong kind, a name matches nothing, decoder and target do not fit together, or an
            object is to be run in another process; or the tolerance report says nothing of this target.
        FileError: the tolerance report cannot be read.
        DecoderError: the factory raised.
    """
    refuse_bad(
        target=target, checks=checks, families=families, profile=profile, cases=cases, seed=seed, require=require,
        name=name, device=device, dtype=dtype, attention=attention, tolerance=tolerance, power=power, isolate=isolate,
        python=python, timeout=timeout, memory=memory,
    )  # fmt: skip
    refuse_no_report(tolerance)
    chosen = choose(checks, families)
    budget = profile_budget(profile, cases=cases, seed=seed)
    if isolate or python is not None:
        way = _way(isolate, python, target, power=power)
        plan = Plan(
            decoder=_sendable(way, "decoder", decoder),
            target=None if target is None else _sendable(way, "target", target),
            device=device,
            dtype=dtype,
            attention=attention,
            tolerance=None if tolerance is None else str(tolerance),
            checks=tuple(found.id for found in chosen),
            budget=budget,
            power=power,
        )
        caps = Caps(Caps().timeout if timeout is None else timeout, memory)
        report = _carried_out(plan, python, caps, require)
        return msgspec.structs.replace(report, decoder=name or report.decoder)
    if timeout is not None or memory is not None:
        raise UsageError("timeout and memory need isolate=True or python=...: they cannot be held to in this process")
    if isinstance(decoder, str):
        name, decoder = name or decoder, find_decoder(decoder)[1]
    subject = make_subject(
        decoder, target, name=name, device=device, dtype=dtype, attention=attention, tolerance=tolerance
    )
    return run_battery(subject, chosen, budget, required=require, power=power)


def _way(isolate: bool, python: str | None, target: Any, *, power: bool) -> str:
    """The argument that asks for another process."""
    if python is None:
        return "isolate=True"
    if isolate:
        raise UsageError(f"python={python!r} runs the decoder in a process of its own; take isolate=True away")
    if power:
        raise UsageError(f"python={python!r} runs the decoder elsewhere, and power=True plants answers here")
    if target is None:
        raise UsageError(
            f"python={python!r} needs a target: the decoder brings its own model, and its plain runs are made here"
        )
    return f"python={python!r}"


def _carried_out(plan: Plan, python: str | None, caps: Caps, require: int | None) -> Report:
    if python is None:
        return carry_out(plan, caps=caps, required=require)
    from tree_oracle.run.foreign import run_abroad  # resolved here: it is seldom needed

    return run_abroad(plan, python, caps=caps, required=require)


def _sendable(way: str, what: str, value: Any) -> str:
    if not isinstance(value, str):
        raise UsageError(
            f"{way} needs the {what} by name, such as 'module:attribute' or 'tiny:qwen3'; "
            f"got {type(value).__name__}, which cannot be sent to another process"
        )
    return value
