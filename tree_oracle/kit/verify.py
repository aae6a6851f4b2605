"""Whether a kit is what its record says: the files, and every figure measured again on this machine.

Texts and files have to be the same. Margins and floors are measured anew, and the margins must be as large as the record asks,
by the new floor too. Agreement may differ where a drafter's row is close, so only a tenth is too much.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from tree_oracle.kit.make import digests
from tree_oracle.kit.measure import agreement, floor_of, loaded, quiet_prompt, tied_prompt, ties_hold, whole_prefix
from tree_oracle.kit.model import DRAFTER, TARGET, TIED, Kit, read_kit
from tree_oracle.kit.train import no_progress_bars
from tree_oracle.target import SequentialTruth, one_torch_thread

_CLOSE = 0.1  # shares that differ by no more are the same figure


class Difference(msgspec.Struct, frozen=True):
    """One thing that is not as the record says."""

    what: str
    recorded: str
    found: str


def verify_kit(folder: Path) -> list[Difference]:
    """Every difference; none if the kit is whole and its margins hold here.

    Raises:
        FileError: there is no record, or it is none of a kit.
        UsageError: a checkpoint cannot be loaded.
    """
    kit = read_kit(folder)
    damaged = list(_files(folder, kit))
    if damaged:
        return damaged  # nothing of another file is worth measuring
    with one_torch_thread(), no_progress_bars():
        return list(_measured(folder, kit))


def _files(folder: Path, kit: Kit) -> Iterator[Difference]:
    found = digests(folder)
    for name in sorted({*kit.files, *found}):
        if kit.files.get(name) != found.get(name):
            yield Difference(f"file {name}", kit.files.get(name, "none"), found.get(name, "none"))


def _measured(folder: Path, kit: Kit) -> Iterator[Difference]:
    floor = floor_of(folder / TARGET, kit.dtype)
    least = max(kit.least, kit.factor * floor.allowed)
    truth, tied = SequentialTruth(loaded(folder / TARGET)), SequentialTruth(loaded(folder / TIED))
    for place, recorded in enumerate(kit.quiet):
        again = quiet_prompt(truth, recorded.prompt, len(recorded.text))
        if again.text != recorded.text:
            yield Difference(f"text of quiet prompt {place}", str(recorded.text), str(again.text))
        yield from _margins(f"quiet prompt {place}", again.margins, least)
    for place, one in enumerate(kit.tied):
        same = tied_prompt(tied, one.prompt, len(one.smallest), kit.twins)
        if (same.smallest, same.largest) != (one.smallest, one.largest):
            yield Difference(f"texts of tied prompt {place}", str(one.smallest), str(same.smallest))
        yield from _margins(f"tied prompt {place}", same.margins, least)
    for dtype in kit.tied_in:
        if not ties_hold(folder / TIED, kit.tied, kit.twins, dtype):
            yield Difference(f"ties in {dtype}", "bit for bit", "not all")
    for what, count, found in (
        ("agreement", kit.agreement, agreement(loaded(folder / DRAFTER), kit.quiet)),
        ("whole prefix", kit.whole_prefix, whole_prefix(loaded(folder / TARGET), kit.quiet)),
    ):
        if count.of != found.of or abs(count.share - found.share) > _CLOSE:
            yield Difference(what, f"{count.found} of {count.of}", f"{found.found} of {found.of}")


def _margins(what: str, margins: tuple[float, ...], least: float) -> Iterator[Difference]:
    if min(margins, default=least) < least:
        yield Difference(f"margins of {what}", f"{least:.3g} or more", f"{min(margins):.3g}")
