"""A certificate: what one run allows to say, with the report that it rests on inside, so that every word can be made anew.

Canonical JSON (``record.to_json``): the same certificate is the same bytes everywhere. It is not signed. That it was not
damaged, and claims nothing but what its report shows, can be verified; who ran the decoder, and whether the report is true,
cannot.
"""

from __future__ import annotations

import msgspec

from tree_oracle.record import Report

CERTIFICATE_FORMAT = "tree-oracle-certificate"
CERTIFICATE_VERSION = 1


class Subject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was judged."""

    decoder: str
    target: str
    stated: dict[str, str] = {}  # what its maker says of it, such as a commit; nothing here was checked


class Truth(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What it was compared with."""

    grade: str
    is_: str = msgspec.field(name="is")
    cannot_see: str


class Witness(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Evidence that speculation ran, and what came about in it."""

    words: str
    rounds: int
    drafted: int
    accepted: int
    emitted: int
    reached: tuple[str, ...]
    not_reached: tuple[str, ...]


class Rung(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rung of the ladder."""

    name: str
    state: str
    checks: tuple[str, ...]


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One check."""

    check: str
    status: str
    level: str
    cases: int
    seams: tuple[str, ...]


class Result(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came of it."""

    held: str
    broken: str
    exit_code: int
    counts: dict[str, int]
    ladder: tuple[Rung, ...]
    checks: tuple[Line, ...]
    judgements: int  # cases judged, summed over all checks
    near_ties: int  # tokens that differ from the truth's within the noise
    undecided: int  # cases
    floor: str
    rates: str


class Code(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One installation of this package."""

    version: str
    files: str  # ``record.installed``


class Digests(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """SHA-256 in hex, each over what it says."""

    report: str  # the canonical JSON of the report below
    cases: str  # all cases judged; see ``tree_oracle.run.stock``
    judged_by: Code
    made_by: Code


class Again(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to see it again."""

    command: str
    seed: int | None
    fresh: str  # the same with new cases


class Certificate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One page, and its evidence."""

    format: str = CERTIFICATE_FORMAT
    version: int = CERTIFICATE_VERSION
    sentence: str  # that may be quoted
    subject: Subject
    place: dict[str, str]
    truth: Truth
    witness: Witness
    result: Result
    power: str
    not_covered: tuple[str, ...]
    may_say: tuple[str, ...]
    may_not_say: tuple[str, ...]
    again: Again
    digests: Digests
    report: Report
    digest: str  # of the canonical JSON of all the above, this field empty
