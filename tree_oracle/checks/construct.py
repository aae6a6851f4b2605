"""CONSTRUCT: the tree that is proposed, before any target runs.

Law: it is one tree below the root token, parents first, siblings distinct. Where the decoder declares the policy that it
builds by, the tree keeps the policy's bounds, and is the one that the policy builds, or, where scores tie exactly, one of
those that it allows. A wrong tree never makes wrong text; it costs acceptance, or it is laid out as another tree than was
scored. A decoder that declares no policy is judged by the laws that every tree has. The first of them also holds of the trees
that a decoder shows beside a text of its own, where the root is the last token that was committed before the round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tree_oracle.checks.check import Source, check
from tree_oracle.checks.drafts import DRAFTS
from tree_oracle.checks.policy import DeclaredPolicy
from tree_oracle.checks.say import NothingToJudge, fail, listing
from tree_oracle.checks.scenes import PROMPTS
from tree_oracle.checks.view import View, branch, shown
from tree_oracle.construct import TableDraft
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import DraftData, Finding, Round, Status, counted
from tree_oracle.tree import CandidateTree

_NEEDS = ("prefix", "tokens", "parents")
_SOURCES = (Source(Seam.BUILD, DRAFTS),)
_DEFINITION = "the definition of a candidate tree (docs/plug-in-your-decoder.md)"
_POLICY = "the declared policy (docs/conventions.md)"

Path = tuple[int, ...]


@check("CONSTRUCT-01", rung=1, needs=_NEEDS, sources=(*_SOURCES, Source(Seam.GENERATE, PROMPTS)), source=_DEFINITION)
def is_a_tree(view: View) -> Iterator[Finding]:
    """Node 0 holds the root token, and every other node hangs from a node stored before it and holds a token of the draft.

    Woken by pruning among equal scores, where a node can be kept without its parent, and by any branching. Real causes: a
    lookup of the parent that is off by one, an unstable order of equal scores, indices of the pool left in the tree. Of trees
    that are shown with a text: the root of the round before, the root left out.
    """
    vocab_size = view.truth.vocab_size if view.case.draft is None else view.case.draft.vocab_size
    for index, round_ in enumerate(view.rounds):
        found = _not_a_tree(round_, vocab_size)
        if found is not None:
            node, sentence, expected = found
            _, tokens, parents = shown(round_)
            seen = f"tokens {listing(tokens, 33)}, parents {listing(parents, 33)}"
            yield fail(sentence, expected=expected, seen=seen, round=index, node=node)
            return


def _not_a_tree(round_: Round, vocab_size: int) -> tuple[int | None, str, str] | None:
    """The first node that is wrong, what is wrong with it, and what was expected."""
    prefix, tokens, parents = shown(round_)
    if not tokens:
        return None, "the tree has no nodes, not even the root", "the root as node 0"
    if tokens[0] != prefix[-1] or parents[0] != -1:
        said = f"node 0 holds token {tokens[0]} and has parent {parents[0]}"
        return 0, said, f"the root: token {prefix[-1]}, the last one that is committed, parent -1"
    for node in range(1, len(tokens)):
        if not 0 <= parents[node] < node:
            return node, f"node {node} {_misplaced(node, parents[node], len(tokens))}", "a parent stored before it"
        if not 0 <= tokens[node] < vocab_size:
            return node, f"node {node} holds token {tokens[node]}", f"a token of the draft, 0 to {vocab_size - 1}"
    return None


def _misplaced(node: int, parent: int, count: int) -> str:
    if parent == node:
        return "is its own parent"
    if 0 <= parent < count:
        return f"is stored before its parent, node {parent}"
    return f"has no parent: {parent} is no node of the tree"


@check("CONSTRUCT-02", rung=1, needs=_NEEDS, sources=_SOURCES, source=_POLICY)
def keeps_its_bounds(view: View) -> Iterator[Finding]:
    """The tree has no more nodes, levels, children of one node and parents on one level than the declared policy allows.

    The budget counts no root. Woken by drafts with more candidates than the bounds leave room for. Real causes: levels
    counted without the root in one place and with it in another, a frontier that is not cut.
    """
    policy = _policy(view)
    bounds = {name: policy.bound(name) for name in ("budget", "depth", "branching", "frontier")}
    for index, round_ in enumerate(_trees(view)):
        for name, (count, what) in _measures(round_).items():
            bound = bounds[name]
            if bound is not None and count > bound:
                yield fail(
                    f"the tree has {what}", expected=f"at most {bound}, the declared {name}", seen=count, round=index
                )
                return


def _measures(round_: Round) -> dict[str, tuple[int, str]]:
    """What each bound limits: how many there are, and in words."""
    _, _, parents = shown(round_)
    depths = [len(branch(parents, node)) - 1 for node in range(len(parents))]
    children = Counter(parents[1:])
    widest = max(children, key=lambda node: children[node], default=0)
    level = Counter(depths[node] for node in children)
    fullest = max(level, key=lambda depth: level[depth], default=0)
    return {
        "budget": (len(parents) - 1, f"{counted(len(parents) - 1, 'node')}, the root not counted"),
        "depth": (max(depths), f"{counted(max(depths), 'level')} below the root"),
        "branching": (children[widest], f"{children[widest]} children below node {widest}"),
        "frontier": (level[fullest], f"{counted(level[fullest], 'node')} with children at depth {fullest}"),
    }


@check("CONSTRUCT-03", rung=1, needs=_NEEDS, sources=_SOURCES, source=_DEFINITION)
def siblings_are_distinct(view: View) -> Iterator[Finding]:
    """No two children of one node hold the same token.

    A node is a token with its history, so the second of equal siblings says nothing new: it takes a place and a row of the
    target pass. Woken by one token under several parents of one level. Real causes: parents found by token and depth, beams
    merged without their children.
    """
    for index, round_ in enumerate(_trees(view)):
        _, tokens, parents = shown(round_)
        first: dict[tuple[int, int], int] = {}
        for node in range(1, len(tokens)):
            twin = first.setdefault((parents[node], tokens[node]), node)
            if twin != node:
                yield fail(
                    f"nodes {twin} and {node} are children of node {parents[node]} with the same token {tokens[node]}",
                    expected="distinct siblings",
                    seen=f"token {tokens[node]} twice below node {parents[node]}",
                    round=index,
                    node=node,
                )
                return


@check("CONSTRUCT-04", rung=1, needs=_NEEDS, sources=_SOURCES, source=_POLICY)
def is_what_the_policy_builds(view: View) -> Iterator[Finding]:
    """The tree is the one that the declared policy builds from the same draft, or one that it allows where scores tie.

    Nodes are compared by their tokens from the root on: the storage order is the decoder's own. Draft probabilities are
    powers of two, so scores tie exactly or not at all, and no rounding can be blamed. A policy that was named is not held to
    drafts that look at more than its own do, nor to any where the tree depends on what was not declared. Real causes: a score
    without the parent's, a law asked for another token or depth, a budget that counts the root, equal scores ordered deeper
    first.
    """
    policy, draft, data = _policy(view), TableDraft.of(_draft(view)), _draft(view)
    reason = policy.unfit(data)
    if reason:
        raise NothingToJudge(Status.NOT_APPLICABLE, reason)
    for index, round_ in enumerate(_trees(view)):
        prefix, tokens, parents = shown(round_)
        due = policy.build(draft, prefix[-1])
        wanted, seen = _paths(due.tokens.tolist(), due.parents.tolist()), _paths(tokens, parents)
        if sorted(wanted) != sorted(seen) and not policy.admits(CandidateTree(tokens, parents), draft, prefix[-1]):
            yield _difference(data, prefix[-1], wanted, seen, index)
            return


def _difference(data: DraftData, root: int, wanted: list[Path], seen: list[Path], index: int) -> Finding:
    """What is there and should not be, of the worst score, beside what is missing, of the best."""

    def rank(path: Path) -> tuple[float, int, Path]:
        return _halvings(data, root, path), len(path), path

    missing = sorted(set(wanted) - set(seen), key=rank)
    extra = sorted(set(seen) - set(wanted), key=rank) or [path for path, count in Counter(seen).items() if count > 1]
    told = [f"holds {_node(data, root, extra[-1])}"] if extra else []
    told += [f"lacks {_node(data, root, missing[0])}"] if missing else []
    return fail(
        f"the tree {' and '.join(told)}",
        expected=f"{counted(len(wanted) - 1, 'node')}; not there: {listing(map(list, missing)) if missing else 'none'}",
        seen=f"{counted(len(seen) - 1, 'node')}; not expected: {listing(map(list, extra)) if extra else 'none'}",
        round=index,
        node=seen.index(extra[-1]) if extra else None,
    )


def _node(data: DraftData, root: int, path: Path) -> str:
    halvings = _halvings(data, root, path)
    chance = "0" if halvings == float("inf") else "1" if halvings == 0 else f"1/{2 ** int(halvings)}"
    return f"{list(path)} (depth {len(path)}, probability {chance})"


def _halvings(data: DraftData, root: int, path: Path) -> float:
    """How often probability 1 is halved on the way; infinite where a step is impossible."""
    total, before = 0.0, root
    for depth, token in enumerate(path):
        below = data.laws[min(depth, len(data.laws) - 1)]
        letter = below[min(before, len(below) - 1)][token]
        total += float("inf") if letter == "-" else int(letter)
        before = token
    return total


def _paths(tokens: Sequence[int], parents: Sequence[int]) -> list[Path]:
    """By slot the tokens from below the root to the node."""
    return [tuple(tokens[v] for v in branch(parents, node)[1:]) for node in range(len(tokens))]


def _policy(view: View) -> DeclaredPolicy:
    if view.tree_policy is None:
        raise NothingToJudge(Status.NOT_OBSERVABLE, "the decoder declares no tree_policy")
    return view.tree_policy


def _draft(view: View) -> DraftData:
    assert view.case.draft is not None
    return view.case.draft


def _trees(view: View) -> tuple[Round, ...]:
    """The rounds, if all of them show a tree: of anything else CONSTRUCT-01 speaks alone."""
    if any(_not_a_tree(round_, _draft(view).vocab_size) is not None for round_ in view.rounds):
        raise NothingToJudge(Status.NOT_APPLICABLE, "what was built is no tree; see CONSTRUCT-01")
    return view.rounds
