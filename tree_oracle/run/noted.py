"""What is learned of a decoder beside its statuses: witnesses of speculation, outcomes that came about, the largest of all, and
rows that were held against the floor.

Several checks judge the same rounds, so what is read off them is kept by seam, case and number of rounds. What a single check
saw is forgotten when the next begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tree_oracle.checks import OUTCOMES, Check, Source, outcomes_of, witness_of
from tree_oracle.checks.passes import Passes
from tree_oracle.checks.witness import contradiction, is_own_word
from tree_oracle.decoder import Seam
from tree_oracle.record import Case, CheckResult, Extent, Round, Status, Truth, Witness, case_id, extent_of
from tree_oracle.run.explore import AGAINST
from tree_oracle.run.outcome import Outcome
from tree_oracle.run.tally import Finished, witness_key

_MODEL_ROWS = (Seam.TREE_LOGITS, Seam.SESSION, Seam.TAP, Seam.GENERATE)  # where rows are a model's and not the case's
_WATCHED = (Seam.GENERATE, Seam.TAP)
_TEXTS = (Seam.SESSION, Seam.GENERATE, Seam.TAP)  # where rounds follow one another


class Noted:
    """All that was seen so far, and what the check in hand saw of it."""

    def __init__(self, truth: Truth, edges: tuple[tuple[int, bool], ...]) -> None:
        self._truth, self._edges = truth, edges
        self._witnessed: dict[str, Witness] = {}
        self._outcomes: dict[tuple[str, int], dict[str, bool]] = {}
        self._extent = Extent()
        self.begin()

    def begin(self) -> None:
        """The next check begins."""
        self._before = set(self._witnessed)
        self._told: dict[str, bool] = {}  # outcomes that it could tell of, and whether they came about
        self._refused: set[str] = set()  # scenes of which the decoder refused a case
        self._own_word: set[str] = set()  # cases of which nothing was shown but the decoder's own word
        self._compared: dict[str, int] = {}  # by seam and case, rows that were held against the floor

    def finished(self, result: CheckResult, scenes: dict[str, str], seconds: float) -> Finished:
        """The result with all that the check in hand saw. Witnesses may be told more than once."""
        rows = sum(self._compared.values())
        return Finished(
            result,
            {name: seen for name, seen in self._witnessed.items() if name not in self._before},
            scenes,
            round(seconds, 3),
            frozenset(name for name, came in self._told.items() if came),
            frozenset(self._due(scenes, result)),
            self._extent,
            rows,
            self._truth.noise() if rows else None,
            frozenset(self._own_word),
        )

    def note(self, check: Check, source: Source, case: Case, outcome: Outcome, passes: Passes | None) -> None:
        """What one judged case shows; ``passes``: what the target was seen to run for it."""
        contradicted = source.seam in _WATCHED and bool(contradiction(outcome.rounds, passes))
        rounds = () if contradicted else outcome.rounds
        name = self.witness(source, case, rounds)
        if source.seam is Seam.GENERATE and is_own_word(case, rounds, passes):
            self._own_word.add(name)
        if outcome.status is Status.NOT_APPLICABLE and not outcome.rounds:
            self._refused.add(source.scene.name)
        if "rows" in check.needs and source.seam in _MODEL_ROWS and not self._truth.exact:
            self._compared[name] = sum(len(r.rows.numpy()) for r in outcome.rounds if r.rows is not None)
        if (name, len(rounds)) not in self._outcomes:
            self._outcomes[name, len(rounds)] = outcomes_of(case, rounds, self._edges)
            if outcome.rounds and source.seam in _TEXTS:
                self._extent |= extent_of(case, outcome.rounds)
        for told, came in self._outcomes[name, len(rounds)].items():
            self._told[told] = came or self._told.get(told, False)

    def witness(self, source: Source, case: Case, rounds: tuple[Round, ...]) -> str:
        """Note what these rounds show of speculation, where they can, once; the name under which that is known."""
        name = witness_key(source.seam, case_id(case), handed=source.scene.handed)
        if source.seam in _TEXTS and name not in self._witnessed:
            self._witnessed[name] = witness_of(rounds)
        return name

    def _due(self, scenes: Iterable[str], result: CheckResult) -> Iterator[str]:
        """Outcomes that had to come about: a scene for them was judged to the end, no case of it was refused, and its rounds
        could show them."""
        if result.status in AGAINST:
            return
        for name in self._told:
            if set(OUTCOMES[name].scenes) & (set(scenes) - self._refused):
                yield name
