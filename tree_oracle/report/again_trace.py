"""What to type to judge a trace again, from its report alone. What a trace says of its decoder is no name on a command line."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tree_oracle.record import Report
from tree_oracle.run.trace_identity import MOST, TIES, trace_files


def is_of_trace(report: Report) -> bool:
    """Whether a recording was judged, and no decoder that anybody here can run."""
    return bool(trace_files(report.environment))


def trace_command(report: Report, chosen: Sequence[str] = ()) -> str:
    """``tree-oracle trace check`` with its files and options; ``chosen`` are those that choose checks.

    Its target was named where a device is known on which it ran.
    """
    place = report.environment
    options = {"--requests": place.get(MOST, ""), "--ties": place.get(TIES, "")}
    if report.asked.device:
        options |= {"--target": report.target, "--device": report.asked.device, "--dtype": report.asked.dtype}
        options |= {"--attention": report.asked.attention} if report.target != "exact" else {}
    options |= {"--require": "" if report.required is None else str(report.required)}
    words = [word for name, value in options.items() if value for word in (name, value)]
    partial = ["--partial"] if place.get("trace", "").startswith("broken off") else []
    return shlex.join(["tree-oracle", "trace", "check", *_paths(report), *chosen, *words, *partial])


def show_command(report: Report) -> str:
    """``tree-oracle trace show``: what there is to look at where a recording does not fit."""
    return shlex.join(["tree-oracle", "trace", "show", *_paths(report)[:1]])


def _paths(report: Report) -> list[str]:
    """The files, none of which is taken for an option."""
    return [f"./{path}" if path.startswith("-") else path for path in trace_files(report.environment)]
