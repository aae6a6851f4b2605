"""The checks: one judge per law, grouped in families, with the cases that wake every known class of fault."""

from tree_oracle.checks import (  # noqa: F401  (importing a family registers its checks)
    attend,
    batch,
    chain,
    commit,
    construct,
    gather,
    greedy,
    history,
    law,
    law_text,
    metric,
    move,
    move_states,
    numeric,
    outcomes_paths,
    outcomes_shared,
    pathstate,
    position,
    ranks,
    sequence,
    speculation,
    stop,
    visible,
    work,
)
from tree_oracle.checks.check import CHECKS as CHECKS
from tree_oracle.checks.check import Check as Check
from tree_oracle.checks.check import Source as Source
from tree_oracle.checks.outcomes import OUTCOMES as OUTCOMES
from tree_oracle.checks.outcomes import outcomes_of as outcomes_of
from tree_oracle.checks.scene import Scene as Scene
from tree_oracle.checks.scene import Stage as Stage
from tree_oracle.checks.select import choose as choose
from tree_oracle.checks.view import View as View
from tree_oracle.checks.witness import witness_of as witness_of
