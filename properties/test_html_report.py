"""The HTML report: whole, alone in one file, and safe whatever a decoder printed."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from report_grounds import CASE, FAILING, HOLDING, HOSTILE, LEAK, anything, report, reports, result
from syrupy.assertion import SnapshotAssertion

from tree_oracle.record import CaseFile, Report, Status
from tree_oracle.report import html_page, write_html
from tree_oracle.report.plain import MOST

VOID = {"meta", "path", "rect", "br", "hr"}  # of those that we write; in SVG they are closed in the same tag
OURS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "section", "article", "h1", "h2", "h3", "h4", "p", "pre",
    "code", "span", "strong", "b", "ul", "ol", "li", "dl", "dt", "dd", "details", "summary", "div", "table", "caption", "thead",
    "tbody", "tr", "th", "td", "figure", "figcaption", "svg", "path", "rect", "text",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "name", "content", "http-equiv", "class", "id", "aria-label", "role", "scope", "width", "height", "viewbox",
    "d", "x", "y", "rx", "tabindex",
}  # fmt: skip


class Reader(HTMLParser):
    """Reads a page as a browser would: its tags, its text, and whether what is opened is closed."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.comments: list[str] = []
        self.case_files: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)
        if ("class", "case") in attrs:
            self.case_files.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self.case_files and not self.case_files[-1]:
            self.case_files[-1] = data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


@given(report=reports())
@example(report=FAILING)
@example(report=HOLDING)
def test_a_page_is_well_formed_and_holds_only_our_tags(report: Report) -> None:
    """Whatever a report holds, tags are balanced and ours, attributes are ours, and nothing is loaded or run."""
    page = Reader(html_page(report))
    assert page.open == []
    assert set(page.tags) <= OURS
    assert {name for name, _ in page.attributes} <= ATTRIBUTES
    assert page.comments == [" tree-oracle report "]


@given(text=anything)
@example(text="\u202e\ud800\x00")
def test_every_text_arrives_escaped_and_visible(text: str) -> None:
    """A text in any field is read back from the page as it was, but for what would not show, which is spelled out."""
    seen = "".join(f"\\u{ord(c):04x}" if not c.isprintable() and c not in "\n\t" else c for c in text)
    finding = msgspec.structs.replace(LEAK, sentence="s", expected=f"({text})")
    shown = report(
        result("VISIBLE-03", Status.FAILED, findings=(finding,)),
        result("COMMIT-01", Status.NOT_OBSERVABLE, reason=f"({text})"),
        decoder=f"({text})",
        environment={"kernel": f"({text})"},
    )
    page = Reader(html_page(shown))
    written = [found for found in page.texts if found.startswith("(") and found.rstrip().endswith(")")]
    assert len(written) >= 4 or seen != text
    if seen == text:
        assert all(found.rstrip() == f"({text})" for found in written)
    assert all(c.isprintable() or c in "\n\t" or c in text for c in page.text)
    assert not {"\x1b", "\x00", "\u202e", "\ud800"} & set(page.text)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_a_decoder_prints_becomes_markup(text: str) -> None:
    """The page around a hostile text has the very tags that it has around a harmless one."""
    tame, wild = (
        Reader(html_page(report(result("VISIBLE-03", Status.FAILED, findings=(msgspec.structs.replace(
            LEAK, sentence=word, expected=word, seen=word, drawing=word, causes=(word,), ruled_out=(word,)
        ),)), decoder=f"d:{word}", environment={word: word}, violations=(word,))))
        for word in ("word", text)
    )  # fmt: skip
    assert tame.tags == wild.tags


def test_a_page_stands_alone() -> None:
    """No script, no link, no address, no style from elsewhere; a policy in the page forbids all of it."""
    page = html_page(FAILING)
    for word in (
        "<script",
        "<link",
        "<img",
        "<iframe",
        "<object",
        "@import",
        "url(",
        "http:",
        "https:",
        "javascript:",
        " src=",
        "href=",
    ):
        assert word not in page, word
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    assert "prefers-color-scheme: dark" in page


@given(report=reports())
@example(report=FAILING)
def test_nothing_is_left_out(report: Report) -> None:
    """Every check, the six counts, every outcome and the verdict's exit code are in the page."""
    text = Reader(html_page(report)).text
    for found in report.results:
        assert found.check in text
    for status, count in report.counts.items():
        assert f"{count} {status.value}" in text
    assert f"(exit code {report.exit_code})" in text


def test_every_failing_check_is_explained() -> None:
    """Each failure, error and undecided check has its sentence, under its cause; what was not seen has its reason."""
    text = Reader(html_page(FAILING)).text
    for found in FAILING.results:
        for finding in found.findings:
            assert finding.sentence[1:] in text
        if not found.findings and found.status is not Status.PASSED:
            assert found.reason[1:] in text
    assert "Told apart from all other suspects." in text
    assert "tree-oracle replay --decoder mine:Decoder VISIBLE-03-" in text
    assert "Start with VISIBLE-03, on the lowest broken rung (L1 structure)." in text


def test_a_case_can_be_taken_from_the_page() -> None:
    """The case file that stands in the page is one, and holds the very case."""
    (first, *_) = Reader(html_page(FAILING)).case_files
    file = msgspec.json.decode(first, type=CaseFile)
    assert (file.check, file.decoder, file.target, file.case) == ("VISIBLE-03", "mine:Decoder", "exact", CASE)


@given(note=st.text(max_size=9))
def test_a_case_survives_any_text(note: str) -> None:
    """What makes a text visible in the page is JSON's own spelling, so the case file in it stays the same."""
    case = msgspec.structs.replace(CASE, note=note)
    finding = msgspec.structs.replace(LEAK, case=case)
    (found,) = Reader(html_page(report(result("VISIBLE-03", Status.FAILED, findings=(finding,))))).case_files
    assert json.loads(found)["case"].get("note", "") == note


def test_a_command_in_the_page_is_one_word_each() -> None:
    """A decoder's name cannot smuggle a second command into the line that a reader copies."""
    evil = report(result("VISIBLE-03", Status.FAILED, findings=(LEAK,)), decoder="a:b; rm -rf ~")
    text = Reader(html_page(evil)).text
    assert "tree-oracle replay --decoder 'a:b; rm -rf ~' VISIBLE-03-" in text
    assert "tree-oracle check --decoder 'a:b; rm -rf ~' --check VISIBLE-03 --target exact" in text


def test_an_endless_text_is_cut() -> None:
    """A text of a million characters takes some thousand, and it is said how many are missing."""
    finding = msgspec.structs.replace(LEAK, seen="x" * 1_000_000)
    page = html_page(report(result("VISIBLE-03", Status.FAILED, findings=(finding,))))
    assert len(page) < 100_000
    assert f"... {1_000_000 - MOST} more characters" in page


@pytest.mark.parametrize(("shown", "headline"), [
    (HOLDING, "Held"),
    (FAILING, "Failed"),
    (report(result("SEQUENCE-01", Status.ERROR, reason="r")), "The adapter is at fault"),
    (report(result("GREEDY-01", Status.UNDECIDED, reason="r")), "Nothing was decided"),
    (report(), "Nothing was decided"),
    (msgspec.structs.replace(HOLDING, required=4), "Not enough was seen"),
], ids=["held", "failed", "error", "undecided", "empty", "required"])  # fmt: skip
def test_the_headline_says_what_the_exit_code_says(shown: Report, headline: str) -> None:
    """Each exit code has its own words, in the title and in the verdict."""
    page = Reader(html_page(shown))
    assert page.texts[page.texts.index(headline)] == headline
    assert any(text.startswith(f"{headline}: mine:Decoder on exact") for text in page.texts)


@pytest.mark.versions
@pytest.mark.parametrize("name", ["failing", "holding"])
def test_the_whole_page_is_as_it_was(name: str, snapshot: SnapshotAssertion) -> None:
    """The same report gives the same page, character for character."""
    assert html_page({"failing": FAILING, "holding": HOLDING}[name]) == snapshot


def test_the_file_is_the_page(tmp_path: Path) -> None:
    """What is written is UTF-8, also where a text holds what UTF-8 cannot."""
    shown = report(decoder="\ud800ü")
    write_html(tmp_path / "new" / "r.html", shown)
    assert (tmp_path / "new" / "r.html").read_text(encoding="utf-8") == html_page(shown)
