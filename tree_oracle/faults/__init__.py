"""Planted faults and their harmless twins: the reference decoder with one part replaced."""

from tree_oracle.faults.catalogue import FAULTS as FAULTS
from tree_oracle.faults.catalogue import find_fault as find_fault
from tree_oracle.faults.fault import Fault as Fault
