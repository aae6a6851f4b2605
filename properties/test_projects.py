"""Claim: what published projects' own functions gave is read as it was meant; and wrong functions of their kinds are caught."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from grounds import ground

from tree_oracle.adapters import Convention, describe_as
from tree_oracle.checks.drive import drive
from tree_oracle.decoder import Seam
from tree_oracle.record import AdapterError, Array, Case, DecoderError, TreeData, UsageError

RECORDED = json.loads(
    (Path(__file__).parent.parent / "fixtures" / "recorded_projects.json").read_text(encoding="utf-8")
)
VOCAB = 61


def parents_of(choices: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Nodes in the order of length, then ranks; a path without its last rank is the parent's."""
    order = [[], *sorted(choices, key=lambda path: (len(path), path))]
    return (-1, *(order.index(path[:-1]) for path in order[1:]))


def branch_of(parents: Sequence[int], node: int) -> list[int]:
    found = [node]
    while parents[found[-1]] >= 0:
        found.append(parents[found[-1]])
    return found[::-1]


def tensors(buffers: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Buffers as the project gave them: float masks with four axes, integers."""
    return {
        name: torch.tensor([[float(bit) for bit in row] for row in value])[None, None]
        if "mask" in name
        else torch.tensor(value)
        for name, value in buffers.items()
    }


def shown(project: str, choices: Any, change: Callable[[dict[str, torch.Tensor]], Any], length: int) -> tuple[Any, Any]:
    """Mask of the nodes and positions, as they come through the adapter from buffers that were recorded."""
    parents = parents_of(choices)
    known = {json.dumps(one["choices"]): one["buffers"] for one in RECORDED[project]["trees"]}
    ranks = sorted(choices, key=lambda path: (len(path), path))

    def layout(asked: list[list[int]]) -> Any:
        assert asked == ranks
        buffers = tensors(known[json.dumps(choices)])
        change(buffers)
        return buffers

    tree = TreeData(tuple(range(len(parents))), parents)
    case = Case(prefix=(*range(1, length), 0), trees=(tree,))
    decoder = describe_as(project, layout=layout)(ground().target)
    (round_,) = drive(decoder, Seam.LAY_OUT, case, VOCAB)
    assert round_.visible is not None
    return round_.visible.numpy(), round_.positions


BUFFERS = [(project, number) for project in ("medusa", "eagle") for number in range(len(RECORDED[project]["trees"]))]


@pytest.mark.parametrize(("project", "number"), BUFFERS)
def test_recorded_buffers_are_read_as_their_tree(project: str, number: int) -> None:
    """Mask and positions that a project's own function made are those of the choices that it was given; one bit more is seen."""
    choices = RECORDED[project]["trees"][number]["choices"]
    parents = parents_of(choices)
    for length in (1, 4):
        visible, positions = shown(project, choices, lambda buffers: None, length)
        branches = [branch_of(parents, node) for node in range(len(parents))]
        due = np.array([[True] * (length - 1) + [v in above for v in range(len(parents))] for above in branches])
        assert np.array_equal(visible, due)
        assert positions == tuple(length - 2 + len(above) for above in branches)

    def leak(buffers: dict[str, torch.Tensor]) -> None:
        buffers[f"{'medusa' if project == 'medusa' else 'tree'}_attn_mask"][0, 0, -1, 1] = 0

    if 1 in branches[-1] and len(parents) > 2:
        try:
            assert not np.array_equal(shown(project, choices, leak, 4)[0], due)
        except (AdapterError, DecoderError) as refused:  # another tree, which the other buffers contradict
            assert "retrieve_indices" in str(refused)


def walked(parents: Sequence[int], tokens: Sequence[int], argmax: Sequence[int]) -> tuple[list[int], int]:
    here, path = 0, list[int]()
    while below := [v for v, parent in enumerate(parents) if parent == here and tokens[v] == argmax[here]]:
        here = below[0]
        path.append(here)
    return path, argmax[here]


def decision(project: str, one: dict[str, Any]) -> Any:
    """A recorded decision through the adapter, whose function is asked exactly what the project's was."""

    def leaves(logits: torch.Tensor, candidates: torch.Tensor) -> Any:
        rows = np.array(one["retrieve_indices"])
        padded = torch.tensor([*one["tokens"], 0 if project == "medusa" else -1])
        order = [next(k for k, row in enumerate(rows) if (padded[row] == asked).all()) for asked in candidates]
        assert sorted(order) == list(range(len(rows)))
        assert (logits.argmax(-1) == torch.tensor(one["argmax"])[rows[order]]).all()
        return torch.tensor(order.index(one["row"])), torch.tensor(one["count"]), None

    def maps(child_maps: list[dict[int, int]], posterior: torch.Tensor) -> Any:
        links = [(child, parent) for parent, below in enumerate(child_maps) for child in below.values()]
        assert sorted(links) == list(enumerate(one["parents"]))[1:]
        assert posterior.tolist() == [one["argmax"]]
        return one["path"], one["next"]

    def flat(tokens: torch.Tensor, choices: torch.Tensor, parents: torch.Tensor, depths: torch.Tensor) -> Any:
        assert (tokens.tolist(), choices.tolist(), parents.tolist()) == (one["tokens"], one["argmax"], one["parents"])
        assert depths.tolist() == [len(branch_of(one["parents"], v)) - 1 for v in range(len(tokens))]
        return torch.tensor(one["path"]), len(one["path"]) - 1, torch.tensor(one["next"])

    verify: Any = {"medusa": leaves, "eagle": leaves, "ddtree": maps, "jetspec": flat}[project]
    rows = np.zeros((len(one["tokens"]), VOCAB), dtype=np.float32)
    rows[np.arange(len(rows)), one["argmax"]] = 1
    case = Case(
        prefix=(one["tokens"][0],),
        trees=(TreeData(tuple(one["tokens"]), tuple(one["parents"])),),
        rows=Array.of(rows),
    )
    return drive(describe_as(project, verify=verify)(ground().target), Seam.ACCEPT, case, VOCAB)[0]


DECISIONS = [
    (name, number)
    for name in ("medusa", "eagle", "ddtree", "jetspec")
    for number in range(len(RECORDED[name]["decisions"]))
]


@pytest.mark.parametrize(("project", "number"), DECISIONS)
def test_recorded_decisions_are_read_as_a_greedy_walk(project: str, number: int) -> None:
    """What a project's own verification decided, in its own numbers, is the walk along the target's choices; the one recorded
    decision of Medusa that accepts a padding of token 0 is refused as such."""
    one = RECORDED[project]["decisions"][number]
    path, bonus = walked(one["parents"], one["tokens"], one["argmax"])
    if project == "medusa" and one["count"] > len(path):
        with pytest.raises(DecoderError, match="expected no padding among them"):
            decision(project, one)
        return
    found = decision(project, one)
    assert (list(found.accepted), found.bonus) == (path, bonus)


def test_the_padding_of_medusa_was_recorded() -> None:
    """One decision holds the condition: a short branch that is right, and token 0 next."""
    wrong = [
        one
        for one in RECORDED["medusa"]["decisions"]
        if one["count"] > len(walked(one["parents"], one["tokens"], one["argmax"])[0])
    ]
    assert len(wrong) == 1
    assert walked(wrong[0]["parents"], wrong[0]["tokens"], wrong[0]["argmax"])[1] == 0


def test_a_project_is_known_by_name_and_can_be_contradicted() -> None:
    """An unknown name is answered with those that are known; a convention that is said beats the one that is known."""
    with pytest.raises(UsageError, match="no project is named 'hydra'; expected one of medusa, eagle, ddtree"):
        describe_as("hydra", verify=lambda rows: None)
    said = Convention(root_in_path=True, mask="hidden")
    assert describe_as("ddtree", verify=lambda maps, posterior: None, convention=said).convention == said
    assert describe_as("ddtree", verify=lambda maps, posterior: None).convention.root_in_path
