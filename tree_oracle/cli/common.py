"""What the commands share: options, our errors as exit codes, and ways to print."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tree_oracle.record import Report

EXIT_FAILED, EXIT_USAGE, EXIT_ADAPTER, EXIT_UNDECIDED, EXIT_INTERRUPTED = 1, 2, 3, 4, 130

DECODER = click.option(
    "--decoder",
    metavar="MODULE:ATTRIBUTE",
    help="Decoder, or factory target -> decoder. Default: the built-in reference.",
)
FAULT = click.option("--fault", metavar="NAME", help="Plant this fault in the reference decoder (see: faults).")
TARGET = click.option(
    "--target",
    metavar="SPEC",
    help="Target model: exact, tiny:NAME such as tiny:qwen3, or dir:PATH. Default: exact, or one that can show the --fault.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
_JUNIT = click.option("--junit", metavar="FILE", help="Also write JUnit XML.")
_HTML = click.option(
    "--html", metavar="FILE", help="Also write one HTML page that explains everything; needs no network."
)
_MARKDOWN = click.option("--markdown", metavar="FILE", help="Also write a summary for a pull request.")
_ISOLATE = click.option(
    "--isolate/--in-process",
    default=None,
    help="Run in a child process that may crash or hang. Default: isolate what --decoder names, and nothing else.",
)
_TIMEOUT = click.option("--timeout", metavar="SECONDS", type=float, help="Per check. Default: 600.")
_MEMORY = click.option(
    "--memory", metavar="MIB", type=click.IntRange(min=1), help="Resident memory of the child. Default: no limit."
)

PYTHON = click.option(
    "--python",
    metavar="PATH",
    help="Run the decoder under this interpreter (3.8 or newer), which needs nothing of ours.",
)


def limited(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say how a decoder is isolated."""
    return _ISOLATE(_TIMEOUT(_MEMORY(command)))


def kept(command: Callable[..., None]) -> Callable[..., None]:
    """The options that write a report for other readers."""
    return _JUNIT(_HTML(_MARKDOWN(command)))


def guarded(command: Callable[..., int]) -> Callable[..., None]:
    """Our own errors become one line and an exit code, never a traceback."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        from tree_oracle.record import TreeOracleError, UsageError

        try:
            code = command(*args, **kwargs)
        except TreeOracleError as error:
            click.echo(f"tree-oracle: {error}", err=True)
            code = EXIT_USAGE if isinstance(error, UsageError) else EXIT_ADAPTER
        sys.exit(code)

    return run


def caps_of(decoder: str | None, isolate: bool | None, timeout: float | None, memory: int | None) -> Any:
    """What a child process may take, or None to run in this one."""
    from tree_oracle.record import UsageError
    from tree_oracle.run import Caps
    from tree_oracle.run.arguments import refuse_bad

    refuse_bad(timeout=timeout)
    limits = timeout is not None or memory is not None
    if isolate is False and limits:
        raise UsageError("--timeout and --memory need a child process; take --in-process away")
    if not (decoder is not None or limits if isolate is None else isolate):
        return None
    usual = Caps()
    return Caps(usual.timeout if timeout is None else timeout, memory)


def name_of(decoder: str | None, fault: str | None) -> str:
    """The decoder's name in a plan; what it names is not imported."""
    from tree_oracle.run import find_decoder

    return decoder if decoder is not None and fault is None else find_decoder(decoder, fault)[0]


def target_of(target: str | None, fault: str | None) -> str | None:
    """The target that was named, or one that can show the planted fault."""
    if target is not None or fault is None:
        return target
    from tree_oracle.faults import find_fault

    return find_fault(fault).target


def listener() -> Callable[[Any], None]:
    """Prints a line per result; what had nothing to judge is left to ``show``, which folds lines of one reason."""
    from tree_oracle.report import UNSEEN, make_console, print_result

    console = make_console()
    return lambda result: None if result.status in UNSEEN else print_result(console, result)


def quiet(result: Any) -> None:
    """JSON stands alone on standard output."""


def show(report: Report, as_json: bool, again: str, *, first: bool = True) -> None:
    """Print everything after the lines of the single checks, what to do ``first`` among it, or the JSON."""
    from tree_oracle.record import to_json
    from tree_oracle.report import make_console, print_report, print_unseen

    if as_json:
        click.echo(to_json(report).decode(), nl=False)
        return
    console = make_console()
    print_unseen(console, report.results)
    print_report(console, report, replay=again, first=first)


def caps_abroad(
    decoder: str | None, fault: str | None, isolate: bool | None, timeout: float | None, memory: int | None
) -> Any:
    """What a decoder may take under another interpreter."""
    from tree_oracle.record import UsageError

    if decoder is None or fault is not None:
        raise UsageError(
            "--python needs --decoder MODULE:ATTRIBUTE; what is built in runs under this interpreter alone"
        )
    if isolate is False:
        raise UsageError("--python runs the decoder in a process of its own; take --in-process away")
    return caps_of(decoder, True, timeout, memory)


def replay_command(decoder: str | None, fault: str | None, target: str | None, python: str | None = None) -> str:
    """What to type to see a case again: what was named for the run is named again, since others may fail on the same case."""
    options = {"--python": python, "--decoder": decoder, "--fault": fault, "--target": target}
    named = [word for option, value in options.items() if value for word in (option, value)]
    return shlex.join(["tree-oracle", "replay", *named])


def echo_json(value: Any) -> None:
    """Print a value as indented JSON."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
