"""A kit in GGUF, the file format of llama.cpp: ``model.gguf`` in each checkpoint's folder, beside the safetensors.

The weights are the same float32 numbers, bit for bit, under llama.cpp's names. Only the rows of q and k of a llama stand in
another order there. A checkpoint turns the rows i and i + d/2 of a head of width d by one angle, llama.cpp the rows 2i and
2i + 1; of a qwen3 both turn i and i + d/2:

    file[h d + 2i + s]  =  checkpoint[h d + i + s d/2]        s = 0, 1;  0 <= i < d/2;  every head h

The tokenizer is byte-level BPE that has nothing to merge: every token is a word matched whole, ``t7``, the last one a control
token. What stands between words is no token, and such a tokenizer drops it. Prompts of a kit are token ids all the same.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from jaxtyping import Float32
from safetensors.numpy import load_file

from tree_oracle.kit.language import END, VOCAB
from tree_oracle.kit.make import digests
from tree_oracle.kit.model import DRAFTER, KIT_FILE, TARGET, TIED, Kit, KitError, read_kit
from tree_oracle.kit.tokenizer import word
from tree_oracle.record import MissingEngine, UsageError
from tree_oracle.record.files import write_file

GGUF = "model.gguf"
PARTS = TARGET, DRAFTER, TIED

# whether a checkpoint's pairs of rows are neighbours in llama.cpp; every architecture that can be written
_NEIGHBOURS = {"llama": True, "qwen3": False}
_TURNED = "q_proj.weight", "k_proj.weight"
_NEVER = "t 0"  # a merge: no list may be empty, and every word is found before merges are looked at

Matrix = Float32[np.ndarray, "rows columns"]


def write_gguf(folder: Path) -> tuple[Path, ...]:
    """Add a GGUF file to each checkpoint of a kit, and its digest to the kit's record.

    Args:
        folder: a whole kit, of which no checkpoint has one yet.

    Returns:
        The files that were written: all of them, or none is there.

    Raises:
        FileError: there is no record, or it is none of a kit.
        UsageError: a checkpoint has such a file already, or the kit's architecture is none that can be written.
        MissingEngine: the package ``gguf`` is not installed.
        KitError: a file is not what the record says, or holds a weight that GGUF has no name for.
    """
    kit = read_kit(folder)
    files = tuple(folder / part / GGUF for part in PARTS)
    _refuse(folder, kit, files)
    package = _package()
    draft = Path(tempfile.mkdtemp(dir=folder, prefix=".gguf."))
    try:
        for file in files:
            _write(package, file.parent, kit.architecture, draft / file.parent.name)
        for file in files:
            os.replace(draft / file.parent.name, file)
        made = {**kit.environment, "gguf": version("gguf")}
        write_file(folder / KIT_FILE, msgspec.structs.replace(kit, files=digests(folder), environment=made))
    except BaseException:
        for file in files:
            file.unlink(missing_ok=True)
        raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return files


def _refuse(folder: Path, kit: Kit, files: tuple[Path, ...]) -> None:
    if kit.architecture not in _NEIGHBOURS:
        raise UsageError(f"a kit of architecture {kit.architecture!r} has no GGUF; expected {' or '.join(_NEIGHBOURS)}")
    for file in files:
        if file.exists():
            raise UsageError(f"{str(file)!r} is there already; a kit is never written over anything")
    recorded = {name: digest for name, digest in kit.files.items() if not name.endswith(GGUF)}
    found = digests(folder)
    for name in sorted({*recorded, *found}):
        if recorded.get(name) != found.get(name):
            raise KitError(f"{name} in {str(folder)!r} is not the file that the kit's record names; make the kit anew")


def _package() -> Any:
    try:
        import gguf
    except ImportError as error:
        raise MissingEngine(
            f"a kit in GGUF needs the extra `gguf` ({error}); install it with: pip install 'tree-oracle[gguf]'"
        ) from error
    return gguf


def _write(package: Any, checkpoint: Path, architecture: str, file: Path) -> None:
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    writer = package.GGUFWriter(file, architecture)
    writer.add_name(f"tree-oracle kit, {checkpoint.name}")
    writer.add_file_type(package.LlamaFileType.ALL_F32)
    _add_shape(writer, config)
    _add_tokenizer(writer, package.TokenType)
    names = package.get_tensor_name_map(package.MODEL_ARCH[architecture.upper()], config["num_hidden_layers"])
    for name, weight in sorted(load_file(checkpoint / "model.safetensors").items()):
        known = names.get_name(name, try_suffixes=(".weight",))
        if known is None or weight.dtype != np.float32:
            raise KitError(
                f"{checkpoint.name} holds {name!r} in {weight.dtype}; expected float32, and a name GGUF has for {architecture}"
            )
        turned = _NEIGHBOURS[architecture] and name.endswith(_TURNED)
        writer.add_tensor(known, neighbours(weight, config["head_dim"]) if turned else weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_shape(writer: Any, config: dict[str, Any]) -> None:
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    for add in (writer.add_key_length, writer.add_value_length, writer.add_rope_dimension_count):
        add(config["head_dim"])
    writer.add_rope_freq_base(
        config.get("rope_parameters", config)["rope_theta"]
    )  # before release 5 it stood by itself
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])


def _add_tokenizer(writer: Any, kinds: Any) -> None:
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([word(token) for token in range(VOCAB)])
    writer.add_token_types([kinds.CONTROL if token == END else kinds.USER_DEFINED for token in range(VOCAB)])
    writer.add_token_merges([_NEVER])
    writer.add_eos_token_id(END)
    writer.add_pad_token_id(END)
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)


def neighbours(weight: Matrix, width: int) -> Matrix:
    """The rows of q or k, heads of ``width`` rows one after another, in the order of llama.cpp's llama."""
    halves = weight.reshape(-1, 2, width // 2, weight.shape[1])
    return np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(weight.shape)
