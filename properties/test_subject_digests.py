"""A report holds the digests of the weights and of the decoder's own file, so that two runs can be told apart."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
import torch

from tree_oracle import ReferenceDecoder, Target, check_decoder, load_target
from tree_oracle.report.certificate.claims import not_covered
from tree_oracle.report.figures import obstacles
from tree_oracle.run.environment import DECODER_FILE, WEIGHTS
from tree_oracle.run.sources import decoder_file


class Mine:
    """A decoder of this file."""

    def __init__(self, target: Target) -> None:
        self.accept = ReferenceDecoder(target).accept


def judged(decoder: Any, change: float = 0.0) -> Any:
    target = load_target("tiny:llama")
    with torch.no_grad():
        target.model.lm_head.weight[0, 0] += change
    return check_decoder(decoder, target=target, checks=["GREEDY-01"], cases=0)


def test_other_weights_are_another_target() -> None:
    """One changed weight changes the digest, and two such runs are not compared."""
    before, same, other = judged(Mine), judged(Mine), judged(Mine, 1e-3)
    assert before.environment == same.environment
    assert before.environment[WEIGHTS] != other.environment[WEIGHTS]
    assert obstacles(before, same) == ()
    assert [found.partition(":")[0] for found in obstacles(before, other)] == [WEIGHTS]
    (last,) = [line for line in not_covered(before) if line.startswith("of what was judged")]
    assert last.startswith("of what was judged, the commit: not in the report")


def test_the_file_of_the_decoder_is_the_one_it_is_written_in() -> None:
    """A class and a function of this file have its digest, a ready decoder that of its class; ours has the package's."""
    here = {DECODER_FILE: hashlib.sha256(Path(__file__).read_bytes()).hexdigest()}
    assert decoder_file(Mine) == decoder_file(judged) == here
    assert decoder_file(object.__new__(Mine)) == here
    assert judged(Mine).environment[DECODER_FILE] == here[DECODER_FILE]
    assert decoder_file(ReferenceDecoder) == {}


@pytest.mark.parametrize("made", [object(), print, type("Made", (), {"__module__": "nowhere"})])
def test_a_decoder_without_a_file_has_no_digest(made: Any) -> None:
    """What is built in, or made at run time, has no source to hold."""
    assert decoder_file(made) == {}
