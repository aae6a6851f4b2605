"""A tokenizer for engines that load no checkpoint without one: token i is the word ``t<i>``, and words stand between spaces.

    t7 t0 t63   <->   7 0 63

Two files of the standard format (``tokenizers``: a whole-word model split at spaces). A word that is no token is refused, no
token is added, and only the end token is special. Prompts of a kit are token ids all the same: text is compared nowhere.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tree_oracle.kit.language import END, VOCAB
from tree_oracle.kit.train import CONTEXT

TOKENIZER, TOKENIZER_SETTINGS = "tokenizer.json", "tokenizer_config.json"
_SPECIAL = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}


def word(token: int) -> str:
    """How a token is written."""
    return f"t{token}"


def save_tokenizer(folder: Path) -> None:
    """Write both files into a checkpoint's folder."""
    rules: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": END, "content": word(END), **_SPECIAL}],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word(token): token for token in range(VOCAB)},
            "unk_token": "",  # none: a word that is no token is an error
        },
    }
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": word(END),
        "pad_token": word(END),
        "clean_up_tokenization_spaces": False,
        "model_max_length": CONTEXT,
    }
    for name, document in ((TOKENIZER, rules), (TOKENIZER_SETTINGS, settings)):
        (folder / name).write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")
