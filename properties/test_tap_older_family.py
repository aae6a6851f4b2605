"""The tap on decoders that carry their own modelling file and call the inner model directly."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from types import SimpleNamespace

import pytest
import torch
from grounds import ground, statuses
from older_family import OlderModel, copied, cut, generate
from test_tap_recovers import judged, plain, target_of

from tree_oracle.checks import choose
from tree_oracle.checks.scenes import PROMPTS
from tree_oracle.decoder import can_tap, recover, tap
from tree_oracle.decoder.tap_mask import FOREIGN, Asked, acting, kernel_of
from tree_oracle.record import AdapterError, Limits, Round, Status
from tree_oracle.run import Budget, run_battery
from tree_oracle.target import Target

PROMPT = (3, 5, 2, 3, 5, 2, 3, 4, 5, 2)


def test_every_token_finds_its_round() -> None:
    """Prompt, trees, masks, positions and rows are read although neither the whole model nor a cache object is ever seen."""
    target = target_of("tiny:llama")
    model = OlderModel(target)
    bare = generate(target, model, PROMPT, 14)
    with tap(model) as seen:
        output = generate(target, model, PROMPT, 14)
    assert output == bare == list(plain(target, PROMPT, 14)[len(PROMPT) :])
    rounds = recover(seen, PROMPT, output)
    assert [token for round_ in rounds for token in round_.emitted] == output
    assert any(len(round_.accepted or ()) > 1 for round_ in rounds)
    assert all(round_.visible is not None and round_.rows is not None for round_ in rounds)
    assert set(judged(target, PROMPT, output, rounds).values()) == {Status.PASSED}
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_rows_that_were_kept_wrongly_show() -> None:
    """A compaction that keeps the first rows is seen from the step after the first real accept, by the rows alone."""
    target = target_of("tiny:llama")
    model = OlderModel(target)
    with tap(model) as seen:
        output = generate(target, model, PROMPT, 14, move=cut)
    verdict = judged(target, PROMPT, output, recover(seen, PROMPT, output))
    assert verdict["COMMIT-03"] is Status.FAILED
    assert verdict["VISIBLE-03"] is Status.PASSED


class Older:
    """A whole decoder of the family, which names the module that it runs."""

    move = staticmethod(copied)

    def __init__(self, target: Target) -> None:
        self._target, self._model = target, OlderModel(target)
        self.watched: OlderModel | None = self._model

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[int]]:
        if limits.stop or limits.min_new or limits.max_length is not None:
            raise NotImplementedError("no stop sequences, no minimum and no context of its own")
        return [self._text(prompt, limits) for prompt in prompts]

    def _text(self, prompt: Sequence[int], limits: Limits) -> list[int]:
        made = generate(self._target, self._model, prompt, limits.max_new_tokens, move=self.move)
        end = next((place for place, token in enumerate(made) if token in limits.eos_ids), len(made))
        return made[: end + 1]


class Cutting(Older):
    """The fault: the first rows of a round are kept."""

    move = staticmethod(cut)


class Silent(Older):
    """The same decoder, which does not say what it runs."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.watched = None


ASKED = ("POSITION-01", "VISIBLE-03", "HISTORY-01", "COMMIT-03", "SEQUENCE-01", "WITNESS-01", "WITNESS-02")


def test_a_decoder_that_names_its_module_is_watched_at_every_door() -> None:
    """``check`` reads rounds, commits and witness off the named module; a wrong commit fails, and unnamed nothing is seen."""
    found = ground("tiny:llama")
    cases = found.stock.of(PROMPTS)[::6]
    budget = Budget(cases=0, shrink_runs=0, diagnose=False)
    right, wrong, silent = (
        statuses(run_battery(found.subject(decoder), choose(ids=ASKED), budget, cases=cases))
        for decoder in (Older, Cutting, Silent)
    )
    assert right == dict.fromkeys(ASKED, Status.PASSED)
    assert wrong["COMMIT-03"] is Status.FAILED
    assert silent["COMMIT-03"] is Status.NOT_OBSERVABLE


def test_what_is_no_module_is_refused() -> None:
    """A name instead of the module, or a part of it, is the adapter's fault, said before anything is driven."""
    for named in ("model", torch.nn.Linear(2, 2)):
        made = SimpleNamespace(watched=named, generate=lambda prompts, limits: [])
        with pytest.raises(
            AdapterError, match=f"watched is {type(named).__name__}; expected the torch module whose calls"
        ):
            ground("tiny:llama").subject(lambda target, made=made: made)


def test_a_module_that_is_never_run_hides_no_call() -> None:
    """Plain decoding by the target beside a named module that does nothing is known for what it is."""

    class Idle:
        def __init__(self, target: Target) -> None:
            self._target, self.watched = target, copy.deepcopy(target.model)

        def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[Round]]:
            if len(prompts) > 1 or limits.stop or limits.min_new or limits.max_length is not None or limits.eos_ids:
                raise NotImplementedError("one prompt and a number of tokens")
            text = list(prompts[0])
            with torch.no_grad():
                for _ in range(limits.max_new_tokens):
                    text.append(int(self._target.model(torch.tensor([text])).logits[0, -1].argmax()))
            new = text[len(prompts[0]) :]
            return [[Round(emitted=(token,), tokens=(before, token), parents=(-1, 0), accepted=()) for before, token in
                     zip([prompts[0][-1], *new], new, strict=False)]]  # fmt: skip

    report = run_battery(
        ground().subject(Idle), choose(ids=["WITNESS-01"]), Budget(cases=0, shrink_runs=0, diagnose=False)
    )
    assert statuses(report) == {"WITNESS-01": Status.NOT_OBSERVABLE}


def test_a_head_that_is_run_on_a_part_shows_no_rows() -> None:
    """Where the head is asked for some rows only, masks and positions are there, and rows are not made up."""
    model = OlderModel(target_of("tiny:llama"))
    kept = model.buffers_of(8)
    with torch.no_grad(), tap(model) as seen:
        (hidden,) = model.model(torch.tensor([[1, 2, 3]]), torch.tensor([[0, 1, 2]]), past_key_values=kept)
        model.lm_head(hidden[:, -1:])
    (call,) = seen.calls
    assert (call.tokens, call.past, call.positions, call.rows) == ((1, 2, 3), 0, (0, 1, 2), None)
    assert call.sights[0] is not None
    assert call.sights[0].mask.tolist() == torch.ones(3, 3).tril().bool().tolist()
    copied(kept[0][0], 0, [0, 2])
    assert kept[0][0].shape[2] == 2


def test_foreign_attention_is_not_guessed_at() -> None:
    """Of attention that nobody knows an added mask is read; what True means, or no mask, is not."""
    model = OlderModel(target_of("tiny:llama"))
    assert can_tap(model)
    assert kernel_of(model) == FOREIGN
    assert acting(torch.zeros(1, 1, 2, 2), Asked(2, 0, FOREIGN)) is not None
    assert acting(torch.ones(1, 1, 2, 2, dtype=torch.bool), Asked(2, 0, FOREIGN)) is None
    assert acting(None, Asked(2, 0, FOREIGN)) is None
