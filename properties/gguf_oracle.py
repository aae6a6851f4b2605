"""GGUF read and run from its specification alone: no code of llama.cpp's package, of transformers or of the library.

File, little-endian, version 3: magic, version, counts of tensors and of keys; keys with typed values; for each tensor its name,
sizes (fastest first), type and offset; padding to 32 bytes; data. Forward pass of the llama and the qwen3 of llama.cpp: angles
turn the neighbours 2i and 2i + 1 of a llama's head, and i and i + d/2 of a qwen3's.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from safetensors.numpy import load_file

Matrix = Float[np.ndarray, "n width"]

_PLAIN = {4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q"}
_STRING, _ARRAY, _F32, _ALIGNED = 8, 9, 0, 32


@dataclass(frozen=True)
class File:
    """What a GGUF file holds."""

    keys: dict[str, Any]
    tensors: dict[str, Any]  # float32


class _Bytes:
    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def take(self, form: str) -> Any:
        (value,) = struct.unpack_from(form, self.content, self.at)
        self.at += struct.calcsize(form)
        return value

    def text(self) -> str:
        size = self.take("<Q")
        self.at += size
        return self.content[self.at - size : self.at].decode()

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            inner, count = self.take("<I"), self.take("<Q")
            return [self.value(inner) for _ in range(count)]
        return self.take(_PLAIN[kind])


def read(path: Path) -> File:
    """The keys and the float32 tensors of a file."""
    source = _Bytes(path.read_bytes())
    assert (source.take("<4s"), source.take("<I")) == (b"GGUF", 3)
    tensors, keys = source.take("<Q"), source.take("<Q")
    found = {source.text(): source.value(source.take("<I")) for _ in range(keys)}
    places = {}
    for _ in range(tensors):
        name, sizes = source.text(), [source.take("<Q") for _ in range(source.take("<I"))]
        assert source.take("<I") == _F32
        places[name] = sizes[::-1], source.take("<Q")
    start = -(-source.at // _ALIGNED) * _ALIGNED
    return File(
        found,
        {
            name: np.frombuffer(source.content, "<f4", int(np.prod(sizes)), start + offset).reshape(sizes)
            for name, (sizes, offset) in places.items()
        },
    )


def rows(file: File, text: list[int]) -> Matrix:
    """The logits after every token of a text, in float64."""
    kind = file.keys["general.architecture"]
    weights = {name: weight.astype(np.float64) for name, weight in file.tensors.items()}
    state = weights["token_embd.weight"][text]
    for layer in range(file.keys[f"{kind}.block_count"]):
        mine = {name.split(".")[2]: weight for name, weight in weights.items() if name.startswith(f"blk.{layer}.")}
        state = state + _attended(file, mine, _normed(file, state, mine["attn_norm"]))
        inner = _normed(file, state, mine["ffn_norm"])
        gate, up = inner @ mine["ffn_gate"].T, inner @ mine["ffn_up"].T
        state = state + (gate / (1 + np.exp(-gate)) * up) @ mine["ffn_down"].T
    found: Matrix = _normed(file, state, weights["output_norm.weight"]) @ weights["output.weight"].T
    return found


def _normed(file: File, state: Any, weight: Any) -> Any:
    epsilon = file.keys[f"{file.keys['general.architecture']}.attention.layer_norm_rms_epsilon"]
    return state / np.sqrt((state**2).mean(axis=-1, keepdims=True) + epsilon) * weight


def _attended(file: File, mine: dict[str, Any], state: Matrix) -> Matrix:
    kind = file.keys["general.architecture"]
    heads, shared = (file.keys[f"{kind}.attention.head_count{end}"] for end in ("", "_kv"))
    q, k, v = (
        (state @ mine[f"attn_{part}"].T).reshape(len(state), count, -1)
        for part, count in (("q", heads), ("k", shared), ("v", shared))
    )
    if kind == "qwen3":
        q, k = _normed(file, q, mine["attn_q_norm"]), _normed(file, k, mine["attn_k_norm"])
    q, k = _turned(file, q), _turned(file, k)
    k, v = (np.repeat(part, heads // shared, axis=1) for part in (k, v))
    scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(q.shape[-1])
    scores[:, *np.triu_indices(len(state), 1)] = -np.inf
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    seen: Matrix = np.einsum("hij,jhd->ihd", shares, v).reshape(len(state), -1) @ mine["attn_output"].T
    return seen


def _turned(file: File, heads: Any) -> Any:
    kind, width = file.keys["general.architecture"], heads.shape[-1]
    assert file.keys[f"{kind}.rope.dimension_count"] == width
    angles = np.outer(np.arange(len(heads)), file.keys[f"{kind}.rope.freq_base"] ** (-np.arange(0, width, 2) / width))
    turn = np.exp(1j * angles)[:, None]
    first, second = (
        (slice(0, None, 2), slice(1, None, 2)) if kind == "llama" else (slice(width // 2), slice(width // 2, None))
    )
    turned, found = (heads[..., first] + 1j * heads[..., second]) * turn, np.empty_like(heads)
    found[..., first], found[..., second] = turned.real, turned.imag
    return found


_OUTER = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
_INNER = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip
_SIZES = {
    "context_length": "max_position_embeddings", "embedding_length": "hidden_size", "block_count": "num_hidden_layers",
    "feed_forward_length": "intermediate_size", "vocab_size": "vocab_size", "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads", "attention.key_length": "head_dim", "attention.value_length": "head_dim",
    "rope.dimension_count": "head_dim",
}  # fmt: skip


def agrees(file: File, checkpoint: Path) -> None:
    """Whether a file holds what a checkpoint does.

    Raises:
        AssertionError: a size or a weight differs.
    """
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    kind = config["model_type"]
    assert file.keys["general.architecture"] == kind
    assert {name: file.keys[f"{kind}.{name}"] for name in _SIZES} == {name: config[key] for name, key in _SIZES.items()}
    assert file.keys[f"{kind}.attention.layer_norm_rms_epsilon"] == np.float32(config["rms_norm_eps"])
    weights = {_name(name): weight for name, weight in load_file(checkpoint / "model.safetensors").items()}
    assert set(file.tensors) == set(weights)
    for name, weight in weights.items():
        order = _order(name, len(weight), config["head_dim"]) if kind == "llama" else slice(None)
        assert file.tensors[name].tobytes() == weight[order].tobytes(), name


def _name(name: str) -> str:
    name = name.removesuffix(".weight")
    if name in _OUTER:
        return f"{_OUTER[name]}.weight"
    _, _, layer, inner = name.split(".", 3)
    return f"blk.{layer}.{_INNER[inner]}.weight"


def _order(name: str, count: int, width: int) -> list[int]:
    """Which row of a llama's checkpoint stands in each row of the file."""
    if not name.endswith((".attn_q.weight", ".attn_k.weight")):
        return list(range(count))
    heads, pairs = range(count // width), range(width // 2)
    return [head * width + pair + half * width // 2 for head in heads for pair in pairs for half in (0, 1)]


def worst_margin(folder: Path) -> float:
    """By how much a margin of the quiet texts differs from the record, in logits, when the file is run.

    Raises:
        AssertionError: a token of a text is not the choice.
    """
    file, worst = read(folder / "target/model.gguf"), 0.0
    for one in json.loads((folder / "kit.json").read_text(encoding="utf-8"))["quiet"]:
        found = rows(file, [*one["prompt"], *one["text"]])[len(one["prompt"]) - 1 : -1]
        assert found.argmax(axis=-1).tolist() == one["text"], f"the text after {one['prompt']}"
        second, first = np.sort(found, axis=-1)[:, -2:].T
        worst = max(worst, float(np.abs(first - second - one["margins"]).max()))
    return worst
