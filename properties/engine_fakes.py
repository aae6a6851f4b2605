"""Small stand-ins for engines, with the calls that the ready adapters make and nothing else. Written from what is called.

Each decodes rightly; ``spoiled=True`` takes the bonus from the root's row instead, so that the adapters can be seen to show it.
"""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor


def install(monkeypatch: Any, modules: dict[str, dict[str, Any]]) -> None:
    """Put modules in place of an engine, its packages included."""
    import sys

    parts = [name.split(".") for name in modules]
    for name in {".".join(one[: depth + 1]) for one in parts for depth in range(len(one))}:
        module = ModuleType(name)
        for attribute, value in modules.get(name, {}).items():
            setattr(module, attribute, value)
        monkeypatch.setitem(sys.modules, name, module)


def ratio_chain(tokens: list[int], target: Tensor, draft: Tensor, *, at_once: bool, spoiled: bool) -> tuple[int, int]:
    """Plain speculative sampling of one chain: rows are probabilities, one more of the target than tokens."""
    uniforms = torch.rand(len(tokens)) if at_once else None
    for place, token in enumerate(tokens):
        u = torch.rand(()) if uniforms is None else uniforms[place]
        if not u * draft[place, token] < target[place, token]:
            left = (target[place] - draft[place]).clamp_min(0)
            left = left if left.sum() > 0 else target[place]
            return place, int(torch.multinomial(left, 1))
    return len(tokens), int(torch.multinomial(target[0 if spoiled else len(tokens)], 1))


def flashspec(*, spoiled: bool = False) -> dict[str, dict[str, Any]]:
    """Step functions on rows."""

    def greedy_step(drafted: Tensor, choices: Tensor) -> Tensor:
        count = int((drafted[0] == choices[0, :-1]).long().cumprod(0).sum())
        return torch.tensor([[count, int(choices[0, 0 if spoiled else count])]])

    def rejection_step(drafted: Tensor, draft: Tensor, target: Tensor) -> Tensor:
        laws = target[0].exp(), draft[0].exp()
        return torch.tensor([ratio_chain(drafted[0].tolist(), *laws, at_once=True, spoiled=spoiled)])

    def rejection_step_onehot(drafted: Tensor, target: Tensor) -> Tensor:
        point = torch.nn.functional.one_hot(drafted, target.shape[-1]).double().log()
        return rejection_step(drafted, point, target)

    return {
        "flashspec.sampling.greedy": {"greedy_step": greedy_step},
        "flashspec.sampling.rejection": {
            "rejection_step": rejection_step,
            "rejection_step_onehot": rejection_step_onehot,
        },
    }


def seqspecdecod(*, spoiled: bool = False) -> dict[str, dict[str, Any]]:
    """A step over two models that drafts by itself."""

    def step(draft_model: Any, target_model: Any, ids: Tensor, gamma: int, draft_t: float, target_t: float) -> Any:
        grown, laws = ids, []
        for _ in range(gamma):
            laws.append(torch.softmax(draft_model(grown).logits[0, -1], -1))
            grown = torch.cat([grown, torch.multinomial(laws[-1], 1)[None]], 1)
        target = torch.softmax(target_model(grown).logits[0, -gamma - 1 :], -1)
        tokens = grown[0, -gamma:].tolist()
        count, token = ratio_chain(tokens, target, torch.stack(laws), at_once=False, spoiled=spoiled)
        return torch.cat([ids, torch.tensor([[*tokens[:count], token]])], 1), count, gamma

    return {"seqspecdecod.standard_sd": {"standard_speculative_step": step}}


def rotalabs(*, spoiled: bool = False) -> dict[str, dict[str, Any]]:
    """Text in, text out: one target token at a time, two a round, so that a cap may be overrun."""

    def decode(draft_model: Any, target_model: Any, tokenizer: Any, prompt: str, config: Any, device: Any) -> Any:
        ids, count = tokenizer.encode(prompt), 0
        while count < config.max_new_tokens:
            for _ in range(2):
                logits = (draft_model if spoiled else target_model)(ids).logits[0, -1]
                ids, count = torch.cat([ids, logits.argmax()[None, None]], 1), count + 1
            if tokenizer.eos_token_id in ids[0]:
                break
        return tokenizer.decode(ids[0]), None

    names = ("tree_speculative_decode", "speculative_decode", "medusa_decode")
    made = dict.fromkeys(("TreeSpecConfig", "SpeculativeConfig", "MedusaConfig"), SimpleNamespace)
    modes = SimpleNamespace(GREEDY="greedy")
    return {"rotalabs_accel.speculative": {**dict.fromkeys(names, decode), **made, "DecodingMode": modes}}


def dflash(*, spoiled: bool = False) -> dict[str, dict[str, Any]]:
    """A block at a time, whose proposals come from the last step of a network."""

    class Network(torch.nn.Module):
        def __init__(self, config: Any) -> None:
            super().__init__()
            self.size = config.dflash_config["block_size"]

        def forward(self, position_ids: Tensor) -> Tensor:
            return torch.zeros(1, self.size - 1, 4)

        def compute_logits(self, hidden: Tensor, output_head: Any) -> Tensor:
            return torch.zeros(1, hidden.shape[1], output_head)

        @torch.no_grad()
        def spec_generate(self, target: Any, ids: Tensor, room: int, stops: list[int] | None) -> Tensor:
            prompt = ids.shape[1]
            ids = torch.cat([ids, target(ids).logits[:, -1:].argmax(-1)], 1)
            while ids.shape[1] < prompt + room and not (stops and ids[0, -1] in stops):
                hidden = self(torch.arange(ids.shape[1] + self.size - 1)[None])
                block = self.compute_logits(hidden, target.config.vocab_size).argmax(-1)
                choices = target(torch.cat([ids, block], 1)).logits[0, ids.shape[1] - 1 :].argmax(-1)
                count = int((block[0] == choices[:-1]).long().cumprod(0).sum())
                new = [*block[0, :count].tolist(), int(choices[0 if spoiled else count])]
                ends = [place + 1 for place, token in enumerate(new) if token in (stops or ())]
                ids = torch.cat([ids, torch.tensor([new[: ends[0] if ends else None]])], 1)
            return ids[:, : prompt + room]

    def sample(tokens: Tensor, target: Tensor, draft: Tensor) -> tuple[int, Tensor]:
        count, token = ratio_chain(tokens[0].tolist(), target[0], draft[0], at_once=True, spoiled=spoiled)
        return count, torch.tensor(token)

    return {"dflash.model": {"DFlashDraftModel": Network, "_rejection_sample": sample}}
