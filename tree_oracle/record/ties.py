"""Which of several bit-equal maxima a decoder takes.

A rule is declared by the decoder (``tie_rule``) or read from its own plain run. Two decoders that break ties differently part
ways for good at the first tie, so rules must not be mixed within one decoder.
"""

from __future__ import annotations

from enum import StrEnum


class TieRule(StrEnum):
    """The token taken among bit-equal maxima."""

    SMALLEST = "smallest id"
    LARGEST = "largest id"
