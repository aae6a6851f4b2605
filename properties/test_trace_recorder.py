"""The recorder is one file for old interpreters and bare environments: it writes the same trace everywhere, and changes nothing."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from trace_grounds import read_all

from tree_oracle.cli import main
from tree_oracle.record import Array
from tree_oracle.trace import Requests, TraceReader, completed, tree_oracle_record
from tree_oracle.trace.tree_oracle_record import Dense, _dense, _summary

SOURCE = Path(tree_oracle_record.__file__)
OLDEST = (3, 8)

# A decoder in plain lists, which any interpreter can run: two requests, summaries, arrays in the line and beside it, a crash.
PROGRAM = """
import sys
from tree_oracle_record import Recorder

assert not {"numpy", "torch", "tree_oracle"} & set(sys.modules)
rows = [[((7 * token * (node + 1)) % 83) / 8.0 for token in range(83)] for node in range(2)]
with Recorder("run.jsonl", decoder="plain lists", rows=sys.argv[1]) as trace:
    for prompt in ([1, 2], (3,)):
        request = trace.request(prompt, max_new_tokens=4, eos_ids=[0], stop=[(5, 6)])
        trace.round(request, emitted=[4, 5], tokens=[2, 4], parents=[-1, 0], accepted=[1], rows=rows, positions=range(1, 3),
                    visible=[[True, True, False], [True, True, True]][:2], scores=[0.0, -float("inf")], bonus=5, control=False,
                    cache=[([[[1.0, 2.0]]], [[[3.0, 4.0]]])])
        trace.done(request)
try:
    with Recorder("crash.jsonl") as trace:
        trace.round(trace.request([1]), emitted=[2], rows=rows * 40)
        raise KeyboardInterrupt
except KeyboardInterrupt:
    pass
"""


def interpreters() -> list[str]:
    """Other Pythons on this machine, the oldest that the file is made for among them if there is one."""
    homes = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    homes += sorted(Path.home().glob(".pyenv/versions/*/bin")) + sorted(
        Path.home().glob(".local/share/uv/python/*/bin")
    )
    found: dict[str, str] = {}
    for minor in range(OLDEST[1], sys.version_info[1] + 3):
        for home in homes:
            path = shutil.which(f"python3.{minor}", path=str(home))
            if path is not None and _works(path):
                found.setdefault(f"3.{minor}", path)
    return list(dict.fromkeys([*found.values()][:1] + [*found.values()][-1:]))


def _works(path: str) -> bool:
    done = subprocess.run([path, "-c", "import ctypes, zlib"], capture_output=True, check=False)
    return done.returncode == 0


def run_program(folder: Path, interpreter: str, rows: str) -> Path:
    """The trace that the program writes, run alone: no site packages, no path but its own folder."""
    shutil.copy(SOURCE, folder)
    (folder / "decoder.py").write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run(
        [interpreter, "-S", "-W", "error", "decoder.py", rows], cwd=folder, env={"PATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "run.jsonl"


def test_the_file_is_written_for_the_oldest_python() -> None:
    """Its syntax is that of 3.8, it imports nothing outside that version's standard library, and no annotation is evaluated."""
    text = SOURCE.read_text(encoding="utf-8")
    tree = ast.parse(text, feature_version=OLDEST)
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    taken = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= {
        "array", "base64", "ctypes", "hashlib", "heapq", "json", "math", "numpy", "operator", "os", "platform", "struct", "sys",
        "threading", "zlib",
    }  # fmt: skip
    assert taken == {"__future__", "collections.abc", "typing"}
    assert "from __future__ import annotations" in text
    assert re.findall(r"removeprefix|removesuffix|strict=|math.lcm|itertools.pairwise|\.bit_count", text) == []


def test_the_command_prints_the_file() -> None:
    """`tree-oracle trace recorder` gives the file byte for byte, to be copied."""
    result = CliRunner().invoke(main, ["trace", "recorder"])
    assert (result.exit_code, result.output) == (0, SOURCE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("rows", ["summary", "whole"])
def test_it_runs_where_there_is_nothing_else(tmp_path: Path, rows: str) -> None:
    """An interpreter without this package, numpy or torch writes a trace that is read, and a crash leaves what came before."""
    path = run_program(tmp_path, sys.executable, rows)
    assert read_all(path) == 2
    assert read_all(tmp_path / "crash.jsonl", partial=True) == 1
    first = next(iter(Requests(TraceReader(path))))
    assert (first.prompt, first.emitted, first.done) == ((1, 2), (4, 5), True)
    assert (first.rounds[0].summary is None) == (rows == "whole")


OTHERS = interpreters()


@pytest.mark.skipif(not OTHERS, reason="no other Python on this machine")
@pytest.mark.parametrize("interpreter", OTHERS, ids=lambda path: Path(path).name)
def test_other_pythons_write_the_same(tmp_path: Path, interpreter: str) -> None:
    """Every other interpreter here, the oldest first, writes the same lines but for the place where it ran."""
    traces = []
    for name, python in (("mine", sys.executable), ("other", interpreter)):
        (tmp_path / name).mkdir()
        path = run_program(tmp_path / name, python, "summary")
        traces.append(
            [
                path.read_bytes().splitlines()[1:],
                sorted(p.read_bytes() for p in (tmp_path / name).rglob("*.safetensors")),
            ]
        )
    assert traces[0] == traces[1]


tables = npst.arrays(
    st.sampled_from(["float16", "float32", "float64"]), npst.array_shapes(min_dims=2, max_dims=2, max_side=70),
    elements=st.floats(-60, 60, width=16) | st.just(float("-inf")),
)  # fmt: skip


@given(rows=tables)
def test_summaries_do_not_depend_on_numpy(rows: np.ndarray) -> None:
    """With numpy and without it the same tokens, values, maxima and hashes are kept, and log-sum-exp but for its last bits."""
    one = _dense("rows", rows)
    with_numpy = _summary(one)
    hidden: Any = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "numpy", hidden)
        without = _summary(one)
    sums = [_array(found.pop("log_sum_exp")) for found in (with_numpy, without)]
    assert with_numpy == without
    np.testing.assert_allclose(sums[0], sums[1], rtol=1e-12, atol=1e-12)
    wide = rows.astype(np.float64)
    high = wide.max(axis=1)
    with np.errstate(all="ignore"):
        true = np.where(np.isfinite(high), high + np.log(np.exp(wide - high[:, None]).sum(axis=1)), high)
    np.testing.assert_allclose(sums[0], true, rtol=1e-12, atol=1e-12)
    order = [sorted(range(rows.shape[1]), key=lambda token: (-row[token], token))[:64] for row in wide.tolist()]
    assert _array(with_numpy["tokens"]).tolist() == order


def _array(inline: dict[str, Any]) -> np.ndarray:
    import base64

    return np.asarray(Array(inline["dtype"], tuple(inline["shape"]), base64.b64decode(inline["data"])).numpy())


@given(rows=npst.arrays("float32", (2, 90), elements=st.floats(-9, 9, width=32)), data=st.data())
def test_a_summary_is_made_whole_by_right_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: np.ndarray, data: st.DataObject
) -> None:
    """Right rows come back bit for bit; a shown entry that is wrong stays wrong; without a truth the rest is minus infinity."""
    path = tmp_path_factory.mktemp("t") / "t.jsonl"
    with tree_oracle_record.Recorder(path) as trace:
        trace.round(trace.request([1]), emitted=[2], rows=rows)
    summary = next(iter(Requests(TraceReader(path)))).rounds[0].summary
    assert summary is not None
    assert completed(summary, rows.astype(np.float64)).numpy().tobytes() == rows.tobytes()
    tokens = np.asarray(summary.tokens.numpy())
    alone = np.asarray(completed(summary, None).numpy())
    assert np.isfinite(alone).sum() == tokens.size
    assert (np.take_along_axis(alone, tokens.astype(int), 1) == np.take_along_axis(rows, tokens.astype(int), 1)).all()
    wrong = rows.astype(np.float64)
    shown = data.draw(st.integers(0, 63))
    wrong[0, tokens[0, shown]] += 1
    seen = np.asarray(completed(summary, wrong).numpy())
    assert seen[0, tokens[0, shown]] == rows[0, tokens[0, shown]]


def test_torch_tensors_are_taken_without_numpy() -> None:
    """Every dtype, a slice, and a tensor with a gradient are read bit for bit from memory."""
    torch: ModuleType = pytest.importorskip("torch")
    base = torch.linspace(-2, 2, 24).reshape(4, 6).requires_grad_()
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        tensor = base.to(getattr(torch, dtype)).t()[1:]
        found = _dense("rows", tensor)
        assert (found.dtype, found.shape) == (dtype, (5, 4))
        wide = tensor.detach().float() if dtype != "float64" else tensor.detach()
        summary = _summary(found)
        np.testing.assert_array_equal(np.sort(_array(summary["values"]), axis=1), np.sort(wide.numpy(), axis=1))
    mask = torch.ones(2, 3, dtype=torch.bool)
    assert _dense("visible", mask) == Dense("bool", (2, 3), b"\1" * 6)
