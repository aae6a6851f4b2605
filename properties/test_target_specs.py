"""A target's name says everything about it: the grammar, the errors, the weights, the dtype."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

import tree_oracle
from tree_oracle.record import UsageError
from tree_oracle.target import (
    Target,
    forward_with_cache,
    layer_tensors,
    load_target,
    one_torch_thread,
    prefill,
    set_layer_tensors,
)
from tree_oracle.target.dtypes import DTYPES
from tree_oracle.target.sequential_naive import naive_rows
from tree_oracle.target.spec import TargetSpec, parse_spec
from tree_oracle.target.tiny import CONFIGURATIONS
from tree_oracle.target.tiny_configurations import EAGER_ONLY, FREE_HEADS

DTYPE_NAMES = sorted(DTYPES)
KERNELS = [
    (f"tiny:{name}", attention)
    for name in sorted(CONFIGURATIONS)
    for attention in ("eager", "sdpa")
    if attention == "eager" or name not in EAGER_ONLY
]

# First numbers of exact:seed=3 and tiny:qwen3:seed=1, written down once.
EXACT_ROW = [237, 49, 238, 168, 111, 31, 91, 26]
EXACT_LOGITS = [9244, 11741, 2014, 1439]  # in units of 1 / 2048
TINY_ROW = [-0.143818, -0.180419, 0.027571]


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "vocab": st.integers(2, 300),
            "seed": st.integers(0, 2**32),
            "positions": st.integers(1, 300),
            "window": st.integers(1, 50),
            "chunk": st.integers(1, 50),
        },
    )
)
def test_the_settings_of_an_exact_target_are_its_configuration(settings: dict[str, int]) -> None:
    """Every setting reaches the model, and what is not set has the documented default."""
    kinds = ["full"] + ["sliding"] * ("window" in settings) + ["chunked"] * ("chunk" in settings)
    named = [f"{key}={value}" for key, value in settings.items()] + [f"layers={'+'.join(kinds)}"]
    target = load_target("exact:" + ",".join(named))
    config = target.model.config
    assert (target.vocab_size, config.vocab_size) == (settings.get("vocab", 61),) * 2
    assert (config.seed, target.context_length) == (settings.get("seed", 0), settings.get("positions", 2048))
    assert (config.sliding_window, config.attention_chunk_size) == (settings.get("window"), settings.get("chunk"))
    assert config.layer_types == [f"{kind}_attention" for kind in kinds]
    assert target.exact
    assert target.eos_ids == ()


def test_names_are_taken_apart() -> None:
    """Family, architecture and settings stand where the grammar says."""
    assert parse_spec("exact") == TargetSpec("exact", "", {})
    assert parse_spec("exact:") == TargetSpec("exact", "", {})
    assert parse_spec("tiny:qwen3:seed=1") == TargetSpec("tiny", "qwen3", {"seed": "1"})
    assert parse_spec("dir:C:/models/a:b") == TargetSpec("dir", "", {}, "C:/models/a:b")
    assert load_target("exact").model.config.layer_types == ["full_attention"] * 2
    assert load_target("exact:ties=3-7+10-50").model.config.ties == [[3, 7], [10, 50]]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("exakt", "unknown target 'exakt', did you mean 'exact'"),
        ("", "unknown target ''; Known: dir, exact, tiny"),
        ("exact:vocap=5", "unknown setting 'vocap', did you mean 'vocab'"),
        ("exact:vocab", "'vocab' is not of the form key=value"),
        ("exact:seed=1,seed=2", "'seed=2' is given twice"),
        ("exact:seed=-1", "seed='-1' is not a whole number of at least 0"),
        ("exact:vocab=1e3", "vocab='1e3' is not a whole number"),
        ("exact:vocab=1", "vocab_size is 1; expected 2 to 65536"),
        ("exact:layers=ful+sliding", "unknown layer type 'ful', did you mean 'full'"),
        ("exact:layers=sliding", "a sliding_attention layer needs sliding_window"),
        ("exact:window=8", "sliding_window=8 has no effect"),
        ("exact:ties=3", "not disjoint pairs"),
        ("exact:ties=3-x", "ties='x' is not a whole number"),
        ("exact:seed=1:vocab=5", "has 2 groups of settings; separate settings by commas"),
        ("tiny", "names no architecture; expected for example tiny:qwen3"),
        ("tiny:qwen", "unknown architecture 'qwen', did you mean 'qwen3'"),
        ("tiny:qwen3:vocab=5", "unknown setting 'vocab'; Known: head, seed"),
    ],
)
def test_a_name_that_means_nothing_is_refused(spec: str, message: str) -> None:
    """The error names the wrong part and the nearest right one."""
    with pytest.raises(UsageError, match=message):
        load_target(spec)


def saved(folder: Path, spec: str = "tiny:llama") -> Path:
    """A directory as ``save_pretrained`` writes it."""
    load_target(spec, attention="eager").model.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("spec", "attention"), KERNELS)
def test_a_saved_model_is_the_model(spec: str, attention: str, dtype: str, tmp_path: Path) -> None:
    """What was saved and loaded from its directory gives the same rows bit for bit, under the kernel and dtype asked for."""
    first = load_target(spec, attention=attention, dtype=dtype)
    found = load_target(f"dir:{saved(tmp_path, spec)}", attention=attention, dtype=dtype)
    ids = torch.tensor([[3, 1, 4, 1, 5]])
    assert torch.equal(first.model(ids).logits, found.model(ids).logits)
    assert equal(first, found)
    assert (found.dtype, found.attention, found.exact, found.eos_ids) == (dtype, attention, False, ())
    assert (found.vocab_size, found.context_length) == (first.vocab_size, first.context_length)


@pytest.mark.parametrize(("ids", "known"), [(7, (7,)), ([7, 9], (7, 9)), (None, ())])
def test_end_tokens_come_from_the_generation_config(ids: Any, known: tuple[int, ...], tmp_path: Path) -> None:
    """A checkpoint's end tokens are those of its generation_config.json, one, several or none."""
    model = load_target("tiny:llama").model
    model.generation_config.eos_token_id = ids
    model.save_pretrained(tmp_path)
    assert load_target(f"dir:{tmp_path}").eos_ids == known


def edit(folder: Path, **changes: Any) -> None:
    """Change the configuration in a directory."""
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")


def without_a_weight(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "no configuration": (lambda folder: (folder / "config.json").unlink(), "holds no config.json"),
    "no JSON": (lambda folder: (folder / "config.json").write_text("{"), "is not readable JSON"),
    "no type": (lambda folder: edit(folder, model_type=None), "names no model_type"),
    "pickles": (pickled, r"only as pickles \(pytorch_model.bin\), and loading a pickle runs the code in it"),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "holds no weights"),
    "broken weights": (lambda folder: (folder / "model.safetensors").write_bytes(b"xx"), "cannot be loaded"),
    "a weight less": (without_a_weight, "lacks 1 of the model's weights, such as model.layers.1.mlp.up_proj.weight"),
    "another shape": (lambda folder: edit(folder, intermediate_size=64), "cannot be loaded|has the wrong shape for"),
    "unknown": (lambda folder: edit(folder, model_type="nobody"), "cannot be loaded: .*nobody"),
    "own code": (
        lambda folder: edit(
            folder, model_type="own", auto_map={"AutoConfig": "own.C", "AutoModelForCausalLM": "own.M"}
        ),
        "cannot be loaded: .*contains custom code",
    ),
    "a wrong value": (lambda folder: edit(folder, layer_types=["full_attention"]), r"num_hidden_layers.*layer_types"),
    "an adapter": (
        lambda folder: (folder / "adapter_config.json").write_text("{}"),
        "holds an adapter on another model",
    ),
    "quantised": (lambda folder: edit(folder, quantization_config={"quant_method": "gptq"}), "are quantised"),
}


@pytest.mark.parametrize("how", sorted(SPOILT))
def test_a_directory_that_cannot_be_trusted_is_refused(how: str, tmp_path: Path) -> None:
    """Each thing that a directory may lack or hold too much of is one usage error that says which."""
    spoil, message = SPOILT[how]
    spoil(saved(tmp_path))
    with pytest.raises(UsageError, match=message):
        load_target(f"dir:{tmp_path}")


@pytest.mark.parametrize("path", ["", "/nowhere/at/all"])
def test_a_directory_that_is_not_there_is_refused(path: str) -> None:
    """A missing directory is no name of a model to look for elsewhere."""
    with pytest.raises(UsageError, match=f"'{path}' is no directory; expected for example dir:models/small"):
        load_target(f"dir:{path}")


def test_options_that_mean_nothing_are_refused() -> None:
    """Unknown dtypes and kernels, and devices that are not there, are usage errors."""
    with pytest.raises(UsageError, match="unknown dtype 'float23', did you mean 'float32'"):
        load_target("exact", dtype="float23")
    with pytest.raises(UsageError, match="unknown dtype 'int8'; Known:"):
        load_target("exact").in_dtype("int8")
    with pytest.raises(UsageError, match="unknown attention 'spda', did you mean 'sdpa'"):
        load_target("exact", attention="spda")
    with pytest.raises(UsageError, match="device 'nowhere' cannot be used here"):
        load_target("exact", device="nowhere")
    with pytest.raises(
        UsageError, match="tiny:gptoss has attention sinks, which sdpa cannot compute; use attention eager"
    ):
        load_target("tiny:gptoss")
    with pytest.raises(UsageError, match="tiny:gemma2 has capped attention scores, which sdpa cannot compute"):
        load_target("tiny:gemma2", attention="sdpa")


@pytest.mark.parametrize("name", FREE_HEADS)
def test_heads_of_a_tiny_model_have_the_width_that_is_asked_for(name: str) -> None:
    """``head=6`` is the width of queries, keys and values; odd widths, and architectures that fix it, are refused."""
    model = load_target(f"tiny:{name}:head=6").model
    assert model.config.head_dim == 6
    assert model.model.layers[0].self_attn.k_proj.weight.shape[0] == 6 * model.config.num_key_value_heads
    assert naive_rows(model, [(1, 2, 3)]).shape == (1, 256)
    for spec in (f"tiny:{name}:head=5", "tiny:gpt2:head=64"):
        with pytest.raises(UsageError, match="expected an even width, and one of llama, mistral, mixtral, qwen3"):
            load_target(spec)


@pytest.mark.versions
@pytest.mark.parametrize(("spec", "attention"), [("exact", "eager"), ("exact", "sdpa"), *KERNELS])
def test_a_target_is_loaded_as_asked(spec: str, attention: str) -> None:
    """Device, dtype and kernel are those asked for; the model is frozen and no id is special."""
    for dtype in DTYPE_NAMES:
        target = load_target(spec, dtype=dtype, attention=attention)
        assert (target.spec, target.device, target.dtype, target.attention) == (spec, "cpu", dtype, attention)
        assert target.model.dtype == DTYPES[dtype]
        assert target.model.config._attn_implementation == attention
        assert not target.model.training
        assert not any(parameter.requires_grad for parameter in target.model.parameters())
        assert target.eos_ids == ()
        logits = target.model(torch.tensor([[0, 1, 2]])).logits
        assert logits.shape == (1, 3, target.vocab_size)
        assert bool(logits.isfinite().all())


def weights(target: Target) -> dict[str, np.ndarray]:
    return {name: value.double().numpy() for name, value in target.model.state_dict().items()}


def equal(one: Target, other: Target) -> bool:
    mine, theirs = weights(one), weights(other)
    return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)


@pytest.mark.parametrize("spec", ["exact:seed=", *(f"tiny:{name}:seed=" for name in CONFIGURATIONS)])
def test_the_name_decides_the_weights(spec: str) -> None:
    """Equal names give equal weights whatever torch's random state, which stays as it was; another seed gives others."""
    torch.manual_seed(7)
    first = load_target(f"{spec}3", attention="eager")
    after = torch.rand(3)
    assert equal(first, load_target(f"{spec}3", attention="eager"))
    assert not equal(first, load_target(f"{spec}4", attention="eager"))
    torch.manual_seed(7)
    assert torch.equal(after, torch.rand(3))


@pytest.mark.versions
def test_weights_are_the_same_in_every_release() -> None:
    """First numbers of two targets, written down: a case found elsewhere means the same model here."""
    exact = load_target("exact:seed=3").model
    assert exact.embed_tokens.weight[0].tolist() == EXACT_ROW
    assert exact(torch.tensor([[1, 2, 3]])).logits[0, -1, :4].mul(2048).tolist() == EXACT_LOGITS
    tiny = dict(load_target("tiny:qwen3:seed=1").model.named_parameters())
    first = tiny["model.layers.0.self_attn.q_proj.weight"][0, :3].tolist()
    assert first == pytest.approx(TINY_ROW, abs=1e-5)


@pytest.mark.parametrize("spec", ["exact", *(f"tiny:{name}" for name in CONFIGURATIONS)])
@pytest.mark.parametrize("dtype", DTYPE_NAMES)
def test_a_wider_dtype_has_the_same_weights(spec: str, dtype: str) -> None:
    """A float64 copy holds every weight bit for bit, says so, and leaves the first as it was."""
    narrow = load_target(spec, dtype=dtype, attention="eager")
    before = weights(narrow)
    wide = narrow.in_dtype("float64")
    assert equal(narrow, wide)
    assert (wide.dtype, wide.model.dtype, narrow.model.dtype) == ("float64", torch.float64, DTYPES[dtype])
    assert wide.in_dtype("float64") is wide
    assert wide.in_dtype(dtype).dtype == dtype
    assert equal(wide.in_dtype(dtype), narrow)
    assert wide.model is not narrow.model or dtype == "float64"
    assert all(np.array_equal(before[name], value) for name, value in weights(narrow).items())


@pytest.mark.parametrize("name", sorted(CONFIGURATIONS))
def test_history_matters_to_tiny_models(name: str) -> None:
    """Logits have a standard deviation near 2.4, and greedy text is no loop."""
    model: Any = load_target(f"tiny:{name}", attention="eager").model
    ids = torch.tensor(np.random.default_rng(0).integers(0, 256, (8, 60)))
    assert 2 < float(model(ids).logits.std()) < 2.8
    text = ids[:1, :5]
    for _ in range(40):
        text = torch.cat((text, model(text).logits[:, -1:].argmax(-1)), dim=1)
    assert len(set(text[0, 5:].tolist())) > 12


def test_half_precision_keeps_the_rotary_frequencies() -> None:
    """Only parameters change their dtype: rounded frequencies would be another model."""
    for dtype in DTYPE_NAMES:
        buffers = dict(load_target("tiny:qwen3", dtype=dtype).model.named_buffers())
        assert buffers["model.rotary_emb.inv_freq"].dtype == torch.float32


@pytest.mark.versions
def test_a_cache_is_read_and_written_by_layer() -> None:
    """Prefilling leaves one row per token in every layer; what is set is what the next pass reads; no tokens give no layers."""
    model = load_target("exact").model
    kept = prefill(model, [4, 5, 6, 7])
    for layer, (keys, values) in enumerate(layer_tensors(kept)):
        assert keys.shape == values.shape == (1, 1, 4, 8)
        set_layer_tensors(kept, layer, keys[..., :3, :], values[..., :3, :])
    found = forward_with_cache(model, torch.tensor([[9]]), cache=kept)
    assert torch.equal(found[0, -1], model(torch.tensor([[4, 5, 6, 9]])).logits[0, -1])
    assert layer_tensors(prefill(model, [])) == []


def test_one_thread_is_held_and_given_back() -> None:
    """Inside the block torch has one thread; after it, and after an error in it, as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with one_torch_thread(), one_torch_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 3
        with pytest.raises(RuntimeError, match="planted"), one_torch_thread():
            raise RuntimeError("planted")
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def run_with(torch_module: str, folder: Path) -> str:
    """What importing the targets says where ``torch`` is the given source."""
    folder.joinpath("torch.py").write_text(torch_module)
    root = Path(tree_oracle.__file__).parents[1]
    script = "import tree_oracle, sys; assert 'torch' not in sys.modules; tree_oracle.load_target"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(root)])}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1]


def test_a_torch_that_cannot_be_imported_is_one_clear_error(tmp_path: Path) -> None:
    """A device plug-in that stops torch is named with its remedy, a missing torch with how to install it."""
    failed = "raise RuntimeError('Failed to load the backend extension: torch_npu.')"
    message = run_with(failed, tmp_path)
    assert message.startswith(
        "tree_oracle.target.errors.TorchError: torch is installed but cannot be imported: Failed to load"
    )
    assert "set the environment variable TORCH_DEVICE_BACKEND_AUTOLOAD=0" in message
    assert "source set_env.sh" in message
    missing = run_with("raise ModuleNotFoundError(\"No module named 'torch'\")", tmp_path)
    assert missing.endswith("(No module named 'torch'); install them with: pip install 'tree-oracle[torch]'")
