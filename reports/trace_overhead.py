"""How much of a tiny model's generation recording costs: ``python reports/trace_overhead.py``. One thread, processor time."""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch

from tree_oracle import Limits, ReferenceDecoder, Round, load_target
from tree_oracle.trace import Recorder

PROMPTS = tuple(tuple((7 * i + salt) % 200 for i in range(32)) for salt in range(8))
TOKENS = ("emitted", "tokens", "parents", "accepted", "bonus", "end")
SHOWN = {
    "tokens and trees": ("summary", TOKENS),
    "with positions and masks": ("summary", (*TOKENS, "positions", "kept", "visible")),
    "with summaries of all rows": ("summary", (*TOKENS, "positions", "kept", "visible", "scores", "rows")),
    "with whole rows": ("whole", (*TOKENS, "positions", "kept", "visible", "scores", "rows")),
}


def spent(work: Any) -> tuple[float, Any]:
    """Processor seconds of a call, and its answer."""
    start = time.process_time()
    answer = work()
    return time.process_time() - start, answer


def record(path: Path, texts: list[list[dict[str, Any]]], rows: str) -> None:
    """Write everything down as a decoder would."""
    with Recorder(path, rows=rows) as trace:
        for prompt, rounds in zip(PROMPTS, texts, strict=True):
            request = trace.request(prompt, max_new_tokens=64)
            for fields in rounds:
                trace.round(request, **fields)
            trace.done(request)


def fields_of(round_: Round, names: tuple[str, ...]) -> dict[str, Any]:
    """Plain values, arrays as numpy arrays."""
    given = {name: getattr(round_, name) for name in names}
    return {name: value.numpy() if hasattr(value, "numpy") else value for name, value in given.items()}


def report(spec: str, folder: Path) -> None:
    """The shares for one target."""
    decoder = ReferenceDecoder(load_target(spec))
    decoder.generate(PROMPTS[:1], Limits(max_new_tokens=8))
    base, texts = spent(partial(decoder.generate, PROMPTS, Limits(max_new_tokens=64)))
    count = sum(map(len, texts))
    nodes = sum(len(round_.tokens) for rounds in texts for round_ in rounds) / count
    print(f"{spec}: {count} rounds of {nodes:.1f} nodes, {1000 * base / count:.2f} ms each without recording")
    for name, (rows, names) in SHOWN.items():
        given = [[fields_of(round_, names) for round_ in rounds] for rounds in texts]
        paths = [folder / f"{spec.removeprefix('tiny:')} {name} {k}.jsonl" for k in range(3)]
        more = min(spent(partial(record, path, given, rows))[0] for path in paths)
        print(f"  {name:<28}{1e6 * more / count:7.0f} us a round, {100 * more / base:5.2f} %")


def main() -> None:
    """Print the shares."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for spec in ("tiny:qwen3", "tiny:llama"):
            report(spec, Path(folder))


if __name__ == "__main__":
    main()
