"""The scene ``drafts``: a draft over a vocabulary of its own, at most eight tokens, and a root. No target is asked.

Probabilities are powers of two, so that every tie is planned: equal tokens at the cut of the top k, equal scores at the cut
of a frontier and of the budget, and certain edges, below which a child scores as its parent.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tree_oracle.checks.scene import Scene, Stage
from tree_oracle.record import Case, DraftData
from tree_oracle.strategies import draft_tables

_STEEP = "12345677"  # each token half as likely as the one before
_CERTAIN = tuple("-" * token + "0" + "-" * (7 - token) for token in range(8))  # every token is followed by itself


def _turned(law: str, by: int) -> str:
    return law[-by:] + law[:-by]


# The law by depth and parent token; with the default bounds, a budget of 32 among them, each meets the condition it is for.
_LISTED: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = (
    ("one token is certain at every depth", (("0-------",),)),
    ("certain edges below more candidates than the budget, all equal", (("2222----",), ("2222----",), _CERTAIN)),
    ("all tokens are equally likely", (("33333333",),)),
    ("one branch is much deeper than the others", ((_STEEP,),)),
    ("the law turns with the parent's token", (tuple(_turned(_STEEP, token) for token in range(8)),)),
    ("the law turns with the depth", tuple((_turned(_STEEP, 3 * depth),) for depth in range(7))),
    ("fewer candidates than the budget", (("1--1----",), _CERTAIN)),
    (
        "equal tokens at the cut, with different laws below",
        (("223333--",), ("0-------", _STEEP, "11------", "33333333")),
    ),
    ("equal parents at the cut of the frontier", (("22333--3",), (_STEEP, "1--22---", "2-333333", "-22-2--2"))),
    ("two tokens, one of them impossible after the other", (("11------",), ("-0------", "11------"))),
)


def _listed(stage: Stage) -> list[Case]:
    roots = (0, 3, 7)
    return [
        Case(prefix=(roots[index % len(roots)],), draft=DraftData(laws), note=note)
        for index, (note, laws) in enumerate(_LISTED)
    ]


def _drawn(draw: st.DrawFn, stage: Stage) -> Case:
    draft = draw(draft_tables())
    return Case(prefix=(draw(st.integers(0, draft.vocab_size - 1)),), draft=draft)


DRAFTS = Scene("drafts", _listed, st.composite(_drawn), trees=range(1), drafted=True, drawn=_drawn)
