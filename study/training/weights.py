"""Tensors from disk: the very bytes that a record names, of the very shapes that a policy has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from prereg_kit.errors import Where
from prereg_kit.foundation.digest import sha256_bytes
from study.errors import StudyError


def read_weights(path: Path, digest: str) -> dict[str, Tensor]:
    """The tensors of a safetensors file, from the bytes that were hashed.

    Args:
        path: the file.
        digest: SHA-256 that a record gives it.

    Raises:
        StudyError: it is absent, another file, or no safetensors.
    """
    where = Where(file=str(path))
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StudyError("weights cannot be read", where=where, found=error.strerror) from error
    if (found := sha256_bytes(data)) != digest:
        raise StudyError("weights are not the recorded ones", where=where, expected=digest, found=found)
    try:
        return load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise StudyError(
            "weights are damaged", where=where, expected="a safetensors file", found=str(error)
        ) from error


def fit(path: Path, state: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> None:
    """Hold tensors to those of a model.

    Raises:
        StudyError: other names, shapes or types, or a value that is not finite.
    """
    where = Where(file=str(path))
    if state.keys() != own.keys():
        raise StudyError(
            "weights do not fit the policy",
            where=where,
            expected=f"{len(own)} tensors",
            found=f"{len(state)}, of which {sorted(state.keys() ^ own.keys())[:3]} differ in name",
        )
    for name, tensor in state.items():
        want, have = (f"{tuple(t.shape)} {t.dtype}" for t in (own[name], tensor))
        if want != have:
            raise StudyError(
                "weights do not fit the policy", where=where, expected=f"{name} {want}", found=have
            )
        if not bool(torch.isfinite(tensor).all()):
            raise StudyError("weights that are no numbers", where=where, found=name)
