"""The pytest door: one test per check, inert until used, and a failure that can be seen again.

The runs are in this process. What they need is imported here: pytester forgets what a run imported itself, and torch does not
survive being imported twice.
"""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

import tree_oracle.run.known
import tree_oracle.run.proof  # noqa: F401
from tree_oracle import check_decoder  # noqa: F401
from tree_oracle.checks import CHECKS
from tree_oracle.cli import main

pytest_plugins = ["pytester"]

DECODERS = """
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.faults import find_fault

class Right:
    def __init__(self, target):
        self.lay_out = ReferenceDecoder(target).lay_out

class Wrong:
    def __init__(self, target):
        self.lay_out = find_fault("position-by-slot").decoder(target).lay_out
"""

TESTS = """
import tree_oracle
from decoders import Right, Wrong

@tree_oracle.parametrize_with_checks([Right, Wrong], checks=["POSITION-01", "COMMIT-01"], cases=0)
def test_decoder(check):
    check()
"""


def test_one_test_per_check_and_a_failure_that_replays(pytester: pytest.Pytester) -> None:
    """A right decoder passes, a wrong one fails with the whole explanation, what cannot be seen is skipped, replay works."""
    pytester.makepyfile(decoders=DECODERS, test_them=TESTS)
    result = pytester.runpytest_inprocess("-rs", "-p", "no:cacheprovider", "-p", "no:xdist")
    result.assert_outcomes(passed=1, failed=1, skipped=2)
    result.stdout.fnmatch_lines(["*which counts its slot 2*", "*not observable: needs the method open*"])
    again = re.search(r"again +tree-oracle (replay --decoder decoders:Wrong \S+)", result.stdout.str())
    assert again is not None
    assert CliRunner().invoke(main, again[1].split()).exit_code == 1


def test_the_options_choose_decoder_and_target(pytester: pytest.Pytester) -> None:
    """A conformance suite that asks for the fixture is parametrised over the checks of the decoder on the command line."""
    pytester.makepyfile(decoders=DECODERS, test_any="def test_any(tree_check):\n    tree_check()\n")
    arguments = ["-p", "no:cacheprovider", "-p", "no:xdist", "--tree-decoder", "decoders:Right", "-k", "POSITION"]
    result = pytester.runpytest_inprocess(*arguments)
    result.assert_outcomes(passed=1, deselected=len(CHECKS) - 1)
    result.stdout.fnmatch_lines(["tree-oracle: decoder decoders:Right"])


def test_without_the_option_the_fixture_skips(pytester: pytest.Pytester) -> None:
    """Where no decoder is named the test is skipped."""
    pytester.makepyfile(test_any="def test_any(tree_check):\n    tree_check()\n")
    pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist").assert_outcomes(skipped=1)
