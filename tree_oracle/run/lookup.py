"""Finding the decoder that a command line names: ``reference``, a planted fault, or ``module:attribute``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from tree_oracle.record import UsageError

REFERENCE = "reference"


def find_decoder(name: str | None, fault: str | None = None) -> tuple[str, Any]:
    """The name to report, and a decoder or a factory.

    Raises:
        UsageError: no such fault, module or attribute; or a fault is asked for in somebody else's decoder.
    """
    from tree_oracle.decoder import ReferenceDecoder  # resolved here, since they load torch
    from tree_oracle.faults import find_fault

    if fault is not None:
        if name not in (None, REFERENCE):
            raise UsageError(
                f"--fault plants a fault in the built-in reference decoder; it cannot be planted in {name!r}"
            )
        return f"fault:{fault}", find_fault(fault).decoder
    if name in (None, REFERENCE):
        return REFERENCE, ReferenceDecoder
    if name.startswith("fault:"):
        return name, find_fault(name.removeprefix("fault:")).decoder
    return name, _attribute(name)


def _attribute(name: str) -> Any:
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        raise UsageError(f"decoder {name!r} is not module:attribute, as in my_package.adapter:make_decoder")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise UsageError(f"decoder {name!r}: no module {error.name!r} can be imported from here") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a script that exits when it is imported must not end the run with its own code
        raise UsageError(f"decoder {name!r}: importing {module_name} raised {type(error).__name__}: {error}") from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise UsageError(f"decoder {name!r}: {getattr(found, '__name__', found)!r} has no attribute {part!r}")
        found = getattr(found, part)
    return found
