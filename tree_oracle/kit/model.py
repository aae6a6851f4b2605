"""What a kit says of itself: ``kit.json``, everything measured on the machine that made it, with the files that it speaks of.

target/  drafter/  tied/     checkpoints: config.json, generation_config.json, model.safetensors, tokenizer.json, and model.gguf
                             where it was asked for (``tree_oracle.kit.gguf``)
kit.json                     this record, canonical JSON; its schema is ``schemas/kit-1.schema.json``
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from tree_oracle.record import TreeOracleError
from tree_oracle.record.files import decoded, read_bounded

KIT_FORMAT = "tree-oracle-kit"
KIT_VERSION = 1
KIT_FILE = "kit.json"
TARGET, DRAFTER, TIED = "target", "drafter", "tied"

MAX_BYTES = 16 * 2**20  # a kit with ten times the usual prompts takes 1 MiB


class KitError(TreeOracleError):
    """A kit cannot be made as asked, or what it measures is not good enough."""


class Floor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far a plain row of the target may be off in one number format (``record.Noise.allowed``), in logits."""

    dtype: str
    allowed: float


class Quiet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A prompt after which every choice is clear."""

    prompt: tuple[int, ...]
    text: tuple[int, ...]  # plain greedy decoding
    margins: tuple[float, ...]  # per token of the text, by how many logits it leads, in float64


class Tied(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A prompt after which some choices are exact ties."""

    prompt: tuple[int, ...]
    smallest: tuple[int, ...]  # the text under the rule that the smallest id wins
    largest: tuple[int, ...]  # under the other one
    margins: tuple[float, ...]  # by how many logits the maximum leads over the best that is not its twin


class Count(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """So many of so many."""

    found: int
    of: int

    @property
    def share(self) -> float:
        """As a fraction; 0 of none."""
        return self.found / self.of if self.of else 0.0


class Kit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The record of a kit."""

    format: str = KIT_FORMAT
    version: int = KIT_VERSION
    seed: int
    steps: int
    architecture: str
    dtype: str  # the coarsest number format that the margins are made for
    factor: float  # every margin is at least this many times the floor in that format
    floors: tuple[Floor, ...]
    agreement: Count  # of the drafter's first choices along the quiet texts, those that are the target's
    whole_prefix: Count  # places of quiet prompts where another token changes the greedy text, of all
    twins: tuple[tuple[int, int], ...]
    tied_in: tuple[str, ...]  # number formats in which every tie of the tied texts is one bit for bit
    quiet: tuple[Quiet, ...]
    tied: tuple[Tied, ...]
    files: dict[str, str]  # SHA-256 in hex by path
    environment: dict[str, str]

    @property
    def least(self) -> float:
        """The margin that every choice has at least."""
        return self.factor * next(floor.allowed for floor in self.floors if floor.dtype == self.dtype)


def read_kit(folder: Path) -> Kit:
    """The record in a folder; nothing else is looked at.

    Raises:
        FileError: it is missing, too large, or no such record.
    """
    path = folder / KIT_FILE
    return decoded(read_bounded(path, KIT_FORMAT, MAX_BYTES), path, Kit, KIT_FORMAT, KIT_VERSION)
