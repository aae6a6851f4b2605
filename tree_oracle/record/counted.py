"""Counts in words."""


def counted(number: int, what: str) -> str:
    """``1 token``, ``2 tokens``, ``2 entries``: the number and the noun, which is given in the singular."""
    many = f"{what[:-1]}ies" if what.endswith("ry") else f"{what}s"
    return f"{number} {what if number == 1 else many}"
