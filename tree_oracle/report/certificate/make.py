"""A certificate from a report. Nothing is asked of anybody else, so the same report and installation give the same bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from tree_oracle import __version__
from tree_oracle.record import Report, to_json
from tree_oracle.record.installed import FILES, package_digest
from tree_oracle.report.again import check_command
from tree_oracle.report.again_trace import is_of_trace
from tree_oracle.report.certificate import claims
from tree_oracle.report.certificate.model import (
    Again,
    Certificate,
    Code,
    Digests,
    Line,
    Result,
    Rung,
    Subject,
    Truth,
    Witness,
)
from tree_oracle.report.ladder import GRADES, rung, steps
from tree_oracle.report.words import witness_words

NOT_KEPT = "not kept in the report"


def make_certificate(report: Report, stated: Mapping[str, str] | None = None) -> Certificate:
    """The certificate of a report.

    Args:
        report: the run.
        stated: what its maker says of the decoder, such as a commit; it is marked as not checked.
    """
    made = Certificate(
        sentence=claims.sentence(report),
        subject=Subject(report.decoder, report.target, dict(stated or {})),
        place=report.environment,
        truth=Truth(report.grade, GRADES.get(report.grade, "unknown"), claims.CANNOT_SEE.get(report.grade, "unknown")),
        witness=_witness(report),
        result=_result(report),
        power=claims.power(report),
        not_covered=tuple(claims.not_covered(report)),
        may_say=tuple(claims.may_say(report)),
        may_not_say=tuple(claims.may_not_say(report)),
        again=_again(report),
        digests=_digests(report),
        report=report,
        digest="",
    )
    return msgspec.structs.replace(made, digest=digest_of(made))


def digest_of(certificate: Certificate) -> str:
    """The digest of everything in it but the digest."""
    return _sha256(to_json(msgspec.structs.replace(certificate, digest="")))


def _witness(report: Report) -> Witness:
    seen = report.witness
    return Witness(
        words=witness_words(report),
        rounds=seen.rounds,
        drafted=seen.drafted,
        accepted=seen.accepted,
        emitted=seen.emitted,
        reached=report.ledger.reached,
        not_reached=report.ledger.missed,
    )


def _result(report: Report) -> Result:
    return Result(
        held=rung(report.held),
        broken=rung(report.broken),
        exit_code=report.exit_code,
        counts={status.value: count for status, count in report.counts.items()},
        ladder=tuple(Rung(step.name, step.words, step.checks) for step in steps(report)),
        checks=tuple(
            Line(check=r.check, status=r.status.value, level=r.level.value, cases=r.cases, seams=r.seams)
            for r in report.results
        ),
        judgements=sum(result.cases for result in report.results),
        near_ties=sum(result.near_ties for result in report.results),
        undecided=sum(result.undecided for result in report.results),
        floor=claims.floor(report),
        rates=claims.rates(report),
    )


def _again(report: Report) -> Again:
    command = check_command(report)
    usual = check_command(msgspec.structs.replace(report, cases=None))  # how many cases, the profile says
    fresh = f"{usual} --profile deep" if command and report.seed is None and not is_of_trace(report) else ""
    return Again(command=command, seed=report.seed, fresh=fresh)


def _digests(report: Report) -> Digests:
    place = report.environment
    return Digests(
        report=_sha256(to_json(report)),
        cases=report.digest,
        judged_by=Code(place.get("tree-oracle", NOT_KEPT), place.get(FILES, NOT_KEPT)),
        made_by=Code(__version__, package_digest()),
    )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
