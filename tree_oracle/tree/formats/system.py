"""What is known of one system's conventions: one field for each convention, empty where no source says."""

from __future__ import annotations

from dataclasses import dataclass

from tree_oracle.tree.formats.convention import (
    AcceptCount,
    Bonus,
    Budget,
    Causality,
    DepthParameter,
    Duplicates,
    LeafOrder,
    LinkIndex,
    Listing,
    Metric,
    NodeOrder,
    Orientation,
    Packing,
    PadToken,
    Polarity,
    Position,
    PrefixColumns,
    PrefixLength,
    RootParent,
    RootRow,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """Conventions of a system, several where it has several."""

    name: str
    source: str  # the code at the revision that was read
    polarity: tuple[Polarity, ...] = ()
    orientation: Orientation | None = None
    causality: Causality | None = None
    prefix: tuple[PrefixColumns, ...] = ()
    packing: Packing | None = None
    root: RootRow | None = None
    budget: tuple[Budget, ...] = ()
    budget_name: str = ""
    depth: DepthParameter | None = None
    root_parent: RootParent | None = None
    order: tuple[NodeOrder, ...] = ()
    listing: Listing | None = None
    duplicates: Duplicates | None = None
    position: Position | None = None
    prefix_length: PrefixLength | None = None
    links: LinkIndex | None = None
    leaves: tuple[LeafOrder, ...] = ()
    pad: PadToken | None = None
    scoring_row: str = ""  # in addition to: a child is judged with its parent's row
    bonus: Bonus | None = None
    accepted: tuple[AcceptCount, ...] = ()
    metric: Metric | None = None
    cache: str = ""  # how the accepted rows of the cache are kept
    sentinels: str = ""
    batch: str = ""
