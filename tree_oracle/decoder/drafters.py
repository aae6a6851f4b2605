"""Drafters that bring out what ordinary drafts do not: hand them to any decoder that takes its trees from ``draft(prefix)``.

Law: whatever is drafted decides how long the rounds are, never which tokens come out. So a decoder on any of these must emit
what plain greedy decoding emits.

    all-right            one branch of the target's own tokens: everything is accepted
    all-wrong            no token is the target's: nothing is
    partly-right         right for none, some or all levels, in turn, the right token last among its siblings; a leaf behind
                         deeper nodes
    over-confident       the same with every edge certain (log p = 0), the wrong ones too
    equal-siblings       tokens that stand twice below one parent; what is accepted lies behind such pairs; in turn two shapes
                         of as many nodes, for whoever keeps a mask by their number
    leaf-before-zero     a short branch that is right and ends where the target's next token is 0, beside a longer one
    special-tokens       token 0, the last of the vocabulary, padding, mask and end tokens as siblings at every level
    smaller-than-depth   no node, one, two: fewer levels than a decoder may have made room for

and for a decoder that takes one branch alone, as all-right and smaller-than-depth are,

    all-wrong-chain, partly-right-chain, over-confident-chain      as above, without siblings
    special-tokens-chain                                           right for no level or one, then one of the special tokens

A drafter is told the target's own text beforehand and asks nobody, so the same drafts come again on every machine. Where a
decoder has left that text, the drafts are those of the place that it has come to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tree_oracle.record import UsageError
from tree_oracle.tree import CandidateTree

DEPTH = 3  # levels of the deepest of these drafts
_WRONG = 7  # added to a token to make another of it


@dataclass(frozen=True, slots=True)
class Place:
    """Where a draft is asked for: the root, how far the text has come, and what the target will say next."""

    root: int
    count: int  # tokens emitted so far
    ahead: tuple[int, ...]
    vocab_size: int
    special: tuple[int, ...]  # padding, mask and end tokens

    def wrong(self, token: int, by: int = 1) -> int:
        """A token that is not ``token``; another one for each ``by`` below the size of the vocabulary over 7."""
        return (token + _WRONG * by) % self.vocab_size


class _Sketch:
    """A tree while it is drawn."""

    def __init__(self, root: int) -> None:
        self.tokens, self.parents = [root], [-1]

    def add(self, parent: int, *tokens: int) -> int:
        """Siblings below ``parent``; the last of them."""
        self.tokens += tokens
        self.parents += [parent] * len(tokens)
        return len(self.tokens) - 1

    def tree(self, *, certain: bool = False) -> CandidateTree:
        return CandidateTree(self.tokens, self.parents, [0.0] * len(self.tokens) if certain else None)


def _branch(root: int, tokens: Sequence[int], *, certain: bool = False) -> CandidateTree:
    """One branch below the root."""
    return CandidateTree([root, *tokens], list(range(-1, len(tokens))), [0.0] * (len(tokens) + 1) if certain else None)


def _chain(place: Place, right: int, *, certain: bool = False) -> CandidateTree:
    """One branch, right for so many levels and then wrong."""
    tokens = [token if depth < right else place.wrong(token) for depth, token in enumerate(place.ahead)]
    return _branch(place.root, tokens, certain=certain)


def _all_right(place: Place) -> CandidateTree:
    return _branch(place.root, place.ahead)


def _all_wrong(place: Place) -> CandidateTree:
    sketch, here = _Sketch(place.root), 0
    for token in place.ahead[:2]:
        here = sketch.add(here, place.wrong(token, 2), place.wrong(token))
    return sketch.tree()


def _partly_right(place: Place, *, certain: bool = False) -> CandidateTree:
    sketch, here = _Sketch(place.root), 0
    for depth, token in enumerate(place.ahead):
        right = depth < place.count % (len(place.ahead) + 1)
        here = sketch.add(here, place.wrong(token), token if right else place.wrong(token, 2))
        if depth == 0:
            sketch.add(here - 1, place.wrong(token, 3))  # a leaf below the wrong one, so that slots are scattered
    if len(place.ahead) > 1:
        sketch.add(1, place.wrong(place.ahead[0], 4))  # one behind deeper nodes, so that slots are not level by level
    return sketch.tree(certain=certain)


def _over_confident(place: Place) -> CandidateTree:
    return _partly_right(place, certain=True)


def _equal_siblings(place: Place) -> CandidateTree:
    sketch, here = _Sketch(place.root), 0
    for depth, token in enumerate(place.ahead[:2]):
        wrong = place.wrong(token)
        before = [wrong, wrong]
        if place.count % 2 and len(place.ahead) > 1:  # one sibling goes down a level
            before = [*before, place.wrong(token, 2)] if depth else [wrong]
        here = sketch.add(here, *before, token)
    return sketch.tree()


def _leaf_before_zero(place: Place) -> CandidateTree:
    count = place.ahead.index(0) if 0 in place.ahead else 1
    sketch, here = _Sketch(place.root), 0
    for token in place.ahead[: max(count, 1)]:
        here = sketch.add(here, token)
    here = sketch.add(0, place.wrong(place.ahead[0]))
    for by in range(1, DEPTH):
        here = sketch.add(here, place.wrong(place.ahead[0], by + 1))
    return sketch.tree()


def _special_tokens(place: Place) -> CandidateTree:
    sketch, here = _Sketch(place.root), 0
    for token in place.ahead[:2]:
        here = sketch.add(here, *_special_but(place, token), token)
    return sketch.tree()


def _special_but(place: Place, token: int) -> list[int]:
    return [one for one in dict.fromkeys((*place.special, 0, place.vocab_size - 1)) if one != token]


def _smaller_than_depth(place: Place) -> CandidateTree:
    return _branch(place.root, place.ahead[: place.count % DEPTH])


def _all_wrong_chain(place: Place) -> CandidateTree:
    return _chain(place, 0)


def _partly_right_chain(place: Place, *, certain: bool = False) -> CandidateTree:
    return _chain(place, place.count % (len(place.ahead) + 1), certain=certain)


def _over_confident_chain(place: Place) -> CandidateTree:
    return _partly_right_chain(place, certain=True)


def _special_tokens_chain(place: Place) -> CandidateTree:
    right = min(place.count % 2, len(place.ahead) - 1)
    special = _special_but(place, place.ahead[right])
    return _branch(place.root, [*place.ahead[:right], special[place.count // 2 % len(special)]])


DRAFTERS: Mapping[str, Callable[[Place], CandidateTree]] = MappingProxyType(
    {
        "all-right": _all_right,
        "all-wrong": _all_wrong,
        "partly-right": _partly_right,
        "over-confident": _over_confident,
        "equal-siblings": _equal_siblings,
        "leaf-before-zero": _leaf_before_zero,
        "special-tokens": _special_tokens,
        "smaller-than-depth": _smaller_than_depth,
        "all-wrong-chain": _all_wrong_chain,
        "partly-right-chain": _partly_right_chain,
        "over-confident-chain": _over_confident_chain,
        "special-tokens-chain": _special_tokens_chain,
    }
)


@dataclass(frozen=True, slots=True)
class ToldDraft:
    """One of ``DRAFTERS`` over one text.

    Args:
        name: which one.
        prompt: the tokens before the text.
        text: what the target emits after them; drafts reach as far as this does.
        vocab_size: of the target.
        special: tokens with a meaning of their own: padding, mask and end tokens.

    Raises:
        UsageError: there is no drafter of that name.
    """

    name: str
    prompt: tuple[int, ...]
    text: tuple[int, ...]
    vocab_size: int
    special: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.name not in DRAFTERS:
            raise UsageError(f"no drafter is named {self.name!r}; expected one of {', '.join(DRAFTERS)}")

    def __call__(self, prefix: Sequence[int]) -> CandidateTree:
        """The tree for the next round, whose root is the last token of ``prefix``: prompt and everything committed."""
        count = max(len(prefix) - len(self.prompt), 0)
        ahead = self.text[count : count + DEPTH]
        root = int(prefix[-1])
        if not ahead:
            return CandidateTree([root], [-1])
        return DRAFTERS[self.name](Place(root, count, ahead, self.vocab_size, self.special))
