"""Where laws of trees find the rounds that a decoder runs: in sessions, in texts, and on drafts that are handed over.

Ordinary drafts hold no token twice below one parent; some of those that are handed over do, so that a law which is judged on
a decoder's own drafts alone says nothing of such siblings.
"""

from __future__ import annotations

from tree_oracle.checks.check import Source
from tree_oracle.checks.drafted import DRAFTED, DRAFTERS_ASKED
from tree_oracle.checks.scenes import PROMPTS, ROUNDS
from tree_oracle.decoder.seams import Seam

ROUNDS_SEEN = (
    Source(Seam.SESSION, ROUNDS),
    Source(Seam.TAP, PROMPTS),
    Source(Seam.GENERATE, PROMPTS),
    Source(Seam.SESSION, DRAFTED),
    Source(Seam.GENERATE, DRAFTERS_ASKED),
)
