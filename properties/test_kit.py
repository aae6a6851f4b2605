"""A kit is what its record says: standard checkpoints, a language that needs the whole prefix, clear choices and exact ties.

The kits here are trained for a moment and promise clear choices in float32 alone; the profile ``deep`` makes a whole one.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import gguf_oracle
import jsonschema
import msgspec
import pytest
import torch
from click.testing import CliRunner
from grounds import Ground
from hypothesis import given
from hypothesis import strategies as st
from kit_grounds import DEEP, SMALL, one_number_format, small_kit
from transformers import AutoModelForCausalLM, AutoTokenizer

from tree_oracle import ReferenceDecoder
from tree_oracle.cli import main
from tree_oracle.faults import find_fault
from tree_oracle.kit import Difference, Kit, KitError, make, make_kit, read_kit, verify_kit
from tree_oracle.kit.language import END, FAR, FIRST, SWITCH, TWINS, VOCAB, WORDS, Language
from tree_oracle.kit.make import COARSEST
from tree_oracle.kit.measure import floor_of
from tree_oracle.kit.schema import FILE, schema_json
from tree_oracle.record import FileError, UsageError, to_json

pytestmark = pytest.mark.sweep


@pytest.fixture(scope="module", autouse=True)
def in_one_number_format() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        one_number_format(monkeypatch)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_kit(tmp_path_factory)


@pytest.fixture(scope="module")
def kit(folder: Path) -> Kit:
    return read_kit(folder)


def model_in(folder: Path, name: str, dtype: torch.dtype = torch.float32) -> Any:
    return AutoModelForCausalLM.from_pretrained(folder / name, dtype=dtype, local_files_only=True)


@cache
def tokenizer_in(folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(folder / "target", local_files_only=True)


def rows_of(model: Any, text: tuple[int, ...]) -> torch.Tensor:
    with torch.no_grad():
        rows: torch.Tensor = model(torch.tensor([text])).logits[0]
    return rows


LANGUAGE = Language.of(3)
tokens = st.integers(0, SWITCH)


def due(text: list[int], misled: bool) -> int:
    """The law of the language for one text, a token at a time."""
    words = [0 if token == SWITCH else token for token in text]
    group = int(LANGUAGE.groups[words[-1 - FAR]])
    if misled and LANGUAGE.misled[words[-1]]:
        group = (group + 1) % 8
    return int(LANGUAGE.moves[int(SWITCH in text), group, words[-1]])


@given(st.lists(tokens, min_size=FIRST, max_size=20), st.booleans())
def test_the_language_is_what_it_says(text: list[int], misled: bool) -> None:
    """After every place the token due is that of the formula, and always a word."""
    (found,) = LANGUAGE.next_tokens(torch.tensor([text]).numpy(), misled=misled).tolist()
    assert found == [due(text[: place + 1], misled) for place in range(FAR, len(text))]
    assert all(0 <= token < WORDS for token in found)


@given(st.lists(st.integers(0, WORDS - 1), min_size=FIRST, max_size=20), st.data())
def test_the_next_token_needs_every_token(text: list[int], data: st.DataObject) -> None:
    """Wherever a word is replaced by the switch in a text without one, the language's other half speaks from there on."""
    place = data.draw(st.integers(0, len(text) - 1))
    changed = [*text[:place], SWITCH, *text[place + 1 :]]
    (found,) = LANGUAGE.next_tokens(torch.tensor([changed]).numpy()).tolist()
    words = [0 if token == SWITCH else token for token in changed]
    for at in range(max(place, FAR), len(text)):
        assert found[at - FAR] == LANGUAGE.moves[1, LANGUAGE.groups[words[at - FAR]], words[at]]
    assert len({*map(tuple, LANGUAGE.moves.reshape(16, WORDS).tolist())}) == 16  # so the halves differ


def test_tokens_have_one_meaning_each() -> None:
    """Words, switch, twins and end make up the vocabulary, and half of the words mislead a drafter."""
    assert [*range(WORDS), SWITCH, *TWINS, END] == list(range(VOCAB))
    assert LANGUAGE.misled.sum() == WORDS // 2
    assert sorted(set(LANGUAGE.groups.tolist())) == list(range(8))


def test_the_same_seed_makes_the_same_kit(folder: Path, tmp_path: Path) -> None:
    """Made again, every file has the same bytes, the record included; another seed has another language."""
    make_kit(tmp_path / "again", **SMALL)
    for path in (path for path in folder.rglob("*") if path.is_file()):
        assert path.read_bytes() == (tmp_path / "again" / path.relative_to(folder)).read_bytes()
    assert (Language.of(0).moves != Language.of(1).moves).any()


def test_the_files_are_standard_ones(folder: Path, kit: Kit) -> None:
    """Each checkpoint is a configuration, a generation configuration, safetensors and a tokenizer, and nothing else."""
    names = {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert set(kit.files) == {f"{part}/{name}" for part in ("target", "drafter", "tied") for name in names}
    config = json.loads((folder / "target/config.json").read_text(encoding="utf-8"))
    assert (config["architectures"], config["vocab_size"]) == (["LlamaForCausalLM"], VOCAB)


@given(st.lists(st.integers(0, VOCAB - 1), max_size=12))
def test_every_token_is_a_word_of_the_tokenizer(folder: Path, text: list[int]) -> None:
    """The words of any tokens are read back as these tokens, and nothing is added to them."""
    tokenizer = tokenizer_in(folder)
    words = tokenizer.decode(text)
    assert words.split() == [f"t{token}" for token in text]
    assert tokenizer.encode(words) == text
    assert (tokenizer.eos_token_id, len(tokenizer)) == (END, VOCAB)


def test_a_word_that_is_no_token_is_refused(folder: Path) -> None:
    """No other token is taken for it."""
    with pytest.raises(Exception, match="[Uu]nk|vocab"):
        tokenizer_in(folder).encode("t1 t64")


def test_quiet_texts_and_margins_are_the_models_own(folder: Path, kit: Kit) -> None:
    """transformers generates each quiet text with a cache, and in float64 every token leads by the margin that is recorded."""
    model, wide = model_in(folder, "target"), model_in(folder, "target", torch.float64)
    assert len(kit.quiet) == SMALL["prompts"]
    for one in kit.quiet:
        ids = torch.tensor([one.prompt])
        text = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=len(one.text))[
            0, len(one.prompt) :
        ]
        assert tuple(text.tolist()) == one.text
        rows = rows_of(wide, (*one.prompt, *one.text))[len(one.prompt) - 1 : -1]
        best = rows.topk(2, dim=-1)
        assert tuple(best.indices[:, 0].tolist()) == one.text
        # the record's float64 rows keep rotary angles in double precision too, transformers' own do not
        assert (best.values[:, 0] - best.values[:, 1]).tolist() == pytest.approx(one.margins, abs=1e-4)
        assert min(one.margins) >= kit.least > 0


def test_ties_are_exact_and_both_rules_are_told(folder: Path, kit: Kit) -> None:
    """In the tied checkpoint a word and its twin have the same bits, and each rule leads to the text that is recorded."""
    model = model_in(folder, "tied")
    twin = dict(kit.twins)
    assert "float32" in kit.tied_in
    for one in kit.tied:
        assert one.smallest != one.largest
        for text in (one.smallest, one.largest):
            rows = rows_of(model, (*one.prompt, *text))[len(one.prompt) - 1 : -1]
            for row, small, large in zip(rows, one.smallest, one.largest, strict=True):
                assert torch.nonzero(row == row.max()).flatten().tolist() == sorted({small, large})
                assert large == twin.get(small, small)


def test_agreement_is_counted_along_the_quiet_texts(folder: Path, kit: Kit) -> None:
    """The drafter's first choices that are the target's are as many as recorded."""
    model, found = model_in(folder, "drafter"), 0
    for one in kit.quiet:
        rows = rows_of(model, (*one.prompt, *one.text))[len(one.prompt) - 1 : -1]
        found += int((rows.argmax(dim=-1) == torch.tensor(one.text)).sum())
    assert (kit.agreement.found, kit.agreement.of) == (found, SMALL["prompts"] * SMALL["length"])


def test_a_whole_kit_verifies(folder: Path) -> None:
    """Measured again on this machine, nothing differs."""
    assert verify_kit(folder) == []


def changed(folder: Path, kit: Kit, **changes: Any) -> list[Difference]:
    (folder / "kit.json").write_bytes(to_json(msgspec.structs.replace(kit, **changes)))
    return verify_kit(folder)


def test_what_is_not_so_is_named(folder: Path, kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged file, a text, a margin, a tie or an agreement that is not the checkpoint's is found and named."""
    monkeypatch.setattr("tree_oracle.kit.verify.floor_of", cache(floor_of))  # the target stays as it is
    copy = tmp_path / "kit"
    shutil.copytree(folder, copy)
    first = kit.quiet[0]
    other = msgspec.structs.replace(first, text=(*first.text[:-1], (first.text[-1] + 1) % WORDS))
    (found,) = changed(copy, kit, quiet=(other, *kit.quiet[1:]), agreement=kit.agreement)[:1]
    assert (found.what, found.found) == ("text of quiet prompt 0", str(first.text))
    assert {one.what for one in changed(copy, kit, factor=1e9)} == {
        f"margins of {kind} prompt {place}" for kind in ("quiet", "tied") for place in range(SMALL["prompts"])
    }
    untied = tuple((word, (word + 1) % WORDS) for word, _ in kit.twins)
    assert {one.what for one in changed(copy, kit, twins=untied)} >= {"texts of tied prompt 0", "ties in float32"}
    wrong = msgspec.structs.replace(kit.agreement, found=kit.agreement.of * 2)
    assert [one.what for one in changed(copy, kit, agreement=wrong)] == ["agreement"]
    (copy / "target/config.json").write_text("{}", encoding="utf-8")
    assert [one.what for one in changed(copy, kit)] == ["file target/config.json"]
    (copy / "drafter/model.safetensors").unlink()
    assert {one.what for one in verify_kit(copy)} == {"file target/config.json", "file drafter/model.safetensors"}


def test_the_record_matches_its_committed_schema(folder: Path) -> None:
    """The schema is what the code means, the record is valid under it, and a field that nobody knows is refused."""
    assert FILE.read_text(encoding="utf-8") == schema_json(), "write it anew with `python -m tree_oracle.kit.schema`"
    validator = jsonschema.Draft202012Validator(json.loads(schema_json()))
    plain = json.loads((folder / "kit.json").read_text(encoding="utf-8"))
    validator.validate(plain)
    with pytest.raises(jsonschema.ValidationError, match="surprise"):
        validator.validate(plain | {"surprise": 1})


def test_nothing_is_written_over_and_nothing_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with anything in it is refused before any work; a failure on the way leaves no file; an empty folder is taken."""
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine").touch()
    with pytest.raises(UsageError, match="is there already and not an empty directory"):
        make_kit(full, **SMALL)
    with pytest.raises(UsageError, match="is there already and not an empty directory"):
        make_kit(full / "mine", **SMALL)
    with monkeypatch.context() as once:
        once.setattr(make, "FACTOR", 1e9)
        with pytest.raises(
            KitError, match="0 of 2 quiet prompts were found among 12: every margin has to be .* train for"
        ):
            make_kit(tmp_path / "poor", **(SMALL | {"steps": 1}))
    monkeypatch.setattr(make, "_measured", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        make_kit(tmp_path / "broken", **(SMALL | {"steps": 1}))
    assert [path.name for path in tmp_path.iterdir()] == ["full"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps, prompts and length are 0, 2 and 8; expected 1 or more each, and a length up to 128"),
        ({"length": 129}, "are 6, 2 and 129"),
        ({"dtype": "float8"}, "dtype 'float8' is none of .*float32"),
        ({"architecture": "lama"}, "architecture 'lama' is none of llama, qwen3"),
    ],
)
def test_what_cannot_be_made_is_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    """A size or name that there is not is named with what was expected, and nothing is left behind."""
    with pytest.raises(UsageError, match=message):
        make_kit(tmp_path / "kit", **(SMALL | options))
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_kit_is_no_kit(tmp_path: Path) -> None:
    """A folder without a record, or with another one, is refused by name."""
    with pytest.raises(FileError, match="cannot read .*kit.json"):
        verify_kit(tmp_path)
    (tmp_path / "kit.json").write_text("{}", encoding="utf-8")
    with pytest.raises(FileError, match="is not a tree-oracle-kit file"):
        verify_kit(tmp_path)


def test_a_decoder_is_judged_on_a_kit(folder: Path) -> None:
    """The reference passes on the kit's target, and a planted fault in it fails."""
    ground = Ground(f"dir:{folder}/target", 0)
    decoders = ReferenceDecoder, find_fault("sibling-leak").decoder
    right, wrong = (ground.report(decoder, "HISTORY-02") for decoder in decoders)
    assert (right.exit_code, wrong.exit_code) == (0, 1), (right, wrong)
    words = (
        r"\S+ logits are allowed, .* moved a row by \S+; from [1-9]\d* control rows; of [1-9]\d* judged rows about .*"
    )
    assert re.fullmatch(words, right.environment["floor"])


def test_the_command_line_makes_and_verifies(tmp_path: Path, folder: Path) -> None:
    """Figures are printed by both, and a qwen3 is written as GGUF too; a kit that differs ends with code 1, one that is none with 3, a full folder with 2."""
    words = [word for name, value in SMALL.items() for word in (f"--{name}", str(value))]
    made = CliRunner().invoke(main, ["kit", "make", str(tmp_path / "kit"), "--architecture", "qwen3", *words])
    assert made.exit_code == 0, made.output
    assert "target      qwen3, seed 0, 6 steps" in made.output
    assert "drafter     agrees on " in made.output
    assert CliRunner().invoke(main, ["kit", "make", str(tmp_path), *words]).exit_code == 2
    good = CliRunner().invoke(main, ["kit", "verify", str(folder)])
    assert (good.exit_code, good.output.splitlines()[-1]) == (0, "verified    every file and figure, on this machine")
    written = CliRunner().invoke(main, ["kit", "gguf", str(tmp_path / "kit")])
    assert (written.exit_code, len(written.output.splitlines())) == (0, 3), written.output
    gguf_oracle.agrees(gguf_oracle.read(tmp_path / "kit/drafter/model.gguf"), tmp_path / "kit/drafter")
    assert gguf_oracle.worst_margin(tmp_path / "kit") < read_kit(tmp_path / "kit").floors[0].allowed
    (tmp_path / "kit/drafter/config.json").write_text("{}", encoding="utf-8")
    bad = CliRunner().invoke(main, ["kit", "verify", str(tmp_path / "kit")])
    assert (bad.exit_code, bad.output.splitlines()[0]) == (1, "file drafter/config.json")
    assert CliRunner().invoke(main, ["kit", "verify", str(tmp_path)]).exit_code == 3


@pytest.mark.skipif(not DEEP, reason="trains for a minute; profile deep")
@pytest.mark.parametrize("architecture", ["llama", "qwen3"])
def test_a_whole_kit_is_as_good_as_it_promises(tmp_path: Path, architecture: str) -> None:
    """Trained to the end, choices are clear in the coarsest format promised, the drafter is right half of the time, and the prefix matters."""
    kit = make_kit(tmp_path / "kit", architecture=architecture)
    assert 0.4 < kit.agreement.share < 0.6
    assert kit.whole_prefix.share > 0.7
    assert kit.dtype == COARSEST[architecture]
    assert set(kit.tied_in) >= {"float64", "float32", kit.dtype}
    assert verify_kit(tmp_path / "kit") == []
