"""All systems by name, this project first."""

from __future__ import annotations

from tree_oracle.record.names import by_name
from tree_oracle.tree.formats.convention import (
    AcceptCount,
    Bonus,
    Budget,
    Causality,
    DepthParameter,
    NodeOrder,
    Orientation,
    Polarity,
    Position,
    PrefixColumns,
    PrefixLength,
    RootParent,
    RootRow,
)
from tree_oracle.tree.formats.engines import ENGINES, KERNELS
from tree_oracle.tree.formats.research import RESEARCH
from tree_oracle.tree.formats.system import System

_OWN = System(
    name="tree_oracle",
    source="this project",
    polarity=(Polarity.ONE_ATTENDS,),
    orientation=Orientation.QUERY_KEY,
    causality=Causality.REPLACES,
    prefix=(PrefixColumns.DENSE,),
    root=RootRow.IN_FORWARD,
    budget=(Budget.WITHOUT_ROOT,),
    budget_name="N",
    depth=DepthParameter.LEVELS,
    root_parent=RootParent.MINUS_ONE,
    order=(NodeOrder.PARENTS_FIRST,),
    position=Position.ABSOLUTE,
    prefix_length=PrefixLength.WITH_ROOT,
    bonus=Bonus.NOW,
    accepted=(AcceptCount.DRAFTS,),
    sentinels="-1: no parent",
)
SYSTEMS: dict[str, System] = by_name((_OWN, *RESEARCH, *ENGINES, *KERNELS))
