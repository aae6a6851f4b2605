"""Claim: what the own functions of OPT-Tree, Sequoia and SGLang gave is read as it was meant, and any change of it is noticed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from grounds import ground
from replayed_projects import LAYOUTS, RECORDED, VERIFIED

from tree_oracle.adapters import describe_as
from tree_oracle.checks.drive import drive
from tree_oracle.decoder import Seam
from tree_oracle.record import (
    AdapterError,
    Array,
    Case,
    DecoderError,
    TreeData,
    Unsupported,
)
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.formats import find_format

CALLED = ("opt-tree", "sequoia", "sglang")
VOCAB = 61


def branch_of(parents: Sequence[int], node: int) -> list[int]:
    found = [node]
    while parents[found[-1]] >= 0:
        found.append(parents[found[-1]])
    return found[::-1]


def laid_out(project: str, one: dict[str, Any], length: int) -> tuple[Any, Any]:
    case = Case(prefix=(*[1] * (length - 1), one["tokens"][0]), trees=(TreeData(one["tokens"], one["parents"]),))
    decoder = describe_as(project, layout=LAYOUTS[project](one))(ground().target)
    (round_,) = drive(decoder, Seam.LAY_OUT, case, VOCAB)
    assert round_.visible is not None
    return round_.visible.numpy().tolist(), round_.positions


def decided(project: str, one: dict[str, Any]) -> tuple[list[int], int | None]:
    rows = np.zeros((len(one["tokens"]), VOCAB), dtype=np.float32)
    rows[np.arange(len(rows)), one["argmax"]] = 1
    tree = TreeData(tuple(one["tokens"]), tuple(one["parents"]))
    case = Case(prefix=(one["tokens"][0],), trees=(tree,), rows=Array.of(rows))
    decoder = describe_as(project, verify=VERIFIED[project](one))(ground().target)
    (round_,) = drive(decoder, Seam.ACCEPT, case, VOCAB)
    assert round_.accepted is not None
    return list(round_.accepted), round_.bonus


def prefix_of(project: str, one: dict[str, Any]) -> int:
    """The committed tokens of a recorded layout, the root among them; OPT-Tree's holds none."""
    if project == "opt-tree":
        return 4
    return int(one["length"]) if project == "sequoia" else int(one["asked"]["seq_lens"][0]) + 1


def due(parents: Sequence[int], length: int) -> tuple[Any, Any]:
    """Who is seen and at what place, from the tree alone."""
    branches = [branch_of(parents, node) for node in range(len(parents))]
    visible = [[True] * (length - 1) + [v in above for v in range(len(parents))] for above in branches]
    return visible, tuple(length - 2 + len(above) for above in branches)


def walked(one: dict[str, Any]) -> tuple[list[int], int]:
    here, path = 0, list[int]()
    while below := [v for v, up in enumerate(one["parents"]) if up == here and one["tokens"][v] == one["argmax"][here]]:
        here = below[0]
        path.append(here)
    return path, one["argmax"][here]


def changes(recorded: Any) -> Iterator[Any]:
    """The buffer with one entry changed, for every entry: a bit flipped, a number made one more, a flag turned."""
    if isinstance(recorded, bool):
        yield not recorded
    elif isinstance(recorded, int):
        yield recorded + 1
    elif isinstance(recorded, str):
        for at, bit in enumerate(recorded):
            yield f"{recorded[:at]}{1 - int(bit)}{recorded[at + 1 :]}"
    else:
        for at, entry in enumerate(recorded):
            for other in changes(entry):
                yield [*recorded[:at], other, *recorded[at + 1 :]]


TREES = [(project, number) for project in CALLED for number in range(len(RECORDED[project]["trees"]))]
DECISIONS = [(project, number) for project in CALLED for number in range(len(RECORDED[project]["decisions"]))]


@pytest.mark.parametrize(("project", "number"), TREES)
def test_recorded_buffers_are_read_as_their_tree(project: str, number: int) -> None:
    """Mask and positions that a project's own functions made are those of the tree that they were asked for."""
    one = RECORDED[project]["trees"][number]
    length = prefix_of(project, one)
    assert laid_out(project, one, length) == due(one["parents"], length)


@pytest.mark.parametrize("project", CALLED)
def test_every_changed_entry_of_a_recorded_buffer_is_noticed(project: str) -> None:
    """In a tree of four nodes each bit, position, link and token that is another makes another layout, or is refused by name;
    but for Sequoia's cache slots, which no layout states."""
    one = next(one for one in RECORDED[project]["trees"] if one["parents"] == [-1, 0, 0, 1])
    part, length = "pass" if project == "sequoia" else "buffers", prefix_of(project, one)
    right, seen = due(one["parents"], length), 0
    for name in sorted(set(one[part]) - {"storage_ids"}):
        for changed in changes(one[part][name]):
            wrong, seen = {**one, part: {**one[part], name: changed}}, seen + 1
            try:
                assert laid_out(project, wrong, length) != right, (name, changed)
            except (AdapterError, DecoderError):
                continue
    assert seen >= 19


@pytest.mark.parametrize(("project", "number"), DECISIONS)
def test_recorded_decisions_are_read_as_a_greedy_walk(project: str, number: int) -> None:
    """What a project's own verification decided is the walk along the target's choices; Sequoia's that ended at token 0 or 2
    are refused as such."""
    one = RECORDED[project]["decisions"][number]
    path, bonus = walked(one)
    if project == "sequoia" and one["terminal"]:
        assert {0, 2} & {one["tokens"][node] for node in path}
        with pytest.raises(Unsupported, match="ends the text at token [02] and gives no next token"):
            decided(project, one)
        return
    assert decided(project, one) == (path, bonus)


READ = {
    "opt-tree": ("length", "best_candidate", "next_draft"),
    "sequoia": ("gathered", "terminal"),
    "sglang": ("accept_token_num",),
}


@pytest.mark.parametrize("project", CALLED)
def test_every_changed_entry_of_a_recorded_decision_is_noticed(project: str) -> None:
    """Each kept row, count and token that is another is another decision, or is refused by name."""
    for one in RECORDED[project]["decisions"]:
        if one.get("terminal"):
            continue  # nothing is read of a text that ended
        path, bonus = walked(one)
        wrong = [{**one, name: changed} for name in READ[project] for changed in changes(one[name])]
        wrong += [with_entry(one, name, at) for name, at in places(project, one, [0, *path])]
        assert len(wrong) >= len(path) + 2
        for other in wrong:
            try:
                assert decided(project, other) != (path, bonus)
            except (AdapterError, DecoderError, Unsupported):
                continue


def places(project: str, one: dict[str, Any], path: Sequence[int]) -> list[tuple[str, tuple[int, ...]]]:
    """Entries of buffers of which only those are meant that the accepted path reaches."""
    if project == "opt-tree":
        return [("cache", (at,)) for at in range(one["length"])]
    if project == "sequoia":
        return [("valid_tokens", (at,)) for at in range(1, len(one["valid_tokens"]))]
    return [("predicts", (node,)) for node in path] + [("accept_index", (0, at)) for at in range(len(path))]


def with_entry(one: dict[str, Any], name: str, at: tuple[int, ...]) -> dict[str, Any]:
    changed = deepcopy(one)
    *outer, last = at
    row = changed[name]
    for index in outer:
        row = row[index]
    row[last] += 1
    return changed


def trees_of(batch: dict[str, Any]) -> list[CandidateTree]:
    """The trees of a batch from SGLang's pool: candidate s was expanded from candidate ``parent_list[s // topk]``."""
    found, n = list[CandidateTree](), len(batch["top_scores_index"][0]) + 1
    for at, (owners, chosen) in enumerate(zip(batch["parent_list"], batch["top_scores_index"], strict=True)):
        groups = [place // batch["topk"] for place in chosen]
        parents = [0 if group == 0 else 1 + chosen.index(owners[group]) for group in groups]
        found.append(CandidateTree(batch["buffers"]["draft_tokens"][at * n : (at + 1) * n], [-1, *parents]))
    return found


@pytest.mark.parametrize("number", range(len(RECORDED["sglang"]["batches"])))
def test_a_recorded_batch_of_sglang_is_what_our_encoders_write(number: int) -> None:
    """Two requests behind prefixes of different lengths: mask and global links are ours, bit for bit and entry for entry."""
    batch = RECORDED["sglang"]["batches"][number]
    trees, lengths = trees_of(batch), [cached + 1 for cached in batch["seq_lens"]]
    flat = find_format({"FULL_MASK": "sglang-full", "QLEN_ONLY": "sglang-qlen"}[batch["mode"]])
    (written,), (tables,) = flat.encode(trees, lengths), find_format("links-global").encode(trees, lengths)
    assert "".join(str(int(bit)) for bit in written.mask.reshape(-1)) == batch["buffers"]["mask"]
    for name in ("index", "next_token", "next_sibling"):
        ours = getattr(tables, "retrieve_index" if name == "index" else name)
        assert ours.tolist() == batch["buffers"][f"retrieve_{name}"]
    positions = [length - 1 + depth for tree, length in zip(trees, lengths, strict=True) for depth in tree.depths]
    assert positions == batch["buffers"]["positions"]


def test_the_drafting_mask_of_opt_tree_was_recorded() -> None:
    """From the third level on its own draft was shown a candidate of another branch; up to the second it was not."""
    (one,) = [one for one in RECORDED["opt-tree"]["trees"] if "drafting" in one]
    wide, foreign = len(one["tokens"]) - 1, list[int]()
    for level, step in enumerate(one["drafting"]):
        above = [one["drafting"][at]["parent_last"] for at in range(1, level + 1)]
        for row, shown in enumerate(step["attention_mask"]):
            branch = {level * wide + row}
            here = row
            for up in range(level, 0, -1):
                here = above[up - 1][here]
                branch.add((up - 1) * wide + here)
            if {at for at, bit in enumerate(shown) if bit == "1"} != branch:
                foreign.append(level)
    assert set(foreign) == {2}
    assert len(one["drafting"]) == 3
