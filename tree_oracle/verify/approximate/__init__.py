"""Named approximate acceptance modes: they can be run and measured, and are never reported as exact."""

from tree_oracle.verify.approximate.best_available import best_path as best_path
from tree_oracle.verify.approximate.best_available import best_step as best_step
from tree_oracle.verify.approximate.lenience import Lenience as Lenience
from tree_oracle.verify.approximate.longest_row import longest_row as longest_row
from tree_oracle.verify.approximate.registry import APPROXIMATE as APPROXIMATE
from tree_oracle.verify.approximate.registry import REDUCED as REDUCED
from tree_oracle.verify.approximate.thresholds import Thresholds as Thresholds
from tree_oracle.verify.approximate.top_beta import TopBeta as TopBeta
from tree_oracle.verify.approximate.typical import Typical as Typical
