"""A certificate claims what its report shows and no more, and verifying it notices any change."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st
from report_grounds import FAILING, HOLDING, LEAK, report, reports, result, storable
from syrupy.assertion import SnapshotAssertion

from tree_oracle.checks import CHECKS
from tree_oracle.cli import main
from tree_oracle.record import Catch, FileError, Level, Planted, Report, Status, Witness, to_json, write_file
from tree_oracle.record.installed import FILES, digest_of_tree, package_digest
from tree_oracle.report.certificate import (
    Certificate,
    claims,
    make,
    make_certificate,
    read_certificate,
    verify_certificate,
)
from tree_oracle.report.certificate.schema import FILE, schema_json

VALIDATOR = jsonschema.Draft202012Validator(json.loads(FILE.read_text(encoding="utf-8")))
WHOLE = [check for check in CHECKS.values() if check.level is Level.MUST]


def full(**more: Any) -> Report:
    """A report in which every check of the catalogue passed."""
    results = tuple(result("LAW-01", law=c.law, level=c.level, rung=c.rung) for c in CHECKS.values())
    named = (msgspec.structs.replace(one, check=check) for one, check in zip(results, CHECKS, strict=True))
    return report(*named, **more)


def changed(found: Report, check: str, **more: Any) -> Report:
    results = (msgspec.structs.replace(one, **more) if one.check == check else one for one in found.results)
    return msgspec.structs.replace(found, results=tuple(results))


@given(report=reports(storable), stated=st.dictionaries(storable, storable, max_size=2))
@example(report=FAILING, stated={"commit": "0123abc"})
def test_what_is_made_can_be_verified(
    tmp_path_factory: pytest.TempPathFactory, report: Report, stated: dict[str, str]
) -> None:
    """Every certificate of every report survives the disk and is verified; the same report gives the same bytes."""
    report = consistent(report)
    path = tmp_path_factory.mktemp("certified") / "c.json"
    made = make_certificate(report, stated)
    write_file(path, made)
    assert read_certificate(path) == made
    assert verify_certificate(read_certificate(path)) == []
    assert to_json(make_certificate(report, stated)) == path.read_bytes()
    VALIDATOR.validate(json.loads(path.read_bytes()))


def test_the_committed_schema_is_the_one_that_the_code_means() -> None:
    """It is what the code says, byte for byte, and refuses a field that nobody knows, at any depth."""
    assert FILE.read_text(encoding="utf-8") == schema_json(), (
        "write it anew with `python -m tree_oracle.report.certificate.schema`"
    )
    for part in ("subject", "result", "report"):
        plain = json.loads(to_json(make_certificate(FAILING)))
        VALIDATOR.validate(plain)
        plain[part]["surprise"] = 1
        with pytest.raises(jsonschema.ValidationError, match="surprise"):
            VALIDATOR.validate(plain)


def consistent(found: Report) -> Report:
    """The report with the ids that its cases have."""
    results = []
    for one in found.results:
        kept = tuple(msgspec.structs.replace(f, replay=LEAK.replay if f.case == LEAK.case else f.replay, case=None
                     if f.case != LEAK.case else f.case) for f in one.findings)  # fmt: skip
        results.append(msgspec.structs.replace(one, findings=kept))
    return msgspec.structs.replace(found, results=tuple(results))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path


def with_leaf(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    found = copy.deepcopy(value)
    at = found
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = new
    return found


def other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}x"
        case None:
            return 1
    raise AssertionError(value)


def test_any_single_change_is_noticed(tmp_path: Path) -> None:
    """Each field of a certificate changed alone, at any depth, is refused as a file or named as a difference."""
    plain = json.loads(to_json(make_certificate(FAILING, {"commit": "0123abc"})))
    path, noticed = tmp_path / "c.json", 0
    for leaf in leaves(plain):
        old = plain
        for key in leaf:
            old = old[key]
        path.write_bytes(
            msgspec.json.format(msgspec.json.encode(with_leaf(plain, leaf, other(old)), order="sorted"), indent=2)
        )
        try:
            found = msgspec.json.decode(path.read_bytes(), type=Certificate)
        except msgspec.ValidationError:
            noticed += 1  # a status, say, that is none
            continue
        if leaf[0] in ("format", "version"):
            with pytest.raises(FileError):
                read_certificate(path)
        else:
            assert verify_certificate(found), leaf
        noticed += 1
    assert noticed > 200


@pytest.mark.parametrize(("field", "value"), [
    ("sentence", "Lossless."), ("may_say", ("lossless, on these cases",)), ("may_not_say", ()), ("not_covered", ()),
    ("power", "every fault was caught"), ("place", {"device": "cuda:0"}),
])  # fmt: skip
def test_a_claim_that_the_report_does_not_show_is_named(field: str, value: Any) -> None:
    """Changing a claim and making the digest anew does not help: the claim is made anew from the report."""
    forged = msgspec.structs.replace(make_certificate(FAILING), **{field: value})
    forged = msgspec.structs.replace(forged, digest=make.digest_of(forged))
    found = verify_certificate(forged)
    assert found
    assert all(difference.name.startswith(field) for difference in found)


def test_a_case_that_is_not_its_id_is_named() -> None:
    """A finding whose case is not the one that its id names is found."""
    wrong = msgspec.structs.replace(LEAK, replay="0" * 12)
    made = make_certificate(report(result("VISIBLE-03", Status.FAILED, findings=(wrong,))))
    (difference,) = verify_certificate(made)
    assert difference.name == "report.VISIBLE-03.findings[0].replay"
    assert (difference.stated, difference.found) == ("0" * 12, LEAK.replay)


def test_a_check_that_is_nobodys_is_named(tmp_path: Path) -> None:
    """A result, and a planted answer, of a check that this installation does not have are found; of one that it has they are not."""
    planted = Planted(seam="accept", wrong="another bonus token", check="GREEDY-99", catch=Catch.CAUGHT)
    invented = msgspec.structs.replace(HOLDING.results[0], check="POSITION-99")
    made = make_certificate(msgspec.structs.replace(HOLDING, results=(*HOLDING.results, invented), power=(planted,)))
    found = {difference.name: difference.stated for difference in verify_certificate(made)}
    last = len(HOLDING.results)
    write_file(tmp_path / "r.json", made.report)
    refused = CliRunner().invoke(main, ["certificate", "make", str(tmp_path / "r.json")])
    assert refused.exit_code == 2
    assert f"report.results[{last}].check is POSITION-99: no check of this installation" in refused.output
    assert found == {f"report.results[{last}].check": "POSITION-99", "report.power[0].check": "GREEDY-99"}
    real = msgspec.structs.replace(planted, check="GREEDY-01")
    assert verify_certificate(make_certificate(msgspec.structs.replace(HOLDING, power=(real,)))) == []


def test_a_file_in_another_spelling_is_refused(tmp_path: Path) -> None:
    """A key that stands twice shows a person one value and a program another, so only our very bytes are read."""
    path = tmp_path / "c.json"
    content = to_json(make_certificate(HOLDING))
    path.write_bytes(content.replace(b'{\n  "format"', b'{\n  "sentence": "Lossless.",\n  "format"', 1))
    with pytest.raises(FileError, match="is not written canonically"):
        read_certificate(path)
    path.write_bytes(content)
    assert read_certificate(path) == make_certificate(HOLDING)
    with pytest.raises(FileError, match="holds more than 99 bytes"):
        read_certificate(path, max_bytes=99)


@given(found=reports(storable))
def test_lossless_is_rarely_said(found: Report) -> None:
    """A report of some checks never says it, and no certificate ever says that something is proven."""
    made = make_certificate(found)
    assert "lossless" not in " ".join(made.may_say)
    assert "Lossless" not in made.sentence.removeprefix(found.decoder)
    assert made.may_not_say[0].startswith("proven:")


def test_lossless_needs_everything() -> None:
    """It is said of a whole run; one check of greedy choice or law less, another truth or no witness, and it is not."""
    whole = full()
    assert claims.lossless(whole)
    assert "Lossless on these cases" in make_certificate(whole).sentence
    for check in WHOLE:
        asked = check.rung >= 3 and check.family != "WITNESS"  # a decoder need not state counters
        for status in (Status.FAILED, Status.ERROR, Status.UNDECIDED, Status.NOT_OBSERVABLE):
            if asked or status in (Status.FAILED, Status.ERROR, Status.UNDECIDED):
                assert not claims.lossless(changed(whole, check.id, status=status)), (check.id, status)
        if asked:
            fewer = tuple(one for one in whole.results if one.check != check.id)
            assert not claims.lossless(msgspec.structs.replace(whole, results=fewer)), check.id
    for more in ({"grade": "C"}, {"grade": "D"}, {"witness": Witness()}, {"violations": ("an entry is untrue",)}):
        assert not claims.lossless(full(**more)), more


@given(found=reports(storable))
def test_claims_follow_the_results(found: Report) -> None:
    """A rung is said to be held only if the report holds it; what failed is said; what was not seen is not covered."""
    made = make_certificate(found)
    held = [line for line in made.may_say if " held in " in line]
    assert all(found.held is not None and int(line[1]) <= found.held for line in held)
    must_failed = any(one.status is Status.FAILED and one.level is Level.MUST for one in found.results)
    assert (" failed " in made.sentence.removeprefix(found.decoder)) is must_failed or "failed" in found.target
    for one in found.results:
        if one.status not in (Status.PASSED, Status.FAILED):
            assert any(line.startswith(f"{one.check}: {one.status.value}") for line in made.not_covered)
    for check in CHECKS.keys() - {one.check for one in found.results}:
        assert f"{check}: not run" in made.not_covered


def test_a_digest_of_files_sees_every_file(tmp_path: Path) -> None:
    """One byte, one name or one more file changes it; bytecode does not."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.py").write_text("1", encoding="utf-8")
    seen = [digest_of_tree(tmp_path)]
    (tmp_path / "a" / "__pycache__").mkdir()
    (tmp_path / "a" / "__pycache__" / "x.pyc").write_text("1", encoding="utf-8")
    assert digest_of_tree(tmp_path) == seen[0]
    (tmp_path / "a" / "x.py").write_text("2", encoding="utf-8")
    seen.append(digest_of_tree(tmp_path))
    (tmp_path / "a" / "x.py").rename(tmp_path / "a" / "y.py")
    seen.append(digest_of_tree(tmp_path))
    (tmp_path / "y.py").touch()
    seen.append(digest_of_tree(tmp_path))
    assert len(set(seen)) == 4


def test_another_installation_is_named() -> None:
    """A certificate whose maker had other files says so when it is verified, and so does one whose judge had."""
    made = make_certificate(HOLDING)
    elsewhere = msgspec.structs.replace(made.digests, made_by=msgspec.structs.replace(made.digests.made_by, files="00"))
    forged = msgspec.structs.replace(made, digests=elsewhere)
    assert "digests.made_by.files" in [difference.name for difference in verify_certificate(forged)]
    same = msgspec.structs.replace(HOLDING, environment=HOLDING.environment | {FILES: package_digest()})
    told = "checks of the installation that judged"
    assert any(line.startswith(told) for line in made.not_covered)
    assert not any(line.startswith(told) for line in make_certificate(same).not_covered)


@pytest.fixture
def fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation whose digest, version and catalogue do not change from day to day."""
    for module in (make, claims):
        monkeypatch.setattr(module, "package_digest", lambda: "cd" * 32)
    monkeypatch.setattr(make, "__version__", "1.2.3")
    monkeypatch.setattr(claims, "CHECKS", {name: CHECKS[name] for name in ("VISIBLE-01", "SEQUENCE-01", "LAW-04")})


@pytest.mark.usefixtures("fixed")
@pytest.mark.parametrize("name", ["failing", "holding", "full"])
def test_the_whole_page_is_as_it_was(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """The command prints one page: the sentence, what stands behind it, and what must not be read into it."""
    whole = report(*(result(check) for check in ("VISIBLE-01", "SEQUENCE-01", "LAW-04")))
    write_file(tmp_path / "r.json", {"failing": FAILING, "holding": HOLDING, "full": whole}[name])
    done = CliRunner().invoke(main, ["certificate", "make", str(tmp_path / "r.json"), "--state", "commit=0123abc"])
    assert done.exit_code == 0, done.output
    assert done.output == snapshot


@pytest.mark.usefixtures("fixed")
def test_the_whole_file_is_as_it_was(snapshot: SnapshotAssertion) -> None:
    """The same report gives the same file, byte for byte."""
    assert to_json(make_certificate(FAILING)).decode() == snapshot


def test_the_commands_make_and_verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate that was saved is verified; one that was changed is not, with the field's name and exit code 1."""
    monkeypatch.chdir(tmp_path)
    write_file(Path("r.json"), HOLDING)
    made = CliRunner().invoke(main, ["certificate", "make", "r.json", "--output", "c.json", "--json"])
    assert made.stdout == Path("c.json").read_text(encoding="utf-8")
    good = CliRunner().invoke(main, ["certificate", "verify", "c.json"])
    assert (good.exit_code, good.stdout.splitlines()[0]) == (0, make_certificate(HOLDING).sentence)

    forged = msgspec.structs.replace(make_certificate(HOLDING), sentence="Proven.")
    write_file(Path("c.json"), forged)
    bad = CliRunner().invoke(main, ["certificate", "verify", "c.json"])
    assert bad.exit_code == 1
    assert bad.stdout.startswith('sentence: "Proven." in the certificate, "mine:Decoder on exact held')
    told = json.loads(CliRunner().invoke(main, ["certificate", "verify", "c.json", "--json"]).stdout)
    assert [difference["name"] for difference in told["differences"]] == ["sentence", "digest"]


@pytest.mark.parametrize(("arguments", "code", "message"), [
    (["verify", "r.json"], 3, "is 'tree-oracle-report' version 1; expected 'tree-oracle-certificate' version 1"),
    (["verify", "none.json"], 3, "cannot read none.json"),
    (["make", "none.json"], 3, "cannot read none.json"),
    (["make", "r.json", "--state", "commit"], 2, "--state 'commit' states nothing; expected NAME=TEXT"),
    (["make", "r.json", "--output", "r.json"], 2, "r.json is there and is no certificate of tree-oracle"),
])  # fmt: skip
def test_what_cannot_be_done_is_said(
    arguments: list[str], code: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another file, a missing one, a statement that states nothing and a file that is not ours are refused by name."""
    monkeypatch.chdir(tmp_path)
    write_file(Path("r.json"), HOLDING)
    done = CliRunner().invoke(main, ["certificate", *arguments])
    assert done.exit_code == code
    assert message in done.stderr
