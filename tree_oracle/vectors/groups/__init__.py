"""What makes the vectors of each group, in the order of the files."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tree_oracle.vectors.groups.construct import construct, construct_ties
from tree_oracle.vectors.groups.encodings import decode, encode
from tree_oracle.vectors.groups.greedy import greedy, greedy_ties
from tree_oracle.vectors.groups.kit import Kit
from tree_oracle.vectors.groups.malformed import malformed, malformed_trees
from tree_oracle.vectors.groups.merging import merge, merge_draws
from tree_oracle.vectors.groups.stop import stop
from tree_oracle.vectors.groups.trees import trees

MAKERS: Mapping[str, Callable[[], Kit]] = MappingProxyType(
    {
        "trees": trees,
        "malformed-trees": malformed_trees,
        "encode": encode,
        "decode": decode,
        "malformed": malformed,
        "construct": construct,
        "construct-ties": construct_ties,
        "merge": merge,
        "merge-draws": merge_draws,
        "greedy": greedy,
        "greedy-ties": greedy_ties,
        "stop": stop,
    }
)
