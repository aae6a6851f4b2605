"""Reference construction of candidate trees: drafts, published policies, and the trees that they allow when scores tie."""

from tree_oracle.construct.admissible import Paths as Paths
from tree_oracle.construct.admissible import admissible as admissible
from tree_oracle.construct.admissible import paths_of as paths_of
from tree_oracle.construct.draft import HALVING as HALVING
from tree_oracle.construct.draft import Draft as Draft
from tree_oracle.construct.draft import MarkovDraft as MarkovDraft
from tree_oracle.construct.draft import TableDraft as TableDraft
from tree_oracle.construct.invalid import InvalidDraft as InvalidDraft
from tree_oracle.construct.policy import Built as Built
from tree_oracle.construct.policy import TreePolicy as TreePolicy
from tree_oracle.construct.treespark import Pool as Pool
from tree_oracle.construct.treespark import TreeSpark as TreeSpark
from tree_oracle.construct.treespark import packed_order as packed_order
