"""Making a bundle: everything that a machine needs to be measured by, frozen and with digests.

    bundle.json           format, model, sizes, SHA-256 of every other file
    weights.safetensors   float32, under the names of transformers
    inputs.safetensors    prefixes, trees, positions, visibility and chains, made on this CPU from a seed
    golden.safetensors    float64 rows of every history, for the weights as each dtype holds them
    run.py                ``standalone``: runs on any machine with torch

The golden rows are those of the library's own sequential truth. ``run.py`` computes the same model from its own code; a bundle
whose two float64 answers differ is not made.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tree_oracle.numerics.bundle import standalone
from tree_oracle.numerics.bundle.head import BUNDLE_FORMAT, BUNDLE_VERSION, BundleHead
from tree_oracle.numerics.inputs import Lane, instances
from tree_oracle.numerics.measure import reference_of
from tree_oracle.record import Unsupported, UsageError, gaps, write_file
from tree_oracle.target import Target, load_target, one_torch_thread
from tree_oracle.target.sequential_shared import shared_rows
from tree_oracle.tree import lay_out

DTYPES = ("float64", "float32", "bfloat16", "float16")
MODELS = ("llama", "qwen3")
AGREEMENT = 1e-9  # logits between two float64 programs: 6e-14 was measured, and another model is off by whole logits

SOURCE = Path(standalone.__file__)


def make_bundle(
    folder: Path, spec: str, *, count: int = 4, prefix: int = 64, width: int = 33, seed: int = 0
) -> BundleHead:
    """Write a bundle of ``count`` instances of ``width`` rows behind ``prefix`` tokens into ``folder``, which must be empty.

    Raises:
        Unsupported: a model that ``run.py`` cannot compute.
        UsageError: the folder holds something, a size below 1, or the two float64 programs disagree.
    """
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; name a new folder for the bundle")
    target = load_target(spec, attention="eager")
    shape = _shape(target)
    if count < 1 or prefix + width > target.context_length:
        raise UsageError(
            f"{count} instances of prefix {prefix} and width {width}; expected at least 1, within "
            f"{target.context_length} tokens"
        )
    made = instances(seed, count, vocab=target.vocab_size, prefix=prefix, width=width, batch=1)
    lanes = [one.lanes[0] for one in made]
    inputs: dict[str, Tensor] = {}
    for number, lane in enumerate(lanes):
        inputs |= _inputs(number, lane)
    with one_torch_thread():
        golden = {f"{dtype}.{name}": rows for dtype in DTYPES for name, rows in _golden(target, dtype, lanes).items()}
    weights = _weights(target)
    folder.mkdir(parents=True, exist_ok=True)
    for name, tensors in (("weights", weights), ("inputs", inputs), ("golden", golden)):
        standalone.write_tensors(folder / f"{name}.safetensors", tensors)
    (folder / "run.py").write_bytes(SOURCE.read_bytes())
    agreement = _agreement(shape, weights, inputs, golden, count)
    names = ("golden.safetensors", "inputs.safetensors", "run.py", "weights.safetensors")
    head = BundleHead(
        target=spec,
        model=shape,
        instances=count,
        prefix=prefix,
        width=width,
        seed=seed,
        agreement=agreement,
        files={name: standalone.digest(folder / name) for name in names},
        format=BUNDLE_FORMAT,
        version=BUNDLE_VERSION,
    )
    write_file(folder / "bundle.json", head)
    return head


def _shape(target: Target) -> dict[str, Any]:
    """What ``run.py`` must know of the model.

    Raises:
        Unsupported: another model type, or something in it that ``run.py`` does not compute.
    """
    config = target.model.config
    if config.model_type not in MODELS:
        raise Unsupported(f"a bundle runs {' and '.join(MODELS)} models; {target.spec} is {config.model_type!r}")
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    names = {name for name, _ in target.model.named_parameters() if name.endswith(".bias")}
    if kinds != {"full_attention"} or names or config.hidden_act != "silu":
        raise Unsupported(f"a bundle has full attention, no biases and SiLU; {target.spec} has {kinds | names}")
    return {
        "layers": config.num_hidden_layers,
        "head": config.head_dim,
        "eps": config.rms_norm_eps,
        "normed_heads": config.model_type == "qwen3",
    }


def _weights(target: Target) -> dict[str, Tensor]:
    model = target.model
    found = {name: parameter.detach().to(torch.float32) for name, parameter in model.named_parameters()}
    if "lm_head.weight" not in found:
        found["lm_head.weight"] = found["model.embed_tokens.weight"]
    return found | {"inv_freq": model.model.rotary_emb.inv_freq.to(torch.float32)}


def _inputs(number: int, lane: Lane) -> dict[str, Tensor]:
    layout = lay_out(lane.tree, len(lane.prefix))
    arrays = {
        "prefix": np.array(lane.prefix),
        "tokens": lane.tree.tokens,
        "parents": lane.tree.parents,
        "positions": layout.positions,
        "visible": layout.visible,
        "chain": np.array(lane.chain),
    }
    return {f"{number}.{name}": torch.tensor(array) for name, array in arrays.items()}


def _golden(target: Target, dtype: str, lanes: Sequence[Lane]) -> dict[str, Tensor]:
    """Rows of all nodes and of all chain tokens, for the weights as ``dtype`` holds them."""
    model = reference_of(target.in_dtype(dtype)).model
    found = {}
    for number, lane in enumerate(lanes):
        texts = [(*lane.prefix, *lane.chain[: at + 1]) for at in range(len(lane.chain))]
        found[f"{number}.tree"] = torch.tensor(shared_rows(model, lane.histories))
        found[f"{number}.chain"] = torch.tensor(shared_rows(model, texts))
    return found


def _agreement(
    shape: dict[str, Any], weights: dict[str, Tensor], inputs: dict[str, Tensor], golden: dict[str, Tensor], count: int
) -> float:
    """The largest difference between ``run.py`` in float64 and the golden rows.

    Raises:
        UsageError: they are not the same model.
    """
    model = standalone.Model(shape, weights, "float64", "cpu", "eager")
    found = 0.0
    with one_torch_thread():
        for number in range(count):
            rows = standalone.rows_of(model, inputs, number)
            for name, true in (("tree", "tree"), ("plain", "tree"), ("decode", "chain"), ("wide", "chain")):
                pair = rows[f"{number}.{name}"].numpy(), golden[f"float64.{number}.{true}"].numpy()
                found = max(found, float(gaps(*pair).max()))
    if not found <= AGREEMENT:
        raise UsageError(f"run.py in float64 is {found:.3g} logits from the golden rows; it computes another model")
    return found
