"""The configuration of the exact model: what a Hugging Face configuration must say, and which values keep it exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transformers import PretrainedConfig

from tree_oracle.record import UsageError
from tree_oracle.target.residues import MAX_POSITIONS, MAX_VOCAB, WIDTH

FULL, SLIDING, CHUNKED = "full_attention", "sliding_attention", "chunked_attention"


class ExactLMConfig(PretrainedConfig):  # type: ignore[no-untyped-call]
    """Configuration of ``ExactLMForCausalLM``. Two models are equal exactly when their configurations are.

    Args:
        vocab_size: 2 to 65,536. The argmax of a wrong row is still right with chance 1 / vocab_size.
        seed: the key of the hash.
        layer_types: per layer ``full_attention``, ``sliding_attention`` or ``chunked_attention``; default two full layers.
        sliding_window: how many positions a sliding layer sees, its own included.
        attention_chunk_size: length of the chunks of a chunked layer; a position sees its own chunk only.
        max_position_embeddings: 1 to 63,001.
        ties: disjoint pairs of tokens whose logits are bit-equal after every history. No other two tokens ever tie.

    Raises:
        UsageError: a value outside these bounds, or a window or chunk size without a layer that uses it, or the reverse.
    """

    model_type = "tree_oracle_exact"

    def __init__(
        self,
        vocab_size: int = 61,
        seed: int = 0,
        layer_types: Sequence[str] | None = None,
        sliding_window: int | None = None,
        attention_chunk_size: int | None = None,
        max_position_embeddings: int = 2048,
        ties: Sequence[Sequence[int]] = (),
        num_hidden_layers: int = 2,
        **rest: Any,
    ) -> None:
        self.vocab_size = vocab_size
        self.seed = seed
        self.layer_types = list(layer_types) if layer_types is not None else [FULL] * num_hidden_layers
        self.num_hidden_layers = len(self.layer_types)
        self.sliding_window = sliding_window
        self.attention_chunk_size = attention_chunk_size
        self.max_position_embeddings = max_position_embeddings
        self.ties = [list(pair) for pair in ties]
        self.hidden_size = self.head_dim = WIDTH
        self.num_attention_heads = self.num_key_value_heads = 1
        self._check()
        special: dict[str, Any] = {
            "pad_token_id": None,
            "bos_token_id": None,
            "eos_token_id": None,
        }  # none, unless given
        super().__init__(**(special | rest))

    def _check(self) -> None:
        _within("vocab_size", self.vocab_size, 2, MAX_VOCAB)
        _within("max_position_embeddings", self.max_position_embeddings, 1, MAX_POSITIONS)
        _within("number of layers", self.num_hidden_layers, 1, 64)
        unknown = set(self.layer_types) - {FULL, SLIDING, CHUNKED}
        if unknown:
            raise UsageError(f"layer type {min(unknown)!r} is none of {FULL}, {SLIDING}, {CHUNKED}")
        self._check_size("sliding_window", self.sliding_window, SLIDING)
        self._check_size("attention_chunk_size", self.attention_chunk_size, CHUNKED)
        self._check_ties()

    def _check_size(self, name: str, size: int | None, kind: str) -> None:
        if size is None and kind in self.layer_types:
            raise UsageError(f"a {kind} layer needs {name}")
        if size is not None and kind not in self.layer_types:
            raise UsageError(f"{name}={size} has no effect: no layer is of type {kind}")
        if size is not None:
            _within(name, size, 1, MAX_POSITIONS)

    def _check_ties(self) -> None:
        tokens = [token for pair in self.ties for token in pair]
        if any(len(pair) != 2 for pair in self.ties) or len(set(tokens)) != len(tokens):
            raise UsageError(f"ties {self.ties} are not disjoint pairs of two different tokens")
        outside = [token for token in tokens if not 0 <= token < self.vocab_size]
        if outside:
            raise UsageError(f"token {outside[0]} of the ties is outside the vocabulary of {self.vocab_size}")


def _within(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise UsageError(f"{name} is {value}; expected {low} to {high}")
