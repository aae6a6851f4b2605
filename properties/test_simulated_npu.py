"""Device plumbing on a simulated NPU: whatever a pass makes on the way lies where the model lies. It says nothing of Ascend."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from simulated_npu import CAN_BE_SIMULATED, simulated_npu

from tree_oracle import ReferenceDecoder
from tree_oracle.record import UsageError
from tree_oracle.run.environment import environment
from tree_oracle.target import SequentialTruth, load_target
from tree_oracle.target.backends.plugin import shown_device
from tree_oracle.tree import CandidateTree

pytestmark = pytest.mark.skipif(not CAN_BE_SIMULATED, reason="this torch lets no device be written in Python")

TREE = ([3, 1, 2, 1], [-1, 0, 0, 1])


def test_a_model_and_its_tree_pass_stay_on_the_simulated_device() -> None:
    """A tiny Qwen3 there gives the rows it gives on the processor, plain and under a tree mask, to within rounding."""
    here = load_target("tiny:qwen3")
    ids = torch.arange(7)[None]
    with simulated_npu(), torch.no_grad():
        there = load_target("tiny:qwen3", device="npu")
        logits = there.model(ids.to("npu"), use_cache=False).logits
        assert logits.device.type == "npu"
        np.testing.assert_allclose(logits.cpu(), here.model(ids, use_cache=False).logits, atol=1e-4)
        tree = CandidateTree(*TREE, vocab_size=here.vocab_size)
        rows = [ReferenceDecoder(target).tree_logits([5, 6, 3], tree) for target in (here, there)]
        np.testing.assert_allclose(rows[1], rows[0], atol=1e-4)


def test_the_truth_of_a_device_without_double_precision_is_on_the_processor() -> None:
    """Where float64 cannot be computed there, the reference and its rows are the processor's own; elsewhere it stays there."""
    text = [(3, 1, 4, 1, 5)]
    due = SequentialTruth(load_target("tiny:qwen3")).rows(text)
    with simulated_npu():
        assert load_target("exact", device="npu").in_double().model.device.type == "npu"
    with simulated_npu(lacks=(torch.float64,)):
        there = load_target("tiny:qwen3", device="npu")
        golden = there.in_double()
        assert (golden.device, golden.model.device.type, golden.dtype) == ("cpu", "cpu", "float64")
        np.testing.assert_array_equal(SequentialTruth(there).rows(text), due)
        assert there.model.device.type == "npu"
        truth = SequentialTruth(there)  # rows and cache entries of two devices are held against each other
        assert 0 < truth.error(text[0]) < 1e-4
        assert 0 < truth.cache_room(text[0]) < 1e-4


def test_a_report_never_calls_the_simulated_device_ascend() -> None:
    """Without torch_npu the name npu is shown as simulated, and every other device as it is called."""
    with simulated_npu():
        assert environment(load_target("exact", device="npu"))["device"] == "npu (simulated)"
    assert shown_device("npu:1") == "npu:1 (simulated)"
    assert [shown_device(name) for name in ("cpu", "cuda:0")] == ["cpu", "cuda:0"]


def test_tensors_of_two_devices_are_refused_there() -> None:
    """What a real device refuses is refused by the simulated one, so a tensor that was left behind is noticed."""
    with simulated_npu():
        with pytest.raises(RuntimeError, match="same device"):
            torch.ones(2, device="npu") + torch.ones(2)
        with pytest.raises(NotImplementedError, match="cannot write to one"):
            torch.ones(2, 2, device="npu")[0].add_(1)


def test_a_simulated_device_never_calls_itself_ascend() -> None:
    """Its facts say simulated, it offers no Ascend kernel, and torch is told that it is gone after the block."""
    with simulated_npu() as backend:
        facts = backend.environment()
        assert facts.kind == "simulated npu"
        assert not facts.plugin
        assert not facts.runtime
        assert {"eager", "sdpa-math"} <= set(backend.kernels())
        assert not [name for name in backend.kernels() if name.startswith("ascend")]
    assert not torch.get_device_module("npu").is_available()
    with pytest.raises(UsageError, match="Ascend devices need torch_npu"):
        load_target("exact", device="npu")
