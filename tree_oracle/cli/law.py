"""``tree-oracle law``: which verification is exact, why, and what a decoder's own does."""

from __future__ import annotations

from typing import Any

import click

from tree_oracle.cli.common import DECODER, JSON, TARGET, echo_json, guarded


@click.command()
@click.argument("rule", required=False)
@click.option("--instance", metavar="NAME", help="Figures on one pair of laws, such as golden.")
@click.option("--sample", "sampling", is_flag=True, help="Judge a decoder: what it declares, and what it samples.")
@DECODER
@TARGET
@click.option(
    "--sessions", default=2000, show_default=True, type=click.IntRange(min=1), help="Texts to sample, at most."
)
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(min=1), help="Rounds of each.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Of the coins handed over.")
@click.option(
    "--false-alarm",
    default=1e-6,
    show_default=True,
    type=click.FloatRange(min=0, max=1, min_open=True, max_open=True),
    help="How often a right decoder may be called wrong.",
)
@JSON
@guarded
def law(
    rule: str | None,
    instance: str | None,
    sampling: bool,
    decoder: str | None,
    target: str | None,
    sessions: int,
    rounds: int,
    seed: int,
    false_alarm: float,
    as_json: bool,
) -> int:
    """Show which declared modes are exact, one RULE, figures on a pair of laws, or what a decoder samples.

    Exit code 1: the decoder declares a mode that is not exact, or its texts do not follow the target.
    """
    if sampling or decoder is not None:
        if rule is not None:
            raise click.UsageError("a decoder declares its rule itself; take RULE away")
        return _sample(decoder, target, instance or "golden", (sessions, rounds, seed), false_alarm, as_json)
    if instance is not None:
        return _measure(instance, rule, as_json)
    return _rule(rule, as_json)


def _rule(rule: str | None, as_json: bool) -> int:
    from tree_oracle.report import law as page
    from tree_oracle.report import make_console
    from tree_oracle.run import law_table

    rows = list(law_table.ruled(rule))
    if as_json:
        echo_json(rows)
        return 0
    console = make_console()
    if rule is not None:
        page.print_card(console, law_table.find_card(rule))
    page.print_ruled(console, rows)
    return 0


def _measure(instance: str, rule: str | None, as_json: bool) -> int:
    from tree_oracle.record import UsageError
    from tree_oracle.report import law as page
    from tree_oracle.report import make_console
    from tree_oracle.run import law_table

    rows = list(law_table.measured(law_table.find_instance(instance), rule))
    if not rows:
        raise UsageError(f"{rule} takes none of the proposals on {instance}; take another instance")
    if as_json:
        echo_json(rows)
    else:
        page.print_measured(make_console(), rows)
    return 0


def _sample(
    decoder: str | None,
    target: str | None,
    instance: str,
    size: tuple[int, int, int],
    false_alarm: float,
    as_json: bool,
) -> int:
    from tree_oracle.checks.mode import ruling_on
    from tree_oracle.decoder import Seam
    from tree_oracle.record import LawData, UsageError
    from tree_oracle.run import find_decoder, law_table, make_subject
    from tree_oracle.run.law_sampling import sample

    name, made = find_decoder(decoder, None)
    subject = make_subject(made, target, name=name)
    if Seam.SAMPLED_SESSION not in subject.seams:
        raise UsageError(f"{name} has no method {Seam.SAMPLED_SESSION.value}; nothing can be sampled")
    laws, (sessions, rounds, seed) = law_table.find_instance(instance), size
    data = LawData(target=laws.target, draft=laws.draft, rounds=rounds, sessions=sessions, seed=seed)
    mode = subject.declared_mode
    ruling = None if mode is None else ruling_on(mode)
    found = sample(subject.decoder, mode, data, false_alarm=false_alarm)
    if as_json:
        echo_json({"decoder": name, "declared": _plain(ruling), "sampled": found})
    else:
        _print(ruling, found)
    flagged = ruling is not None and ruling.standing.value == "flagged"
    return 1 if found.refuted or flagged else 0


def _plain(ruling: Any) -> dict[str, Any] | None:
    if ruling is None:
        return None
    return {
        "mode": ruling.mode,
        "standing": ruling.standing.value,
        "reasons": list(ruling.reasons),
        "evidence": ruling.evidence,
    }


def _print(ruling: Any, found: Any) -> None:
    from tree_oracle.report import law as page
    from tree_oracle.report import make_console

    console = make_console()
    if ruling is None:
        console.print("[bold]declared[/bold]   nothing (declared_mode)")
    else:
        page.print_ruling(console, ruling)
    page.print_black_box(console, found)
