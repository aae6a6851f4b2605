"""Whatever ends the oracle's process ends the decoder's as well, though that one hangs and hears no signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SOON = 60.0  # seconds, on any machine

# A child with a child of its own; both ignore what can be ignored, and the first has closed all its files but one.
DEAF = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
os.fork()
open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
os.closerange(0, 256)
time.sleep(3600)
"""
ORACLE = """
import sys, time
from tree_oracle.run.child_process import ChildProcess
with ChildProcess([sys.executable, "-c", sys.argv[1], sys.argv[2]], b"") as child:
    child.line(time.monotonic() + 3600)
"""


def alive(pid: int) -> bool:
    """Whether the process runs: one that is dead and not yet waited for by its new parent does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except OSError:  # no /proc: the answer of kill stands, unless it has gone meanwhile
        return not Path("/proc/self").exists()


def until(done: object) -> bool:
    """Whether it came true soon."""
    assert callable(done)
    end = time.monotonic() + SOON
    while time.monotonic() < end:
        if done():
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_to_the_oracle_ends_a_hung_decoder(number: signal.Signals, tmp_path: Path) -> None:
    """A build that is cancelled leaves no process of the decoder behind."""
    with subprocess.Popen(
        [sys.executable, "-c", ORACLE, DEAF, str(tmp_path)], stderr=subprocess.DEVNULL, start_new_session=True
    ) as oracle:
        assert until(lambda: len(list(tmp_path.iterdir())) == 2)
        started = [int(entry.name) for entry in tmp_path.iterdir()]
        assert all(map(alive, started))
        oracle.send_signal(number)
        oracle.wait(SOON)
    assert until(lambda: not any(map(alive, started)))


def test_a_guardian_that_was_dismissed_kills_nothing() -> None:
    """Once its group is gone its id may be another's: a dismissed guardian is no danger to it."""
    from tree_oracle.run.child_guardian import Guardian

    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True) as other:
        guardian = Guardian(other.pid)
        guardian.dismiss()
        guardian.dismiss()
        assert alive(other.pid)
        other.communicate(b"\n")
    assert other.returncode == 0
