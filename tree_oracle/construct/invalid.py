"""What can be wrong with a draft handed in from outside."""

from __future__ import annotations

from tree_oracle.record import TreeOracleError


class InvalidDraft(TreeOracleError, ValueError):
    """A draft whose numbers are no log-probabilities, or whose parts do not fit together."""
