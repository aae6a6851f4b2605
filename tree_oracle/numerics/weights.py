"""The identity of a target: the SHA-256 over its kind and the numbers that it computes with, as its dtype holds them."""

from __future__ import annotations

import hashlib

import torch

from tree_oracle.target import Target


def weights_of(target: Target) -> str:
    """In hex. Over the model type, then name, dtype, shape and bytes of every parameter, in the order of the names."""
    found = hashlib.sha256(f"{target.model.config.model_type}\n".encode())
    for name, parameter in sorted(target.model.named_parameters()):
        values = parameter.detach().cpu().contiguous()
        found.update(f"{name} {values.dtype} {tuple(values.shape)}\n".encode())
        found.update(values.flatten().view(torch.uint8).numpy())
    return found.hexdigest()
