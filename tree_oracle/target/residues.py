r"""Integers modulo 251 in floating point: every step is exact, so every device, dtype and order of summation agrees.

**Storage.** A residue is an integer in [0, 250]. bfloat16 holds every integer up to 2^8 = 256, float16 and tf32 up to 2^11,
so weights, cached keys and cached values keep their value in any of them. 251 is the largest prime that bfloat16 allows.

**Work** is done in float32 (float64 where the weights are float64), which holds every integer up to 2^24 = 16,777,216.
With rows of ``WIDTH`` = 8 residues the largest intermediate values are

    7 e + p                             2,000
    row @ matrix      8 * 250 * 250 = 500,000
    K + 2 V,  s + q + h + 1               751
    x^2 of these                      564,001
    (x^2 mod P) x                     187,750
    visible @ terms   250 * keys           at most 2^24 while keys <= MAX_KEYS = 67,108
    the logit's numerator  < 251 * stride  at most 2^24 while stride <= 65,536, the bound on the vocabulary

Every partial sum is bounded by the same figure because no term is negative, so neither the order of summation nor fused
multiply-add can matter. The factors of every matrix product are at most 250, so a product unit that cuts its factors down to
tf32 or bfloat16 and adds in float32 changes nothing either. ``fmod`` is exact by definition.

**Mixing.** x -> x^3 is a permutation of the residues, because gcd(3, 250) = 1.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

P = 251  # the modulus
WIDTH = 8  # residues in a row: 251^8 is about 2^64 states
EXACT = 2**24  # float32 holds every integer up to here
MAX_KEYS = EXACT // (P - 1)  # 67,108
MAX_VOCAB = 2**16  # the largest power of two not above EXACT / P
MAX_POSITIONS = P * P  # 63,001: a position is two digits in base P
# A number would be made a tensor by every call, which takes as long as the division; this one works on every device and dtype.
_P = torch.tensor(float(P), device="cpu")


def mod(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """The residue of a non-negative integer below 2^24 (2^53 in float64)."""
    return torch.fmod(x, _P)


def cube(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """x^3 modulo P, a permutation of the residues; x is a whole number from 0 to 751, reduced or not."""
    return mod(mod(x * x) * x)


def working_dtype(storage: torch.dtype) -> torch.dtype:
    """float64 for float64 weights, float32 for every smaller dtype."""
    return torch.float64 if storage == torch.float64 else torch.float32
