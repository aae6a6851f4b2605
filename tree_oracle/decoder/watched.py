"""Which module's calls are the target's.

Usually it is the model that the decoder was given. A decoder that carries its own modelling file runs a module of its own
over the same weights, and names that as ``watched``; nothing is seen of it otherwise.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from tree_oracle.record import AdapterError


def inner_of(model: Any) -> nn.Module | None:
    """The model without its head; None where it has no such part."""
    found = getattr(model, getattr(model, "base_model_prefix", None) or "model", None)
    return found if isinstance(found, nn.Module) and found is not model else None


def watched_by(decoder: Any, model: Any) -> Any:
    """The module that ``decoder`` names as ``watched``, else ``model``.

    Raises:
        AdapterError: what is named is no torch module, or has no configuration to read its masks by.
    """
    named = getattr(decoder, "watched", None)
    if named is not None and not (isinstance(named, nn.Module) and hasattr(named, "config")):
        expected = "the torch module whose calls are the target's, with the target's config"
        raise AdapterError(f"watched is {type(named).__name__}; expected {expected}")
    return model if named is None else named
