"""The pytest door: one test per check, inert until used, and a failure that can be seen again.

The runs are in this process. What they need is imported here: pytester forgets what a run imported itself, and torch does not
survive being imported twice.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from click.testing import CliRunner

import tree_oracle.run.known
import tree_oracle.run.proof  # noqa: F401
from tree_oracle import check_decoder  # noqa: F401
from tree_oracle.checks import CHECKS
from tree_oracle.cli import main
from tree_oracle.conformance import DEFAULTS

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
    result.stdout.fnmatch_lines(["*which counts its slot 2*", "*not observable: needs the method generate or open*"])
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


def test_the_tolerance_report_is_named_in_the_header(pytester: pytest.Pytester) -> None:
    """The option is shown where somebody looks for what was tested, and ends with the session."""
    pytester.makepyfile(test_any="def test_any(tree_check):\n    tree_check()\n")
    pytester.path.joinpath("here.json").write_text("{}", encoding="utf-8")
    taken = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist", "--tree-tolerance", "here.json")
    taken.stdout.fnmatch_lines(["*tree-oracle: tolerance here.json*"])
    assert DEFAULTS.tolerance is None


def test_without_the_option_the_fixture_skips(pytester: pytest.Pytester) -> None:
    """Where no decoder is named the test is skipped."""
    pytester.makepyfile(test_any="def test_any(tree_check):\n    tree_check()\n")
    pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist").assert_outcomes(skipped=1)


KNOWN = """
[[known]]
check = "POSITION-01"
reason = "positions are being rewritten"
tracker = "https://example.org/1"
decoder = "decoders:Wrong"

[[known]]
check = "VISIBLE-01"
reason = "was wrong once"
tracker = "https://example.org/2"
"""


def test_a_known_failure_is_expected_and_a_stale_entry_fails(pytester: pytest.Pytester, monkeypatch: Any) -> None:
    """A failure of the list is an expected one, with its reason; an entry whose check passes fails its test."""
    monkeypatch.setattr(DEFAULTS, "known", None)  # what the run sets is forgotten afterwards
    pytester.makepyfile(decoders=DECODERS, test_any="def test_any(tree_check):\n    tree_check()\n")
    pytester.path.joinpath("known.toml").write_text(KNOWN, encoding="utf-8")
    arguments = ["-rx", "-p", "no:cacheprovider", "-p", "no:xdist", "--tree-decoder", "decoders:Wrong"]
    chosen = ["--tree-known", "known.toml", "-k", "POSITION-01 or VISIBLE-01"]
    result = pytester.runpytest_inprocess(*arguments, *chosen)
    result.assert_outcomes(xfailed=1, failed=1, deselected=len(CHECKS) - 2)
    result.stdout.fnmatch_lines(
        [
            "*known.toml: VISIBLE-01 is a known failure, but it passed; take its entry out*",
            "*positions are being rewritten*",
        ]
    )


UNREADABLE = {
    "no TOML": ("[[known]", "is not a file of known failures"),
    "a field too few": (
        '[[known]]\ncheck = "VISIBLE-01"\nreason = "x"',
        "entry 1 (VISIBLE-01): Object missing required field",
    ),
    "two for one": (
        '[[known]]\ncheck = "VISIBLE-01"\nreason = "x"\ntracker = "y"\n' * 2,
        "has 2 entries for VISIBLE-01",
    ),
    "no such check": (KNOWN.replace("VISIBLE-01", "VISIBEL-01"), "there is no such check; the nearest is VISIBLE-01"),
    "no such check of another decoder": (KNOWN.replace("POSITION-01", "POSITON-01"), "the nearest is POSITION-01"),
    "nothing": (None, "cannot read known.toml"),
}


@pytest.mark.parametrize(("text", "message"), UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("selected", ["POSITION-01", "nothing at all"])
def test_a_bad_list_is_a_usage_error_whatever_is_selected(
    text: str | None, message: str, selected: str, pytester: pytest.Pytester, monkeypatch: Any
) -> None:
    """A file that is no list, or names a check that does not exist, is one line and no traceback, before any test."""
    monkeypatch.setattr(DEFAULTS, "known", None)
    pytester.makepyfile(decoders=DECODERS, test_any="def test_any(tree_check):\n    tree_check()\n")
    if text is not None:
        pytester.path.joinpath("known.toml").write_text(text, encoding="utf-8")
    arguments = ["-p", "no:cacheprovider", "-p", "no:xdist", "--tree-decoder", "decoders:Right", "-k", selected]
    result = pytester.runpytest_inprocess(*arguments, "--tree-known", "known.toml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = result.stderr.str() + result.stdout.str()
    assert message in said
    assert "Traceback" not in said
    assert "INTERNALERROR" not in said


@pytest.mark.parametrize(
    "option", ["--tree-target=nope", "--tree-known=nope.toml", "--tree-device=nope", "--tree-tolerance=nope.json"]
)
def test_an_option_that_names_nothing_stops_at_the_start(option: str, pytester: pytest.Pytester) -> None:
    """Nothing is collected, and the option is gone with the session."""
    from tree_oracle.conformance import DEFAULTS

    before = vars(DEFAULTS).copy()
    result = pytester.runpytest_inprocess(option, "-p", "no:cacheprovider", "-p", "no:xdist")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert vars(DEFAULTS) == before
