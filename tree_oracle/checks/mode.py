"""How a decoder says it samples: ``declared_mode``, a ``tree_oracle.verify.law.Declaration``.

It is read once per run and reaches the judges in their ``View``. What is declared is a claim: LAW-03 rules on it, the other
checks hold the decoder to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from tree_oracle.checks.answers import short
from tree_oracle.checks.guard import protect
from tree_oracle.record import AdapterError, UsageError
from tree_oracle.verify.approximate import APPROXIMATE, REDUCED
from tree_oracle.verify.law import Declaration, Ruling, rule_on
from tree_oracle.verify.rules import PROPOSALS, RULES, Card

_CARDS: Mapping[str, Card] = {**RULES, **REDUCED, **APPROXIMATE}


def mode_of(decoder: object) -> Declaration | None:
    """The mode that the decoder declares, if it does.

    Raises:
        AdapterError: it is no ``Declaration``, or names a rule or a proposal that does not exist.
        DecoderError: looking for it raised.
    """
    mode = protect("declared_mode", lambda: getattr(decoder, "declared_mode", None))
    if mode is None:
        return None
    if not isinstance(mode, Declaration):
        raise AdapterError(f"declared_mode is {short(mode)}; expected a tree_oracle.verify.law.Declaration")
    for what, name, known in (("rule", mode.rule, _CARDS), ("proposal", mode.proposal, PROPOSALS)):
        if name not in known:
            raise AdapterError(f"declared_mode names the {what} {name!r}; expected one of {', '.join(known)}")
    return mode


def card_of(mode: Declaration) -> Card:
    """What is known of the declared rule."""
    return _CARDS[mode.rule]


def ruling_on(mode: Declaration) -> Ruling:
    """What may be said of the mode.

    Raises:
        AdapterError: rule, proposal and number of siblings do not fit together.
    """
    try:
        return _ruling(mode)
    except UsageError as error:
        raise AdapterError(f"declared_mode: {error}") from error


_ruling = cache(rule_on)
