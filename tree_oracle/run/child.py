"""The process that is allowed to die: ``python -m tree_oracle.run.child FD``.

It reads a request from standard input, runs the battery, and writes what happens to file descriptor FD: before the decoder is
handed a case, which; after each check, the result. Its own output is the decoder's to fill. The target and its truth are made
before the decoder's module is imported, so whatever dies after that is the decoder's.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tree_oracle import record
from tree_oracle.checks import CHECKS, Source
from tree_oracle.record import Case, CheckResult, TreeOracleError
from tree_oracle.run.battery import Battery
from tree_oracle.run.child_messages import (
    Done,
    Driven,
    Driving,
    Ended,
    Failing,
    Measured,
    Message,
    Opened,
    Ready,
    Refused,
    Request,
    Started,
    decode_request,
    encode,
)
from tree_oracle.run.child_process import STACK_SIGNAL
from tree_oracle.run.in_process import head_of
from tree_oracle.run.lookup import find_decoder
from tree_oracle.run.misfits import refuse_misfits
from tree_oracle.run.power import Power
from tree_oracle.run.subject import DEFAULT_TARGET, Subject, is_factory, make_subject, truth_of
from tree_oracle.run.supervision import Supervision
from tree_oracle.target import Target, load_target


class Channel:
    """The way back to the parent."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        os.set_inheritable(descriptor, False)  # a program that the decoder starts must not hold it open

    def send(self, message: Message) -> None:
        """Write the whole line."""
        left = memoryview(encode(message))
        while left:
            left = left[os.write(self._descriptor, left) :]

    def failing(self, result: CheckResult) -> None:
        """Say what stands already."""
        self.send(Failing(result))

    @contextmanager
    def watch(self, source: Source, case: Case) -> Iterator[None]:
        """Say that the decoder is being driven, and when that is over."""
        self.send(Driving(source.seam.value, case))
        try:
            yield
        finally:
            self.send(Driven())


def serve(request: Request, channel: Channel) -> None:
    """Run what was asked for."""
    subject = _subject(request, channel)
    channel.send(Ready())
    supervision = Supervision(
        watch=channel.watch,
        on_failure=channel.failing,
        deadly={(death.seam, death.case_id): death.sentence for death in request.deadly},
        as_found=frozenset(request.plan.as_found),
    )
    checks, earlier = [CHECKS[name] for name in request.missing], request.plan.earlier
    refuse_misfits(earlier, request.cases or (), checks, subject.target)
    battery = Battery(subject, request.plan.budget, supervision=supervision, broken=request.broken, earlier=earlier)
    for name in request.missing:
        check = CHECKS[name]
        channel.send(Started(name, battery.scenes(check) if request.cases is None else {}))
        channel.send(Done(battery.finish(check, request.cases)))
    if request.plan.power:
        channel.send(Measured(Power(subject, battery.stock, supervision).measured()))


def _subject(request: Request, channel: Channel) -> Subject:
    plan = request.plan
    spec = plan.target or DEFAULT_TARGET
    target = load_target(spec, device=plan.device, dtype=plan.dtype, attention=plan.attention)
    truth = truth_of(target, plan.tolerance)
    channel.send(Opened(head_of(Subject(plan.decoder, None, target, truth), request.isolation)))
    name, found = find_decoder(plan.decoder)
    own: Target | None = target if plan.target is not None or is_factory(found) else None
    return make_subject(found, own, name=name, truth=truth)


def _settle() -> None:
    """No core files, no input, and the first to go where memory runs out."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    faulthandler.register(signal.Signals[STACK_SIGNAL], all_threads=False)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")


def refusal(error: Exception) -> Refused:
    """An error as the parent can raise it again: by the nearest class of ``tree_oracle.record``.

    Any other exception is a defect of ours, and must not be laid at the decoder's door.
    """
    if isinstance(error, TreeOracleError):
        kind = next(kind.__name__ for kind in type(error).__mro__ if hasattr(record, kind.__name__))
        return Refused(kind, str(error))
    last = "".join(traceback.format_exception(error))[-2000:]
    return Refused("TreeOracleError", f"the oracle itself broke down in the child process:\n{last}")


def main() -> None:
    """Serve one request."""
    channel, request = Channel(int(sys.argv[1])), decode_request(sys.stdin.buffer.read())
    _settle()
    try:
        serve(request, channel)
        channel.send(Ended())
    except Exception as error:
        channel.send(refusal(error))


if __name__ == "__main__":
    main()
