"""Run a frozen bundle on this machine. Needs Python 3.9 or newer and torch, and nothing else.

    python run.py --device cpu --dtype bfloat16 --kernel sdpa --output site-here

This file lies in every bundle as ``run.py``. It reads the inputs and weights that were made elsewhere, checks their digests,
runs the model that is written out below, and keeps the rows: the tree pass twice, the plain pass of every history, and a chain
both one token at a time and all at once. It judges nothing. Nothing is drawn here; the tree's mask and positions are read. No
code is shared with what made the bundle, so both sides have to mean the same numbers.

Kernels: ``eager`` writes attention out, ``sdpa`` calls torch's operator with a mask, plain passes with its causal flag.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import platform
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

DTYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
KERNELS = ("eager", "sdpa")
SITE = "tree-oracle-site"
_STORED = {"F64": torch.float64, "F32": torch.float32, "I64": torch.int64, "BOOL": torch.bool}
_NAMES = {dtype: name for name, dtype in _STORED.items()}

Cache = list[tuple[Tensor, Tensor]]


def read_tensors(path: Path) -> dict[str, Tensor]:
    """A safetensors file: eight bytes, the length of a JSON head, the head, the bytes."""
    data = bytearray(path.read_bytes())
    (length,) = struct.unpack("<Q", data[:8])
    head = json.loads(data[8 : 8 + length].decode())
    found = {}
    for name, entry in head.items():
        if name != "__metadata__":
            first, last = (8 + length + offset for offset in entry["data_offsets"])
            flat = torch.frombuffer(data[first:last], dtype=_STORED[entry["dtype"]]) if last > first else torch.empty(0)
            found[name] = flat.reshape(entry["shape"])
    return found


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """The same, written."""
    head, parts, at = {}, [], 0
    for name, tensor in sorted(tensors.items()):
        held = tensor.detach().cpu().contiguous()  # named, so that its memory lives while it is read
        data = ctypes.string_at(held.data_ptr(), held.numel() * held.element_size()) if held.numel() else b""
        head[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [at, at + len(data)],
        }
        parts.append(data)
        at += len(data)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def digest(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def checked(folder: Path) -> dict[str, Any]:
    """The head of the bundle in ``folder``; stops where a file is not the one that was made."""
    head: dict[str, Any] = json.loads((folder / "bundle.json").read_text(encoding="utf-8"))
    for name, expected in head["files"].items():
        if digest(folder / name) != expected:
            raise SystemExit(f"{folder / name} is not the file that the bundle was made with: its SHA-256 differs")
    return head


class Model:
    """A dense decoder with rotary positions and grouped queries, as Llama and Qwen3 are."""

    def __init__(self, shape: dict[str, Any], weights: dict[str, Tensor], dtype: str, device: str, kernel: str) -> None:
        self.shape, self.kernel, self.device = shape, kernel, device
        self.frequencies = weights["inv_freq"].to(device)
        self.weights = {name: one.to(DTYPES[dtype]).to(device) for name, one in weights.items() if name != "inv_freq"}

    @torch.no_grad()
    def run(self, ids: Tensor, positions: Tensor, visible: Tensor | None, cache: Cache) -> Tensor:
        """Logits of n tokens; ``visible`` is n x (cached + n), or None for a causal pass. Every layer's cache grows by n."""
        hidden = self.weights["model.embed_tokens.weight"][ids.to(self.device)]
        # As in the models themselves, angles are float32 whatever the dtype.
        angles = positions.to(self.device).to(torch.float32)[:, None] * self.frequencies[None]
        turn = torch.cat([angles, angles], dim=-1)
        cos, sin = turn.cos().to(hidden.dtype), turn.sin().to(hidden.dtype)
        seen = None if visible is None else visible.to(self.device)
        for layer in range(self.shape["layers"]):
            name = f"model.layers.{layer}"
            normed = self._norm(hidden, f"{name}.input_layernorm")
            hidden = hidden + self._attention(normed, f"{name}.self_attn", cos, sin, seen, layer, cache)
            normed = self._norm(hidden, f"{name}.post_attention_layernorm")
            gate = functional.silu(self._product(normed, f"{name}.mlp.gate_proj"))
            hidden = hidden + self._product(
                gate * self._product(normed, f"{name}.mlp.up_proj"), f"{name}.mlp.down_proj"
            )
        return self._product(self._norm(hidden, "model.norm"), "lm_head")

    def _product(self, rows: Tensor, name: str) -> Tensor:
        return functional.linear(rows, self.weights[f"{name}.weight"])

    def _norm(self, rows: Tensor, name: str) -> Tensor:
        wide = rows if rows.dtype == torch.float64 else rows.to(torch.float32)
        scaled = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.shape["eps"])
        return self.weights[f"{name}.weight"] * scaled.to(rows.dtype)

    def _heads(self, rows: Tensor, name: str, norm: str) -> Tensor:
        whole = self._product(rows, name)
        split = whole.reshape(len(whole), -1, self.shape["head"])
        return (self._norm(split, norm) if norm and self.shape["normed_heads"] else split).transpose(0, 1)

    def _attention(
        self,
        rows: Tensor,
        name: str,
        cos: Tensor,
        sin: Tensor,
        seen: Tensor | None,
        layer: int,
        cache: Cache,
    ) -> Tensor:
        query = _turned(self._heads(rows, f"{name}.q_proj", f"{name}.q_norm"), cos, sin)
        key = _turned(self._heads(rows, f"{name}.k_proj", f"{name}.k_norm"), cos, sin)
        value = self._heads(rows, f"{name}.v_proj", "")
        if layer < len(cache):
            key, value = (torch.cat([old, new], dim=1) for old, new in zip(cache[layer], (key, value)))  # noqa: B905
            cache[layer] = (key, value)
        else:
            cache.append((key, value))
        groups = query.shape[0] // key.shape[0]
        key, value = (one.repeat_interleave(groups, dim=0) for one in (key, value))
        out = _attend(query, key, value, seen, self.kernel)
        return self._product(out.transpose(0, 1).flatten(1), f"{name}.o_proj")


def _turned(rows: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = rows.shape[-1] // 2
    turned = torch.cat([-rows[..., half:], rows[..., :half]], dim=-1)
    return rows * cos + turned * sin


def _attend(query: Tensor, key: Tensor, value: Tensor, seen: Tensor | None, kernel: str) -> Tensor:
    if kernel == "sdpa" and seen is None:
        return functional.scaled_dot_product_attention(query[None], key[None], value[None], is_causal=True)[0]
    if seen is None:
        seen = torch.ones(query.shape[1], key.shape[1], dtype=torch.bool, device=query.device).tril()
    mask = torch.zeros(seen.shape, dtype=query.dtype, device=query.device)
    mask = mask.masked_fill(~seen, torch.finfo(query.dtype).min)
    if kernel == "sdpa":
        return functional.scaled_dot_product_attention(query[None], key[None], value[None], attn_mask=mask)[0]
    scores = query @ key.transpose(1, 2) * query.shape[-1] ** -0.5 + mask
    wide = torch.float64 if query.dtype == torch.float64 else torch.float32
    return torch.softmax(scores, dim=-1, dtype=wide).to(query.dtype) @ value


def histories(prefix: Tensor, tokens: Tensor, parents: Tensor) -> list[Tensor]:
    """The whole token sequence of each node, root first."""
    found = [prefix]
    for node in range(1, len(tokens)):
        found.append(torch.cat([found[int(parents[node])], tokens[node : node + 1]]))
    return found


def rows_of(model: Model, inputs: dict[str, Tensor], number: int) -> dict[str, Tensor]:
    """All passes of one instance."""
    prefix, tokens, parents, positions, visible, chain = (
        inputs[f"{number}.{name}"] for name in ("prefix", "tokens", "parents", "positions", "visible", "chain")
    )
    plain = [model.run(text, torch.arange(len(text)), None, [])[-1] for text in histories(prefix, tokens, parents)]
    trees = [model.run(tokens, positions, visible, _cached(model, prefix[:-1])) for _ in range(2)]
    found = {"tree": trees[0], "again": trees[1], "plain": torch.stack(plain)}
    first, n = len(prefix), len(chain)
    places, cache = torch.arange(first, first + n), _cached(model, prefix)
    every = torch.ones(1, first + n, dtype=torch.bool)
    found["decode"] = torch.cat([
        model.run(chain[at : at + 1], places[at : at + 1], every[:, : first + at + 1], cache) for at in range(n)
    ])  # fmt: skip
    causal = torch.ones(n, first + n, dtype=torch.bool).tril(first)
    found["wide"] = model.run(chain, places, causal, _cached(model, prefix))
    wide = torch.float64 if model.weights["lm_head.weight"].dtype == torch.float64 else torch.float32
    return {f"{number}.{name}": one.to(wide).cpu() for name, one in found.items()}


def _cached(model: Model, tokens: Tensor) -> Cache:
    cache: Cache = []
    if len(tokens):
        model.run(tokens, torch.arange(len(tokens)), None, cache)
    return cache


def run(folder: Path, device: str, dtype: str, kernel: str, output: Path) -> None:
    """Run the bundle in ``folder`` and write the site into ``output``."""
    head = checked(folder)
    model = Model(head["model"], read_tensors(folder / "weights.safetensors"), dtype, device, kernel)
    inputs = read_tensors(folder / "inputs.safetensors")
    rows: dict[str, Tensor] = {}
    for number in range(head["instances"]):
        rows.update(rows_of(model, inputs, number))
    output.mkdir(parents=True, exist_ok=True)
    write_tensors(output / "rows.safetensors", rows)
    site = {
        "format": SITE,
        "version": 1,
        "bundle": digest(folder / "bundle.json"),
        "rows": digest(output / "rows.safetensors"),
        "device": device,
        "dtype": dtype,
        "kernel": kernel,
        "environment": _place(device),
    }
    (output / "site.json").write_text(json.dumps(site, indent=2) + "\n", encoding="utf-8")


def _place(device: str) -> dict[str, str]:
    """What decides how this device rounds; what torch cannot tell here is left out."""
    kind = device.partition(":")[0]
    asked: dict[str, Callable[[], Any]] = {
        "torch": lambda: torch.__version__,
        "python": platform.python_version,
        "name": platform.machine,
        **_FACTS.get(kind, lambda _: {})(device),
    }
    told = {name: _told(ask) for name, ask in asked.items()}
    return {name: text for name, text in told.items() if text}


def _cpu(_: str) -> dict[str, Callable[[], Any]]:
    return {"instructions": torch.backends.cpu.get_cpu_capability}


def _cuda(device: str) -> dict[str, Callable[[], Any]]:
    matmul, driver = torch.backends.cuda.matmul, getattr(torch._C, "_cuda_getDriverVersion", str)
    return {
        "name": lambda: torch.cuda.get_device_name(device),
        "capability": lambda: ".".join(map(str, torch.cuda.get_device_capability(device))),
        "runtime": lambda: f"CUDA {torch.version.cuda}",
        "driver": driver,  # the release of CUDA that it knows, as one number
        # The newer switch first: where somebody used it, asking the older one is an error.
        "float32 products": lambda: matmul.fp32_precision if hasattr(matmul, "fp32_precision") else matmul.allow_tf32,
    }


def _npu(device: str) -> dict[str, Callable[[], Any]]:
    npu = getattr(torch, "npu", None)
    return {
        "name": lambda: npu.get_device_name(device),
        "plugin": lambda: f"torch_npu {__import__('torch_npu').__version__}",
        "capability": lambda: f"SoC {npu.get_soc_version()}",
        "runtime": lambda: "CANN " + _release(_CANN),
        "driver": lambda: _release(_NPU_DRIVER),
        "float32 products": lambda: f"HF32 {npu.matmul.allow_hf32}",
    }


_FACTS = {"cpu": _cpu, "cuda": _cuda, "npu": _npu}
_CANN = Path(os.environ.get("ASCEND_TOOLKIT_HOME", "")) / f"{platform.machine()}-linux" / "ascend_toolkit_install.info"
_NPU_DRIVER = Path("/usr/local/Ascend/driver/version.info")


def _release(note: Path) -> str:
    """What an installer's note says after ``version=``."""
    lines = note.read_text(encoding="utf-8", errors="replace").splitlines()
    return next(line.partition("=")[2].strip() for line in lines if line.lower().startswith("version="))


def _told(ask: Callable[[], Any]) -> str:
    try:
        return str(ask())
    except Exception:  # a fact that is not to be had is no reason to lose the rows
        return ""


def refusal(device: str) -> str:
    """Why the device cannot be used here, in one sentence; empty if it can."""
    kind = device.partition(":")[0]
    if kind not in _FACTS:
        return f"unknown device {device!r}; expected cpu, cuda, cuda:1, npu or npu:0"
    if kind == "cuda" and not torch.cuda.is_available():
        why = "no GPU can be used; check the driver" if torch.version.cuda else "this torch was built without CUDA"
        return f"device {device!r} is not here: {why}"
    try:
        if kind == "npu":
            import torch_npu  # type: ignore[import-not-found]  # noqa: F401
        torch.empty(1, device=device)
    except Exception as error:  # whatever a driver or a plug-in raises
        needs = "it needs torch_npu and CANN, and " if kind == "npu" else ""
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return f"device {device!r} is not here: {needs}torch says: {first}"
    return ""


def main(arguments: list[str] | None = None) -> None:
    """The command line. Exit code 2: the device is not here."""
    options = argparse.ArgumentParser(description="Run the bundle that this file lies in.")
    options.add_argument("--device", default="cpu", help="cpu, cuda, npu")
    options.add_argument("--dtype", default="float32", choices=sorted(DTYPES))
    options.add_argument("--kernel", default="sdpa", choices=KERNELS)
    options.add_argument("--output", required=True, type=Path, help="folder for the rows")
    options.add_argument("--bundle", default=Path(__file__).parent, type=Path)
    given = options.parse_args(arguments)
    refused = refusal(given.device)
    if refused:
        options.exit(2, f"run.py: {refused}\n")
    run(given.bundle, given.device, given.dtype, given.kernel, given.output)


if __name__ == "__main__":
    main()
