"""Every planted fault of a law."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tree_oracle.faults.laws.fault import LawFault
from tree_oracle.faults.laws.node_faults import NODE_FAULTS
from tree_oracle.faults.laws.round_faults import ROUND_FAULTS
from tree_oracle.faults.laws.wide_faults import WIDE_FAULTS
from tree_oracle.record.names import by_name

LAW_FAULTS: Mapping[str, LawFault] = MappingProxyType(by_name((*NODE_FAULTS, *ROUND_FAULTS, *WIDE_FAULTS)))
