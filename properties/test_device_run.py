"""The prepared run on a device asks only for what exists: every command that it starts is parsed, none is carried out.

``python`` is a stand-in that notes its arguments, so that both the run on a GPU and the one on a processor are read here.
"""

from __future__ import annotations

import importlib
import re
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import pytest

from tree_oracle.cli import main
from tree_oracle.numerics.bundle import standalone
from tree_oracle.target.backends import KERNELS, kernel_named
from tree_oracle.target.dtypes import DTYPES
from tree_oracle.target.spec import parse_spec
from tree_oracle.target.tiny_configurations import CONFIGURATIONS

SCRIPT = Path(__file__).parent.parent / "reports" / "device_run.sh"
STAND_IN = """#!/bin/sh
case $3 in --help) exit ${MISSING:-0} ;; esac
{ printf '%s\\n' "$#" "$@"; } >> "$NOTED"
last= ; for word in "$@"; do case $last in --output) mkdir -p "$word" ;; measure) : > "$word" ;; esac; last=$word; done
exit ${CODE:-0}
"""
DEVICES = ("cpu", "cuda", "npu")


def started(device: str, folder: Path, *, seconds: int = 470, **codes: int) -> tuple[list[list[str]], str, int]:
    """The arguments of every ``python`` that the script starts, what it says, and its exit code.

    ``codes``: CODE, with which every one of them ends, and MISSING, with which the first does, which asks for help alone.
    """
    stand_in, noted = folder / "bin" / "python", folder / "noted"
    stand_in.parent.mkdir()
    stand_in.write_text(STAND_IN, encoding="utf-8")
    stand_in.chmod(0o755)
    ran = subprocess.run(
        ["bash", str(SCRIPT), "--device", device, "--output", str(folder / "out"), "--seconds", str(seconds)],
        env={"PATH": f"{stand_in.parent}:/usr/bin:/bin", "NOTED": str(noted), **{k: str(v) for k, v in codes.items()}},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    left, found = noted.read_text(encoding="utf-8").splitlines() if noted.exists() else [], []
    while left:
        count = int(left[0])
        found.append(left[1 : 1 + count])
        left = left[1 + count :]
    return found, ran.stdout, ran.returncode


@cache
def commands(device: str) -> tuple[tuple[str, ...], ...]:
    with TemporaryDirectory() as folder:
        return tuple(tuple(one) for one in started(device, Path(folder))[0])


def parsed(words: list[str]) -> tuple[str, dict[str, Any]]:
    """The command of the library that these words call, and its options; a wrong one is refused by click."""
    command: click.Command = main
    named: list[str] = []
    while isinstance(command, click.Group):
        named.append(words[0])
        found = command.commands.get(words[0])
        assert found is not None, f"no command {' '.join(named)}"
        command, words = found, words[1:]
    return " ".join(named), command.make_context(named[-1], words).params


@pytest.mark.parametrize("device", DEVICES)
def test_every_command_and_option_exists(device: str) -> None:
    """Commands, options, kernels, dtypes, targets and operators that the script names are there, and each step is."""
    seen: dict[str, int] = {}
    for words in commands(device):
        name = "run.py"
        options: dict[str, Any] = {}
        if words[:2] == ("-m", "tree_oracle.cli"):
            name, options = parsed(list(words[2:]))
        elif words[:2] == ("-m", "pytest"):
            name = "pytest"
            assert all(Path(word).is_file() for word in words[2:] if word.endswith(".py"))
        else:
            assert words[0].endswith("/bundle/run.py")
            taken = re.findall(r'add_argument\("(--\w+)"', Path(standalone.__file__).read_text(encoding="utf-8"))
            given = dict(zip(words[1::2], words[2::2], strict=True))
            assert set(given) <= set(taken)
            assert given["--dtype"] in standalone.DTYPES
            assert given["--kernel"] in standalone.KERNELS
        seen[name] = seen.get(name, 0) + 1
        for kernel in options.get("kernels", ()):
            kernel_named(kernel)
        assert {*options.get("dtypes", ()), *filter(None, [options.get("dtype")])} <= set(DTYPES)
        for target in (*options.get("targets", ()), *filter(None, [options.get("target")])):
            assert parse_spec(target).architecture in (*CONFIGURATIONS, "")
        if options.get("decoder"):
            module, _, attribute = options["decoder"].partition(":")
            assert hasattr(importlib.import_module(module), attribute)
            assert attribute.replace("_", "-") in KERNELS
    wanted = {"pytest", "bundle make", "run.py", "bundle compare", "check", "tolerance masks", "tolerance measure"}
    assert set(seen) == wanted | {"tolerance report"}
    assert seen["tolerance measure"] == seen["tolerance report"]


def test_a_gpu_is_asked_in_every_dtype_one_target_to_a_report() -> None:
    """No report of the sweep holds two targets, so that one which is cut costs no other."""
    swept = [parsed(list(words[2:]))[1] for words in commands("cuda") if "measure" in words]
    assert all(len(options["targets"]) == 1 for options in swept)
    assert len({options["file"] for options in swept}) == len(swept) == 7
    assert {dtype for options in swept for dtype in options["dtypes"]} == {"float32", "bfloat16", "float16"}
    assert {options["device"] for options in swept} == {"cuda"}


def test_what_does_not_fit_is_named_and_not_begun(tmp_path: Path) -> None:
    """Without any time left no step begins, each is named, and the script does not end as if it had measured."""
    found, said, code = started("cuda", tmp_path, seconds=0)
    assert (found, code) == ([], 1)
    assert "not measured: properties (no time was left)" in said
    assert "not measured: tolerance-mixtral (no time was left)" in said


@pytest.mark.parametrize("code", [1, 3])
def test_findings_and_failures_are_told_apart(code: int, tmp_path: Path) -> None:
    """Exit code 1 of a judge is a finding; of a run that judges nothing it is a failure, as any other code is of each."""
    _, said, ended = started("cpu", tmp_path, CODE=code)
    assert ended == 1
    assert ("found something: attend-sdpa" in said) == (code == 1)
    assert ("not measured: attend-sdpa (exit code 3)" in said) == (code == 3)
    assert f"not measured: site-cpu-float32-sdpa (exit code {code})" in said


def test_an_environment_without_the_library_is_said_at_once(tmp_path: Path) -> None:
    """Nothing is begun, and no missing package is taken for a finding."""
    found, said, code = started("cpu", tmp_path, MISSING=1)
    assert (found, code) == ([], 2)
    assert (
        "tree-oracle cannot start here; activate an environment that has it with the extras torch, plots and test"
        in said
    )
