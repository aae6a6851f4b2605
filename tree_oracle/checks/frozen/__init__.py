"""Generated cases that were drawn once and are installed with this library: the same for every release of Hypothesis."""

from tree_oracle.checks.frozen.thaw import frozen_cases as frozen_cases
