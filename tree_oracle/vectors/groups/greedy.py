"""Groups ``greedy`` and ``greedy-ties``: rows of a target over a tree, and the path that greedy verification accepts."""

from __future__ import annotations

from typing import Literal

from tree_oracle.vectors.answers import outcomes
from tree_oracle.vectors.chance import Chance
from tree_oracle.vectors.groups.kit import Kit
from tree_oracle.vectors.model import Outcome, Tree, Walk, Walked
from tree_oracle.vectors.shapes import SHAPES, depths_of, every, named

_VOCAB = 12
TieRule = Literal["smallest id", "largest id"]
Row = tuple[int | None, ...]


def greedy() -> Kit:
    """Every end of a walk over every small tree, and drawn ones over larger trees."""
    kit = Kit("greedy", "walk", "The accepted path and the emitted tokens. No two scores of a row are equal.")
    chance = Chance("greedy")
    for n in range(1, 5):
        for parents in every(n):
            for last in range(n):
                tree = named(chance, parents, 4)
                _add(kit, f"all trees of {n} nodes, the path to node {last}", _leading(chance, tree, last))
    for number in range(110):
        n = chance.pick([5, 8, 9, 16, 17, 33])
        tree = named(chance, SHAPES[chance.pick(list(SHAPES))](chance, n), _VOCAB - 1)
        if max(tree.tokens) < _VOCAB:
            last = chance.below(n)
            _add(kit, f"drawn tree {number} of {n} nodes, the path to node {last}", _leading(chance, tree, last))
    return kit


def greedy_ties() -> Kit:
    """Equal maxima under both rules, and equal siblings, which leave several right outcomes."""
    kit = Kit("greedy-ties", "walk", "Equal scores and equal siblings. The tie rule is part of the input.")
    chance = Chance("greedy-ties")
    rules: tuple[TieRule, ...] = ("smallest id", "largest id")
    for number in range(80):
        tree = named(chance, SHAPES[chance.pick(list(SHAPES))](chance, chance.between(2, 9)), 6)
        last = chance.below(len(tree.tokens))
        rows = tuple(_tied(chance, row) for row in _leading(chance, tree, last).rows)
        for rule in rules:
            _add(kit, f"equal maxima {number}, {rule}", Walk(tree, rows, rule))
    for number in range(50):
        tree = _twins(chance, named(chance, SHAPES["any order"](chance, chance.between(3, 9)), 4))
        _add(kit, f"equal siblings {number}", _leading(chance, tree, chance.below(len(tree.tokens))))
    return kit


def _leading(chance: Chance, tree: Tree, last: int) -> Walk:
    """Rows whose choices lead to node ``last`` and, unless a child happens to hold the bonus, no further."""
    vocab = max(_VOCAB, max(tree.tokens) + 2)
    choices = {node: chance.below(vocab) for node in range(len(tree.tokens))}
    taken = {token for token, parent in zip(tree.tokens, tree.parents, strict=True) if parent == last}
    choices[last] = chance.pick([token for token in range(vocab) if token not in taken])
    node = last
    while tree.parents[node] >= 0:
        choices[tree.parents[node]] = tree.tokens[node]
        node = tree.parents[node]
    return Walk(tree, tuple(_row(chance, vocab, choices[node]) for node in range(len(tree.tokens))), "smallest id")


def _row(chance: Chance, vocab: int, choice: int) -> Row:
    """Distinct scores, a few tokens forbidden, the chosen one best."""
    scores = chance.shuffled(range(-vocab, vocab))[:vocab]
    row: list[int | None] = [None if chance.below(9) == 0 else score for score in scores]
    row[choice] = vocab + chance.below(5)
    return tuple(row)


def _tied(chance: Chance, row: Row) -> Row:
    """The same with one or two more tokens as good as the best."""
    best = max(score for score in row if score is not None)
    equal = {chance.below(len(row)) for _ in range(chance.between(1, 2))}
    return tuple(best if token in equal else score for token, score in enumerate(row))


def _twins(chance: Chance, tree: Tree) -> Tree:
    """A child of the root made equal to one of its siblings, if there are two."""
    below = [node for node, parent in enumerate(tree.parents) if parent == 0]
    if len(below) < 2:
        return Tree((*tree.tokens, tree.tokens[below[0]]), (*tree.parents, 0))
    one, other = chance.shuffled(below)[:2]
    return Tree(
        tuple(tree.tokens[one] if node == other else token for node, token in enumerate(tree.tokens)), tree.parents
    )


def _add(kit: Kit, comment: str, asked: Walk) -> None:
    found = outcomes(asked)
    kit.add(comment, _flags(asked, found), asked, Walked(found))


def _flags(asked: Walk, found: tuple[Outcome, ...]) -> set[str]:
    tree, accepted = asked.tree, found[0].accepted
    here = accepted[-1] if accepted else 0
    children = {node: [c for c, p in enumerate(tree.parents) if p == node] for node in range(len(tree.tokens))}
    depths, row = depths_of(tree.parents), asked.rows[here]
    visited = [asked.rows[node] for node in (0, *accepted)]
    tied = [_best(row) for row in visited if len(_best(row)) > 1]
    siblings = [children[tree.parents[node]] for node in accepted]
    second = sorted(range(len(row)), key=lambda token: (row[token] is None, -(row[token] or 0)))[1]
    earned = {
        "NothingAccepted": not accepted,
        "AllAccepted": bool(accepted) and not children[here],
        "InnerStop": bool(children[here]),
        "ShallowLeaf": bool(accepted) and not children[here] and depths[here] < max(depths),
        "LastChild": any(len(few) > 1 and few[-1] == node for few, node in zip(siblings, accepted, strict=True)),
        "Scattered": accepted != tuple(range(1, len(accepted) + 1)),
        "LaterRank": any(node in range(at + 2, len(accepted) + 1) for at, node in enumerate(accepted)),
        "Forbidden": any(None in row for row in visited),
        "SecondBest": any(tree.tokens[child] == second for child in children[here]),
        "ExactTie": bool(tied),
        "TieWithChild": len(_best(row)) > 1 and any(tree.tokens[child] in _best(row) for child in children[here]),
        "EqualSiblings": any(len({tree.tokens[c] for c in few}) < len(few) for few in children.values()),
    }
    return {flag for flag, there in earned.items() if there}


def _best(row: Row) -> list[int]:
    best = max(score for score in row if score is not None)
    return [token for token, score in enumerate(row) if score == best]
