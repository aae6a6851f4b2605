"""Inputs of case files that no decoder could answer: they are refused, and held against none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tree_oracle.checks import Check
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Array, Case, DrafterData, Earlier, Limits, Processors, RequestData, UsageError
from tree_oracle.tree import CandidateTree

if TYPE_CHECKING:
    from tree_oracle.target import Target

_FINEST, _LARGEST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)


def refuse_misfits(earlier: Sequence[Earlier], cases: Sequence[Case], checks: Sequence[Check], target: Target) -> None:
    """Return if a decoder can be asked all of it.

    Raises:
        UsageError: an earlier request came through no seam that there is; or as for ``refuse_misfit``.
        InvalidTree, FileError: as for ``refuse_misfit``.
    """
    for one in earlier:
        if one.seam not in tuple(Seam):
            raise UsageError(f"an earlier request of the case came through {one.seam!r}, which is no seam")
        refuse_misfit(one.case, (), target)
    for case in cases:
        refuse_misfit(case, checks, target)


def refuse_misfit(case: Case, checks: Sequence[Check], target: Target) -> None:
    """A file may hold anything, and what no decoder could answer must not be held against one.

    Raises:
        UsageError: the case is none of a check's cases, or no input for this target.
        InvalidTree, FileError: the case holds no tree, or no array, where it should.
    """
    for check in checks:
        if not any(source.scene.fits(case) for source in check.sources):
            raise UsageError(
                f"the file holds no case of {check.id}: trees, rows, limits or processors are missing or too many"
            )
    for request in case.batch or (RequestData(prompt=case.prefix, trees=case.trees),):
        _refuse_request(request, case, target)
    if case.limits is not None and case.limits.min_new:
        _refuse_minimum(case.limits, target.vocab_size)
    if case.processors is not None:
        prompts = [request.prompt for request in case.batch if request.resumes is None] or [case.prefix]
        _refuse_processors(case.processors, min(map(len, prompts)), target.vocab_size)
    if case.drafter is not None:
        _refuse_drafter(case.drafter, target)
    if case.draft is not None and case.prefix[-1] >= case.draft.vocab_size:
        raise UsageError(f"the case has root {case.prefix[-1]}; its draft speaks of {case.draft.vocab_size} tokens")
    if case.rows is not None:
        _refuse_rows(case.rows, (max(len(tree.tokens) for tree in case.trees), target.vocab_size))


def _refuse_request(request: RequestData, case: Case, target: Target) -> None:
    """A request that resumes has no prompt of its own: it goes on with the text of an earlier one."""
    for tree in request.trees:
        CandidateTree.from_data(tree)
    tokens = [*request.prompt, *(token for tree in request.trees for token in tree.tokens)]
    if case.attend is not None:  # no model is run on it: its tokens only tell the nodes apart
        return
    outside = [token for token in tokens if not 0 <= token < target.vocab_size]
    if outside or not (request.prompt or request.resumes is not None):
        seen = f"token {outside[0]}" if outside else "no prefix"
        raise UsageError(f"the case has {seen}; target {target.spec!r} needs tokens from 0 to {target.vocab_size - 1}")
    if request.prompt and request.trees and request.trees[0].tokens[0] != request.prompt[-1]:
        raise UsageError(
            f"trees[0] of the case has root {request.trees[0].tokens[0]}; expected the last prefix token, {request.prompt[-1]}"
        )
    new = case.limits.max_new_tokens if case.limits is not None and not request.trees else 0
    if new < 0 or len(tokens) + new > target.context_length:
        raise UsageError(
            f"the case has {len(tokens)} tokens and asks for {new}; the context of the target is {target.context_length}"
        )


def _refuse_drafter(drafter: DrafterData, target: Target) -> None:
    outside = [token for token in (*drafter.text, *drafter.special) if not 0 <= token < target.vocab_size]
    if outside:
        raise UsageError(f"the drafter of the case drafts token {outside[0]}; the target has {target.vocab_size}")


def _refuse_minimum(limits: Limits, vocab_size: int) -> None:
    """Before the minimum the end tokens are ruled out: they must be tokens, and leave one."""
    outside = [token for token in limits.eos_ids if not 0 <= token < vocab_size]
    if outside:
        raise UsageError(f"eos_ids of the case holds token {outside[0]}; the target has {vocab_size}")
    if len(set(limits.eos_ids)) == vocab_size:
        raise UsageError("eos_ids of the case holds every token; expected one that min_new leaves")


def _refuse_processors(processors: Processors, prompt: int, vocab_size: int) -> None:
    """Some releases of transformers leave out a sequence that is longer than the text, though its last token is to come."""
    sequences = [*processors.banned, *(entry.sequence for entry in processors.bias)]
    outside = [token for sequence in sequences for token in sequence if token >= vocab_size]
    if outside:
        raise UsageError(f"a sequence of the case holds token {outside[0]}; the target has {vocab_size}")
    if len({sequence for sequence in processors.banned if len(sequence) == 1}) == vocab_size:
        raise UsageError("banned of the case holds every token; expected one that is left")
    for name, value in _numbers(processors):
        if not _FINEST <= abs(value) <= _LARGEST and value:
            raise UsageError(f"{name} of the case is {value:g}; expected a number that float32 can hold")
    if processors.longest > prompt:
        raise UsageError(f"a sequence has {processors.longest} tokens; expected no more than the prompt, {prompt}")


def _numbers(processors: Processors) -> Iterator[tuple[str, float]]:
    yield from ((name, getattr(processors, name)) for name in ("repetition", "frequency", "presence"))
    yield from (("bias", entry.value) for entry in processors.bias)


def _refuse_rows(rows: Array, shape: tuple[int, int]) -> None:
    values = rows.numpy()
    if values.dtype.kind != "f" or values.shape != shape or np.isnan(values).any():
        raise UsageError(f"the case feeds {rows}, or a NaN in it; expected numbers of shape {shape}")
    if np.isneginf(values.astype(np.float64)).all(axis=1).any():
        raise UsageError("rows of the case hold one that is -inf for every token; expected a token that can be chosen")
