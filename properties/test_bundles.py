"""Frozen bundles: run anywhere by a program that shares no code with the library, joined only where every digest is the same."""

from __future__ import annotations

import ast
import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from tree_oracle.numerics.bundle import compare_sites, make_bundle, standalone
from tree_oracle.numerics.bundle.make import SOURCE
from tree_oracle.record import FileError, Unsupported, UsageError
from tree_oracle.report.signoff import signoff_page


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small bundle and the sites ``one`` and ``two`` in float32, ``half`` in bfloat16."""
    folder = tmp_path_factory.mktemp("bundles")
    make_bundle(folder / "bundle", "tiny:qwen3", count=2, prefix=9, width=7)
    for site, dtype, kernel in (("one", "float32", "sdpa"), ("two", "float32", "sdpa"), ("half", "bfloat16", "eager")):
        standalone.run(folder / "bundle", "cpu", dtype, kernel, folder / site)
    return folder


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    """A copy that may be damaged."""
    return Path(shutil.copytree(made, tmp_path / "copy"))


def test_the_program_in_a_bundle_needs_torch_and_nothing_else(made: Path) -> None:
    """``run.py`` is the file of the library, and imports torch and the standard library; torch_npu only on an NPU."""
    source = (made / "bundle" / "run.py").read_bytes()
    assert source == SOURCE.read_bytes()
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    assert found - set(sys.stdlib_module_names) == {"torch", "torch_npu"}


@pytest.mark.parametrize("spec", ["tiny:llama", "tiny:qwen3:seed=2,head=6"])
def test_two_programs_agree_in_float64(spec: str, tmp_path: Path) -> None:
    """What ``run.py`` computes from its own code is the golden row to rounding of float64, tree, plain, decode and wide."""
    assert make_bundle(tmp_path / "b", spec, count=1, prefix=3, width=5).agreement < 1e-12


def test_tensors_are_those_of_safetensors(made: Path, tmp_path: Path) -> None:
    """What is written without the library can be read with it, every bit and shape, and back."""
    with_library = load_file(made / "bundle" / "inputs.safetensors")
    without = standalone.read_tensors(made / "bundle" / "inputs.safetensors")
    assert with_library.keys() == without.keys()
    assert all(torch.equal(with_library[name], without[name]) for name in without)
    standalone.write_tensors(tmp_path / "again.safetensors", without)
    assert (tmp_path / "again.safetensors").read_bytes() == (made / "bundle" / "inputs.safetensors").read_bytes()


def test_numpy_is_not_needed(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where torch has no numpy the same rows are written, bit for bit, and the site says what is known of its place."""

    def missing(_: torch.Tensor) -> None:
        raise RuntimeError("Numpy is not available")

    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.setattr(torch.Tensor, "numpy", missing)
    standalone.main(["--bundle", str(made / "bundle"), "--output", str(tmp_path / "site")])
    rows = [(folder / "rows.safetensors").read_bytes() for folder in (made / "one", tmp_path / "site")]
    assert rows[0] == rows[1]
    place = json.loads((tmp_path / "site" / "site.json").read_text(encoding="utf-8"))["environment"]
    assert set(place) == {"torch", "python", "name", "instructions"}


@given(shape=st.lists(st.integers(0, 4), max_size=3), dtype=st.sampled_from(sorted(standalone._STORED)))
def test_any_tensor_is_read_back(tmp_path_factory: pytest.TempPathFactory, shape: list[int], dtype: str) -> None:
    """Of every shape, empty ones included, and every dtype in use, also where the memory is strided."""
    path = tmp_path_factory.mktemp("tensors") / "one.safetensors"
    tensor = torch.arange(torch.Size(shape).numel()).reshape(shape).to(standalone._STORED[dtype])
    standalone.write_tensors(path, {"a": tensor, "b": tensor.T if len(shape) == 2 else tensor})
    found = load_file(path)
    assert torch.equal(found["a"], tensor)
    assert found["a"].dtype == tensor.dtype
    assert len(shape) != 2 or torch.equal(found["b"], tensor.T)


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("npu", "run.py: device 'npu' is not here: it needs torch_npu and CANN, and torch says: "),
        ("cuda:1", "run.py: device 'cuda:1' is not here: "),
        ("tpu", "run.py: unknown device 'tpu'; expected cpu, cuda, cuda:1, npu or npu:0"),
    ],
)
def test_a_device_that_is_not_here_is_one_sentence(
    device: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, one line on the error stream, and nothing is written."""
    monkeypatch.setitem(sys.modules, "torch_npu", None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit) as stopped:
        standalone.main(["--device", device, "--output", str(tmp_path / "site")])
    assert stopped.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(message)
    assert not (tmp_path / "site").exists()


def test_what_a_device_cannot_tell_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a simulated NPU without SoC, CANN or driver notes the place still holds its name and the plug-in's release."""
    monkeypatch.setitem(sys.modules, "torch_npu", SimpleNamespace(__version__="2.12"))
    monkeypatch.setattr(torch, "npu", SimpleNamespace(get_device_name=lambda _: "simulated"), raising=False)
    place = standalone._place("npu:0")
    assert (place["name"], place["plugin"]) == ("simulated", "torch_npu 2.12")
    assert not {"capability", "runtime", "float32 products"} & set(place)


def test_a_sheet_answers_two_questions_apart(made: Path) -> None:
    """Each site is asked about its own tree pass, sites of one dtype and kernel about each other, and equal sites have ratio 1."""
    sheet = compare_sites(made / "bundle", [made / name for name in ("one", "two", "half")])
    assert [(one.question, one.site.split()[-2:]) for one in sheet.answers] == [
        (1, ["float32", "sdpa"]),
        (1, ["float32", "sdpa"]),
        (1, ["bfloat16", "eager"]),
        (2, ["float32", "sdpa"]),
    ]
    assert (sheet.answers[3].ratios.mare, sheet.answers[3].limits["L2"]) == (1.0, "met")
    assert all(one.holds and not one.again for one in sheet.sites)
    page = signoff_page(sheet)
    assert "## 1. Is the tree pass as good as the sequential one on this device?" in page
    assert page.count("the rule holds: tree error") == 3
    alone = signoff_page(compare_sites(made / "bundle", [made / "one", made / "half"]))
    assert "Not measured: no two sites ran the same dtype and kernel." in alone


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bundle/golden.safetensors", "golden.safetensors is not the file that was written"),
        ("bundle/weights.safetensors", "weights.safetensors is not the file that was written"),
        ("bundle/run.py", "run.py is not the file that was written"),
        ("one/rows.safetensors", "rows.safetensors is not the file that was written"),
    ],
)
def test_a_changed_bit_is_refused(copied: Path, name: str, message: str) -> None:
    """One bit of any file of bundle or site, and nothing is compared."""
    damage(copied / name)
    with pytest.raises(UsageError, match=message):
        compare_sites(copied / "bundle", [copied / "one"])


def test_a_site_of_another_bundle_is_refused(copied: Path, tmp_path: Path) -> None:
    """Sites are joined by the digest of the bundle, and ``run.py`` runs no bundle that was changed."""
    make_bundle(tmp_path / "other", "tiny:qwen3", count=1, prefix=4, width=3)
    with pytest.raises(UsageError, match=r"was run on another bundle than .*other: the digests of bundle.json differ"):
        compare_sites(tmp_path / "other", [copied / "one"])
    damage(copied / "bundle" / "inputs.safetensors")
    with pytest.raises(SystemExit, match="inputs.safetensors is not the file that the bundle was made with"):
        standalone.run(copied / "bundle", "cpu", "float32", "eager", tmp_path / "site")


def test_a_wrong_tree_pass_is_seen_on_the_sheet(copied: Path) -> None:
    """Rows of other nodes break the rule and every level; rows that are not finite are counted and nothing else is said."""
    rows = standalone.read_tensors(copied / "one" / "rows.safetensors")
    for wrong, words in (
        (rows["0.tree"].flip(0), "the rule does not hold"),
        (rows["0.tree"] * float("nan"), "rows that are not finite: 7"),
    ):
        standalone.write_tensors(copied / "one" / "rows.safetensors", rows | {"0.tree": wrong})
        head = json.loads((copied / "one" / "site.json").read_text(encoding="utf-8"))
        head["rows"] = standalone.digest(copied / "one" / "rows.safetensors")
        (copied / "one" / "site.json").write_text(json.dumps(head), encoding="utf-8")
        sheet = compare_sites(copied / "bundle", [copied / "one"])
        assert words in signoff_page(sheet)
        assert not sheet.sites[0].holds
        assert all("above" in one.limits["L0"] for one in sheet.answers)


@pytest.mark.parametrize(
    ("spec", "size", "kind", "message"),
    [
        ("tiny:gpt2", {}, Unsupported, "a bundle runs llama and qwen3 models; tiny:gpt2 is 'gpt2'"),
        ("tiny:llama", {"prefix": 2048}, UsageError, "4 instances of prefix 2048 and width 33"),
        ("tiny:llama", {"count": 0}, UsageError, "0 instances"),
    ],
)
def test_what_cannot_be_a_bundle_is_refused(
    spec: str, size: dict[str, int], kind: type[Exception], message: str, tmp_path: Path
) -> None:
    """The message names the model or the size, and nothing is written."""
    with pytest.raises(kind, match=message):
        make_bundle(tmp_path / "b", spec, **size)
    assert not (tmp_path / "b").exists()


def test_folders_that_hold_something_else_are_left_alone(made: Path, tmp_path: Path) -> None:
    """A bundle is made in a new folder only, and a folder without a bundle or without sites is refused."""
    with pytest.raises(UsageError, match="is not empty"):
        make_bundle(made / "bundle", "tiny:qwen3")
    with pytest.raises(FileError, match=r"cannot read .*bundle.json"):
        compare_sites(tmp_path, [made / "one"])
    with pytest.raises(UsageError, match="no site to compare"):
        compare_sites(made / "bundle", [])
