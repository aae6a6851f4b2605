"""Running a battery of checks against one decoder, and proving that the battery can fail.

What runs a decoder in this process needs torch, so its names are resolved on first use: a command that hands the work to a
child process never loads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_oracle._lazy import lazy_names
from tree_oracle.run.budget import PROFILES as PROFILES
from tree_oracle.run.budget import Budget as Budget
from tree_oracle.run.budget import profile_budget as profile_budget
from tree_oracle.run.carry import Interrupted as Interrupted
from tree_oracle.run.carry import carry_out as carry_out
from tree_oracle.run.cases import keep_case as keep_case
from tree_oracle.run.cases import load_case as load_case
from tree_oracle.run.cases import replay as replay
from tree_oracle.run.cases import save_cases as save_cases
from tree_oracle.run.cases import seen_again as seen_again
from tree_oracle.run.child_visit import Caps as Caps
from tree_oracle.run.known import KnownFailures as KnownFailures
from tree_oracle.run.known import KnownFailuresError as KnownFailuresError
from tree_oracle.run.known import no_known_failures as no_known_failures
from tree_oracle.run.known import read_known as read_known
from tree_oracle.run.known import refuse_untrue as refuse_untrue
from tree_oracle.run.lookup import find_decoder as find_decoder
from tree_oracle.run.plan import Plan as Plan

if TYPE_CHECKING:
    from tree_oracle.run.battery import Battery as Battery
    from tree_oracle.run.crossing import Cell as Cell
    from tree_oracle.run.crossing import Named as Named
    from tree_oracle.run.crossing import matrix as matrix
    from tree_oracle.run.doctor import examine as examine
    from tree_oracle.run.examined import Examined as Examined
    from tree_oracle.run.in_process import run_battery as run_battery
    from tree_oracle.run.proof import Proof as Proof
    from tree_oracle.run.proof import prove as prove
    from tree_oracle.run.subject import Subject as Subject
    from tree_oracle.run.subject import make_subject as make_subject

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Battery": "tree_oracle.run.battery",
        "run_battery": "tree_oracle.run.in_process",
        "Examined": "tree_oracle.run.doctor",
        "examine": "tree_oracle.run.doctor",
        "Cell": "tree_oracle.run.crossing",
        "Named": "tree_oracle.run.crossing",
        "matrix": "tree_oracle.run.crossing",
        "Proof": "tree_oracle.run.proof",
        "prove": "tree_oracle.run.proof",
        "Subject": "tree_oracle.run.subject",
        "make_subject": "tree_oracle.run.subject",
    },
)
