"""A target: the model whose plain decoding is the truth, with its device, dtype and attention kernel."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn
from transformers import AutoModelForCausalLM

from tree_oracle.record import UsageError, first_line
from tree_oracle.target.backends.plugin import torch_npu
from tree_oracle.target.directory import check_directory, directory_model
from tree_oracle.target.double import hold_double
from tree_oracle.target.dtypes import DTYPES
from tree_oracle.target.exact_config import ExactLMConfig
from tree_oracle.target.spec import TargetSpec, choose, exact_arguments, parse_spec, whole
from tree_oracle.target.tiny import CONFIGURATIONS, tiny_model
from tree_oracle.target.uncompiled import FLEX, hold_uncompiled

ATTENTIONS = ("eager", "sdpa", FLEX)


@dataclass(frozen=True, slots=True)
class Target:
    """A loaded model. Do not change ``model``: everybody who judges by this target shares it."""

    spec: str
    model: Any  # a Hugging Face causal LM in evaluation mode, weights frozen
    vocab_size: int
    exact: bool  # rows are bit-equal in every correct implementation
    eos_ids: tuple[int, ...]
    device: str
    dtype: str
    attention: str

    @property
    def context_length(self) -> int:
        """The largest number of tokens, prompt included, that the model has positions for."""
        return int(self.model.config.max_position_embeddings)

    def in_dtype(self, dtype: str) -> Target:
        """A copy with the same weights in another dtype; only a wider one holds them without rounding.

        float64 copies compute in double precision throughout (see ``double``).

        Raises:
            UsageError: an unknown dtype.
        """
        choose("dtype", dtype, DTYPES)
        if dtype == self.dtype:
            return self
        return replace(self, model=_cast(copy.deepcopy(self.model), dtype, exact=self.exact), dtype=dtype)

    def on(self, device: str) -> Target:
        """A copy on another device; on its own device nothing more is held for it."""
        moved: dict[int, Any] = {
            id(one): nn.Parameter(one.detach().to(device, copy=True), one.requires_grad)
            for one in self.model.parameters()
        }
        moved |= {id(one): one.detach().to(device, copy=True) for one in self.model.buffers()}
        return replace(self, model=copy.deepcopy(self.model, moved), device=device)

    def in_double(self) -> Target:
        """A float64 copy, on the processor where the target's own device has no double precision, as Ascend's may not."""
        at_home = self.device == "cpu" or has_double(self.device)
        return (self if at_home else self.on("cpu")).in_dtype("float64")


def has_double(device: str) -> bool:
    """Whether a float64 product and a softmax run there: tried, since a device may hold what it cannot compute."""
    try:
        one = torch.ones(8, 8, dtype=torch.float64, device=device)
        (one @ one).softmax(-1).cpu()
    except (RuntimeError, NotImplementedError, TypeError):
        return False
    return True


def load_target(spec: str, *, device: str = "cpu", dtype: str = "float32", attention: str = "sdpa") -> Target:
    """Build the target that ``spec`` names (grammar: ``spec``).

    Args:
        device: as torch writes it: cpu, cuda:0, npu:0.
        dtype: float64, float32, bfloat16 or float16.
        attention: eager, sdpa, or flex_attention, which is run without a compiler (see ``uncompiled``). The exact model calls
            no attention kernel, so there it changes only the masks that ``generate`` makes, and flex_attention has none.

    Raises:
        UsageError: an unknown name or setting, a directory that holds no model that can be loaded safely, or a device that
            this machine does not have.
    """
    choose("dtype", dtype, DTYPES)
    choose("attention", attention, ATTENTIONS)
    parsed = parse_spec(spec)
    model = _build(parsed, attention).eval().requires_grad_(False)
    if attention == FLEX:
        hold_uncompiled(model)
    model = _on(device, model)
    exact = parsed.family == "exact"
    return Target(
        spec=spec,
        model=_cast(model, dtype, exact=exact),
        vocab_size=int(model.config.vocab_size),
        exact=exact,
        eos_ids=_eos_ids(model.generation_config.eos_token_id),
        device=device,
        dtype=dtype,
        attention=attention,
    )


def refuse_device(device: str) -> None:
    """Return if a target could run there.

    Raises:
        UsageError: this machine does not have it, or it holds no numbers.
    """
    _on(device, torch.zeros(1))


def refuse_target(spec: str) -> None:
    """Return if a target of this name may be loaded; what only loading it shows is not looked at.

    Raises:
        UsageError: an unknown name or setting, or a directory that holds no model.
    """
    parsed = parse_spec(spec)
    if parsed.family == "dir":
        check_directory(parsed.path)
    elif parsed.family == "tiny":
        _tiny_settings(parsed)
    else:
        exact_arguments(parsed.settings)


def _tiny_settings(spec: TargetSpec) -> tuple[int, int | None]:
    """The seed of a tiny target, and the width of its heads if one is asked for."""
    choose("architecture", spec.architecture, CONFIGURATIONS)
    settings = spec.settings
    return whole("seed", settings.get("seed", "0")), whole("head", settings["head"]) if "head" in settings else None


def _build(spec: TargetSpec, attention: str) -> Any:
    if spec.family == "dir":
        return directory_model(spec.path, attention=attention)
    if spec.family == "tiny":
        seed, head = _tiny_settings(spec)
        return tiny_model(spec.architecture, seed=seed, attention=attention, head=head)
    if attention == FLEX:
        raise UsageError(f"the exact model calls no attention kernel, so it has no {FLEX}; use attention eager or sdpa")
    config = ExactLMConfig(**exact_arguments(spec.settings))
    return AutoModelForCausalLM.from_config(config, attn_implementation=attention)  # type: ignore[no-untyped-call]


def _on(device: str, model: Any) -> Any:
    """The model, or a tensor, on the device. Torch may not know an Ascend device yet: its plug-in names what is missing, or
    adds it."""
    if device.partition(":")[0] == "meta":
        raise UsageError(f"device {device!r} holds no numbers; expected one that computes, such as cpu or cuda:0")
    try:
        return model.to(device)
    except (RuntimeError, AssertionError) as error:
        if device.partition(":")[0] != "npu":
            raise UsageError(f"device {device!r} cannot be used here: {first_line(error)}") from error
    torch_npu()
    return model.to(device)


def _cast(model: Any, dtype: str, *, exact: bool) -> Any:
    """Change the parameters and leave the buffers: rotary frequencies stay float32, as in a loaded checkpoint."""
    for parameter in model.parameters():
        parameter.data = parameter.data.to(DTYPES[dtype])
    model.config.dtype = DTYPES[dtype]
    if dtype == "float64" and not exact:
        _loop_over_experts(model)
        hold_double(model)
    return model


def _loop_over_experts(model: Any) -> None:
    """Run a mixture of experts one expert after another: the grouped kernel of transformers 5 takes no float64."""
    if getattr(model.config, "_experts_implementation", None) is not None:
        model.set_experts_implementation("eager")


def _eos_ids(token: int | list[int] | None) -> tuple[int, ...]:
    if token is None:
        return ()
    return tuple(token) if isinstance(token, list) else (token,)
