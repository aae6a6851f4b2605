"""Runs a decoder in the interpreter of its own project: ``PYTHON foreign_runner.py FD``.

One file for Python 3.8 and newer that needs nothing but the standard library and the recorder, which it is told the place of.
A JSON object on standard input says what to run. Every prompt is handed to ``generate``, and what comes back is recorded as a
trace, which somebody else judges. A ``generate`` that names a parameter ``trace`` is handed a recorder there, as code that was
written for ``tree_oracle_record`` uses it, and its rounds are recorded while it runs; it then answers with tokens. Before and
after each prompt a line of JSON goes to file descriptor FD. Its own output is the decoder's to fill.
"""

from __future__ import annotations

import faulthandler
import importlib
import importlib.util
import inspect
import json
import os
import platform
import resource
import signal
import sys
import traceback
from collections.abc import Mapping
from typing import Any, NamedTuple

_HERE = os.path.abspath(__file__)


class Limits(NamedTuple):
    """Where a text must end, as every other decoder is told it (``tree_oracle.record.limits``)."""

    max_new_tokens: int
    eos_ids: Any
    max_length: Any
    stop: Any
    min_new: int


class Refused(Exception):
    """The run cannot begin. ``kind`` says whose fault it is: ``usage``, ``adapter`` or ``decoder``."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Unfit(Exception):
    """An answer that cannot be written down as one."""


class Steps:
    """What ``generate`` may record its rounds by: the methods of a ``Recorder``, for the one request that is asked for."""

    def __init__(self, trace: Any, number: int) -> None:
        self._trace, self._number = trace, number
        self.emitted: list[int] = []
        self.used = False

    def request(self, prompt: Any = None, **more: Any) -> int:
        """The number of the request, which is begun already."""
        return self._number

    def round(self, request: int = 0, *, control: bool = False, **fields: Any) -> None:
        """One round of it, written at once; arguments as for ``Recorder.round``."""
        self._trace.round(self._number, control=control, **fields)
        self.used = True
        if not control:
            self.emitted += _listed(fields["emitted"]) or []

    def done(self, request: int = 0) -> None:
        """Nothing: the request is over when ``generate`` answers."""


class Channel:
    """The way back."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        os.set_inheritable(descriptor, False)  # a program that the decoder starts must not hold it open

    def send(self, message: str, **fields: Any) -> None:
        """One line."""
        left = json.dumps({"type": message, **fields}).encode("ascii") + b"\n"
        while left:
            left = left[os.write(self._descriptor, left) :]


def serve(request: Any, channel: Channel) -> None:
    """Make the decoder and hand it every prompt in turn."""
    recorder = _module_at(request["recorder"])
    with recorder.Recorder(
        request["trace"], decoder=request["decoder"], target=request["target"], rows="whole"
    ) as trace:
        decoder = _made(_found(request["decoder"]), request["target"])
        tie_rule = getattr(decoder, "tie_rule", None)
        channel.send("Ready", tie_rule=None if tie_rule is None else str(getattr(tie_rule, "value", tie_rule))[:100])
        for case, asked in enumerate(request["cases"]):
            limits = Limits(**asked["limits"])
            given = {name: value for name, value in limits._asdict().items() if name != "min_new" or value}
            number = trace.request(asked["prompt"], **given)
            channel.send("Driving", case=case)
            kind, text = _ask(decoder, asked["prompt"], limits, trace, number, request["target"])
            if kind == "Driven":
                trace.done(number)
                channel.send(kind, case=case)
            else:
                channel.send(kind, case=case, text=text)


def _ask(decoder: Any, prompt: Any, limits: Limits, trace: Any, number: int, target: str) -> tuple[str, str]:
    """What came of one prompt, and why."""
    prompts, steps = [list(prompt)], Steps(trace, number)
    try:
        answer = decoder.generate(prompts, limits, **({"trace": steps} if _takes_trace(decoder) else {}))
    except NotImplementedError as error:
        return "Declined", _text(error) or "it is not implemented"
    except BaseException as error:  # SystemExit and all
        mistaken = _mistaken(error, target)
        return "Misfit" if mistaken else "Broken", "generate raised " + _summary(error) + mistaken
    if prompts != [prompt]:
        return "Broken", "generate changed its input: the prompts that it was handed"
    try:
        _record(answer, trace, number, steps)
    except Unfit as error:
        return "Misfit", str(error)
    except BaseException as error:
        return "Misfit", _summary(error)
    return "Driven", ""


def _takes_trace(decoder: Any) -> bool:
    try:
        return "trace" in inspect.signature(decoder.generate).parameters
    except (TypeError, ValueError):  # a function of some other kind, which cannot be asked
        return False


def _record(answer: Any, trace: Any, number: int, steps: Steps) -> None:
    entries = _listed(answer)
    if entries is None or len(entries) != 1:
        raise Unfit(f"generate answered with {_short(answer)}; expected a list with one entry per prompt, here 1")
    rounds = _listed(entries[0])
    if rounds is None:
        raise Unfit(f"generate answered a prompt with {_short(entries[0])}; expected tokens or rounds")
    if steps.used:
        if steps.emitted != list(rounds):
            raise Unfit(f"generate answered {_short(rounds)}, and recorded rounds that emit {_short(steps.emitted)}")
    elif rounds and isinstance(rounds[0], Mapping):
        for shown in rounds:
            trace.round(number, **shown)
    else:
        trace.round(number, emitted=rounds)


def _listed(value: Any) -> Any:
    plain = value.tolist() if hasattr(value, "tolist") else value
    return plain if isinstance(plain, (list, tuple)) else None


def _found(name: str) -> Any:
    module, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise Refused("usage", f"no module {error.name!r} can be imported") from error
    except BaseException as error:
        raise Refused("usage", f"importing {module} raised {_summary(error)}") from error
    for part in path.split("."):
        if not hasattr(found, part):
            owner = getattr(found, "__name__", found)
            raise Refused("usage", f"{owner!r} has no attribute {part!r}")
        found = getattr(found, part)
    return found


def _made(found: Any, target: str) -> Any:
    """A decoder as it is, or what a factory makes of the target's name."""
    if isinstance(found, type) or (callable(found) and not hasattr(found, "generate")):
        try:
            found = found(target)
        except BaseException as error:
            mistaken = _mistaken(error, target)
            text = f"the factory, called with {target!r}, raised {_summary(error)}{mistaken}"
            raise Refused("adapter" if mistaken else "decoder", text) from error
    if not callable(getattr(found, "generate", None)):
        raise Refused("usage", f"{type(found).__name__} has no method generate, the one that can be run elsewhere")
    return found


def _mistaken(error: BaseException, target: str) -> str:
    """What was expected where the text that names the target was taken for the target; empty where it was not, or where Python
    is older than 3.10 and does not tell whose attribute is missing."""
    if not isinstance(error, AttributeError) or getattr(error, "obj", None) != target:
        return ""
    told = "under another interpreter a factory is handed the name of the target, and loads its model itself"
    return f"; {target!r} is text: {told}"


def _module_at(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("tree_oracle_record", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # nothing is left beside somebody else's file
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = kept
    return module


def _summary(error: BaseException) -> str:
    """Type, message and the innermost line of the decoder."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if os.path.abspath(frame.filename) != _HERE]
    where = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {_text(error)}{where}"


def _text(error: BaseException) -> str:
    try:
        return " ".join(str(error).split())[:300].encode("utf-8", "backslashreplace").decode("utf-8")
    except BaseException as second:
        return f"a message that raises {type(second).__name__}"


def _short(value: Any) -> str:
    try:
        return repr(value)[:60].encode("utf-8", "backslashreplace").decode("utf-8")
    except BaseException:
        return type(value).__name__


def _settle() -> None:
    """No input, no core files, the first to go where memory runs out; modules come from the working folder, not from here."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    sys.path[0] = os.getcwd()
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        pass


def main() -> None:
    """Serve one request."""
    channel, request = Channel(int(sys.argv[1])), json.loads(sys.stdin.buffer.read().decode("utf-8"))
    _settle()
    channel.send("Started", python=f"{platform.python_implementation()} {platform.python_version()}")
    try:
        serve(request, channel)
        channel.send("Ended")
    except Refused as refusal:
        channel.send("Refused", kind=refusal.kind, text=str(refusal)[:1000])


if __name__ == "__main__":
    main()
