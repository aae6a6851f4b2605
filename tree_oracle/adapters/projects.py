"""Published projects by name: what ``describe`` needs to know of them, so that their own functions can be handed over.

    describe_as("medusa", layout=partial(generate_medusa_buffers, device="cpu"), verify=greedy)

Conventions are those of ``tree_oracle.tree.formats.SYSTEMS``, at the revision named there. What a function of each role is
called with, positions first, and what it gives:

    medusa, eagle   layout(choices)                 the dictionary of buffers; choices are rank paths, as lists
                    verify(logits, candidates)      (row, count, ...): both by retrieve row, leaves x levels (x vocabulary)
    ddtree          verify(child_maps, posterior)   (nodes with the root, next token); posterior is 1 x n
    jetspec         verify(tokens, choices, parents, depths)    (nodes with the root, count, next token); tensors of n
    opt-tree        layout, verify: the class Tree, and verify of opt_classic; see ``called_opt_tree``
    sequoia         layout, verify: the class GreedyTree for both; see ``called_sequoia``
    sglang          layout, verify: build_tree_kernel_efficient, verify_tree_greedy; see ``called_sglang``

All other functions are taken as in ``describe``. ``ran`` says which own functions were run through this; others
were not, caches and whole rounds among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from tree_oracle.adapters import called_opt_tree, called_sequoia, called_sglang
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
    ran: str  # which of its own functions were run through this adapter
    encoding: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    said: Mapping[str, Any] = field(
        default_factory=dict
    )  # of the convention, where its functions differ from its system
    layout: Callable[[Function], Function] | None = (
        None  # how its functions are called; None: as ``describe`` calls them
    )
    verify: Callable[[Function], Function] | None = None

    @property
    def convention(self) -> Convention:
        """What its functions mean, as far as a source says so; ours otherwise."""
        found = SYSTEMS[self.system]
        added = bool(found.polarity) and found.polarity[-1] is not Polarity.ONE_ATTENDS
        known: dict[str, Any] = {
            "root_counted": found.root_parent not in _NO_ROOT,
            "prefix_counts_root": found.prefix_length is not PrefixLength.WITHOUT_ROOT,
            "root_in_pass": found.root is not RootRow.PREFIX_ROW,
            "mask": "additive" if added else "visible",
            "prefix_columns": found.prefix[:1] != (PrefixColumns.IMPLICIT,),
            "positions": "offset" if found.position is Position.OFFSET else "absolute",
        }
        return Convention(**{**known, **self.said})


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


_BUFFERS = "generate_{}_buffers, and evaluate_posterior without sampling"
_MEDUSA = {"attn_mask": "medusa_attn_mask", "position_ids": "medusa_position_ids"}
_FROM_ROOT = {"root_in_path": True}
_CANDIDATES = {"root_in_pass": False, "mask": "visible", "prefix_columns": False, "positions": "offset"}
_EAGLE = {"attn_mask": "tree_attn_mask", "position_ids": "tree_position_ids"}

PROJECTS: Mapping[str, Project] = MappingProxyType(
    {
        "medusa": Project(
            "Medusa", _BUFFERS.format("medusa"), "medusa", _MEDUSA, layout=_of_choices, verify=_by_leaves(0)
        ),
        "eagle": Project(
            "EAGLE", _BUFFERS.format("tree"), "eagle-sampling", _EAGLE, layout=_of_choices, verify=_by_leaves(-1)
        ),
        "ddtree": Project("DDTree", "follow_verified_tree", said=_FROM_ROOT, verify=_by_child_maps),
        "jetspec": Project("JetSpec", "gpu_tree_accept", said=_FROM_ROOT, verify=_by_parents),
        "opt-tree": Project(
            "OPT-Tree",
            "Tree, and verify of opt_classic without sampling",
            said={**_FROM_ROOT, **_CANDIDATES, "root_counted": True},
            layout=called_opt_tree.from_draft,
            verify=called_opt_tree.by_kept_rows,
        ),
        "sequoia": Project(
            "Sequoia",
            "GreedyTree, between engines that were stood for",
            said={"root_in_pass": True},
            layout=called_sequoia.by_pass,
            verify=called_sequoia.by_kept_rows,
        ),
        "sglang": Project(
            "SGLang",
            "build_tree_kernel_efficient and verify_tree_greedy_func, with the Triton kernels interpreted",
            encoding="sglang-full",
            layout=called_sglang.by_pool,
            verify=called_sglang.by_links,
        ),
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
