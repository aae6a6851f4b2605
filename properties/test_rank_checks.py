"""RANK: ranks of one group that differ anywhere are found in the round where they first do, and near ties are forced."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from grounds import ground
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tree_oracle.checks import CHECKS, outcomes_of
from tree_oracle.checks.drive import drive
from tree_oracle.checks.near import NEAR
from tree_oracle.checks.say import NothingToJudge
from tree_oracle.checks.view import View
from tree_oracle.decoder import ReferenceDecoder, Seam
from tree_oracle.decoder.ranks import NOISE, own_rows
from tree_oracle.faults import FAULTS
from tree_oracle.record import Case, EndReason, Peer, Round

SAME: dict[str, Any] = {
    "prefix": (5, 7),
    "tokens": (7, 1, 2),
    "parents": (-1, 0, 0),
    "accepted": (2,),
    "bonus": 9,
    "emitted": (2, 9),
    "kept": (0, 2),
    "end": EndReason.CAP,
}
OTHER: dict[str, Any] = {
    "prefix": (5, 6, 7),
    "tokens": (7, 1, 3),
    "parents": (-1, 0, 1),
    "accepted": (1,),
    "bonus": 8,
    "emitted": (2,),
    "kept": (0,),
    "end": EndReason.EOS,
}
FIELDS = {
    "RANK-01": ("tokens", "parents"),
    "RANK-02": ("accepted", "bonus", "emitted", "end"),
    "RANK-03": ("kept", "prefix"),
}


def judged(check: str, *rounds: Round) -> list[Any]:
    return list(CHECKS[check].judge(View(Case(prefix=(5, 7)), rounds, ground().truth)))


@given(st.sampled_from(sorted(SAME)), st.integers(0, 2), st.integers(1, 3))
def test_a_rank_that_differs_is_named(field: str, place: int, rank: int) -> None:
    """Any field of any rank in any round is compared by the one check whose law it is, and by no other."""
    peers = [[Peer(rank=r, **SAME) for r in (1, 2, 3)] for _ in range(3)]
    peers[place][rank - 1] = Peer(rank=rank, **{**SAME, field: OTHER[field]})
    rounds = [Round(**SAME, peers=tuple(found)) for found in peers]
    for check, fields in FIELDS.items():
        found = judged(check, *rounds)
        assert len(found) == (field in fields)
        assert all((one.round, f"rank {rank} has" in one.sentence) == (place, True) for one in found)


def test_what_no_other_rank_shows_is_not_observable() -> None:
    """Ranks that show nothing of a law say nothing about it; what one of them shows is compared."""
    rounds = (Round(**SAME, peers=(Peer(rank=1, emitted=(2, 9)),)),)
    assert not judged("RANK-02", *rounds)
    for check in ("RANK-01", "RANK-03"):
        with pytest.raises(NothingToJudge, match="no other rank shows"):
            judged(check, *rounds)


def test_ranks_that_verify_no_draft_show_nothing() -> None:
    """Ranks that agree on plain decoding have shown nothing of speculation, except where the trees are handed over."""
    bare: dict[str, Any] = {**SAME, "tokens": (7,), "parents": (-1,), "accepted": (), "emitted": (9,), "kept": (0,)}
    for check in FIELDS:
        with pytest.raises(NothingToJudge, match="no witness"):
            judged(check, Round(**bare, peers=(Peer(rank=1, **bare),)))


@given(npst.arrays(np.float32, (3, 8), elements=st.integers(-500, 500).map(float), unique=True))
def test_the_noise_of_a_simulated_rank_breaks_near_ties_and_no_others(rows: np.ndarray[Any, Any]) -> None:
    """A simulated rank prefers another token exactly where the two best are closer than its noise."""
    mine = own_rows(rows)
    for row, noisy in zip(rows, mine, strict=True):
        best, second = np.sort(row)[::-1][:2]
        room = np.float32(NOISE * (row.max() - row.min()))
        assert (noisy.argmax() != row.argmax()) == (best - room < second) or best - room == second
    assert not np.shares_memory(rows, mine)


@pytest.mark.parametrize("spec", ["exact", "tiny:qwen3"])
def test_near_ties_are_forced_on_every_target(spec: str) -> None:
    """Each listed case holds both tokens of a near tie side by side, and a rank that decides by itself strays there."""
    found = ground(spec)
    for case in NEAR.listed(found.stock.stage):
        target = found.target
        right = drive(ReferenceDecoder(target), Seam.SESSION, case, target.vocab_size)
        wrong = drive(FAULTS["decision-not-broadcast"].decoder(target), Seam.SESSION, case, target.vocab_size)
        assert right[0].accepted == (2, 3)
        assert outcomes_of(case, right)["near tie between siblings"]
        assert not any(judged(check, *right) for check in FIELDS)
        (finding,) = judged("RANK-02", *wrong)
        assert finding.round == 0
        assert wrong[0].peers is not None
        assert wrong[0].peers[0].accepted == (1,)
        assert [r.emitted for r in wrong] == [r.emitted for r in right]


def test_a_rank_that_has_strayed_stays_astray() -> None:
    """After a decision of its own a simulated rank begins the next round with another text than rank 0."""
    found = ground()
    target, case = found.target, NEAR.listed(found.stock.stage)[0]
    rounds = drive(FAULTS["decision-not-broadcast"].decoder(target), Seam.SESSION, case, target.vocab_size)
    (finding,) = judged("RANK-03", *(msgspec.structs.replace(round_, kept=None) for round_ in rounds))
    assert finding.round == 1
