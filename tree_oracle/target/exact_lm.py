r"""A causal language model in integers: one wrong token, position, visible row or cached row changes its logits, bit for bit.

Write e, p for the rows of a token and of a position, A for the matrices of a layer, all residues modulo P (``residues``):

    h   = 7 e[token] + p[position]
    per layer
        q, k, v = h A_q, h A_k, h A_v          k_0, k_1 are replaced by the two digits of the position
        K, V    = the rows that the cache returns
        s       = sum over the visible rows of (K + 2 V)^3
        h       = (s + q + h + 1)^3
    x      = h H
    logit  = (x + rank / stride) / 32          rank = (token + sum of h) mod stride,   stride = the power of two >= vocabulary

A query sees itself, so its own token enters through the residual and through the sum.

**What is certain.** (K + 2 V)^3 is a permutation in K and in V, so one changed residue in one visible cached row always
changes s, and then h. x is injective in h where H has rank 8 (a random H over a vocabulary of V >= 8 fails with chance
about 251^(7 - V)), so such a change in the last layer always changes the row. The cube mixes K with V: rows of V that
stay behind while K moves are seen. All other changes (a wrong history, a row too many or too few) change eight residues
and stay unseen with chance about 251^-8.

**Ties.** The rank differs for different tokens and is below ``stride``, hence x * stride + rank is one number per token
and no two logits are equal. A planted tie copies the logit of its first token to its second, so it holds after every history;
pairs are disjoint, so nothing else ties.

**Scale.** x is uniform on [0, 250]: the logits span 0 to 7.9 with standard deviation 250 / sqrt(12) / 32 = 2.3. Dividing
by a power of two is exact. Logits are float32 (float64 for float64 weights), whatever the storage.

The model bypasses attention kernels and therefore says nothing of them.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM, GenerationMixin, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from tree_oracle.target.compat import new_cache, output_with_cache, told_past, update_layer
from tree_oracle.target.errors import CacheError, PositionError, TokenError
from tree_oracle.target.exact_config import CHUNKED, SLIDING, ExactLMConfig
from tree_oracle.target.exact_visibility import Mask, Sight, visible
from tree_oracle.target.residues import MAX_KEYS, WIDTH, P, cube, mod, working_dtype

_SCALE = 32  # brings the standard deviation of the logits to 2.3


class ExactLMForCausalLM(PreTrainedModel, GenerationMixin):  # type: ignore[no-untyped-call]
    """The exact model. See the module's first lines for its law and ``ExactLMConfig`` for its parameters."""

    config_class = ExactLMConfig
    main_input_name = "input_ids"
    _supports_sdpa = True  # asked for by name only: no attention kernel is called
    config: ExactLMConfig

    def __init__(self, config: ExactLMConfig) -> None:
        super().__init__(config)
        # Read once: every look into a configuration costs as much as an operation of this model.
        self._vocab, self._ties, self._longest = config.vocab_size, config.ties, config.max_position_embeddings
        self._layers = [(kind, _size(config, kind)) for kind in config.layer_types]
        key = torch.Generator(device="cpu").manual_seed(config.seed)

        def drawn(*shape: int) -> Tensor:
            return torch.randint(1, P, shape, generator=key, device="cpu").to(torch.get_default_dtype())

        self.embed_tokens = nn.Embedding(config.vocab_size, WIDTH, _weight=drawn(config.vocab_size, WIDTH))
        self.position_rows = nn.Parameter(drawn(config.max_position_embeddings, WIDTH))
        self.mix = nn.Parameter(drawn(config.num_hidden_layers, WIDTH, 3 * WIDTH))  # A_q, A_k, A_v side by side
        self.head = nn.Parameter(drawn(WIDTH, config.vocab_size))
        self.post_init()  # type: ignore[no-untyped-call]

    def _init_weights(self, module: nn.Module) -> None:
        """Nothing: the weights are drawn from the seed, not from torch's global state."""

    @torch.no_grad()
    def forward(
        self,
        input_ids: Int[Tensor, "b t"] | None = None,
        attention_mask: Mask = None,
        position_ids: Int[Tensor, "b t"] | None = None,
        cache: Any = None,
        past_key_values: Any = None,
        use_cache: bool | None = None,
        logits_to_keep: int | Int[Tensor, " kept"] = 0,
        cache_position: Int[Tensor, " t"] | None = None,
        **_: Any,
    ) -> CausalLMOutputWithPast:
        """Logits of shape b x t x vocabulary, or of the last ``logits_to_keep`` positions.

        Args:
            attention_mask: None; b x slots (1: token, 0: padding); b x 1 x t x keys, bool (True: visible) or additive
                (0: visible); or a dict of these per layer type.
            position_ids: default: the slots, as in every Hugging Face model, so left padding needs them.
            cache, past_key_values: the cache under its newer and its older name.
            cache_position: slots to write to, where the release of transformers uses it.

        Others are swallowed, as models of transformers do: a decoder may hand over what its own models take. One that is
        misspelled counts as not given, which changes the rows.

        Raises:
            TokenError, PositionError, MaskError: an input that no correct caller passes.
            CacheError: the cache changes what it stores, or holds too many rows.
        """
        ids = self._checked_ids(input_ids)
        cache = _one_cache(cache, past_key_values)
        keep = use_cache is not False
        if cache is None and keep:
            cache = new_cache(self.config)
        past = told_past(cache_position)
        if past is None:
            past = 0 if cache is None else int(cache.get_seq_length())
        positions = self._checked_positions(position_ids, ids, past)
        with torch.autocast(ids.device.type, enabled=False):
            h = mod(7 * _at_work(self.embed_tokens.weight)[ids] + _at_work(self.position_rows)[positions])
            digits = torch.stack((positions // P, positions % P), dim=-1).to(h.dtype)
            for layer, (kind, size) in enumerate(self._layers):
                q, keys, values = self._attended(layer, h, digits, cache, past)
                seen = visible(attention_mask, _sight(kind, size, keys, positions, past))
                if cache is not None:
                    keys, values = _as_returned(keys, values, heard=seen.any(dim=1))
                s = mod(seen.to(h.dtype) @ cube(keys + 2 * values))
                h = cube(s + q + h + 1)
            logits = self._logits(_kept(h, logits_to_keep))
        return output_with_cache(logits, cache if keep else None)

    def _attended(
        self, layer: int, h: Float[Tensor, "b t w"], digits: Float[Tensor, "b t 2"], cache: Any | None, past: int
    ) -> tuple[Float[Tensor, "b t w"], Float[Tensor, "b n w"], Float[Tensor, "b n w"]]:
        """The queries, and all keys and values: what the cache returns for them, or without one their own."""
        stored = self.mix[layer]
        q, k, v = mod(h @ _at_work(stored)).chunk(3, dim=-1)
        k = torch.cat((digits, k[..., 2:]), dim=-1)
        if cache is None:
            return q, k, v
        keys, values = update_layer(cache, k[:, None].to(stored.dtype), v[:, None].to(stored.dtype), layer, past)
        return q, keys[:, 0].to(h.dtype), values[:, 0].to(h.dtype)

    def _logits(self, h: Float[Tensor, "b t w"]) -> Float[Tensor, "b t vocab"]:
        vocab = self._vocab
        stride = 1 << (vocab - 1).bit_length()
        tokens = torch.arange(vocab, device=h.device, dtype=h.dtype)
        rank = torch.fmod(tokens + h.sum(dim=-1, keepdim=True), stride)
        logits = (mod(h @ _at_work(self.head)) * stride + rank) / (stride * _SCALE)
        for first, second in self._ties:
            logits[..., second] = logits[..., first]
        return logits

    def _checked_ids(self, ids: Tensor | None) -> Int[Tensor, "b t"]:
        if not _whole(ids) or ids.dim() != 2 or not ids.numel():
            raise TokenError(f"input_ids of shape {_seen(ids)}; expected whole numbers, batch x tokens, at least one")
        low, high = (int(value) for value in ids.aminmax())
        if low < 0 or high >= self._vocab:
            raise TokenError(f"token {low if low < 0 else high} is outside the vocabulary of {self._vocab}")
        return ids

    def _checked_positions(self, given: Tensor | None, ids: Int[Tensor, "b t"], past: int) -> Int[Tensor, "b t"]:
        batch, queries = ids.shape
        if given is None:
            low, high = past, past + queries - 1
            positions = torch.arange(past, past + queries, device=ids.device)[None]
        elif not _whole(given) or given.shape not in ((1, queries), (batch, queries)):
            raise PositionError(
                f"position_ids of shape {_seen(given)}; expected whole numbers of shape ({batch} or 1, {queries})"
            )
        else:
            low, high = (int(value) for value in given.aminmax())
            positions = given
        if low < 0 or high >= self._longest:
            at = low if low < 0 else high
            raise PositionError(f"position {at} is outside the context of {self._longest}")
        return positions.expand(batch, -1)


def _size(config: ExactLMConfig, kind: str) -> int:
    """Window or chunk of this kind of layer; 0: it has none."""
    size = {SLIDING: config.sliding_window, CHUNKED: config.attention_chunk_size}.get(kind)
    return size or 0


def _sight(kind: str, size: int, keys: Float[Tensor, "b n w"], positions: Int[Tensor, "b t"], past: int) -> Sight:
    if keys.shape[1] > MAX_KEYS:
        raise CacheError(f"a layer holds {keys.shape[1]} rows; sums stay exact up to {MAX_KEYS}")
    first = max(past + positions.shape[1] - keys.shape[1], 0)  # a cache drops old rows or has room for new ones
    return Sight(kind, size, past, first, positions, keys[..., :2])


def _whole(given: Any) -> TypeGuard[Tensor]:
    """Whether it is a dense tensor of whole numbers of 32 or 64 bits; others would be read as a mask, or not at all."""
    return isinstance(given, Tensor) and given.layout == torch.strided and given.dtype in (torch.int64, torch.int32)


def _seen(given: Any) -> str:
    if isinstance(given, Tensor):
        return f"{tuple(given.shape)} of {given.dtype}"
    return "None" if given is None else f"none, a {type(given).__name__}"


def _one_cache(newer: Any, older: Any) -> Any:
    if newer is not None and older is not None and newer is not older:
        raise CacheError("two different caches were passed, as cache and as past_key_values")
    cache = older if newer is None else newer
    if cache is not None and not hasattr(cache, "get_seq_length"):
        raise CacheError(f"a cache of type {type(cache).__name__}; expected one of transformers' caches")
    return cache


def _at_work(stored: Tensor) -> Tensor:
    dtype = working_dtype(stored.dtype)
    return stored if stored.dtype == dtype else stored.to(dtype)


def _as_returned(
    keys: Float[Tensor, "b n w"], values: Float[Tensor, "b n w"], *, heard: Bool[Tensor, "b n"]
) -> tuple[Float[Tensor, "b n w"], Float[Tensor, "b n w"]]:
    """Rows of a cache as residues, those that nobody sees as 0: they may be anything, poison, NaN, rows not yet written."""
    rows = torch.cat((keys, values), dim=-1).masked_fill(~heard[..., None], 0)
    if bool(rows.frac().any()):  # infinity and NaN have a fraction of NaN, which counts
        raise CacheError(
            "the cache returned numbers that are not whole; no quantised or otherwise lossy cache is supported"
        )
    rows = torch.remainder(rows, P)  # a foreign number may be negative or large: it counts, but keeps within the bounds
    return rows[..., :WIDTH], rows[..., WIDTH:]


def _kept(h: Float[Tensor, "b t w"], kept: int | Int[Tensor, " kept"]) -> Float[Tensor, "b kept w"]:
    return h[:, -kept:] if isinstance(kept, int) else h[:, kept]


AutoConfig.register(ExactLMConfig.model_type, ExactLMConfig, exist_ok=True)
AutoModelForCausalLM.register(ExactLMConfig, ExactLMForCausalLM, exist_ok=True)
