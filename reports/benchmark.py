"""Measure, side by side in one run: ``python reports/benchmark.py``. Prints Markdown; ratios are what may be quoted.

1. Shared truth against the naive loop: rows of every node of the published 63-node Medusa tree over a prefix of 128 tokens on
   tiny:qwen3, one ordinary pass per node against one pass over shared prefixes.
2. ``doctor`` and the whole battery on the reference decoder, beyond the import of torch and transformers.
3. Cases until each planted fault is caught by its check: median and maximum.
4. A generation of the reference decoder under the tap against the same without it, a prompt of 8 tokens and 64 more.
5. All checks on one recorded request of 2,500, 5,000 and 10,000 rounds of three tokens each.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
PREFIX = 128
REPEATS = 5
LONG = (2_500, 5_000, 10_000)


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def medusa_histories(vocab_size: int) -> list[tuple[int, ...]]:
    """The history of every node: rank r at depth d stands for token 7 d + r, which keeps siblings distinct."""
    choices = json.loads((ROOT / "fixtures" / "medusa_63.json").read_text(encoding="utf-8"))["choices"]
    prefix = tuple((5 * i * i + 3 * i + 1) % vocab_size for i in range(PREFIX))
    return [prefix, *(prefix + tuple(7 * d + rank for d, rank in enumerate(path, 1)) for path in choices)]


def truth_ratio() -> tuple[float, float, float]:
    """Naive and shared seconds (medians), and the median of the ratios pair by pair."""
    from tree_oracle import load_target
    from tree_oracle.target import one_torch_thread
    from tree_oracle.target.sequential_naive import naive_rows
    from tree_oracle.target.sequential_shared import shared_rows

    target = load_target("tiny:qwen3")
    histories = medusa_histories(target.vocab_size)
    with one_torch_thread():
        shared_rows(target.model, histories), naive_rows(target.model, histories[:2])
        pairs = [
            (
                seconds(lambda: naive_rows(target.model, histories)),
                seconds(lambda: shared_rows(target.model, histories)),
            )
            for _ in range(REPEATS)
        ]
    naive, shared = (statistics.median(side) for side in zip(*pairs, strict=True))
    return naive, shared, statistics.median(slow / fast for slow, fast in pairs)


def caught_at() -> list[int]:
    """For each planted fault the number of the first case that failed its check."""
    from tree_oracle.run import prove

    proofs = list(prove(cases=(), twins=False))
    missed = [proof.name for proof in proofs if proof.caught_at is None]
    if missed:
        raise SystemExit(f"not caught: {', '.join(missed)}")
    return [proof.caught_at for proof in proofs if proof.caught_at is not None]


def tap_ratio(spec: str) -> tuple[float, float, float]:
    """Seconds with and without the tap (medians), and the median of the ratios pair by pair."""
    from tree_oracle import ReferenceDecoder, load_target
    from tree_oracle.decoder import tap
    from tree_oracle.record import Limits
    from tree_oracle.target import one_torch_thread

    target = load_target(spec)
    decoder, prompt, limits = ReferenceDecoder(target), [3, 1, 4, 1, 5, 9, 2, 6], Limits(max_new_tokens=64)

    def tapped() -> None:
        with tap(target.model):
            decoder.generate([prompt], limits)

    with one_torch_thread():
        tapped(), decoder.generate([prompt], limits)
        pairs = [(seconds(tapped), seconds(lambda: decoder.generate([prompt], limits))) for _ in range(3 * REPEATS)]
    under, bare = (statistics.median(side) for side in zip(*pairs, strict=True))
    return under, bare, statistics.median(slow / fast for slow, fast in pairs)


def judging(rounds: int) -> float:
    """Seconds that all checks take on one recorded request of so many rounds."""
    from tree_oracle.checks import choose
    from tree_oracle.run.trace_judge import judge_trace
    from tree_oracle.trace import Recorder

    with TemporaryDirectory() as folder:
        path, root = Path(folder) / "long.jsonl", 3
        with Recorder(path, decoder="long", target="none") as trace:
            request = trace.request([1, 2, root], max_new_tokens=3 * rounds)
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
        return seconds(lambda: judge_trace(path, choose()))


def main() -> None:
    """Measure everything and print it."""
    bare = seconds(lambda: __import__("torch") and __import__("transformers"))
    from tree_oracle import ReferenceDecoder, check_decoder
    from tree_oracle.run import examine, make_subject

    naive, shared, ratio = truth_ratio()
    doctor = seconds(lambda: list(examine(make_subject(ReferenceDecoder, "exact"))))
    battery = seconds(lambda: check_decoder(ReferenceDecoder))
    cases = caught_at()
    taps = {spec: tap_ratio(spec) for spec in ("tiny:qwen3", "tiny:gemma3")}
    print("| what | measured |\n| --- | --- |")
    print(
        f"| naive loop / shared truth, 63-node Medusa tree, prefix {PREFIX} | {ratio:.1f}x ({naive:.3f} s / {shared:.3f} s) |"
    )
    print(f"| doctor on the reference, beyond the import ({bare:.1f} s) | {doctor:.1f} s |")
    print(f"| all checks on the reference, beyond the import | {battery:.1f} s |")
    print(
        f"| cases until a fault is caught, {len(cases)} faults | median {statistics.median(cases):g}, most {max(cases)} |"
    )
    for spec, (under, bare, ratio) in taps.items():
        print(f"| a generation under the tap / without it, {spec} | {ratio:.2f}x ({under:.3f} s / {bare:.3f} s) |")
    for rounds in LONG:
        print(f"| all checks on one recorded request of {rounds:,} rounds | {judging(rounds):.1f} s |")


if __name__ == "__main__":
    main()
