"""Somebody else's text inside GitHub's Markdown: as a code span, a code block or escaped prose, and never as markup.

Rules (CommonMark 0.31, sections 2.4, 4.5 and 6.1, and GitHub's additions): a code span or block ends at the first run of
backticks as long as the one that opened it, so ours are longer than any inside; a bar ends a table cell even inside code. What
GitHub turns into links after rendering, names after ``@`` and numbers after ``#``, is broken by a word joiner.
"""

from __future__ import annotations

import re

from tree_oracle.report.plain import on_one_line, shown

_SPECIAL = re.compile(r"([\\`*_\[\]<>&|~!$])")
_JOINER = "\u2060"


def span(text: str) -> str:
    """The text on one line as code; nothing at all if it is empty."""
    line = on_one_line(text)
    if not line:
        return ""
    ticks = "`" * (_longest_run(line) + 1)
    room = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{ticks}{room}{line}{room}{ticks}"


def cell(text: str) -> str:
    """The text as code that may stand in a table."""
    return span(text.replace("|", "\N{BROKEN BAR}"))


def block(text: str, language: str = "text") -> str:
    """The text as a code block."""
    ticks = "`" * max(3, _longest_run(text) + 1)
    return f"{ticks}{language}\n{shown(text)}\n{ticks}"


def prose(text: str) -> str:
    """The text on one line as it reads, with nothing in it that Markdown or GitHub would act on."""
    line = _SPECIAL.sub(r"\\\1", on_one_line(text)).replace("://", r"\://").replace("www.", r"www\.")
    return re.sub(r"([@#])", rf"\1{_JOINER}", line)


def folded(title: str, content: str) -> str:
    """Content that a reader opens. The title is ours."""
    return f"<details><summary>{title}</summary>\n\n{content}\n\n</details>"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
