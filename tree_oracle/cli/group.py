"""The command and its subcommands."""

from __future__ import annotations

import click

from tree_oracle import __version__
from tree_oracle.cli.bundle import bundle
from tree_oracle.cli.catalogue import explain, faults, list_checks
from tree_oracle.cli.certificate import certificate
from tree_oracle.cli.check import check
from tree_oracle.cli.compare import compare
from tree_oracle.cli.doctor import doctor
from tree_oracle.cli.kit import kit
from tree_oracle.cli.law import law
from tree_oracle.cli.replay import replay, report
from tree_oracle.cli.tolerance import tolerance
from tree_oracle.cli.trace import trace
from tree_oracle.cli.vectors import vectors


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="tree-oracle")
def main() -> None:
    """Decide whether a tree decoder is right.

    The truth never uses a tree: it is the target model run in the ordinary way on each root-to-node path.
    """


for command in (
    check,
    replay,
    report,
    compare,
    certificate,
    doctor,
    list_checks,
    explain,
    faults,
    law,
    tolerance,
    bundle,
    trace,
    vectors,
    kit,
):
    main.add_command(command)
