"""The Markdown summary: short, complete in what it counts, and inert whatever a decoder printed."""

from __future__ import annotations

import re
from itertools import chain

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from report_grounds import CAUSE, FAILING, HOLDING, HOSTILE, LEAK, anything, report, reports, result
from syrupy.assertion import SnapshotAssertion

from tree_oracle.record import Known, Report, Status
from tree_oracle.report import markdown_summary
from tree_oracle.report.markdown import MOST
from tree_oracle.report.markdown_text import block, cell, prose, span

GITHUB_LIMIT = 65_536
PARSER = MarkdownIt("commonmark").enable("table")


def tokens(text: str) -> list[Token]:
    return list(chain.from_iterable([token, *(token.children or [])] for token in PARSER.parse(text)))


def kinds(text: str) -> set[str]:
    return {token.type for token in tokens(text)}


@given(report=reports())
@example(report=FAILING)
def test_only_our_own_markup_acts(report: Report) -> None:
    """No link, no picture, no HTML but the mark and the folds, whatever a report holds."""
    found = tokens(markdown_summary(report))
    assert not {"link_open", "image", "html_inline"} & {token.type for token in found}
    for token in found:
        if token.type == "html_block":
            assert re.fullmatch(
                r"<!-- tree-oracle report -->|</details>|<details><summary>[\w ,:]+</summary>", token.content.strip()
            )


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_a_decoder_prints_becomes_markup(text: str) -> None:
    """A summary around a hostile text has the structure that it has around a harmless one."""
    tame, wild = (
        [token.type for token in PARSER.parse(markdown_summary(report(
            result("VISIBLE-03", Status.FAILED, findings=(
                msgspec.structs.replace(LEAK, sentence=word, expected=word, seen=word, drawing=word, causes=(word,)), LEAK,
                msgspec.structs.replace(LEAK, sentence=word, causes=(word,)),
            )),
            result("COMMIT-01", Status.NOT_OBSERVABLE, reason=word),
            result("COMMIT-02", Status.FAILED, known=Known(word, word)),
            decoder=f"d:{word}", environment={word: word}, violations=(word,),
        )))]
        for word in ("word", text)
    )  # fmt: skip
    assert tame == wild


@given(text=anything.filter(str.strip))
def test_a_span_is_one_span_of_code(text: str) -> None:
    """A text becomes one span of code with all of its words, in a line and in a cell of a table."""
    (inline,) = [token for token in PARSER.parse(f"a {span(text)} b") if token.type == "inline"]
    assert [child.type for child in inline.children or []] == ["text", "code_inline", "text"]
    table = f"| a | b |\n| --- | --- |\n| {cell(text)} | end |"
    cells = [token for token in PARSER.parse(table) if token.type == "inline"]
    assert len(cells) == 4
    assert [child.type for child in cells[2].children or []] == ["code_inline"]


@given(text=st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=20))
@example(text="``` ` ``")
def test_ordinary_text_is_read_back_from_a_span_and_a_block(text: str) -> None:
    """What can be seen arrives as it is."""
    (inline,) = [token for token in PARSER.parse(f"a {span(text)} b") if token.type == "inline"]
    assert inline.children is not None
    assert inline.children[1].content == " ".join(text.split())
    (fence,) = PARSER.parse(block(text))
    assert (fence.type, fence.content) == ("fence", text + "\n")


@given(text=anything)
def test_prose_is_text_and_nothing_else(text: str) -> None:
    """Escaped text holds no markup, no mention, no reference and no address that would become a link."""
    line = prose(text)
    assert kinds(f"It says {line}") <= {"paragraph_open", "inline", "paragraph_close", "text", "text_special"}
    assert not re.search(r"(?<!\\):\/\/|www\.|[@#][\w]", line)


@given(report=reports())
@example(report=FAILING)
def test_every_failing_check_is_named(report: Report) -> None:
    """Each check that failed, is in error or undecided stands in the summary, and so do the six counts."""
    text = markdown_summary(report)
    for found in report.results:
        if found.status in (Status.FAILED, Status.ERROR, Status.UNDECIDED):
            assert f"`{found.check}`" in text
    assert f"| {' | '.join(str(count) for count in report.counts.values())} |" in text


def test_the_first_failure_of_a_cause_is_drawn() -> None:
    """The tree, expected, seen and the command stand in one block of code under the name of the cause."""
    text = markdown_summary(FAILING)
    (told,) = [t.content for t in PARSER.parse(text) if t.type == "fence" and "VISIBLE-03 failed" in t.content]
    assert f"#### `{CAUSE}`" in text
    assert LEAK.drawing in told
    assert "expected  sees nodes [0, 2]\nseen      sees nodes [0, 1, 2]\n" in told
    assert f"again     tree-oracle replay --decoder mine:Decoder VISIBLE-03-{LEAK.replay}" in told


def test_a_summary_fits_into_a_comment() -> None:
    """Of very many or very long failures so many are told as there is room, and it is said that there are more."""
    many = tuple(
        msgspec.structs.replace(LEAK, causes=(f"cause {number}",), seen="x" * 9_000, sentence="s" * 400)
        for number in range(500)
    )
    text = markdown_summary(report(result("VISIBLE-03", Status.FAILED, findings=many)))
    told = text.count("#### ")
    assert len(text) < GITHUB_LIMIT
    assert 1 < told < 500
    assert f"{500 - told} more causes are in the report." in text
    assert MOST < GITHUB_LIMIT


@pytest.mark.parametrize("name", ["failing", "holding"])
def test_the_whole_summary_is_as_it_was(name: str, snapshot: SnapshotAssertion) -> None:
    """The same report gives the same summary, character for character."""
    assert markdown_summary({"failing": FAILING, "holding": HOLDING}[name]) == snapshot
