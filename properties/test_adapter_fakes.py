"""Claim: the ready adapters translate both ways: a right engine behind one is called right, and a wrong one is not.

The engines are small fakes, since real ones are no requirement; ``test_adapter_engines_real`` runs those that are installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import engine_fakes as fakes
import pytest
import torch
from law_decoders import judged, listed

from tree_oracle import load_target
from tree_oracle.record import Limits, Status, Unsupported
from tree_oracle.tree import CandidateTree

pytestmark = pytest.mark.sweep

CHAINS = {
    "flashspec:FlashSpec": fakes.flashspec,
    "flashspec:FlashSpecLookup": fakes.flashspec,
    "seqspecdecod:StandardSampling": fakes.seqspecdecod,
    "dflash:DFlash": fakes.dflash,
}
TEXTS = {
    "rotalabs:RotalabsTrees": fakes.rotalabs,
    "rotalabs:RotalabsChains": fakes.rotalabs,
    "dflash:DFlash": fakes.dflash,
}
PROMPT = [3, 17, 5, 9]


def _adapter(name: str) -> Any:
    module, attribute = name.split(":")
    return getattr(import_module(f"tree_oracle.adapters.{module}"), attribute)(load_target("exact"))


def _statuses(decoder: Any) -> set[Status]:
    """On the listed chains over two of the listed laws; two kinds of tree are enough to see a translation."""
    cases = [(seam, case) for seam, case in listed("LAW-01") if case.trees[0].parents in ((-1, 0), (-1, 0, 1))]
    return {judged(decoder, "LAW-01", seam, case).status for seam, case in cases[:2]}


@pytest.mark.parametrize("name", CHAINS)
def test_a_right_rule_is_called_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripted coins reach the engine's tests in order, and its decisions come back as nodes."""
    fakes.install(monkeypatch, CHAINS[name]())
    assert _statuses(_adapter(name)) == {Status.PASSED}


@pytest.mark.parametrize("name", CHAINS)
def test_a_wrong_bonus_is_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bonus from the root's row fails through the adapter."""
    fakes.install(monkeypatch, CHAINS[name](spoiled=True))
    assert Status.FAILED in _statuses(_adapter(name))


def test_a_greedy_chain_is_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accepted drafts become nodes 1, 2, ..; trees with branches and roots alone are refused."""
    fakes.install(monkeypatch, fakes.flashspec())
    adapter = _adapter("flashspec:FlashSpec")
    rows = torch.eye(4)[[2, 1, 3]].numpy()
    assert adapter.accept(CandidateTree([0, 2, 0], [-1, 0, 1]), rows) == ([1], 1)
    assert adapter.accept(CandidateTree([0, 2, 1], [-1, 0, 1]), rows) == ([1, 2], 3)
    for tree in (CandidateTree([0, 2, 1], [-1, 0, 0]), CandidateTree([0], [-1])):
        with pytest.raises(Unsupported):
            adapter.accept(tree, rows)


@pytest.mark.parametrize("name", TEXTS)
def test_whole_texts_end_where_the_limits_end_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is plain greedy decoding's, cut at a cap that lies within a round and after an end token."""
    fakes.install(monkeypatch, TEXTS[name]())
    adapter, due = _adapter(name), _plain(8)
    assert adapter.generate([PROMPT], Limits(7)) == [due[:7]]
    assert adapter.generate([PROMPT, PROMPT], Limits(8, eos_ids=(due[4],))) == [due[:5], due[:5]]


@pytest.mark.parametrize("name", TEXTS)
def test_a_wrong_text_stays_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is put right on the way."""
    fakes.install(monkeypatch, TEXTS[name](spoiled=True))
    assert _adapter(name).generate([PROMPT], Limits(8)) != [_plain(8)]


def test_a_tokenizer_with_one_end_token_refuses_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an engine cannot be told is refused."""
    fakes.install(monkeypatch, fakes.rotalabs())
    with pytest.raises(Unsupported, match="one end token"):
        _adapter("rotalabs:RotalabsTrees").generate([PROMPT], Limits(8, eos_ids=(1, 2)))


def _plain(count: int) -> list[int]:
    model, text = load_target("exact").model, list(PROMPT)
    for _ in range(count):
        text.append(int(model(input_ids=torch.tensor([text])).logits[0, -1].argmax()))
    return text[len(PROMPT) :]
