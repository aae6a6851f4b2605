"""The candidate tree and its layout in one target pass."""

from tree_oracle.tree.candidate import CandidateTree as CandidateTree
from tree_oracle.tree.invalid import InvalidTree as InvalidTree
from tree_oracle.tree.invalid import TreeFault as TreeFault
from tree_oracle.tree.layout import Layout as Layout
from tree_oracle.tree.layout import additive as additive
from tree_oracle.tree.layout import lay_out as lay_out
from tree_oracle.tree.layout import permuted as permuted
from tree_oracle.tree.validate import TreeArrays as TreeArrays
