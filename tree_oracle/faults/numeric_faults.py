"""Planted faults of arithmetic in a decoder's own passes; those of a target's are in ``rounding``."""

from __future__ import annotations

from tree_oracle.decoder import Parts
from tree_oracle.faults import numbers
from tree_oracle.faults.fault import Fault

_THROUGH_DOUBLE = ("the rows go through float64, which holds them all", Parts(target_pass=numbers.double_rows))

NUMERIC_FAULTS = (
    Fault(
        "rows-in-half-precision",
        "NUMERIC",
        "NUMERIC-01",
        "rows are handed on as bfloat16 where the target computes in float32",
        "any row",
        "logits that leave the model in the dtype of its activations",
        Parts(target_pass=numbers.half_rows),
        *_THROUGH_DOUBLE,
    ),
    Fault(
        "wide-passes-in-half-precision",
        "NUMERIC",
        "NUMERIC-02",
        "rows of passes over more than sixteen nodes are rounded to bfloat16",
        "a node in a pass of sixteen nodes and in one of more",
        "kernels that are picked by the number of rows",
        Parts(target_pass=numbers.half_rows_of_wide_passes),
        *_THROUGH_DOUBLE,
    ),
    Fault(
        "scale-shared-by-rows",
        "NUMERIC",
        "NUMERIC-02",
        "rows are quantised under one scale for all rows of a pass",
        "a node beside another one whose row holds a larger number",
        "dynamic quantisation per tensor instead of per row",
        Parts(target_pass=numbers.one_scale),
        "rows are divided by one power of two and multiplied by it again",
        Parts(target_pass=numbers.one_power_of_two),
    ),
)
