"""The door for pytest. Inert until used: it adds five options and one fixture, and imports nothing of ours before that.

    --tree-decoder MODULE:ATTRIBUTE   the decoder that tests with the fixture ``tree_check`` are parametrised over
    --tree-target SPEC                the target where a test names none
    --tree-device DEVICE              where that target runs
    --tree-tolerance FILE             tolerance report that the noise floor of that target is taken from
    --tree-known FILE                 failures that are known: reported as expected, and failed if they are none

A conformance suite that is not written for one decoder asks for the fixture:

    def test_conformance(tree_check):
        tree_check()
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

_FIXTURE = "tree_check"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, all with our prefix."""
    group = parser.getgroup("tree-oracle", "checks of tree speculative decoders")
    group.addoption("--tree-decoder", metavar="MODULE:ATTRIBUTE", help="decoder for tests with the fixture tree_check")
    group.addoption("--tree-target", metavar="SPEC", help="target where a test names none, such as exact or tiny:qwen3")
    group.addoption("--tree-device", metavar="DEVICE", help="device of that target, such as cpu or cuda:0")
    group.addoption(
        "--tree-tolerance",
        metavar="FILE",
        help="take the noise floor from this report of tree-oracle tolerance measure; default: measured on the spot",
    )
    group.addoption(
        "--tree-known",
        metavar="FILE",
        help="known failures: TOML with a [[known]] entry for each, of check, reason, tracker and perhaps decoder",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Hand the options on, if there are any, for this session. Names are looked at before anything is selected."""
    options = {name: config.getoption(f"--tree-{name}") for name in ("target", "device", "known", "tolerance")}
    if not any(value is not None for value in options.values()):
        return
    from tree_oracle.conformance import DEFAULTS

    before = vars(DEFAULTS).copy()
    config.add_cleanup(lambda: vars(DEFAULTS).update(before))
    DEFAULTS.target = options["target"]
    DEFAULTS.device = options["device"] or DEFAULTS.device
    DEFAULTS.known, DEFAULTS.tolerance = _path(options["known"]), _path(options["tolerance"])
    _refuse_untrue(DEFAULTS.target, options["device"], DEFAULTS.known, DEFAULTS.tolerance)


def _path(given: str | None) -> Path | None:
    return Path(given) if given is not None else None


def _refuse_untrue(target: str | None, device: str | None, known: Path | None, tolerance: Path | None) -> None:
    from tree_oracle.record import TreeOracleError
    from tree_oracle.run import refuse_untrue
    from tree_oracle.run.arguments import refuse_no_report
    from tree_oracle.target.spec import parse_spec

    try:
        if target is not None:
            parse_spec(target)
        if known is not None:
            refuse_untrue(known)
        refuse_no_report(tolerance)
        if device is not None:
            from tree_oracle.target import refuse_device  # resolved here, since it loads torch

            refuse_device(device)
    except TreeOracleError as error:
        raise pytest.UsageError(str(error)) from error


def pytest_report_header(config: pytest.Config) -> str | None:
    """One line that names what is under test, only if something is."""
    shown = {name: config.getoption(f"--tree-{name}") for name in ("decoder", "target", "device", "known", "tolerance")}
    given = ", ".join(f"{name} {value}" for name, value in shown.items() if value)
    return f"tree-oracle: {given}" if given else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per check for the decoder of ``--tree-decoder``."""
    if _FIXTURE not in metafunc.fixturenames:
        return
    name = metafunc.config.getoption("--tree-decoder")
    if name is None:
        metafunc.parametrize(_FIXTURE, [pytest.param(None, marks=pytest.mark.skip(reason="needs --tree-decoder"))])
        return
    from tree_oracle.checks import choose
    from tree_oracle.conformance import BoundCheck, TestedDecoder
    from tree_oracle.record import UsageError

    try:
        decoder: Any = _found(name)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error
    tested = TestedDecoder(decoder, None, cases=25, name=name)
    checks = choose()
    metafunc.parametrize(_FIXTURE, [BoundCheck(tested, check) for check in checks], ids=[check.id for check in checks])


def _found(name: str) -> Any:
    from tree_oracle.run import find_decoder

    return find_decoder(name)[1]
