"""Judge every real decoder that is installed: ``python reports/real_decoders.py [ENGINE ...]``.

Each runs in a child process with a time limit per check, on the listed cases. Per engine ``found/NAME-VERSION.json`` keeps
the reports as they are and ``found/NAME-VERSION.md`` for a reader; every failure's smallest case stands beside them in
``found/cases``. What is not installed is named with the line that installs it, and what was found before is left alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from tree_oracle import check_decoder
from tree_oracle.adapters import ENGINES, Engine
from tree_oracle.record import CheckResult, Report, Status, UsageError
from tree_oracle.record.files import write_bytes
from tree_oracle.report.case_line import case_line
from tree_oracle.report.ladder import GRADES, verdict
from tree_oracle.run import save_cases

FOUND = Path(__file__).parent / "found"
SECONDS_PER_CHECK = 300
SEEN_IN_ROUNDS = ("BATCH", "COMMIT", "HISTORY", "POSITION", "VISIBLE", "SEQUENCE", "SESSION")


class Run(msgspec.Struct, frozen=True):
    """One adapter on one target."""

    engine: str
    adapter: str
    target: str
    families: tuple[str, ...] = ()  # all, unless named


class Found(msgspec.Struct, frozen=True):
    """What was found about one version of one engine."""

    engine: str
    version: str
    pip: str
    reports: tuple[Report, ...]


# Prompt lookup runs on targets whose texts repeat themselves, so that it is right at times.
RUNS = (
    Run("economize", "economize:EconomizeTrees", "tiny:llama"),
    Run("economize", "economize:EconomizeTrees", "tiny:gemma3", SEEN_IN_ROUNDS),
    Run("economize", "economize:EconomizeChains", "tiny:gemma3"),
    Run("economize", "economize:EconomizeLookup", "tiny:qwen3:seed=5"),
    Run("economize", "economize:EconomizeMedusa", "tiny:llama"),
    Run("economize", "economize:EconomizeEarlyExit", "tiny:llama"),
    Run("rotalabs-accel", "rotalabs:RotalabsTrees", "exact"),
    Run("rotalabs-accel", "rotalabs:RotalabsChains", "exact"),
    Run("rotalabs-accel", "rotalabs:RotalabsMedusa", "tiny:llama"),
    Run("dflash", "dflash:DFlash", "tiny:qwen3"),
    Run("sequential-speculative-decoding", "seqspecdecod:StandardSampling", "exact"),
    Run("sequential-speculative-decoding", "seqspecdecod:HierarchicalSampling", "exact"),
    Run("sequential-speculative-decoding", "seqspecdecod:CappedHierarchicalSampling", "exact"),
    Run("flashspec", "flashspec:FlashSpec", "exact"),
    Run("flashspec", "flashspec:FlashSpecLookup", "exact"),
    Run("transformers", "assisted:AssistedGeneration", "exact"),
    Run("transformers", "assisted:PromptLookup", "tiny:gpt2:seed=5"),
)


def judged(run: Run) -> Report:
    """The report, without what differs from run to run."""
    report = check_decoder(
        f"tree_oracle.adapters.{run.adapter}",
        target=run.target,
        families=run.families,
        cases=0,
        isolate=True,
        timeout=SECONDS_PER_CHECK,
    )
    return msgspec.structs.replace(report, seconds={})


def page(found: Found) -> Iterator[str]:
    """The findings in Markdown."""
    yield f"# {found.engine} {found.version}\n"
    yield f"Installed with `{found.pip}`; written by `python reports/real_decoders.py {found.engine}`.\n"
    for report in found.reports:
        yield f"## {report.decoder.removeprefix('tree_oracle.adapters.')} on {report.target}\n"
        yield f"Verdict: {verdict(report)}. Truth: grade {report.grade}, {GRADES[report.grade]}.\n"
        seen = report.witness
        yield f"{seen.rounds} rounds seen, {seen.drafted} tokens drafted, {seen.accepted} accepted.\n"
        for status in Status:
            named = [result.check for result in report.results if result.status is status]
            if named:
                yield f"- {status.value}: {', '.join(named)}"
        yield ""
        for result in report.results:
            yield from failure(result, report)


def failure(result: CheckResult, report: Report) -> Iterator[str]:
    """What a failing check saw, and how to see it again."""
    findings = [finding for finding in result.findings if finding.status is Status.FAILED]
    if result.status is not Status.FAILED or not findings:
        return
    finding = findings[0]
    yield f"### {result.check}: {result.law}\n"
    yield f"{finding.sentence[0].upper()}{finding.sentence[1:]}.\n"
    yield f"- expected: {finding.expected}\n- seen: {finding.seen}"
    if finding.case is not None:
        file = f"reports/found/cases/{result.check}-{finding.replay}.json"
        yield f"- case: {case_line(finding)}"
        yield f"- again: `tree-oracle replay {file} --decoder {report.decoder} --target {report.target}`"
    yield ""


def keep(engine: Engine, version: str, reports: Sequence[Report]) -> Found:
    """Write both files and the cases."""
    found = Found(engine.name, version, engine.pip, tuple(reports))
    stem = FOUND / f"{engine.name}-{version}"
    document = msgspec.json.format(msgspec.json.encode(found, order="deterministic"), indent=1)
    write_bytes(Path(f"{stem}.json"), document + b"\n")
    write_bytes(Path(f"{stem}.md"), ("\n".join(page(found)).rstrip() + "\n").encode())
    for report in reports:
        save_cases(report, FOUND / "cases")
    return found


def prune() -> None:
    """Remove the cases that no kept report holds any more."""
    held = set()
    for path in FOUND.glob("*.json"):
        for report in msgspec.json.decode(path.read_bytes(), type=Found).reports:
            held |= {f"{result.check}-{finding.replay}" for result in report.results for finding in result.findings}
    for path in (FOUND / "cases").glob("*.json"):
        if not any(path.stem == name or path.stem.startswith(f"{name}-") for name in held):
            path.unlink()


def main(names: Sequence[str]) -> int:
    """Judge the engines of these names, or all. Answers 0 whatever is found: a verdict on others is no failure of ours."""
    unknown = set(names) - set(ENGINES)
    if unknown:
        raise UsageError(f"unknown engine {min(unknown)!r}; known: {', '.join(ENGINES)}")
    for engine in ENGINES.values():
        if names and engine.name not in names:
            continue
        version = engine.found
        if version is None:
            print(f"{engine.name}: not installed; {engine.pip}")
            continue
        reports = []
        for run in (run for run in RUNS if run.engine == engine.name):
            reports.append(judged(run))
            print(reports[-1], flush=True)
        keep(engine, version, reports)
    prune()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
