"""A decoder of the older family, in miniature: it carries its own modelling file, with caches that are buffers with a length, a
mask built by ``_prepare_decoder_attention_mask`` from a tree mask that is set beforehand, and it calls the inner model and the head
one after the other. Its weights are those of ``tiny:llama``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from tree_oracle.decoder import HalfRightDraft
from tree_oracle.target import Target


class Buffer:
    """Keys or values of one layer: room for many rows, and how many there are."""

    def __init__(self, data: Tensor) -> None:
        self.data, self.length = data, 0

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.data.shape[:2], self.length, self.data.shape[3])

    def cat(self, new: Tensor) -> Tensor:
        end = self.length + new.shape[2]
        self.data[:, :, self.length : end] = new
        self.length = end
        return self.data[:, :, :end]


class Attention(nn.Module):
    """Attention that adds its mask, above buffers that it appends to."""

    def __init__(self, like: Any, rotary: Any, heads: int, kv_heads: int) -> None:
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = like.q_proj, like.k_proj, like.v_proj, like.o_proj
        self.rotary, self.heads, self.kv_heads = rotary, heads, kv_heads

    def forward(self, hidden: Tensor, attention_mask: Tensor, position_ids: Tensor, kept: Any) -> Tensor:
        batch, count, _ = hidden.shape

        def split(made: Tensor, heads: int) -> Tensor:
            return made.view(batch, count, heads, -1).transpose(1, 2)

        q, k = split(self.q_proj(hidden), self.heads), split(self.k_proj(hidden), self.kv_heads)
        q, k = apply_rotary_pos_emb(q, k, *self.rotary(hidden, position_ids))
        keys, values = kept[0].cat(k), kept[1].cat(split(self.v_proj(hidden), self.kv_heads))
        groups = self.heads // self.kv_heads
        keys, values = keys.repeat_interleave(groups, 1), values.repeat_interleave(groups, 1)
        weights = torch.softmax(q @ keys.transpose(2, 3) / q.shape[-1] ** 0.5 + attention_mask, dim=-1)
        out: Tensor = self.o_proj((weights @ values).transpose(1, 2).reshape(batch, count, -1))
        return out


class Inner(nn.Module):
    """The model without its head, called directly."""

    def __init__(self, like: Any, config: Any) -> None:
        super().__init__()
        self.embed, self.norm = like.embed_tokens, like.norm
        self.tree_mask: Tensor | None = None
        self.before = nn.ModuleList(block.input_layernorm for block in like.layers)
        self.after = nn.ModuleList(block.post_attention_layernorm for block in like.layers)
        self.mlp = nn.ModuleList(block.mlp for block in like.layers)
        self.attention = nn.ModuleList(
            Attention(block.self_attn, like.rotary_emb, config.num_attention_heads, config.num_key_value_heads)
            for block in like.layers
        )

    def _prepare_decoder_attention_mask(self, count: int, past: int, like: Tensor) -> Tensor:
        seen = torch.ones(count, past + count, dtype=torch.bool).tril(past)
        if self.tree_mask is not None:
            seen[-len(self.tree_mask) :, -len(self.tree_mask) :] = self.tree_mask
        return torch.zeros(seen.shape, dtype=like.dtype).masked_fill(~seen, torch.finfo(like.dtype).min)[None, None]

    def forward(self, input_ids: Tensor, position_ids: Tensor, past_key_values: Any) -> tuple[Tensor]:
        hidden = self.embed(input_ids)
        mask = self._prepare_decoder_attention_mask(input_ids.shape[1], past_key_values[0][0].shape[2], hidden)
        for layer, kept in enumerate(past_key_values):
            seen = self.attention[layer](
                self.before[layer](hidden), attention_mask=mask, position_ids=position_ids, kept=kept
            )
            hidden = hidden + seen
            hidden = hidden + self.mlp[layer](self.after[layer](hidden))
        return (self.norm(hidden),)


class OlderModel(nn.Module):
    """Inner model and head."""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self.config = target.model.config
        self.model, self.lm_head = Inner(target.model.model, self.config), target.model.lm_head

    def buffers_of(self, room: int) -> list[tuple[Buffer, Buffer]]:
        shape = (1, self.config.num_key_value_heads, room, self.config.head_dim)
        return [(Buffer(torch.zeros(shape)), Buffer(torch.zeros(shape))) for _ in self.model.mlp]


Move = Callable[[Buffer, int, Sequence[int]], None]


def copied(buffer: Buffer, cached: int, path: Sequence[int]) -> None:
    buffer.data[:, :, cached : cached + len(path)] = buffer.data[:, :, [cached + node for node in path]]
    buffer.length = cached + len(path)


def cut(buffer: Buffer, cached: int, path: Sequence[int]) -> None:
    """Fault: the first rows are kept."""
    buffer.length = cached + len(path)


@torch.no_grad()
def generate(target: Target, model: OlderModel, prompt: Sequence[int], count: int, *, move: Move = copied) -> list[int]:
    """Greedy tree decoding; ``target`` makes the drafts."""
    text, draft, kept = list(prompt), HalfRightDraft(target), model.buffers_of(256)

    def run(tokens: Sequence[int], positions: Sequence[int]) -> Tensor:
        output = model.model(torch.tensor([list(tokens)]), torch.tensor([list(positions)]), past_key_values=kept)
        rows: Tensor = model.lm_head(output[0])[0]
        return rows

    model.model.tree_mask = None
    if len(prompt) > 1:
        run(prompt[:-1], range(len(prompt) - 1))
    while len(text) < len(prompt) + count:
        tree, cached = draft(text), len(text) - 1
        model.model.tree_mask = torch.tensor(tree.ancestors) | torch.eye(len(tree), dtype=torch.bool)
        best = run(tree.tokens.tolist(), (cached + tree.depths).tolist()).argmax(dim=-1).tolist()
        path = [0]
        while child := next((v for v in tree.children(path[-1]) if tree.tokens[v] == best[path[-1]]), None):
            path.append(int(child))
        text += [int(tree.tokens[v]) for v in path[1:]] + [best[path[-1]]]
        for pair in kept:
            for buffer in pair:
                move(buffer, cached, path)
    return text[len(prompt) :][:count]
