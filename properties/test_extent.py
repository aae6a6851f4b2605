"""The largest that was judged: counted as anybody would count it, and said where claims are made."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from report_grounds import HOLDING

from tree_oracle.record import Case, Extent, RequestData, Round, TreeData, extent_of
from tree_oracle.report import html_page, markdown_summary
from tree_oracle.report.certificate.claims import may_not_say
from tree_oracle.strategies import candidate_trees
from tree_oracle.tree import CandidateTree

LARGEST = "anything beyond the largest that was judged in texts and sessions: "
sizes = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 9), st.integers(0, 2), candidate_trees(vocab_size=5)),
    min_size=1,
    max_size=6,
)


def round_of(prefix: int, emitted: int, request: int, tree: CandidateTree) -> Round:
    data = tree.to_data()
    return Round(
        emitted=(0,) * emitted, prefix=(0,) * prefix, request=request, tokens=data.tokens, parents=data.parents
    )


@given(sizes)
def test_each_size_is_the_largest_of_its_kind(shown: list[tuple[int, int, int, CandidateTree]]) -> None:
    """Text, rounds of one request, nodes, width and depth are the maxima over all rounds, each for itself."""
    rounds = [round_of(*one) for one in shown]
    found = extent_of(Case(prefix=(0,)), rounds)
    depths = [[int(depth) for depth in tree.depths[1:]] for *_, tree in shown]
    assert found == Extent(
        text=max(prefix + emitted for prefix, emitted, *_ in shown),
        rounds=max(sum(request == one for _, _, request, _ in shown) for one in range(3)),
        nodes=max(map(len, depths)),
        width=max((below.count(depth) for below in depths for depth in below), default=0),
        depth=max((depth for below in depths for depth in below), default=0),
        requests=1,
    )
    halves = extent_of(Case(prefix=(0,)), rounds[:2]), extent_of(Case(prefix=(0,)), rounds[2:])
    assert halves[0] | halves[1] == msgspec.structs.replace(found, rounds=max(one.rounds for one in halves))


def test_what_is_no_tree_counts_by_its_nodes() -> None:
    """Parents that cannot be give a size and no shape; requests of one call are counted."""
    batch = (RequestData(trees=(), prompt=(1,)),) * 3
    found = extent_of(
        Case(prefix=(), batch=batch), [Round(emitted=(1,), prefix=(1,), tokens=(1, 2, 3), parents=(-1, 2, 9))]
    )
    assert found == Extent(text=2, rounds=1, nodes=2, requests=3)
    assert extent_of(Case(prefix=(), trees=(TreeData((0,), (-1,)),)), []) == Extent(requests=1)


def test_what_lies_beyond_is_not_claimed() -> None:
    """Certificate and page name the largest that was judged; of a report that does not hold it nothing is said."""
    seen = Extent(text=170, rounds=50, nodes=19, width=17, depth=11, requests=6)
    words = (
        "a text of 170 tokens with its prompt, 50 rounds of one request, a tree of 19 nodes below its root, 17 at one depth, "
        "depth 11, 6 requests at once"
    )
    told = msgspec.structs.replace(HOLDING, extent=seen)
    assert LARGEST + words in list(may_not_say(told))
    assert words in html_page(told)
    assert words in markdown_summary(told)
    assert not any(line.startswith(LARGEST) for line in may_not_say(HOLDING))
    assert "tokens with its prompt" not in html_page(HOLDING)
