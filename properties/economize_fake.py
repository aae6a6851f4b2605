"""A small stand-in for ``economize``: the parts of a decoding loop that its adapter calls, one plain run of the model per node."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor


@dataclass
class Draft:
    """Nodes without the root, padded with -1."""

    tokens: Tensor
    lengths: list[int]
    parents: Tensor | None = None
    probs: Tensor | None = None

    @property
    def is_tree(self) -> bool:
        return self.parents is not None

    @classmethod
    def empty(cls, count: int, device: str) -> Draft:
        return cls(torch.empty(count, 0, dtype=torch.long), [0] * count)

    def links(self, place: int) -> list[int]:
        count = self.lengths[place]
        return list(range(-1, count - 1)) if self.parents is None else self.parents[place, :count].tolist()


class Verifier:
    """Both verifiers; ``spoiled`` takes the last token from the root's row."""

    supports_trees = True
    spoiled = False

    def __init__(self, name: str) -> None:
        self.greedy = name == "greedy"

    def verify_tree(self, logits: Tensor, draft: Draft, selector: Any) -> tuple[list[list[int]], list[int]]:
        found = [self._one(logits[b], draft, b) for b in range(len(draft.lengths))]
        return [path for path, _ in found], [token for _, token in found]

    def verify_batch(self, logits: Tensor, draft: Draft, selector: Any, text: Any, ends: Any) -> tuple[Tensor, Tensor]:
        paths, tokens = self.verify_tree(logits, draft, selector)
        return torch.tensor([len(path) for path in paths]), torch.tensor(tokens)

    def _one(self, logits: Tensor, draft: Draft, place: int) -> tuple[list[int], int]:
        laws, links = logits.double().softmax(-1), draft.links(place)
        uniforms = None if self.greedy else torch.rand(draft.tokens.shape)[place].tolist()
        path, here, law = list[int](), -1, laws[0]
        while True:
            for child in (v for v, parent in enumerate(links) if parent == here):
                token = int(draft.tokens[place, child])
                if uniforms is None:
                    taken = token == int(logits[here + 1].argmax())
                else:
                    assert draft.probs is not None
                    drawn = draft.probs[place, child]
                    taken = bool(uniforms[child] * drawn[token] < law[token])
                    left = (law - drawn).clamp_min(0)
                    law = law if taken or not left.sum() else left / left.sum()
                if taken:
                    path, here, law = [*path, child], child, laws[child + 1]
                    break
            else:
                break
        row = 0 if self.spoiled else here + 1
        if uniforms is None:
            return path, int(logits[row].argmax())
        return path, int(torch.multinomial(laws[0] if self.spoiled else law, 1))


class Batch:
    """The state of one generation; its cache holds, of every slot, the token that was committed there."""

    def __init__(
        self, decoder: Any, prompts: list[Tensor], most: list[int], selectors: Any, stops: Any, selector: Any
    ) -> None:
        self.verifier, self.runner, self.selector = decoder.verifier, decoder.runner, selector
        self.most, self.stops = most, stops
        self.prompt_lengths = [len(prompt) for prompt in prompts]
        self.ends, self.starts = list(self.prompt_lengths), [0] * len(prompts)
        self.rows, self.num_layers = list(range(len(prompts))), 1
        self.seq = torch.zeros(len(prompts), 400, dtype=torch.long)
        for place, prompt in enumerate(prompts):
            self.seq[place, : len(prompt)] = prompt
        self.cache = SimpleNamespace(read=lambda layer: (self.seq[:, None, :, None].float(),) * 2)

    def drop(self, gone: list[bool]) -> None:
        keep = [place for place, leaves in enumerate(gone) if not leaves]
        self.seq = self.seq[keep]
        self.rows, self.ends, self.starts = ([part[p] for p in keep] for part in (self.rows, self.ends, self.starts))


def run_pass(batch: Batch, draft: Draft) -> Any:
    """Rows by plain runs, and the layout that they stand for."""
    width, slots = draft.tokens.shape[1] + 1, batch.seq.shape[1]
    logits = torch.zeros(len(batch.rows), width, batch.runner.model.config.vocab_size)
    positions, mask = (
        torch.zeros(len(batch.rows), width, dtype=torch.long),
        torch.zeros(len(batch.rows), 1, width, slots),
    )
    for place, end in enumerate(batch.ends):
        paths: list[list[int]] = [[]]
        for node, parent in enumerate(draft.links(place)):
            paths.append([*paths[parent + 1], node])
        for slot, path in enumerate(paths):
            tokens = [*batch.seq[place, :end].tolist(), *draft.tokens[place, path].tolist()]
            logits[place, slot] = batch.runner.model(input_ids=torch.tensor([tokens])).logits[0, -1]
            positions[place, slot] = end - 1 + len(path)
            mask[place, 0, slot, [*range(end), *(end + node for node in path)]] = 1
    adapter = SimpleNamespace(num_layers=1, attention_spec=lambda layer: SimpleNamespace(kind="full"))
    context = SimpleNamespace(positions=positions, mask=lambda spec, device: mask > 0, adapter=adapter)
    return SimpleNamespace(draft=draft, logits=logits, exact=SimpleNamespace(context=context))


def verify_and_commit(batch: Batch, current: Any) -> tuple[list[bool], None]:
    """Decide, and commit as far as the limits let."""
    draft, finished = current.draft, []
    if draft.is_tree:
        paths, tokens = batch.verifier.verify_tree(current.logits, draft, batch.selector)
    else:
        counts, last = batch.verifier.verify_batch(current.logits, draft, batch.selector, batch.seq, batch.ends)
        paths, tokens = [list(range(count)) for count in counts.tolist()], last.tolist()
    for place, row in enumerate(batch.rows):
        done = False
        for token in [*draft.tokens[place, paths[place]].tolist(), tokens[place]]:
            batch.seq[place, batch.ends[place]] = token
            batch.ends[place] += 1
            stop, new = batch.stops[row], batch.ends[place] - batch.prompt_lengths[row]
            stopped = stop(batch.seq[place, : batch.ends[place]]) if callable(stop) else token in stop
            if done := stopped or new == batch.most[row]:
                break
        batch.starts[place] = batch.ends[place] - 1
        finished.append(done)
    return finished, None


class CycleDecoder:
    """The loop over one prompt: a pass without drafts, then cycles; observers are told of every pass."""

    def __init__(self, runner: Any, drafter: Any, config: Any, observers: Any = ()) -> None:
        self.runner, self.drafter, self.observers, self.verifier = runner, drafter, observers, Verifier("greedy")

    def decode(self, prompt: Tensor, most: int, stop: Any) -> Any:
        batch = Batch(self, [prompt], [most], None, [stop], None)
        draft, done = Draft.empty(1, "cpu"), most == 0
        while not done:
            before = batch.ends[0]
            (done,), _ = verify_and_commit(batch, run_pass(batch, draft))
            emitted = batch.seq[0, before : batch.ends[0]]
            for tell in self.observers:
                tell(SimpleNamespace(accepted=len(emitted) - 1, drafted=draft.lengths[0]))
            draft = draft if done else self.drafter.propose(SimpleNamespace(seq=batch.seq, ends=batch.ends))
        return SimpleNamespace(tokens=batch.seq[0, len(prompt) : batch.ends[0]])


def modules() -> dict[str, dict[str, Any]]:
    """What to put in place of the engine."""
    config = SimpleNamespace(max_position_embeddings=300)

    def apply(model: Any, *_: Any) -> Any:
        return SimpleNamespace(runner=SimpleNamespace(model=model, adapter=SimpleNamespace(config=config)))

    decoding = {
        "Draft": Draft,
        "GreedySelector": SimpleNamespace,
        "TopPSampler": SimpleNamespace,
        "DecodeConfig": SimpleNamespace,
        "StopChecker": lambda stop: stop,
        "CycleDecoder": CycleDecoder,
        "VERIFIERS": SimpleNamespace(get=lambda name: lambda config: Verifier(name)),
    }
    return {
        "economize": {"apply": apply},
        "economize.decoding": decoding,
        "economize.decoding.generation": {"Generation": Batch},
        "economize.decoding.passes": {"prefill": lambda batch: None, "tree_pass": run_pass, "chain_pass": run_pass},
        "economize.decoding.commit": {"verify_and_commit": verify_and_commit},
    }
