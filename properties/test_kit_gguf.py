"""A kit in GGUF holds the same models: read from the format's specification, run by llama.cpp's rules, and as transformers reads it."""

from __future__ import annotations

import json
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gguf_oracle
import msgspec
import numpy as np
import pytest
import torch
from click.testing import CliRunner
from kit_grounds import small_kit
from safetensors.numpy import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from tree_oracle.cli import main
from tree_oracle.kit import KitError, gguf, read_kit, verify_kit, write_gguf
from tree_oracle.kit.make import digests
from tree_oracle.record import FileError, MissingEngine, UsageError, to_json

PARTS = ("drafter", "target", "tied")


@pytest.fixture
def folder(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(small_kit(tmp_path_factory), tmp_path / "kit"))


@pytest.fixture
def misplaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the rows of q and k as the checkpoint has them."""
    monkeypatch.setitem(gguf._NEIGHBOURS, "llama", False)


@pytest.mark.versions
def test_every_file_holds_its_checkpoint(folder: Path) -> None:
    """Each weight has its name in llama.cpp and the same bits, each size and token its key; the record names the files."""
    assert write_gguf(folder) == tuple(folder / part / "model.gguf" for part in ("target", "drafter", "tied"))
    for part in PARTS:
        file = gguf_oracle.read(folder / part / "model.gguf")
        gguf_oracle.agrees(file, folder / part)
        assert file.keys["tokenizer.ggml.tokens"] == [f"t{token}" for token in range(64)]
        assert file.keys["tokenizer.ggml.token_type"] == [4] * 63 + [3]  # user-defined, and control at the end
        assert (file.keys["tokenizer.ggml.eos_token_id"], file.keys["tokenizer.ggml.add_bos_token"]) == (63, False)
    kit = read_kit(folder)
    assert kit.files == digests(folder)
    assert kit.environment["gguf"] == version("gguf")


def test_llama_cpps_rules_lead_to_the_quiet_texts(folder: Path) -> None:
    """Run as llama.cpp runs a llama, the file gives every quiet text, with the margins that the record has."""
    write_gguf(folder)
    assert gguf_oracle.worst_margin(folder) < read_kit(folder).floors[0].allowed


@pytest.mark.usefixtures("misplaced")
def test_misplaced_rows_are_noticed(folder: Path) -> None:
    """The proofs can fail: q and k in the checkpoint's order are other weights to every reader and give other texts."""
    write_gguf(folder)
    with pytest.raises(AssertionError, match="attn_k"):
        gguf_oracle.agrees(gguf_oracle.read(folder / "target/model.gguf"), folder / "target")
    with pytest.raises(AssertionError, match="text"):
        gguf_oracle.worst_margin(folder)
    assert as_transformers_reads(folder / "target") == (False, False)


def as_transformers_reads(checkpoint: Path) -> tuple[bool, bool]:
    """Whether its reader of GGUF finds the weights of the safetensors, and whether the model it makes has the same logits."""
    config = AutoConfig.from_pretrained(checkpoint, gguf_file="model.gguf", local_files_only=True)
    model: Any = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
    load: Any = load_gguf_checkpoint  # from_pretrained(gguf_file=...) calls it, but asks for accelerate
    read = load(str(checkpoint / "model.gguf"), return_tensors=True, model_to_load=model)
    model.load_state_dict(read["tensors"])
    plain: Any = AutoModelForCausalLM.from_pretrained(checkpoint, local_files_only=True)
    mine, theirs = model.eval().state_dict(), plain.state_dict()
    assert list(mine) == list(theirs)
    text = torch.arange(40)[None]
    with torch.no_grad():
        same_rows = torch.equal(model(text).logits, plain(text).logits)
    return all(torch.equal(mine[name], theirs[name]) for name in mine), same_rows


@pytest.mark.parametrize("part", PARTS)
def test_transformers_reads_the_same_model(folder: Path, part: str) -> None:
    """The weights that transformers reads from the file are those of the safetensors bit for bit, and so are the logits."""
    write_gguf(folder)
    assert as_transformers_reads(folder / part) == (True, True)


def test_a_damaged_file_is_named(folder: Path) -> None:
    """kit verify finds one byte changed in a file, and a file that is gone."""
    write_gguf(folder)
    damaged, gone = folder / "target/model.gguf", folder / "tied/model.gguf"
    *before, last = damaged.read_bytes()
    damaged.write_bytes(bytes([*before, last ^ 1]))
    gone.unlink()
    assert [one.what for one in verify_kit(folder)] == ["file target/model.gguf", "file tied/model.gguf"]


def files_in(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_nothing_is_written_over_and_nothing_half(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is there is refused; a failure on the way leaves all as it was; what was removed can be written again."""
    before = files_in(folder)
    for where in ("_write", "write_file"):  # before any file has its name, and after all have
        with monkeypatch.context() as once:
            once.setattr(gguf, where, lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                write_gguf(folder)
        assert files_in(folder) == before
    write_gguf(folder)
    after = files_in(folder)
    with pytest.raises(UsageError, match="target/model.gguf' is there already; a kit is never written over"):
        write_gguf(folder)
    for part in PARTS:
        (folder / part / "model.gguf").unlink()
    write_gguf(folder)
    assert files_in(folder) == after


def rewritten(folder: Path, **changes: Any) -> None:
    """Give the record other fields, and the digests of the files that are there."""
    kit = msgspec.structs.replace(read_kit(folder), files=digests(folder), **changes)
    (folder / "kit.json").write_bytes(to_json(kit))


def test_what_cannot_be_written_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No kit, another architecture, a file or a weight that is no kit's, or no package: each is named with what was expected."""
    weights = load_file(folder / "drafter/model.safetensors")
    with pytest.raises(FileError, match="cannot read .*kit.json"):
        write_gguf(folder / "target")
    rewritten(folder, architecture="gpt2")
    with pytest.raises(UsageError, match="a kit of architecture 'gpt2' has no GGUF; expected llama or qwen3"):
        write_gguf(folder)
    rewritten(folder, architecture="llama")
    with monkeypatch.context() as once:
        once.setitem(sys.modules, "gguf", None)
        with pytest.raises(MissingEngine, match="needs the extra `gguf` .*pip install 'tree-oracle\\[gguf\\]'"):
            write_gguf(folder)
    for name, number, message in (
        (
            "model.surprise.weight",
            np.float32,
            "drafter holds 'model.surprise.weight' in float32; expected float32, and a name",
        ),
        ("model.norm.weight", np.float16, "drafter holds 'model.norm.weight' in float16; expected float32"),
    ):
        save_file(weights | {name: np.ones(48, dtype=number)}, folder / "drafter/model.safetensors")
        with pytest.raises(
            KitError, match="drafter/model.safetensors in .* is not the file that the kit's record names"
        ):
            write_gguf(folder)
        rewritten(folder)
        with pytest.raises(KitError, match=message):
            write_gguf(folder)
    assert not list(folder.rglob("*gguf*"))


def test_the_command_names_what_it_wrote(folder: Path) -> None:
    """Each file is printed, as text or as JSON; a second time nothing is written and the exit code is 2."""
    files = [str(folder / part / "model.gguf") for part in ("target", "drafter", "tied")]
    done = CliRunner().invoke(main, ["kit", "gguf", str(folder), "--json"])
    assert (done.exit_code, json.loads(done.output)) == (0, {"written": files})
    assert CliRunner().invoke(main, ["kit", "gguf", str(folder)]).exit_code == 2
    for file in files:
        Path(file).unlink()
    done = CliRunner().invoke(main, ["kit", "gguf", str(folder)])
    assert done.output.splitlines() == [f"written     {file}" for file in files]
