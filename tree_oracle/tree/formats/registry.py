"""Every encoding under one name, with the parameters that published systems fix. Whoever needs others calls the module."""

from __future__ import annotations

from tree_oracle.record import UsageError
from tree_oracle.record.names import by_name
from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.format import Format
from tree_oracle.tree.formats.link_formats import LINK_FORMATS
from tree_oracle.tree.formats.mask_formats import MASK_FORMATS

FORMATS: dict[str, Format] = by_name((*MASK_FORMATS, *LINK_FORMATS))


def find_format(name: str) -> Format:
    """The encoding of that name.

    Raises:
        UsageError: there is none.
    """
    if name not in FORMATS:
        raise UsageError(f"no encoding is named {name!r}; expected one of {', '.join(FORMATS)}")
    return FORMATS[name]


def holds(encoding: Format, tree: CandidateTree) -> bool:
    """Whether a tree meets what the encoding demands of a single one."""
    demands = encoding.demands
    siblings = [tree.children(node) for node in range(len(tree))]
    return (
        (demands.most_nodes is None or len(tree) <= demands.most_nodes)
        and (demands.most_siblings is None or all(len(few) <= demands.most_siblings for few in siblings))
        and not (
            demands.distinct_siblings and any(len(set(tree.tokens[list(few)].tolist())) < len(few) for few in siblings)
        )
        and not (demands.level_order and bool((tree.parents[1:] < tree.parents[:-1]).any()))
    )
