"""Where a commit may be what is wrong, the tree of the round that made it is drawn too, in every report."""

from __future__ import annotations

import msgspec
import pytest
from grounds import ground
from report_grounds import report, result

from tree_oracle.checks import CHECKS
from tree_oracle.checks.view import View, history
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.record import Array, Case, Finding, Limits, Round, Status
from tree_oracle.report.html import html_page
from tree_oracle.report.junit import junit_xml
from tree_oracle.report.markdown import markdown_summary
from tree_oracle.report.terminal import result_text
from tree_oracle.run.explain import explained

PROMPT, WORDS = (3, 5, 2, 7), "the round before, from whose commit this one starts"


def _case() -> Case:
    return Case(prefix=PROMPT, limits=Limits(12))


def _rounds() -> tuple[Round, ...]:
    ((*rounds,),) = ReferenceDecoder(ground().target).generate((PROMPT,), Limits(12))
    return tuple(rounds)


def _with_wrong_row(index: int) -> tuple[Round, ...]:
    """The reference's rounds, the first row of one of them changed."""
    rounds = list(_rounds())
    prefix = (*PROMPT, *(token for one in rounds[:index] for token in one.emitted))
    rounds = [msgspec.structs.replace(one, prefix=one.prefix or prefix) for one in rounds]
    texts = [history(rounds[index], node) for node in range(len(rounds[index].tokens or ()))]
    rows = ground().truth.rows(texts)
    rows[0] = rows[0][::-1]
    rounds[index] = msgspec.structs.replace(rounds[index], rows=Array.of(rows))
    return tuple(rounds)


def _explained(rounds: tuple[Round, ...]) -> Finding:
    (found,) = CHECKS["HISTORY-01"].judge(View(_case(), rounds, ground().truth))
    return explained(found, _case(), rounds)


def test_a_round_behind_the_first_shows_the_one_before() -> None:
    """A wrong row of round 1 draws the tree of round 0, root and accepted nodes marked; one of round 0 draws no other tree."""
    rounds = _with_wrong_row(1)
    found = _explained(rounds)
    assert (found.round, found.of_commit) == (1, True)
    words, root, *rest = found.before.splitlines()
    assert words.startswith(WORDS)
    assert root == f"[0] {PROMPT[-1]}  <--"
    accepted = rounds[0].accepted or ()
    assert sum(line.endswith("<--") for line in rest) == len(accepted)
    assert not _explained(_with_wrong_row(0)).before


def test_the_round_before_is_of_the_same_request() -> None:
    """Between two rounds of one request lie those of others, which are not drawn."""
    mine, others = _with_wrong_row(1), Round(emitted=(1,), prefix=(9,), tokens=(9, 1), parents=(-1, 0), request=1)
    found = _explained(mine)
    shared = (mine[0], others, mine[1], msgspec.structs.replace(others, tokens=(8, 1)))
    assert explained(msgspec.structs.replace(found, round=2), _case(), shared).before == found.before
    alone = (others, mine[1])
    assert not explained(found, _case(), alone).before


@pytest.mark.parametrize("write", [html_page, lambda one: junit_xml(one).decode(), markdown_summary])
def test_every_report_draws_it(write: object) -> None:
    """The page, the summary and the file for CI hold the second tree; the terminal's text below the first."""
    found = _explained(_with_wrong_row(1))
    wrong = result("HISTORY-01", Status.FAILED, findings=(found,))
    assert callable(write)
    assert WORDS in write(report(wrong))
    text = result_text(wrong)
    assert f"before    {WORDS}" in text
    assert text.index("[0]") < text.index(WORDS)
