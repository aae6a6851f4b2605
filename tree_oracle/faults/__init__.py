"""Planted faults and their harmless twins: the reference decoder with one part, or its way to sample, replaced."""

from tree_oracle.faults.catalogue import FAULTS as FAULTS
from tree_oracle.faults.fault import Fault as Fault
from tree_oracle.faults.planted import PLANTED as PLANTED
from tree_oracle.faults.planted import Planted as Planted
from tree_oracle.faults.planted import find_fault as find_fault
