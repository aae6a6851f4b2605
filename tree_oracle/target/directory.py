"""A local Hugging Face directory as a target.

Only data is read from it: weights from safetensors, never from a pickle, whose loading runs whatever code it holds; no code
of the directory's own; nothing from a network. A checkpoint that lacks a weight is refused, because transformers would fill
the gap with random numbers and only log a warning. So is a quantised one, whose weights cannot be widened to float64.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM

from tree_oracle.record import UsageError

_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


def directory_model(path: str, *, attention: str) -> Any:
    """The model in ``path``, in the dtype that it was saved in, on the CPU.

    Raises:
        UsageError: no such directory, no configuration, no safetensors, an adapter, an architecture that this release does
            not know or that needs the directory's own code, weights that are quantised, broken or incomplete, or no context
            length.
    """
    folder = Path(path).expanduser()
    check_directory(path)
    load: Any = AutoModelForCausalLM.from_pretrained  # its type does not know of the loading information
    try:
        model, info = load(
            str(folder),
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            dtype="auto",
            attn_implementation=attention,
            output_loading_info=True,
        )
    except Exception as error:  # a wrong value in the configuration raises whatever the part that it reaches raises
        raise UsageError(f"the model in {path!r} cannot be loaded: {_on_one_line(error)}") from error
    _check_complete(path, info)
    if getattr(model.config, "max_position_embeddings", None) is None:
        raise UsageError(
            f"the configuration of the model in {path!r} names no max_position_embeddings, its context length"
        )
    return model


def check_directory(path: str) -> None:
    """Return if the directory holds the files of a model that may be loaded.

    Raises:
        UsageError: as for ``directory_model``, as far as nothing has to be loaded.
    """
    folder = Path(path).expanduser()
    _check_files(path, folder)
    _check_configuration(path, folder / "config.json")


def _check_files(path: str, folder: Path) -> None:
    if not path or not folder.is_dir():
        raise UsageError(f"{path!r} is no directory; expected for example dir:models/small")
    if not (folder / "config.json").is_file():
        raise UsageError(f"directory {path!r} holds no config.json; expected what save_pretrained writes")
    if (folder / "adapter_config.json").exists():  # transformers would follow it to a base model elsewhere
        raise UsageError(
            f"directory {path!r} holds an adapter on another model; merge the two and save the whole model"
        )
    if any(folder.glob("*.safetensors")):
        return
    pickles = sorted(file.name for pattern in _PICKLES for file in folder.glob(pattern))
    if pickles:
        raise UsageError(
            f"directory {path!r} holds its weights only as pickles ({pickles[0]}), and loading a pickle runs the code in it; "
            "convert them to safetensors first"
        )
    raise UsageError(f"directory {path!r} holds no weights; expected *.safetensors")


def _check_configuration(path: str, file: Path) -> None:
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"the config.json in {path!r} is not readable JSON: {_on_one_line(error)}") from error
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise UsageError(f"the config.json in {path!r} names no model_type")
    if config.get("quantization_config"):
        raise UsageError(
            f"the weights in {path!r} are quantised; a target needs weights that can be widened to float64"
        )


def _check_complete(path: str, info: dict[str, Any]) -> None:
    for kind, what in (("missing_keys", "lacks"), ("mismatched_keys", "has the wrong shape for")):
        names = sorted(map(str, info.get(kind) or ()))
        if names:
            raise UsageError(
                f"the checkpoint in {path!r} {what} {len(names)} of the model's weights, such as {names[0]}"
            )


def _on_one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
