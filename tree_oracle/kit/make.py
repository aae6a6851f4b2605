"""Making a kit: train, save, measure what was saved, and only then give the folder its name.

A folder that holds anything is refused; one that is there has everything, since it is written under another name beside it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from transformers import GenerationConfig

from tree_oracle.kit.language import END, Language
from tree_oracle.kit.measure import (
    DTYPES,
    Wanted,
    agreement,
    choose_quiet,
    choose_tied,
    floor_of,
    loaded,
    ties_hold,
    whole_prefix,
)
from tree_oracle.kit.model import DRAFTER, KIT_FILE, TARGET, TIED, Kit, KitError
from tree_oracle.kit.ties import tied_model, twins_of
from tree_oracle.kit.tokenizer import save_tokenizer
from tree_oracle.kit.train import CONTEXT, no_progress_bars, train, untrained
from tree_oracle.record import UsageError, to_json
from tree_oracle.target import one_torch_thread

FACTOR = 10.0
PROMPTS, LENGTH = 32, 24
STEPS = 600
FINE = "float32"
# In bfloat16 the floor of so small a qwen3 grows with its margins, however long it is trained: no prompt is ten times above it.
COARSEST = {"llama": "bfloat16", "qwen3": FINE}

_PER_PROMPT = 6  # candidates that are tried for one that is wanted

Say = Callable[[str], None]


def make_kit(
    folder: Path,
    *,
    seed: int = 0,
    steps: int = STEPS,
    prompts: int = PROMPTS,
    length: int = LENGTH,
    architecture: str = "llama",
    dtype: str | None = None,
    say: Say = lambda line: None,
) -> Kit:
    """Train a target and a drafter and measure two prompt sets; about 40 seconds on one thread.

    Args:
        folder: must not be there, or be empty.
        seed: the same seed gives the same files on one machine with the same releases.
        steps: of training the target; the drafter gets as many.
        prompts: in each set.
        length: tokens of every greedy text.
        architecture: llama or qwen3.
        dtype: the coarsest number format that engines will run: margins are ten times its floor. None: that of ``COARSEST``.
        say: told what is being done.

    Raises:
        UsageError: the folder holds something, or an unknown name or size.
        KitError: too few candidates have the margins that are asked for.
    """
    dtype = dtype or COARSEST.get(architecture, FINE)
    _refuse(folder, steps, prompts, length, dtype)
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        with one_torch_thread(), no_progress_bars():
            _train(draft, seed, steps, architecture, say)
            kit = _measured(draft, seed, steps, Wanted(prompts, length), architecture, dtype, say)
        (draft / KIT_FILE).write_bytes(to_json(kit))
        draft.chmod(0o755)
        os.replace(draft, folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return kit


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 in hex of every file of a kit but its record, by path."""
    files = sorted(path for part in (DRAFTER, TARGET, TIED) for path in (folder / part).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _refuse(folder: Path, steps: int, prompts: int, length: int, dtype: str) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"{str(folder)!r} is there already and not an empty directory; a kit is never written over anything"
        )
    if min(steps, prompts, length) < 1 or length > CONTEXT // 2:
        given = f"steps, prompts and length are {steps}, {prompts} and {length}"
        raise UsageError(f"{given}; expected 1 or more each, and a length up to {CONTEXT // 2}")
    if dtype not in DTYPES:
        raise UsageError(f"dtype {dtype!r} is none of {', '.join(DTYPES)}")


def _train(draft: Path, seed: int, steps: int, architecture: str, say: Say) -> None:
    language = Language.of(seed)
    target, drafter = (untrained(architecture, role, seed) for role in (TARGET, DRAFTER))
    for name, model in ((TARGET, target), (DRAFTER, drafter)):
        loss = train(model, language, steps=steps, seed=seed, misled=name == DRAFTER)
        say(f"{name}: {steps} steps, loss {loss:.4f}")
        _save(model, draft / name)
    _save(tied_model(target, twins_of(seed)), draft / TIED)


def _save(model: Any, folder: Path) -> None:
    settings = {"do_sample": False, "eos_token_id": END, "pad_token_id": END}
    model.generation_config = GenerationConfig.from_dict(settings)
    model.save_pretrained(folder)
    save_tokenizer(folder)


def _measured(draft: Path, seed: int, steps: int, wanted: Wanted, architecture: str, dtype: str, say: Say) -> Kit:
    floors = tuple(floor_of(draft / TARGET, name) for name in DTYPES)
    least = FACTOR * next(floor.allowed for floor in floors if floor.dtype == dtype)
    most, twins = _PER_PROMPT * wanted.prompts, twins_of(seed)
    quiet = choose_quiet(draft / TARGET, seed, wanted, least, most)
    tied = choose_tied(draft / TIED, seed, wanted, least, most, twins)
    for what, found in (("quiet", quiet), ("tied", tied)):
        if len(found) < wanted.prompts:
            raise KitError(
                f"{len(found)} of {wanted.prompts} {what} prompts were found among {most}: every margin has to be {least:.3g}, "
                f"{FACTOR:g} times the floor in {dtype}; train for more or fewer than {steps} steps, or ask for a finer dtype"
            )
        say(
            f"{what}: {len(found)} prompts, smallest margin {min(min(one.margins) for one in found):.3g}, asked for {least:.3g}"
        )
    return Kit(
        seed=seed, steps=steps, architecture=architecture, dtype=dtype, factor=FACTOR, floors=floors,
        agreement=agreement(loaded(draft / DRAFTER), quiet), whole_prefix=whole_prefix(loaded(draft / TARGET), quiet),
        twins=twins, tied_in=tuple(name for name in DTYPES if ties_hold(draft / TIED, tied, twins, name)),
        quiet=quiet, tied=tied, files=digests(draft), environment=_environment(),
    )  # fmt: skip


def _environment() -> dict[str, str]:
    releases = {name: version(name) for name in ("torch", "transformers", "safetensors")}
    return {**releases, "python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
