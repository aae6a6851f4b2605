"""Small traces for tests, and ways to spoil them."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tree_oracle.record import Round
from tree_oracle.trace import Recorder, Requests, TraceReader, contents_of

ARRAYS = ("visible", "rows", "scores")
NOT_RECORDED = (
    "work",
    "calls",
    "pool",
    "peers",
    "processed",
    "request",
    "rank",
    "prefix",
    "pools",
    "length",
    "pages",
    "control",
)


def fields_of(round_: Round) -> dict[str, Any]:
    """What a decoder would hand to the recorder."""
    given = {name: getattr(round_, name) for name in Round.__struct_fields__ if name not in NOT_RECORDED}
    given |= {name: given[name].numpy() for name in ARRAYS if given[name] is not None}
    if round_.cache is not None:
        given["cache"] = [(layer.keys.numpy(), layer.values.numpy()) for layer in round_.cache]
    return given


def small_trace(
    path: Path, *, seed: int = 0, requests: int = 2, rounds: int = 3, vocab: int = 80, rows: str = "whole"
) -> Path:
    """A trace of chains with right counts and made-up rows that choose what is emitted; its second request is a control run."""
    draw = np.random.default_rng(seed)
    with Recorder(path, decoder="made up", target="none", rows=rows, environment={"place": "here"}) as trace:
        for number in range(requests):
            control = number % 2 == 1
            request = trace.request([1, 2, 3], max_new_tokens=100, eos_ids=[vocab - 1])
            for _ in range(rounds):
                _chain(trace, request, draw, vocab, control=control)
            trace.done(request)
    return path


def _chain(trace: Recorder, request: int, draw: np.random.Generator, vocab: int, *, control: bool) -> None:
    nodes = 1 if control else 3
    tokens = draw.integers(0, vocab - 1, nodes)
    table = draw.normal(size=(nodes, vocab)).astype(np.float32)
    emitted = table.argmax(axis=1)
    tokens[1:] = emitted[:-1]
    mask = np.tril(np.ones((nodes, nodes), dtype=bool))
    trace.round(
        request,
        control=control,
        emitted=emitted,
        tokens=tokens,
        parents=range(-1, nodes - 1),
        accepted=range(1, nodes),
        rows=table,
        scores=np.zeros(nodes),
        visible=None if control else np.pad(mask, ((0, 0), (2, 0)), constant_values=True),
    )


def long_trace(path: Path, *, rounds: int, requests: int = 1) -> Path:
    """Requests of many small rounds with right counts and ends, tokens and trees alone."""
    with Recorder(path, decoder="long", target="none") as trace:
        for _ in range(requests):
            request, root = trace.request([1, 2, 3], max_new_tokens=3 * rounds), 3
            for place in range(rounds):
                new = [300 + (7 * place + more) % 500 for more in range(3)]
                trace.round(
                    request,
                    emitted=new,
                    tokens=[root, *new[:2], 9],
                    parents=[-1, 0, 1, 0],
                    accepted=[1, 2],
                    end="cap" if place == rounds - 1 else None,
                )
                root = new[-1]
            trace.done(request)
    return path


def sealed(line: bytes) -> bytes:
    """The line with the checksum that it ought to have."""
    body = line.rpartition(b',"crc":"')[0] or line.removesuffix(b"}")
    return b'%s,"crc":"%08x"}' % (body, zlib.crc32(body))


def numbered(lines: Sequence[bytes]) -> list[bytes]:
    """The lines numbered anew, as a writer that meant them would have."""
    found = []
    for n, line in enumerate(lines):
        plain = json.loads(line)
        plain["n"] = n
        plain.pop("crc", None)
        found.append(sealed(json.dumps(plain, separators=(",", ":")).encode()))
    return found


def read_all(path: Path, *, partial: bool = False) -> int:
    """Everything that reading can do; the number of rounds."""
    count = 0
    for request in Requests(TraceReader(path, partial=partial)):
        for one in request.rounds:
            one.whole()
            count += 1
    assert contents_of(TraceReader(path, partial=partial)).rounds == count
    return count


TOKENS = (
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b'"',
    b"null",
    b"true",
    b"-1",
    b"1e999",
    b"NaN",
    b"9" * 40,
    b"\\u0000",
    b"\xff",
    b"[" * 3000,
)


def mutated(whole: bytes, draw: random.Random) -> bytes:
    """The bytes of a trace, spoilt in one or a few places; in half of the cases with checksums that fit."""
    data = bytearray(whole)
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        draw.choice(MUTATIONS)(data, draw)
    if draw.random() < 0.5:
        lines = bytes(data).split(b"\n")
        data = bytearray(b"\n".join(sealed(line) if line else line for line in lines))
    return bytes(data)


def _place(data: bytearray, draw: random.Random) -> int:
    return draw.randrange(len(data) + 1)


def _overwrite(data: bytearray, draw: random.Random) -> None:
    if data:
        data[draw.randrange(len(data))] = draw.randrange(256)


def _insert(data: bytearray, draw: random.Random) -> None:
    place = _place(data, draw)
    data[place:place] = draw.choice(TOKENS)


def _delete(data: bytearray, draw: random.Random) -> None:
    place = _place(data, draw)
    del data[place : place + draw.choice((1, 2, 10, 100))]


def _truncate(data: bytearray, draw: random.Random) -> None:
    del data[_place(data, draw) :]


def _number(data: bytearray, draw: random.Random) -> None:
    """Another number in the place of one: negative, huge, or merely wrong."""
    digits = [place for place, byte in enumerate(data) if 48 <= byte <= 57]
    if digits:
        place = draw.choice(digits)
        data[place : place + 1] = draw.choice(
            (b"-1", b"0", b"7", b"99999", b"2147483648", b"9223372036854775808", b"1.5")
        )


def _lines(data: bytearray, draw: random.Random) -> None:
    """Lines that are swapped, doubled, lost or moved."""
    lines = bytes(data).split(b"\n")
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    action = draw.randrange(4)
    if action == 0:
        lines[one], lines[other] = lines[other], lines[one]
    elif action == 1:
        lines.insert(one, lines[other])
    elif action == 2:
        del lines[one]
    else:
        lines = [line for line in numbered_or_not(lines) if line] + [b""]
    data[:] = b"\n".join(lines)


def numbered_or_not(lines: list[bytes]) -> list[bytes]:
    try:
        draw = lines[:1] + lines[2:]
        return numbered([line for line in draw if line])
    except (ValueError, TypeError, RecursionError):
        return lines


def _splice(data: bytearray, draw: random.Random) -> None:
    first, last = sorted((_place(data, draw), _place(data, draw)))
    part = bytes(data[first:last])[:500]
    place = _place(data, draw)
    data[place : place + len(part)] = part


MUTATIONS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    _overwrite, _insert, _delete, _truncate, _number, _number, _number, _lines, _splice,
)  # fmt: skip
