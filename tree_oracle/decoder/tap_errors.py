"""Why a tap may have nothing to say. Neither is a verdict on the decoder: no evidence is not a pass, and no failure either."""

from __future__ import annotations

from tree_oracle.record import DecoderError, TreeOracleError


class Unexplained(TreeOracleError):
    """The target calls do not account for the text: not observable, with the reason.

    ``accounted`` counts the emitted tokens that they do account for.
    """

    def __init__(self, reason: str, accounted: int = 0) -> None:
        super().__init__(reason)
        self.accounted = accounted


class Undrafted(Unexplained):
    """The target calls account for the text, and none of them scores a draft."""


class Unfinished(DecoderError):
    """The decoder broke down under the tap. There is no text to read the calls by, so only its end can be judged."""
