"""Planted faults in the law of verification, and their harmless twins: the documented repairs."""

from tree_oracle.faults.laws.catalogue import LAW_FAULTS as LAW_FAULTS
from tree_oracle.faults.laws.fault import LawFault as LawFault
