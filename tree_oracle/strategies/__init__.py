"""Hypothesis strategies for trees and what goes with them: adversarial, and shrinking to few nodes and small tokens."""

from tree_oracle.strategies.drafts import draft_tables as draft_tables
from tree_oracle.strategies.invalid import InvalidArrays as InvalidArrays
from tree_oracle.strategies.invalid import invalid_log_probs as invalid_log_probs
from tree_oracle.strategies.invalid import invalid_trees as invalid_trees
from tree_oracle.strategies.moves import draw_move as draw_move
from tree_oracle.strategies.moves import move_data as move_data
from tree_oracle.strategies.moves import placed as placed
from tree_oracle.strategies.orders import storage_orders as storage_orders
from tree_oracle.strategies.orders import topological_orders as topological_orders
from tree_oracle.strategies.scripted import ScriptedTree as ScriptedTree
from tree_oracle.strategies.scripted import scripted_trees as scripted_trees
from tree_oracle.strategies.tables import greedy_tables as greedy_tables
from tree_oracle.strategies.tokens import prefixes as prefixes
from tree_oracle.strategies.tokens import token_ids as token_ids
from tree_oracle.strategies.trees import candidate_trees as candidate_trees
