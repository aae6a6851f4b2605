"""The tap on decoders that carry their own modelling file and call the inner model directly."""

from __future__ import annotations

import torch
from older_family import OlderModel, copied, cut, generate
from test_tap_recovers import judged, plain, target_of

from tree_oracle.decoder import can_tap, recover, tap
from tree_oracle.decoder.tap_mask import FOREIGN, Asked, acting, kernel_of
from tree_oracle.record import Status

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
