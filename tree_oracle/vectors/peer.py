"""A program that is asked one line at a time, and may do anything: every question ends in a line or in an end.

The parent writes, reads and watches the clock at once, so a peer that does not read, does not answer or does not stop talking
blocks nothing. What it prints on standard error is drained and kept only at its end. Afterwards its process group is gone.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from tree_oracle.record import UsageError

MOST_BYTES = 16 * 2**20  # of one reply; the largest right one has 60 KiB
FAREWELL = 2.0  # seconds between the end of its input and its own

_CHUNK = 1 << 16
_TAIL = 4096  # bytes of its standard error that are kept
_SHOWN = 200  # characters of its last complaint that are told
_TICK = 0.05  # seconds between two looks at the clock


@dataclass(frozen=True, slots=True)
class End:
    """The end of a program that was not told to end, or had to be ended."""

    sentence: str
    flood: bool = False  # it wrote far more than a line can have


class Peer:
    """A running program, until ``close``."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start it.

        Raises:
            UsageError: there is no such program, or this system cannot run one so.
        """
        if os.name != "posix":
            raise UsageError("programs can be driven on POSIX systems only")
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except (OSError, ValueError, IndexError) as error:
            raise UsageError(f"cannot start {' '.join(command)!r}: {error}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._in: IO[bytes] = self._process.stdin
        self._pipes = (self._in, self._process.stdout, self._process.stderr)
        self._unsent, self._said, self._complaints = bytearray(), bytearray(), bytearray()
        self._waiting = selectors.DefaultSelector()
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)
        self._waiting.register(self._process.stdout, selectors.EVENT_READ, self._said)
        self._waiting.register(self._process.stderr, selectors.EVENT_READ, self._complaints)

    def close(self) -> None:
        """Leave nothing of it."""
        self._kill()
        self._waiting.close()
        for pipe in self._pipes:
            pipe.close()

    def ask(self, line: bytes, seconds: float) -> bytes | End:
        """Hand it a line; its next line, or how it ended. There is to be an answer within so many seconds."""
        deadline = time.monotonic() + seconds
        self._unsent += line
        if self._in not in self._waiting.get_map():
            self._waiting.register(self._in, selectors.EVENT_WRITE)
        while True:
            size = self._said.find(b"\n")
            if size >= 0:
                reply = bytes(self._said[:size])
                del self._said[: size + 1]
                return reply
            if len(self._said) > MOST_BYTES:
                return self._stop(f"the program wrote {MOST_BYTES} bytes without an end of line", flood=True)
            if time.monotonic() > deadline:
                return self._stop(f"the program gave no answer within {seconds:.3g} s")
            dead = self._process.poll() is not None  # asked first: what it wrote before it died is still to be read
            if not self._move(0 if dead else _TICK) and dead:
                code = self._process.returncode
                how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
                return self._stop(f"the program {how}")

    def unasked(self) -> bytes:
        """What it said without being asked, as far as it has come."""
        self._move(0)
        return bytes(self._said)

    def farewell(self) -> bytes:
        """End its input, and take what it still says until it ends or time is up."""
        if self._in in self._waiting.get_map():
            self._waiting.unregister(self._in)
        self._in.close()  # nothing is buffered in it: what is left unsent is dropped
        until = time.monotonic() + FAREWELL
        while time.monotonic() < until and self._waiting.get_map() and len(self._said) <= MOST_BYTES:
            self._move(_TICK)
        return bytes(self._said)

    def _move(self, patience: float) -> bool:
        """Write and read what can be; whether anything was read."""
        some = False
        for key, events in self._waiting.select(patience):
            if events & selectors.EVENT_WRITE:
                self._write()
                continue
            chunk = os.read(key.fd, _CHUNK)
            if not chunk:
                self._waiting.unregister(key.fileobj)
            key.data.extend(chunk)
            some |= bool(chunk)
        del self._complaints[:-_TAIL]
        return some

    def _write(self) -> None:
        try:
            sent = os.write(self._in.fileno(), self._unsent[:_CHUNK])
        except BrokenPipeError:
            sent = len(self._unsent)
        del self._unsent[:sent]
        if not self._unsent:
            self._waiting.unregister(self._in)

    def _stop(self, sentence: str, *, flood: bool = False) -> End:
        self._kill()
        self._move(0)
        said = [line for line in self._complaints.decode("utf-8", "replace").splitlines() if line.strip()]
        return End(f"{sentence}; it last said: {said[-1][:_SHOWN]}" if said else sentence, flood)

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
