"""Planted faults that show past a size, or beside one more option, and nowhere else."""

from __future__ import annotations

from tree_oracle.decoder import Parts
from tree_oracle.decoder.path_parts import PathParts
from tree_oracle.faults import passes, paths, stops, walks
from tree_oracle.faults.fault import Fault

_REVERSED = (
    "end tokens and stop sequences come in the opposite order",
    Parts(stop=stops.end_tokens_reversed),
)
_BACKWARDS = (
    "the rows are processed from the last to the first",
    Parts(path=PathParts(shape=paths.last_row_first)),
)

NARROW_FAULTS = (
    Fault(
        "repetition-always-divides",
        "PATH-STATE",
        "PATHSTATE-02",
        "a repetition penalty divides logits below zero too",
        "a repetition on rows that are below zero",
        "penalties written for probabilities, or for logits that were seen above zero",
        Parts(path=PathParts(shape=paths.repetition_always_divides)),
        *_BACKWARDS,
    ),
    Fault(
        "last-end-token-only",
        "STOP",
        "STOP-01",
        "of several end tokens only the last is known",
        "two end tokens, of which the first one comes",
        "a list of end tokens read in a loop that keeps one",
        Parts(stop=stops.last_end_token_only),
        *_REVERSED,
    ),
    Fault(
        "two-end-tokens-only",
        "STOP",
        "STOP-01",
        "of several end tokens only two are known",
        "three end tokens, of which the last one comes",
        "fixed slots for the end tokens of a model and of its chat template",
        Parts(stop=stops.two_end_tokens_only),
        *_REVERSED,
    ),
    Fault(
        "context-ignored-beside-end-tokens",
        "STOP",
        "STOP-02",
        "where there are end tokens, the room in the context does not end the text",
        "an end token that does not come, and a context that is full",
        "stopping rules of which the first that is set is used",
        Parts(stop=stops.no_context_beside_end_tokens),
        "the tokens are emitted one at a time, each with a test of its own",
        Parts(stop=stops.token_by_token),
    ),
    Fault(
        "end-tokens-ignored-beside-stop-sequences",
        "STOP",
        "STOP-01",
        "where there are stop sequences, end tokens do not end the text",
        "an end token that comes, and a stop sequence that does not",
        "stop sequences that replace the end tokens instead of joining them",
        Parts(stop=stops.no_end_tokens_beside_stops),
        *_REVERSED,
    ),
    Fault(
        "stop-sequence-not-tried-again",
        "STOP",
        "PATHSTATE-02",
        "where a token breaks a stop sequence off, it is not tried as the first of the sequence",
        "a text x x y and the stop sequence x y",
        "matchers that go back to their beginning without looking at the token again",
        Parts(stop=stops.stop_restarted),
        *_REVERSED,
    ),
    Fault(
        "minimum-ignored-beside-processors",
        "PATH-STATE",
        "PATHSTATE-02",
        "a minimum length is dropped where there are processors",
        "a processor, and an end token that would come too early",
        "a list of processors that replaces the one that holds the minimum",
        Parts(path=PathParts(shape=paths.without_minimum_beside_processors)),
        *_BACKWARDS,
    ),
    Fault(
        "long-bans-ignored",
        "PATH-STATE",
        "PATHSTATE-02",
        "banned sequences of more than two tokens are dropped",
        "a ban of three tokens that the text would meet",
        "ban tables of pairs",
        Parts(path=PathParts(shape=paths.bans_of_two_at_most)),
        *_BACKWARDS,
    ),
    Fault(
        "negative-rows-choose-token-0",
        "DECISION",
        "GREEDY-01",
        "of a row that is negative throughout token 0 is chosen",
        "a row without a positive logit",
        "reductions that start from zero",
        Parts(walk=walks.no_more_than_zero),
        "every row is told from its largest entry down",
        Parts(walk=walks.lifted_above_zero),
    ),
    Fault(
        "sixteen-slots-walked",
        "DECISION",
        "GREEDY-02",
        "nodes from slot 16 on are never accepted; the texts stay right",
        "a path behind the sixteenth slot",
        "walks over a tile of fixed size",
        Parts(walk=walks.sixteen_slots),
        "a child is judged with the row found by looking its parent up",
        Parts(walk=walks.parent_looked_up),
    ),
    Fault(
        "sixteen-rows-scored",
        "GATHER",
        "HISTORY-01",
        "rows from slot 16 on are those of the sixteenth",
        "more than sixteen nodes",
        "output tiles of fixed size",
        Parts(target_pass=passes.sixteen_rows),
        "the rows are gathered through an index",
        Parts(target_pass=passes.rows_by_index),
    ),
)
