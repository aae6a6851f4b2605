"""The heads of a bundle and of a site: what they are, with the digests by which they are joined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from tree_oracle.numerics.bundle import standalone
from tree_oracle.record import FileError, UsageError
from tree_oracle.record.files import decoded, read_bounded

BUNDLE_FORMAT, BUNDLE_VERSION = "tree-oracle-bundle", 1
SITE_FORMAT, SITE_VERSION = standalone.SITE, 1
MAX_HEAD = 2**20


class BundleHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a bundle holds."""

    target: str
    model: dict[str, Any]
    instances: int
    prefix: int
    width: int
    seed: int
    agreement: float  # largest difference, in logits, between run.py in float64 and the golden rows
    files: dict[str, str]  # SHA-256 of every file
    format: str = BUNDLE_FORMAT
    version: int = BUNDLE_VERSION


class SiteHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a bundle was run."""

    bundle: str  # SHA-256 of bundle.json
    rows: str  # SHA-256 of rows.safetensors
    device: str
    dtype: str
    kernel: str
    environment: dict[str, str]
    format: str = SITE_FORMAT
    version: int = SITE_VERSION

    @property
    def name(self) -> str:
        """One line that a reader can tell sites apart by."""
        place = [self.environment[key] for key in ("name", "instructions") if key in self.environment]
        return " ".join([*place, self.device, self.dtype, self.kernel])


def read_bundle(folder: Path) -> BundleHead:
    """The head of the bundle in ``folder``, after all of its files were checked.

    Raises:
        FileError: something cannot be read.
        UsageError: a file is not the one that the bundle was made with.
    """
    path = folder / "bundle.json"
    head = decoded(read_bounded(path, BUNDLE_FORMAT, MAX_HEAD), path, BundleHead, BUNDLE_FORMAT, BUNDLE_VERSION)
    for name, expected in head.files.items():
        _same(folder / name, expected)
    return head


def read_site(folder: Path, bundle: Path) -> SiteHead:
    """The head of the site in ``folder``, which has to be one of the bundle.

    Raises:
        FileError: something cannot be read.
        UsageError: it was run on another bundle, or its rows are not those that were written.
    """
    path = folder / "site.json"
    head = decoded(read_bounded(path, SITE_FORMAT, MAX_HEAD), path, SiteHead, SITE_FORMAT, SITE_VERSION)
    if head.bundle != standalone.digest(bundle / "bundle.json"):
        raise UsageError(f"{folder} was run on another bundle than {bundle}: the digests of bundle.json differ")
    _same(folder / "rows.safetensors", head.rows)
    return head


def _same(path: Path, expected: str) -> None:
    try:
        found = standalone.digest(path)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error
    if found != expected:
        raise UsageError(f"{path} is not the file that was written: its SHA-256 differs")
