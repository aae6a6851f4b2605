"""Verifying a certificate: it is made anew from the report inside it, and every word that differs is named.

Verified are: the canonical bytes, the digest over the whole, every claim, every digest that can be had from the file, the ids
of the cases, that there are such checks, and that this installation is the one that made it. Not verified, since it needs the
decoder: that the report is true, and that its digest of cases is theirs. The command inside says how to see that.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tree_oracle.checks import CHECKS
from tree_oracle.record import FileError, Report, case_id, to_json
from tree_oracle.record.files import MAX_BYTES, decoded, read_bounded, refuse_contradiction
from tree_oracle.report.certificate.make import digest_of, make_certificate
from tree_oracle.report.certificate.model import CERTIFICATE_FORMAT, CERTIFICATE_VERSION, Certificate

_NOT_MADE_ANEW = ("report", "digest")


class Difference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One place where a certificate is not what its own report makes it."""

    name: str
    stated: str
    found: str


def read_certificate(path: Path, *, max_bytes: int = MAX_BYTES) -> Certificate:
    """Read a certificate.

    Raises:
        FileError: the file is missing, too large, not JSON, of another format or version, misses a field, or is not written as
            this library writes it: then it could show a reader one thing and a program another. Or its report contradicts
            itself.
    """
    data = read_bounded(path, CERTIFICATE_FORMAT, max_bytes)
    found = decoded(data, path, Certificate, CERTIFICATE_FORMAT, CERTIFICATE_VERSION)
    if data != to_json(found):
        raise FileError(f"{path} is not written canonically; expected the very bytes that `certificate make` writes")
    refuse_contradiction(found.report, path)
    return found


def verify_certificate(certificate: Certificate) -> list[Difference]:
    """Every difference; none if it is what its report makes it."""
    anew = make_certificate(certificate.report, certificate.subject.stated)
    found = list(_differences("", _plain(certificate), _plain(anew)))
    digest = digest_of(certificate)
    if digest != certificate.digest:
        found.append(Difference("digest", certificate.digest, digest))
    return [*found, *_unknown(certificate.report), *_cases(certificate.report)]


def _plain(certificate: Certificate) -> dict[str, Any]:
    whole = msgspec.to_builtins(certificate)
    return {name: value for name, value in whole.items() if name not in _NOT_MADE_ANEW}


def _differences(name: str, stated: Any, found: Any) -> Iterator[Difference]:
    """The places where two JSON values differ, each as deep as it can be named."""
    if isinstance(stated, dict) and isinstance(found, dict):
        for key in dict.fromkeys([*stated, *found]):
            yield from _differences(f"{name}.{key}" if name else key, stated.get(key), found.get(key))
    elif isinstance(stated, list | tuple) and isinstance(found, list | tuple) and len(stated) == len(found):
        for index, (one, other) in enumerate(zip(stated, found, strict=True)):
            yield from _differences(f"{name}[{index}]", one, other)
    elif stated != found:
        yield Difference(name, _said(stated), _said(found))


def _said(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _unknown(report: Report) -> Iterator[Difference]:
    """Checks that this installation does not have, so that nobody here can say what their words are worth."""
    named = [(f"report.results[{number}].check", result.check) for number, result in enumerate(report.results)]
    named += [(f"report.power[{number}].check", planted.check) for number, planted in enumerate(report.power or ())]
    for name, check in named:
        if check not in CHECKS:
            yield Difference(name, check, "no check of this installation")


def _cases(report: Report) -> Iterator[Difference]:
    """Cases that are not those that their ids name."""
    for result in report.results:
        for number, finding in enumerate(result.findings):
            if finding.case is not None and finding.replay != case_id(finding.case):
                yield Difference(
                    f"report.{result.check}.findings[{number}].replay", finding.replay, case_id(finding.case)
                )
