"""The engines that ready adapters drive, and what to install. None is a requirement of this package.

An adapter imports without its engine, and asks for it when a decoder is made. The versions are those that were really run; the
pip lines leave dependencies out, as some engines would bring a training stack or another torch with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module, metadata
from types import MappingProxyType
from typing import Any

from tree_oracle.record import MissingEngine, UsageError
from tree_oracle.record.names import by_name


@dataclass(frozen=True, slots=True)
class Engine:
    """A distribution that holds a decoder."""

    name: str  # of the distribution
    module: str  # what is imported
    version: str  # the one that was run
    needs: tuple[str, ...] = ()  # distributions that it imports, beside numpy, torch and transformers

    @property
    def pip(self) -> str:
        """The command that installs this version and what it really imports."""
        before = f"pip install {' '.join(self.needs)} && " if self.needs else ""
        return f"{before}pip install --no-deps {self.name}=={self.version}"

    @property
    def found(self) -> str | None:
        """The version that is installed here."""
        try:
            return metadata.version(self.name)
        except metadata.PackageNotFoundError:
            return None


ENGINES: Mapping[str, Engine] = MappingProxyType(
    by_name(
        (
            Engine("dflash", "dflash", "0.1.0"),
            Engine("economize", "economize", "0.3.2"),
            Engine("flashspec", "flashspec", "0.3.1", ("pydantic",)),
            Engine("rotalabs-accel", "rotalabs_accel", "1.1.1"),
            Engine("sequential-speculative-decoding", "seqspecdecod", "0.1.1"),
            Engine("transformers", "transformers", "5.24.0"),
        )
    )
)


def load_engine(name: str, part: str = "") -> Any:
    """The module of an engine, or its module ``part``.

    Raises:
        UsageError: no engine of that name is known.
        MissingEngine: it is not installed, or cannot be imported.
    """
    if name not in ENGINES:
        raise UsageError(f"unknown engine {name!r}; known: {', '.join(ENGINES)}")
    engine = ENGINES[name]
    try:
        return import_module(f"{engine.module}.{part}" if part else engine.module)
    except ImportError as error:
        absent = error.name is not None and error.name.split(".")[0] == engine.module and engine.found is None
        why = "is not installed" if absent else f"cannot be imported: {error}"
        raise MissingEngine(f"the engine {name} {why}; install it with: {engine.pip}") from error
