"""What a decoder shows for a case, be it the one under test or a suspect: its rounds, and whether it broke down behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tree_oracle.record import Case, DecoderError, Round, TreeOracleError, case_id
from tree_oracle.run.same_shown import Rounds


@dataclass(frozen=True, slots=True)
class Shown:
    """What a decoder shows for one case, and whether it broke down after that."""

    rounds: Rounds
    broke: bool = False
    answered: str = ""  # what broke it, where that is an answer and no exception

    def __bool__(self) -> bool:
        return bool(self.rounds) or self.broke

    @property
    def blank(self) -> bool:
        """Whether nothing is shown but that it broke down."""
        return not self.rounds and not self.answered


@dataclass(frozen=True, slots=True)
class Tried:
    """The cases that were tried, each once, and what the decoder showed for them."""

    cases: dict[str, tuple[Case, Shown]] = field(default_factory=dict)

    @property
    def blank(self) -> bool:
        """Whether the decoder shows nothing on any of them but that it broke down."""
        return all(observed.blank for _, observed in self.cases.values())

    def add(self, case: Case, observed: Shown) -> None:
        self.cases[case_id(case)] = case, observed


def shown_by(drive_it: Callable[[], Rounds]) -> Shown:
    """The rounds that are shown, up to the one in which the decoder breaks down if it does."""
    try:
        return Shown(drive_it())
    except DecoderError as error:
        rounds = tuple(round_ for round_ in error.rounds if isinstance(round_, Round))
        return Shown(rounds, broke=True, answered=error.answered)
    except TreeOracleError:
        return Shown(())
