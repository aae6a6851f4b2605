"""A worked example of TreeSpark: packed order, scores, and the tie that is built into it."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tree_oracle.construct import MarkovDraft, TreeSpark, admissible, paths_of

EXAMPLE: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "fixtures" / "treespark_section1.json").read_text(encoding="utf-8")
)
POLICY = TreeSpark(**EXAMPLE["policy"])
ROOT: int = EXAMPLE["root"]


def draft() -> MarkovDraft:
    """The example's draft: with one embedding entry per token the projection holds the transitions themselves."""
    transition = np.array(EXAMPLE["transition"])
    return MarkovDraft(np.array(EXAMPLE["unary"]), np.eye(len(transition)), transition.T)


def exact_score(path: list[int]) -> Decimal:
    """The sum of log-probabilities in forty digits, straight from the example's logits."""
    total, before = Decimal(0), ROOT
    with localcontext() as context:
        context.prec = 40
        for unary, token in zip(EXAMPLE["unary"], path, strict=False):
            logits = [
                Decimal(str(a)) + Decimal(str(b)) for a, b in zip(unary, EXAMPLE["transition"][before], strict=True)
            ]
            total += logits[token] - sum((logit.exp() for logit in logits), Decimal(0)).ln()
            before = token
    return total


def test_the_example_is_packed_as_written_down() -> None:
    """Order, size of the pool and scores are those of the example, and the scores are right to the last digit."""
    built = POLICY.build(draft(), ROOT)
    paths = [built.tree.tokens[list(built.tree.path(node)[1:])].tolist() for node in range(1, len(built.tree))]
    assert paths == [entry["path"] for entry in EXAMPLE["packed"]]
    assert built.pool_size == EXAMPLE["pool_size"]
    for entry, score in zip(EXAMPLE["packed"], built.scores[1:].tolist(), strict=True):
        assert score == pytest.approx(entry["score"], abs=5e-7)
        assert score == pytest.approx(float(exact_score(entry["path"])), abs=1e-15, rel=1e-14)


def test_the_built_in_tie_is_resolved_by_token_id_and_admits_the_others() -> None:
    """With room for one of the tied children the smallest token id is taken, and any other is as admissible."""
    tied = EXAMPLE["tied"]
    policy = TreeSpark(**EXAMPLE["policy"] | {"budget": tied["budget"]})
    reference = frozenset(map(tuple, tied["reference"]))
    assert paths_of(policy.build(draft(), ROOT).tree) == reference
    also = {frozenset(map(tuple, paths)) for paths in tied["also_admissible"]}
    assert admissible(policy, draft(), ROOT) == also | {reference}
