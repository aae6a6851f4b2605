"""What holds for the corpus holds beyond it: for drafts and trees that were never written down, and for any reply at all."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from vectors_formats import ENCODERS
from vectors_oracle import agrees

from tree_oracle.record import AdapterError, Status
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.formats import FORMATS, holds
from tree_oracle.vectors import load_all
from tree_oracle.vectors.answers import answer, outcomes, stopped
from tree_oracle.vectors.chance import Chance
from tree_oracle.vectors.judge import Reply, judge
from tree_oracle.vectors.model import Encode, Refused, Stop, Walk, Walked
from tree_oracle.vectors.protocol import read_greeting, read_reply
from tree_oracle.vectors.shapes import SHAPES, named

seeds = st.integers(0, 2**32)
ALL = [(group.operation, vector) for group in load_all() for vector in group.vectors]


@given(seed=seeds, name=st.sampled_from(sorted(FORMATS)), sizes=st.lists(st.integers(1, 40), min_size=1, max_size=3))
def test_any_batch_is_encoded_as_the_second_implementation_has_it(seed: int, name: str, sizes: list[int]) -> None:
    """For trees of any shape and size the documents are those of the second implementation, entry for entry."""
    chance, encoding = Chance("property", seed), FORMATS[name]
    sizes = [sizes[0]] * len(sizes) if encoding.demands.one_size else sizes
    trees = [named(chance, SHAPES[chance.pick(list(SHAPES))](chance, n)) for n in sizes]
    if all(holds(encoding, CandidateTree(tree.tokens, tree.parents)) for tree in trees):
        asked = Encode(name, tuple(trees), tuple(chance.between(1, 9) for _ in trees))
        plain = json.loads(msgspec.json.encode(asked))
        pairs = [(tree["tokens"], tree["parents"]) for tree in plain["trees"]]
        expected = ENCODERS[name](pairs, plain["prefix_lens"])
        assert json.loads(msgspec.json.encode(answer(asked)))["documents"] == expected


@given(seed=seeds)
def test_any_walk_is_the_second_implementations(seed: int) -> None:
    """For any tree, equal siblings included, and any rows, ties included, under both rules the outcomes are the same."""
    chance = Chance("property", seed)
    tree = named(chance, SHAPES["any order"](chance, chance.between(1, 9)), 3)
    tokens = tuple(chance.below(3) for _ in tree.tokens)
    rows = tuple((chance.pick([0, 1, 1, None]), chance.below(2), chance.pick([0, 1, None])) for _ in tokens)
    rule: Any = chance.pick(["smallest id", "largest id"])
    asked = Walk(msgspec.structs.replace(tree, tokens=tokens), rows, rule)
    assert agrees("greedy", json.loads(msgspec.json.encode({"input": asked, "expected": Walked(outcomes(asked))})))


@given(asked=st.from_type(Stop))
def test_any_stop_is_the_second_implementations(asked: Stop) -> None:
    """Whatever the limits and the tokens, the same tokens are emitted for the same reason."""
    found = stopped(asked)
    assert agrees("stop", json.loads(msgspec.json.encode({"input": asked, "expected": found})))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**4000),
    lambda parts: (
        st.lists(parts, max_size=3)
        | st.dictionaries(
            st.sampled_from(["documents", "emitted", "end", "tokens", "parents", "trees", "x"]), parts, max_size=4
        )
    ),
    max_leaves=12,
)


@given(line=st.binary(max_size=80) | anything.map(lambda value: json.dumps(value).encode()))
def test_any_line_is_a_message_or_an_adapter_error(line: bytes) -> None:
    """Whatever a program writes, reading it ends in a message or in an AdapterError, and in nothing else."""
    with contextlib.suppress(AdapterError):
        read_reply(line, "a")
    with contextlib.suppress(AdapterError):
        read_greeting(line)


@given(asked=st.sampled_from(ALL), reply=st.fixed_dictionaries(
    {}, optional={"answer": anything, "refused": st.text(max_size=3), "at": st.just((0, "x")), "error": st.text(max_size=3)}
))  # fmt: skip
def test_any_reply_has_a_verdict_and_nonsense_never_passes(asked: Any, reply: dict[str, Any]) -> None:
    """Whatever the answer holds there is a verdict with a sentence, and only a refusal passes, where it is due."""
    operation, vector = asked
    verdict = judge(operation, vector, Reply(vector.id, **reply))
    assert len(verdict.sentence) < 2000
    if verdict.status is Status.PASSED:
        assert isinstance(vector.expected, Refused)
        assert reply.keys() <= {"refused", "at", "answer"}
        assert reply.get("answer") is None
    else:
        assert verdict.sentence
