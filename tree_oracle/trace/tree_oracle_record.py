"""Records what a speculative decoder does, round by round, as a trace that ``tree-oracle trace check`` judges.

This is one file for Python 3.8 and newer that needs nothing but the standard library: copy it into the project whose decoder is
to be looked at. Lists, numpy arrays and torch tensors are taken as they are. It judges nothing and changes nothing.

    from tree_oracle_record import Recorder

    with Recorder("run.jsonl", decoder="mine 1.2", target="my/model") as trace:
        request = trace.request(prompt, max_new_tokens=64, eos_ids=[2])
        while decoding:
            ...
            trace.round(request, tokens=tokens, parents=parents, accepted=accepted, emitted=new_tokens)
        trace.done(request)

Only ``emitted`` is needed; each further field lets more be judged. Conventions: node 0 is the root, the last committed token
before the round, with parent -1; parents stand before children; ``accepted`` lists nodes in path order without the root;
``emitted`` holds the tokens that the round commits, the bonus last; columns of ``visible`` are the committed tokens without the
root, then the nodes, True where the row attends; row v holds what the target says of the token after node v.

A line is written, whole and at once, when ``round`` returns, so that a run that dies leaves every round before it. Arrays up
to 4 KiB stand in the line, larger ones in a safetensors file beside the trace. ``rows`` are summarised (64 largest values
with their tokens, maximum, log-sum-exp, SHA-256) unless the recorder is made with ``rows="whole"``. With several ranks give
``rank`` and ``ranks``: every rank writes a file of its own. A plain run of the same model without any tree, recorded with
``control=True`` in each round, tells how far rows differ where nothing is wrong.
"""

from __future__ import annotations

import array
import base64
import ctypes
import hashlib
import heapq
import json
import math
import operator
import os
import platform
import struct
import sys
import threading
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

FORMAT = "tree-oracle-trace"
VERSION = 1
TOP = 64
INLINE_BYTES = 4096

_INTEGERS = ("emitted", "tokens", "parents", "depths", "positions", "accepted", "kept")
_ARRAYS = ("visible", "rows", "scores")
_TEXTS = ("row_kind", "score_kind", "draft_law", "end", "kernel", "graph")
_NUMBERS = ("bonus", "started_ns", "ended_ns")
_COUNTS = ("rounds", "drafted", "accepted", "target_passes", "draft_passes")
_SIZES = {"bool": 1, "int32": 4, "int64": 8, "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
_SAFE = {
    "bool": "BOOL", "int32": "I32", "int64": "I64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
}  # fmt: skip
_HALF = ("float16", "bfloat16")


class RecordError(ValueError):
    """A value that cannot be written down: the message names the field, the value and what was expected."""


class Dense(NamedTuple):
    """An array as dtype, shape and little-endian bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


class Recorder:
    """Writes one trace. A context manager: where its block is left by an exception, no end is written, as after a crash."""

    def __init__(
        self,
        path: Any,
        *,
        decoder: str = "",
        target: str = "",
        engine: str = "",
        rank: int = 0,
        ranks: int = 1,
        rows: str = "summary",
        environment: dict[str, str] | None = None,
    ) -> None:
        """Start a new file.

        Args:
            path: the trace, such as ``run.jsonl``; with several ranks ``run-rank0.jsonl`` and so on is written.
            decoder, target: what is recorded, in words.
            engine: what runs the target, such as ``transformers`` or ``llama.cpp``; empty if it is not to be said.
            rank, ranks: which of how many processes of one run this is.
            rows: ``summary`` or ``whole``.
            environment: further lines of the environment block. It is made to be published: no names of hosts or users.

        Raises:
            RecordError: ``rows`` is neither, or ``rank`` is none of ``ranks``.
            FileExistsError: the file is there; a trace is never overwritten.
        """
        if rows not in ("summary", "whole"):
            raise RecordError(f"rows is {rows!r}; expected 'summary' or 'whole'")
        if not 0 <= rank < ranks:
            raise RecordError(f"rank is {rank!r} of {ranks!r}; expected 0 to {ranks - 1!r}")
        stem, suffix = os.path.splitext(os.fspath(path))
        self.path = stem + (f"-rank{rank}" if ranks > 1 else "") + suffix
        self._whole, self._n, self._rounds, self._requests = rows == "whole", 0, 0, 0
        self._lock = threading.RLock()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._file: int | None = os.open(self.path, flags, 0o666)
        head = {"format": FORMAT, "version": VERSION, "decoder": decoder, "target": target, "engine": engine}
        self._write("trace", **head, rank=rank, ranks=ranks, environment={**_environment(), **(environment or {})})

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.close()
        elif self._file is not None:
            os.close(self._file)
            self._file = None

    def request(
        self,
        prompt: Any,
        *,
        max_new_tokens: int | None = None,
        eos_ids: Any = (),
        max_length: int | None = None,
        stop: Sequence[Any] = (),
        min_new: int = 0,
        greedy: bool = True,
    ) -> int:
        """A new request; its number, for ``round`` and ``done``.

        Args:
            prompt: tokens, the last one included.
            max_new_tokens, eos_ids, max_length, stop: where the text must end. Without ``max_new_tokens`` nothing is known of
                it, and its end is not judged.
            min_new: how many tokens had to come before the first end token.
            greedy: False where tokens are drawn by chance, so that greedy laws do not hold.

        Raises:
            RecordError: a token that none can be, or a limit below 0.
        """
        limits: dict[str, Any] | None = None
        if max_new_tokens is not None:
            limits = {
                "max_new_tokens": _count("max_new_tokens", max_new_tokens),
                "eos_ids": _token_ids("eos_ids", eos_ids),
            }
            if max_length is not None:
                limits["max_length"] = _count("max_length", max_length)
            if min_new:
                limits["min_new"] = _count("min_new", min_new)
            if stop:
                limits["stop"] = [_token_ids("stop", sequence) for sequence in stop]
        with self._lock:
            number = self._requests
            self._write(
                "request", request=number, prompt=_token_ids("prompt", prompt), limits=limits, greedy=bool(greedy)
            )
            self._requests += 1
        return number

    def round(self, request: int = 0, *, control: bool = False, **fields: Any) -> None:
        """One round.

        Fields as in the first lines of this file; further ``depths``, ``positions``, ``scores`` (one per node), ``row_kind``
        (``logits``, ``log-probabilities`` or ``probabilities``), ``score_kind`` (``logit``, ``log-probability`` or
        ``probability``), ``draft_law``, ``coins``, ``bonus``, ``kept`` (nodes whose cache rows stay), ``end`` (``eos``,
        ``stop``, ``cap`` or ``context``), ``started_ns``, ``ended_ns``, ``kernel``, ``graph``, ``work`` (a dict of your
        counters for these tokens: ``rounds`` that verified a draft, ``drafted`` and ``accepted`` tokens, ``target_passes``,
        ``draft_passes``), and ``cache``: per layer keys and values, heads x rows x width, after the commit. None is the same
        as not given.

        Raises:
            RecordError: no ``emitted``, a field that there is not, or a value that is not of its kind.
        """
        given = {name: value for name, value in fields.items() if value is not None}
        if "emitted" not in given:
            raise RecordError("a round without emitted; expected the tokens that it commits, or an empty list")
        plain: dict[str, Any] = {"request": operator.index(request)}
        dense: dict[str, Dense] = {}
        for name, value in given.items():
            if name in _ARRAYS:
                dense[name] = _dense(name, value)
            elif name == "cache":
                dense.update(_layers(value))
            else:
                plain[name] = _plain(name, value)
        if control:
            plain["control"] = True
        more: dict[str, Any] = {}
        if "rows" in dense and not self._whole:
            more["summary"] = _summary(dense.pop("rows"))
        with self._lock:
            large = {name: one for name, one in dense.items() if len(one.data) > INLINE_BYTES or one.dtype in _HALF}
            large.update({name: one for name, one in dense.items() if name.startswith("cache.")})
            plain.update({name: _inline(one) for name, one in dense.items() if name not in large})
            if large:
                _write_arrays(f"{self.path}.arrays", self._n, large)
                more["beside"] = sorted(large)
            self._write("round", round=plain, **more)
            self._rounds += 1

    def done(self, request: int = 0) -> None:
        """The decoder has returned this request's text; nothing follows."""
        self._write("done", request=operator.index(request))

    def close(self) -> None:
        """Write the end, without which a trace counts as broken off. Nothing can be recorded afterwards."""
        with self._lock:
            if self._file is not None:
                self._write("end", requests=self._requests, rounds=self._rounds)
                os.close(self._file)
                self._file = None

    def _write(self, kind: str, **fields: Any) -> None:
        with self._lock:
            if self._file is None:
                raise RecordError(f"{self.path} is closed; nothing can be recorded any more")
            given = {"kind": kind, "n": self._n, **{name: value for name, value in fields.items() if value is not None}}
            text = json.dumps(given, separators=(",", ":"), allow_nan=False)[:-1].encode("ascii")
            line = b'%s,"crc":"%08x"}\n' % (text, zlib.crc32(text))
            while line:
                line = line[os.write(self._file, line) :]
            self._n += 1


def _environment() -> dict[str, str]:
    """Versions and machine; nothing is imported for it."""
    block = {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
    for name in ("torch", "numpy", "transformers"):
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            block[name] = str(version)
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized():
        block["device"] = str(cuda.get_device_name())
    return block


def _integers(name: str, value: Any) -> list[int]:
    plain = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(plain, (list, tuple, range)):
        raise RecordError(f"{name} is {_short(value)}; expected a flat list of integers")
    try:
        return [_fitting(name, operator.index(number)) for number in plain]
    except TypeError as error:
        raise RecordError(f"{name} is {_short(value)}; expected a flat list of integers") from error


def _fitting(name: str, number: int) -> int:
    if not -(2**63) <= number < 2**63:
        raise RecordError(f"{name} holds {number}; expected integers of 64 bits")
    return number


def _token_ids(name: str, value: Any) -> list[int]:
    """What was asked for; what the decoder answered is written down as it is, for a judge."""
    found = _integers(name, value)
    wrong = [token for token in found if not 0 <= token < 2**31]
    if wrong:
        raise RecordError(f"{name} holds {wrong[0]}; expected tokens from 0 to {2**31 - 1}")
    return found


def _count(name: str, value: Any) -> int:
    found = operator.index(value)
    if not 0 <= found <= 2**53:
        raise RecordError(f"{name} is {found}; expected 0 to {2**53}")
    return found


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _plain(name: str, value: Any) -> Any:
    if name in _INTEGERS:
        return _integers(name, value)
    if name in _TEXTS:
        return str(getattr(value, "value", value))
    if name == "coins":
        return [float(coin) for coin in value]
    if name == "work":
        return _counts(value)
    if name not in _NUMBERS:
        known = (*_INTEGERS, *_ARRAYS, "cache", "coins", "work", *_NUMBERS, *_TEXTS)
        raise RecordError(f"a round has no field {name!r}; it has {', '.join(known)}")
    try:
        return _fitting(name, operator.index(value))
    except TypeError as error:
        raise RecordError(f"{name} is {_short(value)}; expected an integer") from error


def _counts(value: Any) -> dict[str, int]:
    try:
        found = {name: operator.index(count) for name, count in dict(value).items()}
    except (TypeError, ValueError) as error:
        raise RecordError(f"work is {_short(value)}; expected a dict of whole numbers") from error
    unknown = [name for name in found if name not in _COUNTS]
    if unknown:
        raise RecordError(f"work has no count {unknown[0]!r}; it has {', '.join(_COUNTS)}")
    return {name: _count(f"work.{name}", count) for name, count in found.items()}


def _layers(value: Any) -> dict[str, Dense]:
    found = {}
    for layer, (keys, values) in enumerate(value):
        found[f"cache.{layer}.keys"] = _dense("cache", keys)
        found[f"cache.{layer}.values"] = _dense("cache", values)
    return found


def _dense(name: str, value: Any) -> Dense:
    """Any array as bytes: a torch tensor with or without numpy, a numpy array, or nested lists."""
    if hasattr(value, "detach"):
        held = value.detach().cpu().contiguous()
        size = held.numel() * held.element_size()
        found = Dense(str(held.dtype).replace("torch.", ""), tuple(held.shape), ctypes.string_at(held.data_ptr(), size))
    elif hasattr(value, "__array_interface__"):
        little = value.astype(value.dtype.newbyteorder("<"), copy=False)
        found = Dense(value.dtype.name, tuple(value.shape), little.tobytes())
    else:
        found = _from_lists(name, value)
    if found.dtype not in _SIZES:
        raise RecordError(f"{name} has dtype {found.dtype}; expected one of {', '.join(_SIZES)}")
    return found


def _from_lists(name: str, value: Any) -> Dense:
    shape, flat = [], value
    level = [value]
    while level and all(isinstance(item, (list, tuple)) for item in level):
        lengths = {len(item) for item in level}
        if len(lengths) > 1:
            raise RecordError(f"{name} is ragged: lists of {sorted(lengths)} entries side by side")
        shape.append(lengths.pop())
        level = flat = [entry for item in level for entry in item]
    if not shape or not all(isinstance(entry, (bool, int, float)) for entry in flat):
        raise RecordError(f"{name} is {_short(value)}; expected numbers in lists, a numpy array or a torch tensor")
    if flat and all(isinstance(entry, bool) for entry in flat):
        return Dense("bool", tuple(shape), bytes(flat))
    kind = "d" if any(isinstance(entry, float) for entry in flat) or not flat else "q"
    return Dense("float64" if kind == "d" else "int64", tuple(shape), _packed(kind, flat))


def _packed(kind: str, values: Any) -> bytes:
    held = array.array(kind, values)
    if sys.byteorder == "big":
        held.byteswap()
    return held.tobytes()


def _inline(one: Dense) -> dict[str, Any]:
    return {"dtype": one.dtype, "shape": list(one.shape), "data": base64.b64encode(one.data).decode("ascii")}


def _write_arrays(folder: str, n: int, arrays: dict[str, Dense]) -> None:
    """A safetensors file for line ``n``, whole or not at all, there before the line that speaks of it."""
    head, start = {}, 0
    for name in sorted(arrays):
        one = arrays[name]
        head[name] = {
            "dtype": _SAFE[one.dtype],
            "shape": list(one.shape),
            "data_offsets": [start, start + len(one.data)],
        }
        start += len(one.data)
    text = json.dumps(head, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{n:09d}.safetensors")
    with open(path + ".part", "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for name in sorted(arrays):
            out.write(arrays[name].data)
    os.replace(path + ".part", path)


def _summary(rows: Dense) -> dict[str, Any]:
    """Per row the largest values and their tokens, the maximum, log-sum-exp, and a hash of all values as float32 or float64."""
    if len(rows.shape) != 2 or not rows.shape[1] or rows.dtype[:5] not in ("float", "bfloa"):
        raise RecordError(f"rows have shape {rows.shape} and dtype {rows.dtype}; expected floats, nodes x vocabulary")
    count, vocab = rows.shape
    top = min(TOP, vocab)
    try:
        import numpy
    except ImportError:
        wide, data, tokens, values, peaks, sums = _summed_plainly(rows, top)
    else:
        wide, data, tokens, values, peaks, sums = _summed_by_numpy(numpy, rows, top)
    width = vocab * _SIZES[wide]
    return {
        "vocab": vocab,
        "tokens": _inline(Dense("int32", (count, top), tokens)),
        "values": _inline(Dense(wide, (count, top), values)),
        "maximum": _inline(Dense(wide, (count,), peaks)),
        "log_sum_exp": _inline(Dense("float64", (count,), sums)),
        "sha256": [hashlib.sha256(data[row * width : (row + 1) * width]).hexdigest() for row in range(count)],
    }


def _summed_by_numpy(numpy: Any, rows: Dense, top: int) -> tuple[str, bytes, bytes, bytes, bytes, bytes]:
    if rows.dtype == "bfloat16":
        wide = (numpy.frombuffer(rows.data, "<u2").astype("<u4") << 16).view("<f4").reshape(rows.shape)
    else:
        held = numpy.frombuffer(rows.data, numpy.dtype(rows.dtype).newbyteorder("<")).reshape(rows.shape)
        wide = held.astype("<f8" if rows.dtype == "float64" else "<f4", copy=False)
    tokens = numpy.stack([_largest(numpy, row, top) for row in wide]) if len(wide) else numpy.zeros((0, top))
    values = numpy.take_along_axis(wide, tokens.astype("i8"), 1)
    peaks = values[:, 0]
    with numpy.errstate(all="ignore"):
        high = peaks.astype("f8")
        sums = numpy.where(numpy.isfinite(high), high + numpy.log(numpy.exp(wide - high[:, None]).sum(axis=1)), high)
    parts = (tokens.astype("<i4"), values, peaks, sums.astype("<f8"))
    return ("float64" if wide.itemsize == 8 else "float32", wide.tobytes(), *(part.tobytes() for part in parts))


def _largest(numpy: Any, row: Any, top: int) -> Any:
    """Tokens of the largest values, largest first, NaN before all; of equal ones the smaller token first."""
    bound = numpy.partition(row, len(row) - top)[len(row) - top]  # NaN comes last here
    above = numpy.flatnonzero((row > bound) | (row != row))[:top]
    tokens = numpy.concatenate([above, numpy.flatnonzero(row == bound)[: top - len(above)]])
    return tokens[numpy.lexsort((tokens, -row[tokens], row[tokens] == row[tokens]))]


def _summed_plainly(rows: Dense, top: int) -> tuple[str, bytes, bytes, bytes, bytes, bytes]:
    flat, vocab = _values(rows), rows.shape[1]
    wide = "float64" if rows.dtype == "float64" else "float32"
    kind = "d" if wide == "float64" else "f"
    tokens, values, peaks, sums = [], [], [], []
    for start in range(0, len(flat), vocab):
        row = flat[start : start + vocab]
        first = heapq.nsmallest(top, range(vocab), key=lambda token: (row[token] == row[token], -row[token], token))
        tokens += first
        values += [row[token] for token in first]
        peak = row[first[0]]
        peaks.append(peak)
        sums.append(
            peak + math.log(math.fsum(math.exp(value - peak) for value in row)) if math.isfinite(peak) else peak
        )
    return (
        wide, _packed(kind, flat), _packed("i", tokens), _packed(kind, values), _packed(kind, peaks), _packed("d", sums),
    )  # fmt: skip


def _values(rows: Dense) -> list[float]:
    if rows.dtype == "bfloat16":
        halves = struct.unpack(f"<{len(rows.data) // 2}H", rows.data)
        return list(
            struct.unpack(f"<{len(halves)}f", struct.pack(f"<{len(halves)}I", *(half << 16 for half in halves)))
        )
    kind = {"float16": "e", "float32": "f", "float64": "d"}[rows.dtype]
    return list(struct.unpack(f"<{len(rows.data) // _SIZES[rows.dtype]}{kind}", rows.data))
