"""How often the black-box test is wrong, and how soon it is right: false alarms on clean runs, power on every planted fault.

    python reports/law_power.py                       2,000 clean runs at 1 in 20, 20 runs per fault at 1 in a million
    python reports/law_power.py --clean 200 --runs 3  a quick look

The distance is that of the fault's own laws and tokens, computed; it is sampled on the golden laws, where some faults sleep.
A clean run samples the reference way to decode; its rate of false alarm must not exceed the stated one by more than chance
allows (one-sided exact binomial, 1 in 1,000). A fault's run ends when it is refuted, or after ``--sessions`` texts of three
rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time

from scipy.stats import binomtest

from tree_oracle.checks.law_scenes import ROUNDS
from tree_oracle.decoder.sampled import SampledDecoder
from tree_oracle.faults.laws import LAW_FAULTS, LawFault
from tree_oracle.record import LawData
from tree_oracle.run.law_sampling import BlackBox, sample
from tree_oracle.verify.law import FALSE_ALARM, GOLDEN

LOOSE = 0.05
_UNLIKELY = 1e-3


def clean(runs: int, sessions: int) -> bool:
    """Clean runs at the loose setting; True if false alarms are as rare as stated."""
    began, decoder = time.perf_counter(), SampledDecoder()
    alarms = sum(_run(decoder, seed, sessions, LOOSE).refuted for seed in range(runs))
    chance = binomtest(alarms, runs, LOOSE, alternative="greater").pvalue
    good = bool(chance > _UNLIKELY)
    print(
        f"clean   {alarms} of {runs} runs of {sessions} sessions refuted = {alarms / runs:.4f}; stated {LOOSE}; "
        f"{'within' if good else 'NOT within'} its bound  ({time.perf_counter() - began:.0f} s)"
    )
    return good


def power(fault: LawFault, runs: int, sessions: int) -> None:
    """One line for one fault."""
    found = [_run(fault.sampling(), 1000 + seed, sessions, FALSE_ALARM) for seed in range(runs)]
    refuted = [one for one in found if one.refuted]
    median = statistics.median(one.sessions for one in refuted) if refuted else "-"
    print(f"{fault.name:<36}{fault.law().total_variation!s:>22}{len(refuted):>6} of {runs}{median!s:>12}")


def _run(decoder: SampledDecoder, seed: int, sessions: int, false_alarm: float) -> BlackBox:
    data = LawData(target=GOLDEN.target, draft=GOLDEN.draft, rounds=ROUNDS, sessions=sessions, seed=seed)
    return sample(decoder, decoder.declared_mode, data, false_alarm=false_alarm)


def main() -> None:
    """Print both tables."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--clean", type=int, default=2000, help="clean runs")
    options.add_argument("--clean-sessions", type=int, default=40, help="texts of each clean run")
    options.add_argument("--runs", type=int, default=20, help="runs of each fault")
    options.add_argument("--sessions", type=int, default=3000, help="texts of each run of a fault, at most")
    given = options.parse_args()
    good = clean(given.clean, given.clean_sessions)
    print(f"\npower at {FALSE_ALARM:g} on the golden laws, {given.sessions} texts of {ROUNDS} rounds at most")
    print(f"{'fault':<36}{'its own distance':>22}{'found':>11}{'median texts':>14}")
    for fault in LAW_FAULTS.values():
        power(fault, given.runs, given.sessions)
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
