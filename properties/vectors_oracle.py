"""A second answer to every vector: plain Python over the JSON alone, slow and obvious, without a line of the project.

What a vector expects is worked out again from its input, group by group, and compared as JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from vectors_formats import ENCODERS, depths_of, path_to, sees
from vectors_policies import admitted
from vectors_refusals import is_encoding, natural, repairs


def _trees(asked: Any) -> Any:
    parents, cached = asked["parents"], asked["prefix_len"] - 1
    nodes = range(len(parents))
    return {
        "depths": depths_of(parents),
        "positions": [cached + depth for depth in depths_of(parents)],
        "score_rows": parents,
        "visible": ["1" * cached + "".join(str(int(sees(parents, v, u))) for u in nodes) for v in nodes],
    }


def _is_tree(tokens: list[int], parents: list[int]) -> bool:
    """One root, stored first, and every other node below an earlier one."""
    later = all(0 <= parent < node for node, parent in enumerate(parents) if node)
    return len(tokens) == len(parents) and parents[:1] == [-1] and later and natural(*tokens)


def _malformed_trees(asked: Any) -> Any:
    tokens, parents = asked["tokens"], asked["parents"]
    assert not _is_tree(tokens, parents), "this is a tree"
    found = []
    for name, values in (("parents", parents), ("tokens", tokens)):
        for at in range(len(values) if len(tokens) == len(parents) else 0):
            others = ([*values[:at], other, *values[at + 1 :]] for other in range(-1, len(parents)))
            if any(_is_tree(tokens, o) if name == "parents" else _is_tree(o, parents) for o in others):
                found.append([name, at])
    return {"at": found}


def _pairs(trees: Any) -> list[tuple[list[int], list[int]]]:
    return [(tree["tokens"], tree["parents"]) for tree in trees]


def _encode(asked: Any) -> Any:
    return {"documents": ENCODERS[asked["format"]](_pairs(asked["trees"]), asked["prefix_lens"])}


def _malformed(asked: Any) -> Any:
    (document,), (length,) = asked["documents"], asked["prefix_lens"]
    assert not is_encoding(asked["format"], document, length), "this is an encoding of a tree"
    return {"at": repairs(asked["format"], document, length)}


def _merge(asked: Any) -> Any:
    paths = {
        tuple(tokens[node] for node in path_to(parents, node)[1:])
        for tokens, parents in _pairs(asked["trees"])
        for node in range(1, len(tokens))
    }
    return {"trees": [sorted(map(list, paths), key=lambda path: (len(path), path))]}


def _merge_draws(asked: Any) -> Any:
    """Every draft's nodes grouped by the path above them, in the order of drafts and slots."""
    below: dict[tuple[int, ...], list[list[int]]] = {(): []}
    for number, draft in enumerate(asked["drafts"]):
        paths = [
            tuple(draft["tokens"][up] for up in path_to(draft["parents"], node)[1:])
            for node in range(len(draft["parents"]))
        ]
        for path, count in list(zip(paths, draft["counts"], strict=True))[1:]:
            below.setdefault(path, [])
            below[path[:-1]].append([path[-1], number, count])
    return {
        "nodes": [
            {"after": list(path), "draws": below[path]} for path in sorted(below, key=lambda one: (len(one), one))
        ]
    }


def _walks(asked: Any, here: int = 0) -> Iterator[tuple[list[int], list[int]]]:
    tokens, parents = asked["tree"]["tokens"], asked["tree"]["parents"]
    row = asked["rows"][here]
    best = max(score for score in row if score is not None)
    equal = [token for token, score in enumerate(row) if score == best]
    choice = equal[0] if asked["tie_rule"] == "smallest id" else equal[-1]
    following = [node for node, parent in enumerate(parents) if parent == here and tokens[node] == choice]
    if not following:
        yield [], [choice]
    for node in following:
        for accepted, emitted in _walks(asked, node):
            yield [node, *accepted], [choice, *emitted]


def _greedy(asked: Any) -> Any:
    return {"outcomes": [{"accepted": accepted, "emitted": emitted} for accepted, emitted in _walks(asked)]}


def _stop(asked: Any) -> Any:
    """One token after the other, each reason asked for in its order before and after every token."""
    limits = asked["limits"]
    text, emitted = asked["length"], asked["emitted"]

    def full() -> str | None:
        if emitted >= limits["max_new_tokens"]:
            return "cap"
        most = limits.get("max_length")
        return "context" if most is not None and text >= most else None

    out: list[int] = []
    while not (end := full()) and len(out) < len(asked["proposed"]):
        out.append(asked["proposed"][len(out)])
        text, emitted = text + 1, emitted + 1
        if out[-1] in limits.get("eos_ids", []):
            return {"emitted": out, "end": "eos"}
    return {"emitted": out, "end": end}


ORACLES: dict[str, Callable[[Any], Any]] = {
    "trees": _trees,
    "malformed-trees": _malformed_trees,
    "encode": _encode,
    "malformed": _malformed,
    "construct": lambda asked: {"trees": admitted(asked)},
    "construct-ties": lambda asked: {"trees": admitted(asked)},
    "merge": _merge,
    "merge-draws": _merge_draws,
    "greedy": _greedy,
    "greedy-ties": _greedy,
    "stop": _stop,
}


def agrees(group: str, vector: Any) -> bool:
    """Whether a vector expects what its input says by this implementation."""
    asked, expected = vector["input"], vector["expected"]
    if group == "decode":  # the only trees that have these documents, as encoders are injective
        there = {"format": asked["format"], "trees": expected["trees"], "prefix_lens": asked["prefix_lens"]}
        fit = len(expected["trees"]) == len(asked["prefix_lens"])
        return fit and bool(_encode(there)["documents"] == asked["documents"])
    found = ORACLES[group](asked)
    return bool(_sorted(found) == _sorted(expected))


def _sorted(expected: Any) -> Any:
    """Where the order of several right answers means nothing."""
    if "outcomes" in expected:
        return sorted((one["accepted"], one["emitted"]) for one in expected["outcomes"])
    return expected
