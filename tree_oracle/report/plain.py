"""Text that somebody else wrote, made fit to be shown: nothing invisible, nothing that turns the line round, nothing endless.

A decoder's messages stand in reports. Controls, lone surrogates and marks of direction (Unicode TR 36, section 2.5) are
written as JSON writes them, ``\\u001b``, so that a reader sees that they are there. Escaping for HTML or Markdown comes on top.
"""

from __future__ import annotations

import re

MOST = 8_000  # characters of one text; a screen holds about 5,000, and the JSON report has the whole

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\uffff]"
)


def visible(text: str) -> str:
    """The text with everything spelled out that would not show; new lines and tabs stay."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def shown(text: str) -> str:
    """The visible text, cut where it is longer than any explanation."""
    rest = len(text) - MOST
    return visible(text) if rest <= 0 else f"{visible(text[:MOST])} ... {rest} more characters"


def on_one_line(text: str) -> str:
    """The visible text without new lines."""
    return " ".join(shown(text).split())
