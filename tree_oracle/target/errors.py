"""The typed exceptions of this package.

What a model is handed during a decoder's run is the decoder's doing, so a wrong token, position or mask is a
``DecoderError``. What the oracle itself is asked for is a ``UsageError``.
"""

from __future__ import annotations

from tree_oracle.record import DecoderError, Unsupported, UsageError


class TorchError(Unsupported):
    """Torch or transformers cannot be imported here."""


class ModelInputError(DecoderError):
    """The exact model was handed something that no correct decoder hands to a model."""


class TokenError(ModelInputError):
    """Token ids of a wrong shape or dtype, or outside the vocabulary."""


class PositionError(ModelInputError):
    """Positions of a wrong shape or dtype, or outside the context."""


class MaskError(ModelInputError):
    """An attention mask that is not one: wrong width, rank, dtype or values, NaN, or no entry for a layer type."""


class CacheError(Unsupported):
    """A cache that cannot carry the exact model: it changes what it stores, or holds more than sums stay exact for."""


class HistoryError(UsageError):
    """A token sequence that has no row: empty, longer than the context, or with tokens outside the vocabulary."""
