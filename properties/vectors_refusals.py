"""Whether a document of one small request is an encoding of any tree at all, and which entries would have to change.

By enumeration: every tree of that size is encoded and compared. Where an encoding leaves something open (the order of a list,
the numbers of sequences, ranks with gaps) its own few lines below say what any reader must be able to read off it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from vectors_formats import ENCODERS, medusa_of, path_to, sees, trees_of, vllm_of

Place = list[int | str]
MOST = 2**63


def natural(*values: Any) -> bool:
    """Whether these are integers from 0 on that fit 64 bits."""
    return all(type(value) is int and 0 <= value < MOST for value in values)


def rectangular(rows: list[Any]) -> bool:
    return len({len(row) for row in rows}) == 1


def is_encoding(name: str, document: Any, prefix_len: int) -> bool:
    """Whether some tree has this document."""
    if name == "json":
        document = json.loads(document)
    tokens = _tokens(document)
    if tokens is not None and (not tokens or not natural(*tokens)):
        return False
    if name in OPEN:
        return OPEN[name](document, prefix_len)
    assert tokens is not None
    return any(_encoded(name, tokens, parents, prefix_len) == document for parents in trees_of(len(tokens), name))


def repairs(name: str, document: Any, prefix_len: int) -> list[Place]:
    """Every entry whose change alone makes of it what an encoder writes for some tree with these tokens."""
    if name == "json":
        document = json.loads(document)
    found = list(_repairs(name, document, prefix_len))
    unique = {json.dumps(place): place for place in found}
    return sorted(unique.values(), key=lambda place: [(isinstance(step, str), step) for step in place])


def _repairs(name: str, document: Any, prefix_len: int) -> Iterator[Place]:
    if name == "child-maps":
        yield from ([0, *place] for place in _renumbered(document))
        return
    tokens = [token if natural(token) else 0 for token in _tokens(document) or []]
    for parents in trees_of(len(tokens), name):
        there = dict(leaves(_encoded(name, tokens, parents, prefix_len)))
        here = dict(leaves(document))
        different = [place for place in here if here[place] != there.get(place)]
        if here.keys() == there.keys() and len(different) == 1:
            yield [0, *different[0]]


def _renumbered(document: Any) -> Iterator[Place]:
    for place, _ in leaves(document):
        for value in range(len(document["maps"])):
            other = copy.deepcopy(document)
            holder = other
            for step in place[:-1]:
                holder = holder[step]
            if not isinstance(holder, dict) or place[-1] not in holder:
                continue
            holder[place[-1]] = value
            if isinstance(other.get("maps"), list) and _maps(other, 1):
                yield list(place)


def leaves(value: Any, at: tuple[int | str, ...] = ()) -> Iterator[tuple[tuple[int | str, ...], Any]]:
    """Every entry that holds no others, empty lists among them, with the way to it."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not isinstance(value, dict | list) or not value:
        yield at, value
    for key, entry in parts:
        yield from leaves(entry, (*at, key))


def _tokens(document: Any) -> list[int] | None:
    """The tokens of the only request; None in child maps, where they are keys."""
    tokens = document.get("tokens")
    return tokens[0] if tokens and isinstance(tokens[0], list) else tokens


def _encoded(name: str, tokens: list[int], parents: list[int], prefix_len: int) -> Any:
    (document,) = ENCODERS[name]([(tokens, parents)], [prefix_len])
    return json.loads(document) if name == "json" else document


def _choices(document: Any, as_listed: bool) -> bool:
    listed = document["choices"]
    ordered = listed if as_listed else sorted(listed, key=len)
    return (
        len(document["tokens"]) == len(listed) + 1
        and all(choice and natural(*choice) for choice in listed)
        and len({tuple(choice) for choice in listed}) == len(listed)
        and all(choice[:-1] in [[], *ordered[:at]] for at, choice in enumerate(ordered))
        and [len(choice) for choice in ordered] == sorted(len(choice) for choice in ordered)
    )


def _from_choices(make: Callable[..., Any], most: int) -> Callable[[Any, int], bool]:
    def check(document: Any, _: int) -> bool:
        right = _choices(document, False) and all(rank < most for choice in document["choices"] for rank in choice)
        return right and bool(make(document["tokens"], document["choices"]) == document)

    return check


def _pool(document: Any, _: int) -> bool:
    tokens, selected, owners = document["tokens"], document["selected"], document["parent_list"]
    places = len(owners) * 10
    return (
        len(tokens) == len(selected) + 1
        and bool(owners)
        and owners[0] == -1
        and all(natural(owner) and owner // 10 < group for group, owner in enumerate(owners) if group)
        and natural(*selected)
        and all(place < places for place in selected)
        and all(before < after for before, after in zip(selected, selected[1:], strict=False))
        and all(place < 10 or owners[place // 10] in selected for place in selected)
    )


def _sequences(document: Any, _: int) -> bool:
    tokens, starts, ids = document["tokens"], document["starts"], document["ids"]
    positions, n = document["positions"], len(document["tokens"])
    lengths_fit = len(starts) == n + 1 and len(positions) == n and starts[0] == 0 and starts[-1] == len(ids)
    if not lengths_fit or not natural(*positions) or any(a >= b for a, b in zip(starts, starts[1:], strict=False)):
        return False
    members = {number: [v for v in range(n) if number in ids[starts[v] : starts[v + 1]]] for number in ids}
    if any(len(set(ids[starts[v] : starts[v + 1]])) < starts[v + 1] - starts[v] for v in range(n)):
        return False
    above: dict[int, set[int]] = {v: set() for v in range(n)}
    for nodes in members.values():
        ordered = sorted(nodes, key=lambda v: positions[v])
        steps = [positions[after] - positions[before] for before, after in zip(ordered, ordered[1:], strict=False)]
        if ordered[0] != 0 or set(steps) - {1}:
            return False
        for before, after in zip(ordered, ordered[1:], strict=False):
            above[after].add(before)
    return len(tokens) == n and all(len(above[v]) == 1 and max(above[v]) < v for v in range(1, n))


def _seen_by(document: Any, cached: int) -> list[list[bool]]:
    """[query][key] of the intervals of a predicate."""
    (query,), (enter,), (leave,) = document["enter_query"], document["enter_key"], document["leave_key"]
    return [[enter[k] <= entered < leave[k] for k in range(len(enter))] for entered in query]


def _predicate(document: Any, prefix_len: int) -> bool:
    tokens, cached = document["tokens"][0], prefix_len - 1
    n, tables = len(tokens), [document[name][0] for name in ("enter_query", "enter_key", "leave_key")]
    if [len(table) for table in tables] != [n, n + cached, n + cached] or any(
        abs(v) >= MOST for t in tables for v in t
    ):
        return False
    seen = _seen_by(document, cached)
    return any(
        seen == [[k < cached or sees(parents, q, k - cached) for k in range(cached + n)] for q in range(n)]
        for parents in trees_of(n, "predicate")
    )


def _intervals(document: Any, _: int) -> bool:
    enter, leave, n = document["enter"], document["leave"], len(document["tokens"])
    if (
        len(leave) != n
        or sorted(enter) != list(range(n))
        or not all(first < last <= n for first, last in zip(enter, leave, strict=True))
    ):
        return False
    nested = all(leave[v] <= leave[u] for u in range(n) for v in range(n) if enter[u] <= enter[v] < leave[u])
    seen = [[enter[u] <= enter[v] < leave[u] for u in range(n)] for v in range(n)]
    return nested and any(
        seen == [[sees(parents, v, u) for u in range(n)] for v in range(n)] for parents in trees_of(n, "intervals")
    )


def _rows(document: Any, ends: Callable[[list[int]], list[int]]) -> bool:
    """Rows of the paths to the wanted nodes, -1 after the end."""
    rows, n = document["rows"], len(document["tokens"])
    if not rows or not rectangular(rows):
        return False
    stripped = [row[: row.index(-1)] if -1 in row else row for row in rows]
    if any(set(row[len(kept) :]) - {-1} for row, kept in zip(rows, stripped, strict=True)):
        return False
    return any(
        sorted(stripped) == sorted(path_to(parents, end) for end in ends(parents)) for parents in trees_of(n, "rows")
    )


def _node_rows(document: Any, _: int) -> bool:
    in_order = [max(row, default=-1) for row in document["rows"]] == list(range(len(document["tokens"])))
    return in_order and _rows(document, lambda parents: list(range(len(parents))))


def _reached(children: list[list[int]]) -> bool:
    found = sorted(child for here in children for child in here)
    later = all(node < child for node, here in enumerate(children) for child in here)
    return later and found == list(range(1, len(children)))


def _maps(document: Any, _: int) -> bool:
    tokens = [document["root"], *(int(token) for here in document["maps"] for token in here)]
    return natural(*tokens) and _reached([list(here.values()) for here in document["maps"]])


def _successors(document: Any, _: int) -> bool:
    return len(document["tokens"]) == len(document["successors"]) and _reached(document["successors"])


# What a reader must be able to read where there is more than one way to write it.
OPEN: dict[str, Callable[[Any, int], bool]] = {
    "choices": lambda document, _: _choices(document, False),
    "choices-as-listed": lambda document, _: _choices(document, True),
    "medusa": _from_choices(medusa_of, 10),
    "vllm": _from_choices(vllm_of, MOST),
    "pool": _pool,
    "sequence-ids": _sequences,
    "predicate": _predicate,
    "intervals": _intervals,
    "leaf-paths": lambda document, _: _rows(
        document, lambda parents: [node for node in range(len(parents)) if node not in parents]
    ),
    "node-paths": _node_rows,
    "child-maps": _maps,
    "successors": _successors,
}
