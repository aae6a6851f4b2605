"""A decoder by description: functions that a project already has, and what they mean by what they take and give.

    MyDecoder = describe(masked=their_mask, verify=their_verify, convention=Convention(mask="additive"))

is a factory ``target -> decoder`` with the seams ``lay_out``, ``tree_logits`` and ``accept``.

    given              becomes                  what the function gives
    layout             lay_out                  (mask, positions), or the buffers of an encoding
    masked             lay_out, tree_logits     the same; the target is run with it
    rows               tree_logits              a row per node, root first
    build              build_tree               (tokens, parents), or the buffers of an encoding
    verify             accept                   (accepted, bonus)
    verify_sampled     accept_sampled           (accepted, bonus)
    text               generate                 the tokens of a text; its rounds, where it takes ``on_round``

Each function is called by the names of its parameters (``arguments``). What is kept between rounds is seen through ``open``
alone, which no function without a state can offer; write that method yourself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

from tree_oracle.adapters.convention import Convention
from tree_oracle.adapters.described_rounds import Fields, check_fields
from tree_oracle.adapters.described_target import MaskedTarget, OwnRows, rows_taken
from tree_oracle.adapters.described_text import Generated, text_taken
from tree_oracle.adapters.described_trees import Buffers, Built, LaidOut, build_taken, layout_taken
from tree_oracle.adapters.described_verify import Verified, VerifiedByChance, greedy_taken, sampled_taken
from tree_oracle.construct import Declared
from tree_oracle.record import AdapterError, Misdescribed, UsageError
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree
from tree_oracle.verify.law import Declaration

Function = Callable[..., Any]


class Described:
    """A decoder with the methods that its description makes possible."""

    def __init__(self, description: Description, target: Target, methods: Mapping[str, Function]) -> None:
        self.description, self.target = description, target
        vars(self).update(methods)

    if TYPE_CHECKING:  # which of them are there, the description decides

        def __getattr__(self, name: str) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """See ``describe``. Called with a target, it makes the decoder."""

    layout: Function | None
    masked: Function | None
    rows: Function | None
    build: Function | None
    verify: Function | None
    verify_sampled: Function | None
    text: Function | None
    convention: Convention
    buffers: Buffers | None
    rounds: Fields
    attributes: tuple[tuple[str, Any], ...]

    def __call__(self, target: Target) -> Described:
        methods = {name: _blaming(method) for name, method in self._methods(target)}
        return Described(self, target, {**dict(self.attributes), **methods})

    def under(self, convention: Convention) -> Description:
        """The same functions, read under another convention."""
        return replace(self, convention=convention)

    def _methods(self, target: Target) -> Iterator[tuple[str, Function]]:
        function = self.layout or self.masked
        if function is not None:
            yield "lay_out", _lay_out(LaidOut(function, self.convention, self.buffers, target.model))
        if self.masked is not None:
            layout = LaidOut(self.masked, self.convention, self.buffers, target.model)
            yield "tree_logits", MaskedTarget(layout, target).tree_logits
        if self.rows is not None:
            yield "tree_logits", OwnRows(self.rows, self.convention, target).tree_logits
        if self.build is not None:
            yield "build_tree", Built(self.build, self.convention, self.buffers).build_tree
        if self.verify is not None:
            yield "accept", Verified(self.verify, self.convention).accept
        if self.verify_sampled is not None:
            yield "accept_sampled", VerifiedByChance(self.verify_sampled, self.convention).accept_sampled
        if self.text is not None:
            text = Generated(self.text, self.convention, self.rounds, target)
            yield "generate", text.generate_on if "draft" in text_taken(self.text) else text.generate


def _blaming(method: Function) -> Function:
    """The method, with the description blamed for what it cannot read; its parameters are still to be seen."""

    @wraps(method)
    def blaming(*given: Any, **named: Any) -> Any:
        try:
            return method(*given, **named)
        except AdapterError as error:
            raise Misdescribed(str(error)) from error

    return blaming


def _lay_out(layout: LaidOut) -> Function:
    def lay_out(tree: CandidateTree, prefix_len: int) -> Any:
        return layout.answer(layout.given(tree, prefix_len), tree, prefix_len)

    return lay_out


_TAKEN: dict[str, Function] = {
    "layout": layout_taken,
    "masked": layout_taken,
    "rows": rows_taken,
    "build": build_taken,
    "verify": greedy_taken,
    "verify_sampled": sampled_taken,
    "text": text_taken,
}


def describe(
    *,
    layout: Function | None = None,
    masked: Function | None = None,
    rows: Function | None = None,
    build: Function | None = None,
    verify: Function | None = None,
    verify_sampled: Function | None = None,
    text: Function | None = None,
    convention: Convention | None = None,
    encoding: str | None = None,
    names: Mapping[str, str] | None = None,
    rounds: Fields | None = None,
    tree_policy: Declared | None = None,
    declared_mode: Declaration | None = None,
    tie_rule: str | None = None,
) -> Description:
    """A factory ``target -> decoder`` made of functions.

    Args:
        layout, masked, rows, build, verify, verify_sampled, text: the functions; see the module.
        convention: what they mean by what they take and give; ours if it is not said.
        encoding: the encoding (``tree_oracle.tree.formats.FORMATS``) in which ``layout``, ``masked`` and ``build`` answer.
        names: the project's names of the encoding's fields, where they are others.
        rounds: the project's names of a round's fields, or a function that reads a record (``described_rounds``).
        tree_policy, declared_mode, tie_rule: what the decoder declares; see ``tree_oracle.decoder.seams``.

    Raises:
        UsageError: no function is given; one needs what it cannot be handed; two would make the same seam; or the encoding,
            a field or a value of the convention is none.
    """
    given = {
        "layout": layout,
        "masked": masked,
        "rows": rows,
        "build": build,
        "verify": verify,
        "verify_sampled": verify_sampled,
        "text": text,
    }
    if not any(given.values()):
        raise UsageError(f"nothing is described; expected at least one of {', '.join(given)}")
    if masked is not None and (layout is not None or rows is not None):
        raise UsageError("masked stands for both layout and rows; expected it alone, or the other two")
    for name, function in given.items():
        if function is not None:
            _TAKEN[name](function)
    if names and encoding is None:
        raise UsageError("names are those of an encoding's fields; expected encoding=... beside them")
    check_fields(rounds or {})
    declared = {"tree_policy": tree_policy, "declared_mode": declared_mode, "tie_rule": tie_rule}
    return Description(
        **given,
        convention=convention or Convention(),
        buffers=None if encoding is None else Buffers(encoding, names or {}),
        rounds=rounds or {},
        attributes=tuple((name, value) for name, value in declared.items() if value is not None),
    )
