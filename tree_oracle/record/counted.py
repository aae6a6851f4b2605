"""Counts in words."""


def counted(number: int, what: str) -> str:
    """``1 token``, ``2 tokens``: the number and the noun, which is given in the singular."""
    return f"{number} {what}{'' if number == 1 else 's'}"
