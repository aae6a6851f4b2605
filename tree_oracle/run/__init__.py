"""Running a battery of checks against one decoder, and proving that the battery can fail."""

from tree_oracle.run.battery import Battery as Battery
from tree_oracle.run.battery import run_battery as run_battery
from tree_oracle.run.budget import PROFILES as PROFILES
from tree_oracle.run.budget import Budget as Budget
from tree_oracle.run.budget import profile_budget as profile_budget
from tree_oracle.run.carry import Interrupted as Interrupted
from tree_oracle.run.carry import carry_out as carry_out
from tree_oracle.run.cases import keep_case as keep_case
from tree_oracle.run.cases import load_case as load_case
from tree_oracle.run.cases import replay as replay
from tree_oracle.run.cases import save_cases as save_cases
from tree_oracle.run.child_visit import Caps as Caps
from tree_oracle.run.doctor import Examined as Examined
from tree_oracle.run.doctor import examine as examine
from tree_oracle.run.known import KnownFailures as KnownFailures
from tree_oracle.run.known import KnownFailuresError as KnownFailuresError
from tree_oracle.run.known import read_known as read_known
from tree_oracle.run.lookup import find_decoder as find_decoder
from tree_oracle.run.matrix import Cell as Cell
from tree_oracle.run.matrix import Named as Named
from tree_oracle.run.matrix import matrix as matrix
from tree_oracle.run.plan import Plan as Plan
from tree_oracle.run.prove import Proof as Proof
from tree_oracle.run.prove import prove as prove
from tree_oracle.run.subject import Subject as Subject
from tree_oracle.run.subject import make_subject as make_subject
