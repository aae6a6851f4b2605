"""From a case to rounds: one function per seam, each handing the decoder private copies of everything.

What the decoder is given is rebuilt for every call, so a decoder that keeps or changes it cannot reach the next case.
Fields that the driver knows better than the decoder (prefix, tree) are filled in from the case; where the decoder shows
them too and disagrees, its record contradicts itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
import numpy as np

from tree_oracle.checks import answers, encodings, law_drive
from tree_oracle.checks.attend_drive import attended_rounds
from tree_oracle.checks.counted_draft import CountedDraft
from tree_oracle.checks.drive_drafts import Watched, rounds_by_requests
from tree_oracle.checks.drive_session import session_rounds
from tree_oracle.checks.due import ending
from tree_oracle.checks.guard import call, protect
from tree_oracle.checks.handing import NotTaken, ask_with_limits
from tree_oracle.checks.read_texts import read_text, refuse_mapping
from tree_oracle.checks.tags import refuse_misfit, table_of, tagged
from tree_oracle.checks.unread import held_against
from tree_oracle.checks.view import text_of
from tree_oracle.checks.witness import claims_of
from tree_oracle.decoder.caches import Pool
from tree_oracle.decoder.drafters import ToldDraft
from tree_oracle.decoder.seams import Seam
from tree_oracle.decoder.tap_errors import Undrafted, Unfinished
from tree_oracle.record import (
    Array,
    Call,
    Case,
    DecoderError,
    EndReason,
    Round,
    TreeData,
    UsageError,
    Work,
)
from tree_oracle.tree import CandidateTree

Drive = Callable[[Any, Case, int], tuple[Round, ...]]
Struct = TypeVar("Struct", bound=msgspec.Struct)


def drive(decoder: Any, seam: Seam, case: Case, vocab_size: int, *, model: Any = None) -> tuple[Round, ...]:
    """The rounds that the decoder shows through one seam for one case.

    ``model`` is the target's, which the decoder runs: the tap reads it, and in a session its calls are counted.

    Raises:
        AdapterError: an answer of the wrong shape, dtype or convention.
        DecoderError: the decoder raised, changed its input, answered NaN, or ran a round that cannot be.
        Unsupported: the decoder refused the input.
        NotTaken: it has no place for what the case hands over.
        Unexplained: the calls that the tap saw do not account for the text, or score no draft.
    """
    if seam is Seam.TAP:
        return _tapped(decoder, case, vocab_size, model)
    if seam is Seam.SESSION:
        return session_rounds(decoder, case, vocab_size, model)
    return _DRIVES[seam](decoder, case, vocab_size)


def _ask(owner: Any, method: str, *arguments: Any) -> Any:
    """The answer of a method, which may already raise when it is looked up."""
    return call(method, lambda *given: getattr(owner, method)(*given), *arguments)


def _build_tree(decoder: Any, case: Case, vocab_size: int) -> tuple[Round, ...]:
    if case.draft is None:
        raise UsageError("a case for build_tree holds no draft")
    draft = CountedDraft(case.draft)
    answer = _ask(decoder, "build_tree", draft, case.prefix[-1])
    tokens, parents = protect("build_tree", lambda: answers.tree(encodings.built(answer)))
    return (Round(emitted=(), prefix=case.prefix, tokens=tokens, parents=parents, work=Work(stages=draft.stages)),)


def _lay_out(decoder: Any, case: Case, vocab_size: int) -> tuple[Round, ...]:
    return tuple(_laid_out(decoder, case.prefix, tree) for tree in case.trees)


def _laid_out(decoder: Any, prefix: tuple[int, ...], tree: TreeData) -> Round:
    given = _ask(decoder, "lay_out", CandidateTree.from_data(tree), len(prefix))
    answer, count = protect("lay_out", lambda: encodings.laid_out(given, tree, len(prefix))), len(tree.tokens)
    mask = protect("lay_out", lambda: answers.visible(answer, count, len(prefix) - 1 + count))
    placed = protect("lay_out", lambda: answers.positions(answer, count))
    return _known(prefix, tree, visible=Array.of(mask), positions=placed)


def _tree_logits(decoder: Any, case: Case, vocab_size: int) -> tuple[Round, ...]:
    return tuple(_scored(decoder, case.prefix, tree, vocab_size) for tree in case.trees)


def _scored(decoder: Any, prefix: tuple[int, ...], tree: TreeData, vocab_size: int) -> Round:
    answer = _ask(decoder, "tree_logits", list(prefix), CandidateTree.from_data(tree))
    found = protect("tree_logits", lambda: answers.rows(answer, "tree_logits", len(tree.tokens), vocab_size))
    return _known(prefix, tree, rows=Array.of(found))


def _move(decoder: Any, case: Case, vocab_size: int) -> tuple[Round, ...]:
    if case.move is None:
        raise UsageError("a case for move says of nothing that it is to be moved")
    refuse_misfit(case.move)
    pools = tagged(case.move)
    # What they hold is there to be changed, so it is no input that must stay as it is; the list and the objects are private.
    theirs = [Pool(pool.layer, pool.part, pool.data[...], pool.packed) for pool in pools]
    given = [list(case.move.accepted), list(case.move.slots), table_of(case.move)]
    answer = call("move", lambda *arguments: decoder.move(*arguments, theirs), *given)
    held, length, pages = protect("move", lambda: answers.moved(answer, pools))
    return (Round(emitted=(), accepted=case.move.accepted, pools=held, length=length, pages=pages),)


def _accept(decoder: Any, case: Case, vocab_size: int) -> tuple[Round, ...]:
    if case.rows is None:
        raise UsageError("a case for accept holds no rows")
    rows = np.array(case.rows.numpy(), dtype=np.float32)
    return tuple(_accepted(decoder, case.prefix, tree, rows[: len(tree.tokens)], vocab_size) for tree in case.trees)


def _accepted(decoder: Any, prefix: tuple[int, ...], tree: TreeData, rows: np.ndarray, vocab_size: int) -> Round:
    answer = call("accept", decoder.accept, CandidateTree.from_data(tree), rows.copy())
    accepted, bonus = protect("accept", lambda: answers.decision(answer, len(tree.tokens), vocab_size))
    emitted = (*(tree.tokens[v] for v in accepted), bonus)
    return _known(prefix, tree, emitted=emitted, accepted=accepted, bonus=bonus)


def _generate(decoder: Any, case: Case, vocab_size: int) -> tuple[Round, ...]:
    if case.limits is None:
        raise UsageError("a case for generate holds no limits")
    prompts, draft = _prompts(case), _watched(case, vocab_size)
    answer = ask_with_limits(decoder, "generate", prompts, _replace(case.limits), case, draft)
    protect("generate", lambda: refuse_mapping(answer, "generate answers", "a list with one entry for each prompt"))
    entries = protect("generate", lambda: answers.sequence(answer, "generate", len(prompts)))
    texts = [read_text(entry, prompt, vocab_size) for prompt, entry in zip(prompts, entries, strict=True)]
    rounds = tuple(_replace(round_, request=number) for number, text in enumerate(texts) for round_ in text)
    if draft is None:
        return rounds
    if not draft.asked:
        raise NotTaken("generate never asked for a draft")
    lump = len(rounds) == 1 and rounds[0].tokens is None
    return rounds_by_requests(draft.asked, case.prefix, text_of(rounds)) or rounds if lump else rounds


def _prompts(case: Case) -> list[tuple[int, ...]]:
    """What is asked in one call: the prompts of a batch, which holds nothing else here, or the one of the case."""
    for number, request in enumerate(case.batch):
        if request.trees or request.joins or request.resumes is not None:
            raise UsageError(f"request {number} has trees, joins later or resumes; generate is asked for prompts alone")
    return [request.prompt for request in case.batch] or [case.prefix]


def _watched(case: Case, vocab_size: int) -> Watched | None:
    """The drafter of the case."""
    if case.drafter is None or case.limits is None:
        return None
    ends = case.limits.eos_ids
    return Watched(
        ToldDraft(case.drafter.name, case.prefix, case.drafter.text, vocab_size, (*case.drafter.special, *ends))
    )


def _tapped(decoder: Any, case: Case, vocab_size: int, model: Any) -> tuple[Round, ...]:
    """``generate`` as the target sees it. Of the answer nothing is used but the tokens, and what it claims to have run."""
    from tree_oracle.decoder import recover, tap  # resolved here, since they load torch

    with tap(model) as seen:
        try:
            answered = _generate(decoder, case, vocab_size)
        except DecoderError as error:
            raise Unfinished(str(error)) from error
    output, claims = text_of(answered), claims_of(answered)
    rounds = recover(seen, case.prefix, output)
    if not rounds or not (claims or any(len(round_.tokens or ()) > 1 for round_ in rounds)):
        raise Undrafted("no witness that speculation ran: no target call scores a draft")
    calls = (Call(call.tokens, call.past) for call in seen.calls)
    comparable = held_against(claims, rounds, calls, len(case.prefix))
    return (*rounds[:-1], _replace(rounds[-1], end=_end(output, case), work=comparable))


def _end(output: tuple[int, ...], case: Case) -> EndReason | None:
    """What the limits say of a text that stops here; the target is never told."""
    assert case.limits is not None
    due = ending(output, case.limits, len(case.prefix))
    return due[1] if due is not None else None


def _known(prefix: tuple[int, ...], tree: TreeData, *, emitted: tuple[int, ...] = (), **shown: Any) -> Round:
    return Round(emitted=emitted, prefix=prefix, tokens=tree.tokens, parents=tree.parents, **shown)


def _replace(struct: Struct, **changes: Any) -> Struct:
    """A copy with these changes."""
    return msgspec.structs.replace(struct, **changes)


_DRIVES: dict[Seam, Drive] = {
    Seam.BUILD: _build_tree,
    Seam.LAY_OUT: _lay_out,
    Seam.TREE_LOGITS: _tree_logits,
    Seam.ACCEPT: _accept,
    Seam.ACCEPT_SAMPLED: law_drive.accept_sampled,
    Seam.SAMPLED_SESSION: law_drive.open_sampled,
    Seam.MOVE: _move,
    Seam.ATTEND: attended_rounds,
    Seam.GENERATE: _generate,
}
