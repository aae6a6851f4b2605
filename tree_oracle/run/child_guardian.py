"""A guardian: a small process that outlives this one by a moment and ends what this one started.

Rule: it waits on a pipe whose other end this process alone holds. However this process dies (``SIGTERM`` of a cancelled build,
``SIGHUP`` of a closed terminal, ``SIGKILL``), the system closes that end, the guardian sees it and kills the group. Nothing
is asked of the child, which may hang with the interpreter's lock in its hands, have closed its files, or be another Python.
"""

from __future__ import annotations

import os
import subprocess
import sys

_WAIT_AND_KILL = """\
import os, signal, sys
os.read(0, 1)
os.killpg(int(sys.argv[1]), signal.SIGKILL)
"""


class Guardian:
    """Ends a process group when this process is gone, unless it was dismissed before."""

    def __init__(self, group: int) -> None:
        """Watch over ``group``, the id of a process group that this process started."""
        lifeline, held = os.pipe()
        self._held = os.fdopen(held, "wb", buffering=0)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _WAIT_AND_KILL, str(group)],
                stdin=lifeline,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # what is sent to this process's group must not reach it
            )
        except BaseException:
            self._held.close()
            raise
        finally:
            os.close(lifeline)

    def dismiss(self) -> None:
        """The group is gone, and its id may be another's soon. May be called again."""
        self._process.kill()
        self._process.wait()
        self._held.close()
