"""A child process that may do anything, as a stream of lines that always ends.

The parent waits on the child's two pipes and its clock at once. What the child prints is drained without bound and kept only
at its end. At the deadline it is asked for its stack, then killed, and with it its whole process group, so that nothing it
started lives on (a process that leaves the group does). Should this process die first, a guardian kills the group.

Memory is the resident size of the group, read from ``/proc`` a few times a second. A limit on address space would be exact, but
says nothing about memory: with 32 threads torch reserves 1.5 GB and touches 40 MB more than with two (measured), and drivers
of accelerators reserve hundreds. A burst between two readings can exceed the limit.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType

from tree_oracle.record import UsageError
from tree_oracle.run.child_guardian import Guardian

STACK_SIGNAL = "SIGUSR1"  # makes a child of ours write where it is, even from inside native code
MAX_LINE = 256 * 2**20  # a case with rows over a large vocabulary takes a few MiB; more is no line of ours

_TAIL = 16 * 1024  # bytes of the child's output that are kept
_CHUNK = 1 << 16
_TICK = 0.05  # seconds between two looks at the clock
_LOOK = 0.1  # seconds between two looks at the memory
_LAST_WORDS = 0.5  # seconds for a child to write its stack
_PROC = Path("/proc")


class Cause(StrEnum):
    """How a child came to its end."""

    SIGNAL = "signal"
    EXIT = "exit"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    NONSENSE = "nonsense"  # a line that is far too long


@dataclass(frozen=True, slots=True)
class End:
    """The end of a child that was not told to end."""

    cause: Cause
    code: int = 0  # exit code or signal number
    output: str = ""  # the last of what it printed


class ChildProcess:
    """A program in a session of its own, and its lines. A context manager: afterwards nothing of it is left."""

    def __init__(
        self,
        command: Sequence[str],
        request: bytes,
        *,
        memory: int | None = None,
        environment: Mapping[str, str] | None = None,
        max_line: int | None = None,
    ) -> None:
        """Start ``command``, with the number of its result pipe as last argument, and hand it ``request`` as its input.

        Args:
            command: program and arguments.
            request: all of its standard input.
            memory: MiB that the process group may hold.
            environment: its environment variables; None: this process's, and its module path.
            max_line: bytes that a line of it may have; None: ``MAX_LINE``.

        Raises:
            UsageError: this system cannot do what is asked.
        """
        _refuse_other_systems(memory)
        self._memory, self._max_line = memory, max_line or MAX_LINE
        self._next_look = 0.0
        self._lines, self._output = bytearray(), bytearray()
        results, write = os.pipe()
        self._process = subprocess.Popen(
            [*command, str(write)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[write],
            start_new_session=True,
            env=_ours() if environment is None else environment,
        )
        self._guardian = Guardian(self._process.pid)
        os.close(write)
        self._results = results
        self._waiting = selectors.DefaultSelector()
        assert self._process.stdout is not None
        for descriptor, kept in ((results, self._lines), (self._process.stdout.fileno(), self._output)):
            os.set_blocking(descriptor, False)
            self._waiting.register(descriptor, selectors.EVENT_READ, kept)
        self._ask(request)

    @property
    def pid(self) -> int:
        """Its process id, which is also that of its group."""
        return self._process.pid

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kill()
        self._waiting.close()
        os.close(self._results)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def line(self, deadline: float) -> bytes | End:
        """The next line, or how it all ended; ``deadline`` as ``time.monotonic`` counts. Not to be called after an ``End``."""
        while True:
            size = self._lines.find(b"\n")
            if size >= 0:
                line = bytes(self._lines[:size])
                del self._lines[: size + 1]
                return line
            if len(self._lines) > self._max_line:
                return self.stop(Cause.NONSENSE)
            if time.monotonic() > deadline:
                return self._overdue()
            if self._holds_too_much():
                return self.stop(Cause.MEMORY)
            dead = self._process.poll() is not None  # asked first: what it wrote before it died is still to be read
            if not self._read(0 if dead else _TICK) and dead:
                code = self._process.returncode
                return self.stop(Cause.SIGNAL if code < 0 else Cause.EXIT, abs(code))

    def _ask(self, request: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError), self._process.stdin as pipe:  # if it died already, that is noticed soon enough
            pipe.write(request)

    def _read(self, patience: float) -> bool:
        """Take what there is from both pipes; whether there was anything."""
        some = False
        for key, _ in self._waiting.select(patience):
            chunk = os.read(key.fd, _CHUNK)
            if not chunk:
                self._waiting.unregister(key.fileobj)
            key.data.extend(chunk)
            some |= bool(chunk)
        del self._output[:-_TAIL]
        return some

    def _overdue(self) -> End:
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.Signals[STACK_SIGNAL])
        until = time.monotonic() + _LAST_WORDS
        while time.monotonic() < until and self._waiting.get_map():
            self._read(_TICK)
        return self.stop(Cause.TIMEOUT)

    def stop(self, cause: Cause, code: int = 0) -> End:
        """Kill it, and say why."""
        self._kill()
        return End(cause, code, self._output.decode("utf-8", "replace"))

    def _kill(self) -> None:
        """End the whole group, which may outlive its leader."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._guardian.dismiss()
        self._process.wait()

    def _holds_too_much(self) -> bool:
        now = time.monotonic()
        if self._memory is None or now < self._next_look:
            return False
        self._next_look = now + _LOOK
        return resident(self._process.pid) > self._memory * 2**20


def _ours() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}


def resident(group: int) -> int:
    """Bytes of memory that the processes of one group hold, pages that they share counted for each."""
    return sum(_resident_of(entry, group) for entry in _PROC.iterdir() if entry.name.isdigit())


def _resident_of(entry: Path, group: int) -> int:
    try:
        # The name, in parentheses, may hold anything. After it: state, parent, group, ..., resident pages at place 21.
        fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:  # gone meanwhile
        return 0
    return int(fields[21]) * os.sysconf("SC_PAGE_SIZE") if int(fields[2]) == group else 0


def _refuse_other_systems(memory: int | None) -> None:
    if os.name != "posix":
        raise UsageError("a decoder can be isolated on POSIX systems only; run it in process")
    if memory is not None and not (_PROC / "self" / "stat").exists():
        raise UsageError("a memory limit needs /proc, which this system does not have")
