"""From what the rows of one call see, and where they sit, to the tree they were meant to be.

Rule. In a right call node v sees its parent's branch and itself, S(v) = S(parent(v)) + {v}, and sits one position behind its
parent. Where both hold throughout, the tree is certain. Where they do not, something is wrong, and the tree that was *meant*
is looked for, so that the law which is broken can fail instead of being read as the law of another tree:

1. Mask and positions are each those of a tree, but of different ones. If each node sees an earlier one at the position before
   its own, positions are followed, and what it sees besides is a leak. Otherwise the mask is followed, and positions are wrong.
   (Two of three facts are read so: an edge that only the mask has and one that only the positions lack look the same. The text
   is the third: where the tree so read does not hold the tokens that were emitted, the other one is taken, in all calls alike.)
2. Only positions are those of a tree: they are followed. Of several nodes at the position before its own, the parent is one
   that is seen if any is, one through which the text goes if any is, then one whose branch holds most of what is seen.
   Before that, a mask whose inverse, or whose transpose, is that of the tree at just these positions, is read as that tree:
   where a node sees all but its branch, or what is below it, the nodes that it sees tell nothing of its parent.
3. Neither: the parent is the earlier node seen that itself sees most.

A wrong guess costs the name of the fault, not the failure: whatever the parents, a mask, a position or a row contradicts them.
Where the text decides nothing, the judges of masks and positions see that both trees fit, and blame neither (``checks.doubt``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Int

Mask = Bool[np.ndarray, "n n"]  # [v, u]: v sees u
Links = Bool[np.ndarray, "n n"]  # [u, v]: u may be the parent of v


def tree_of_mask(visible: Mask) -> tuple[int, ...] | None:
    """The parents of the tree whose mask this is; None if it is none. Parents may be stored after their children."""
    owner = {row.tobytes(): node for node, row in enumerate(visible)}
    without_itself = visible & ~np.eye(len(visible), dtype=bool)
    parents = [owner.get(row.tobytes(), -1) for row in without_itself]
    rooted = bool(visible.diagonal().all()) and not without_itself[0].any() and min(parents[1:], default=0) >= 0
    return (-1, *parents[1:]) if rooted else None


def parents_first(visible: Mask) -> Int[np.ndarray, " n"]:
    """An order in which parents stand before their children: the slots as they are, where they do so already."""
    parents = tree_of_mask(visible)
    if parents is None or all(parent < node for node, parent in enumerate(parents)):
        return np.arange(len(visible))
    return np.argsort(np.count_nonzero(visible, axis=1), kind="stable")


def possible_links(visible: Mask, positions: Sequence[int], *, second: bool = False) -> Links:
    """Which node may be whose parent, by the rule above. Every node but the root has one; parents are stored first.

    ``second``: where mask and positions are each those of a tree, but of different ones, take the other.
    """
    steps = np.asarray(positions) - positions[0]
    parents = tree_of_mask(visible)
    if parents is None and (turned := _turned(visible, steps)) is not None:
        return _links(turned)
    levels = _by_position(steps)
    seen = levels & visible.T
    if parents is not None:
        agreed = np.array_equal(np.count_nonzero(visible, axis=1) - 1, steps)
        if agreed or _whole(seen) == second or not _whole(levels):
            return _links(parents)
    elif not _whole(levels):
        return _deepest_seen(visible)
    return np.where(seen.any(axis=0), seen, levels)


def _turned(visible: Mask, steps: Int[np.ndarray, " n"]) -> tuple[int, ...] | None:
    """The parents of the tree whose inverted or transposed mask this is, where the positions are those of that tree too."""
    for mask in (~visible, visible.T):
        parents = tree_of_mask(mask)
        if parents is None or any(parent >= node for node, parent in enumerate(parents)):
            continue
        if np.array_equal(np.count_nonzero(mask, axis=1) - 1, steps):
            return parents
    return None


def paths(links: Links, tokens: Sequence[int], text: Sequence[int]) -> list[tuple[int, ...]]:
    """The way of ``text`` down from the root: entry i is a branch of i nodes that hold its first i tokens, root excluded.

    Among several branches the one through the smallest slots.
    """
    level: dict[int, tuple[int, ...]] = {0: ()}
    found: list[tuple[int, ...]] = [()]
    for token in text:
        below: dict[int, tuple[int, ...]] = {}
        for node, path in level.items():
            for child in np.flatnonzero(links[node]).tolist():
                if tokens[child] == token:
                    below.setdefault(child, (*path, child))
        if not below:
            break
        level = dict(sorted(below.items(), key=lambda entry: entry[1]))
        found.append(next(iter(level.values())))
    return found


def settled(links: Links, visible: Mask, path: Sequence[int]) -> tuple[int, ...]:
    """One parent per node, -1 for the root: along ``path`` as it goes, elsewhere by what is seen."""
    above = dict(zip(path, (0, *path), strict=False))
    branches = np.eye(len(links), dtype=bool)
    parents = [-1]
    for node in range(1, len(links)):
        candidates = np.flatnonzero(links[:, node]).tolist()
        shared = {u: int((branches[u] & visible[node]).sum()) for u in candidates}
        parent = above[node] if node in above else max(candidates, key=lambda u: (shared[u], u))
        branches[node] |= branches[parent]
        parents.append(parent)
    return tuple(parents)


def mask_of(parents: Sequence[int]) -> Mask:
    """What the nodes of a tree should see of it."""
    visible = np.eye(len(parents), dtype=bool)
    for node, parent in enumerate(parents[1:], start=1):
        visible[node] |= visible[parent]
    return visible


def _links(parents: Sequence[int]) -> Links:
    links = np.zeros((len(parents), len(parents)), dtype=bool)
    links[list(parents[1:]), np.arange(1, len(parents))] = True
    return links


def _by_position(steps: Int[np.ndarray, " n"]) -> Links:
    """Earlier nodes at the position before one's own."""
    return np.asarray(np.triu(steps[:, None] + 1 == steps[None, :], 1))


def _whole(links: Links) -> bool:
    """Whether every node but the root has a possible parent."""
    return bool(links[:, 1:].any(axis=0).all())


def _deepest_seen(visible: Mask) -> Links:
    earlier: Links = np.triu(visible.T, 1)
    earlier[0, 1:] |= ~earlier[:, 1:].any(axis=0)  # what sees nothing before it hangs below the root
    sizes = np.where(earlier, visible.sum(axis=1, keepdims=True), -1)
    return np.asarray(earlier & (sizes == sizes.max(axis=0)))
