"""Published projects by name: what ``describe`` needs to know of them, so that their own functions can be handed over.

    describe_as("medusa", layout=partial(generate_medusa_buffers, device="cpu"), verify=greedy)

Conventions are those of ``tree_oracle.tree.formats.SYSTEMS``, at the revision named there. What a function of each role is
called with, positions first, and what it gives:

    medusa, eagle   layout(choices)                 the dictionary of buffers; choices are rank paths, as lists
                    verify(logits, candidates)      (row, count, ...): both by retrieve row, leaves x levels (x vocabulary)
    ddtree          verify(child_maps, posterior)   (nodes with the root, next token); posterior is 1 x n
    jetspec         verify(tokens, choices, parents, depths)    (nodes with the root, count, next token); tensors of n
    sglang          verify(predicts=, accept_index=, accept_token_num=, candidates=, retrive_index=, retrive_next_token=,
                    retrive_next_sibling=, target_predict=)     nothing: the first three are written, as by its kernel
    opt-tree, sequoia    as in ``describe``, by the names of their parameters, under their conventions

All other functions are taken as in ``describe``. ``ran`` says whose own functions were run through this; where none were, the
adapter was tried on buffers and functions written to the convention alone, and not against the project itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from tree_oracle.adapters.convention import Convention
from tree_oracle.adapters.described import Description, describe
from tree_oracle.checks import answers
from tree_oracle.record import DecoderError, Unsupported, UsageError
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.formats import SYSTEMS, Polarity, Position, PrefixColumns, PrefixLength, RootParent, RootRow

Function = Callable[..., Any]
_NO_ROOT = (RootParent.UNLISTED_MINUS_ONE, RootParent.UNLISTED_ITSELF)


@dataclass(frozen=True, slots=True)
class Project:
    """What is known of one project."""

    system: str  # its name in ``SYSTEMS``
    ran: str = ""  # which of its own functions were run through this adapter; empty: none
    encoding: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    root_in_path: bool = False
    layout: Callable[[Function], Function] | None = (
        None  # how its functions are called; None: as ``describe`` calls them
    )
    verify: Callable[[Function], Function] | None = None

    @property
    def convention(self) -> Convention:
        """What its functions mean, as far as a source says so; ours otherwise."""
        found = SYSTEMS[self.system]
        added = bool(found.polarity) and found.polarity[-1] is not Polarity.ONE_ATTENDS
        return Convention(
            root_counted=found.root_parent not in _NO_ROOT,
            prefix_counts_root=found.prefix_length is not PrefixLength.WITHOUT_ROOT,
            root_in_pass=found.root is not RootRow.PREFIX_ROW,
            mask="additive" if added else "visible",
            prefix_columns=found.prefix[:1] != (PrefixColumns.IMPLICIT,),
            positions="offset" if found.position is Position.OFFSET else "absolute",
            root_in_path=self.root_in_path,
        )


def _of_choices(layout: Function) -> Function:
    """Rank paths in, buffers out; a tree without candidates has no choices to make buffers of."""

    def called(choices: Any) -> Any:
        if not choices.choices:
            raise Unsupported("this project makes no buffers of a tree without candidates")
        return layout([list(path) for path in choices.choices])

    return called


def _by_leaves(pad: int) -> Callable[[Function], Function]:
    """Verification of whole paths: logits and tokens gathered by retrieve rows, whose padding -1 gathers ``pad``."""

    def wrapped(verify: Function) -> Function:
        def called(tree: CandidateTree, logits: torch.Tensor, eagle_sampling: Any) -> tuple[list[int], int]:
            rows = torch.from_numpy(np.array(eagle_sampling.retrieve_indices))
            tokens = torch.tensor([*tree.tokens.tolist(), pad])
            row, count = (int(found) for found in verify(logits[rows], tokens[rows])[:2])
            nodes = rows[row, : count + 1].tolist()
            if -1 in nodes:
                raise DecoderError(f"{count} nodes of row {row} are accepted: {nodes}; expected no padding among them")
            return nodes[1:], int(logits[nodes[-1]].argmax())  # the next root, which the caller takes

        return called

    return wrapped


def _by_child_maps(verify: Function) -> Function:
    def called(child_maps: Any, argmax: list[int]) -> Any:
        maps = [dict(one) for one in child_maps.maps]
        return verify(maps, torch.tensor([argmax]))

    return called


def _by_parents(verify: Function) -> Function:
    def called(tokens: list[int], argmax: list[int], parents: list[int], depths: list[int]) -> Any:
        path, count, bonus = verify(*(torch.tensor(values) for values in (tokens, argmax, parents, depths)))
        return answers.array(path, "accepted")[: int(count) + 1], int(bonus)

    return called


def _by_links(verify: Function) -> Function:
    def called(links_global: Any, argmax: list[int]) -> tuple[list[int], int]:
        n = len(argmax)
        predicts = torch.full((n,), -1, dtype=torch.int32)
        accepted, count = torch.full((1, n), -1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
        verify(
            predicts=predicts,
            accept_index=accepted,
            accept_token_num=count,
            candidates=torch.from_numpy(np.array(links_global.tokens)),
            retrive_index=torch.from_numpy(np.array(links_global.retrieve_index)),
            retrive_next_token=torch.from_numpy(np.array(links_global.next_token)),
            retrive_next_sibling=torch.from_numpy(np.array(links_global.next_sibling)),
            target_predict=torch.tensor([argmax]),
        )
        path = accepted[0, : int(count[0]) + 1].tolist()  # the root first
        return path[1:], int(predicts[path[-1]])

    return called


_BUFFERS = "generate_{}_buffers, and evaluate_posterior without sampling"
_MEDUSA = {"attn_mask": "medusa_attn_mask", "position_ids": "medusa_position_ids"}
_EAGLE = {"attn_mask": "tree_attn_mask", "position_ids": "tree_position_ids"}

PROJECTS: Mapping[str, Project] = MappingProxyType(
    {
        "medusa": Project(
            "Medusa", _BUFFERS.format("medusa"), "medusa", _MEDUSA, layout=_of_choices, verify=_by_leaves(0)
        ),
        "eagle": Project(
            "EAGLE", _BUFFERS.format("tree"), "eagle-sampling", _EAGLE, layout=_of_choices, verify=_by_leaves(-1)
        ),
        "ddtree": Project("DDTree", "follow_verified_tree", root_in_path=True, verify=_by_child_maps),
        "jetspec": Project("JetSpec", "gpu_tree_accept", root_in_path=True, verify=_by_parents),
        "opt-tree": Project("OPT-Tree"),
        "sequoia": Project("Sequoia"),
        "sglang": Project("SGLang", encoding="sglang-full", verify=_by_links),
    }
)


def describe_as(
    project: str,
    *,
    layout: Function | None = None,
    masked: Function | None = None,
    verify: Function | None = None,
    **more: Any,
) -> Description:
    """``describe`` with what is known of a published project; whatever is said in ``more`` is said instead.

    Raises:
        UsageError: no project of that name; and as for ``describe``.
    """
    if project not in PROJECTS:
        raise UsageError(f"no project is named {project!r}; expected one of {', '.join(PROJECTS)}")
    known = PROJECTS[project]
    calls = {"layout": known.layout, "masked": known.layout, "verify": known.verify}
    given = {"layout": layout, "masked": masked, "verify": verify}
    wrapped: dict[str, Any] = {
        role: calls[role](function) if function is not None and calls[role] is not None else function  # type: ignore[misc]
        for role, function in given.items()
    }
    said: dict[str, Any] = {"convention": known.convention, "encoding": known.encoding, "names": known.names}
    return describe(**wrapped, **{**said, **more})
