"""The names of targets.

    target   = "exact" [ ":" settings ] | "tiny:" architecture [ ":" settings ] | "dir:" path
    settings = key "=" value { "," key "=" value }

    exact    vocab=61  seed=0  positions=2048
             layers=full+full      of full, sliding, chunked
             window=N  chunk=N     needed by sliding and by chunked layers
             ties=3-7+10-50        pairs of tokens that tie after every history
    tiny     seed=0                architectures: cohere2, gemma2, gemma3, gpt2, gptoss, llama, llama4, mistral,
                                   mixtral, qwen3
             head=16               width of an attention head; of llama, mistral, mixtral and qwen3
    dir      a local Hugging Face directory with safetensors; everything after the first colon is its path

``exact:vocab=61,seed=3,window=8,layers=full+sliding``, ``tiny:qwen3:seed=1`` and ``dir:models/small`` are targets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from tree_oracle.record import UsageError
from tree_oracle.target.exact_config import CHUNKED, FULL, SLIDING

_LAYERS = {"full": FULL, "sliding": SLIDING, "chunked": CHUNKED}
_EXACT_KEYS = {"vocab", "seed", "positions", "layers", "window", "chunk", "ties"}
_TINY_KEYS = {"seed", "head"}


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """A target's name, taken apart."""

    family: str  # exact, tiny or dir
    architecture: str  # of a tiny target, otherwise empty
    settings: dict[str, str]
    path: str = ""  # of a dir target, otherwise empty


def parse_spec(text: str) -> TargetSpec:
    """Take a target's name apart.

    Raises:
        UsageError: the name does not follow the grammar, or holds a key that its family does not have.
    """
    family, *parts = text.split(":")
    choose("target", family, ("exact", "tiny", "dir"))
    if family == "dir":
        return TargetSpec(family, "", {}, path=text.partition(":")[2])  # a path may hold colons
    architecture = ""
    if family == "tiny":
        if not parts:
            raise UsageError(f"target {text!r} names no architecture; expected for example tiny:qwen3")
        architecture = parts.pop(0)
    if len(parts) > 1:
        raise UsageError(f"target {text!r} has {len(parts)} groups of settings; separate settings by commas")
    keys = _EXACT_KEYS if family == "exact" else _TINY_KEYS
    return TargetSpec(family, architecture, _settings(parts[0] if parts else "", keys))


def same_target(one: str, other: str) -> bool | None:
    """Whether two names stand for the same built-in target; None where one of them is a folder's or nobody's."""
    try:
        mine, theirs = (_told(parse_spec(name)) for name in (one, other))
    except (UsageError, ValueError):  # a trace may hold any name
        return None
    return None if "dir" in (mine[0], theirs[0]) else mine == theirs


def _told(spec: TargetSpec) -> tuple[str, str, dict[str, Any]]:
    """What a name stands for, settings that it leaves out included."""
    return spec.family, spec.architecture, {} if spec.family == "dir" else _whole_settings(spec)


def _whole_settings(spec: TargetSpec) -> dict[str, Any]:
    if spec.family == "tiny":
        return {"seed": "0", **spec.settings}
    from tree_oracle.target.exact_config import ExactLMConfig

    return ExactLMConfig(**exact_arguments(spec.settings)).to_dict()


def choose(what: str, name: str, known: Iterable[str]) -> None:
    """Raise a ``UsageError`` that names the nearest known name, unless ``name`` is one of them."""
    names = sorted(known)
    if name in names:
        return
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f", did you mean {near[0]!r}?" if near else ";"
    raise UsageError(f"unknown {what} {name!r}{hint} Known: {', '.join(names)}")


def exact_arguments(settings: dict[str, str]) -> dict[str, Any]:
    """The arguments of ``ExactLMConfig`` that the settings of an exact target stand for."""
    names = {"vocab": "vocab_size", "seed": "seed", "positions": "max_position_embeddings"}
    names |= {"window": "sliding_window", "chunk": "attention_chunk_size"}
    arguments: dict[str, Any] = {names[key]: whole(key, value) for key, value in settings.items() if key in names}
    if "layers" in settings:
        arguments["layer_types"] = [_layer(name) for name in settings["layers"].split("+")]
    if "ties" in settings:
        arguments["ties"] = [
            [whole("ties", token) for token in pair.split("-")] for pair in settings["ties"].split("+")
        ]
    return arguments


def whole(key: str, value: str) -> int:
    """The value of a setting as a whole number of at least 0."""
    if not (value.isascii() and value.isdigit()):
        raise UsageError(f"{key}={value!r} is not a whole number of at least 0")
    return int(value)


def _settings(text: str, keys: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in filter(None, text.split(",")):
        key, equals, value = item.partition("=")
        choose("setting", key, keys)
        if not equals or key in found:
            raise UsageError(f"setting {item!r} is {'given twice' if equals else 'not of the form key=value'}")
        found[key] = value
    return found


def _layer(name: str) -> str:
    choose("layer type", name, _LAYERS)
    return _LAYERS[name]
