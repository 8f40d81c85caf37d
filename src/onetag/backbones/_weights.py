"""Weights from files: they must fit the trunk, and must not say (or be known) to belong to another architecture."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from onetag.core.errors import OnetagError

_HEADS = ("fc.", "classifier.", "head.")
_WRAPPERS = ("state_dict", "model", "model_state_dict")

# Files that fit another architecture's keys but say nothing of themselves: first convolution's bytes as float16 -> architecture.
_KNOWN = {"resnet50_v1": ("12f4178a02f2c82b",)}


def load_into(trunk: nn.Module, path: str, architecture: str) -> None:
    """Read a safetensors file or a state dict (weights only: no code of the file's is run) into the trunk."""
    state, marker = read(Path(path))
    state = {key.removeprefix("module."): value for key, value in state.items()}
    marker = marker or _recognise(state)
    if marker and marker != architecture:
        raise OnetagError(
            f"{path}: these are weights of {marker}, not of {architecture}: even where keys fit, the network would compute something else"
        )
    wanted = {key: value for key, value in trunk.state_dict().items() if not key.endswith("num_batches_tracked")}
    given = {
        key: value
        for key, value in state.items()
        if not key.startswith(_HEADS) and not key.endswith("num_batches_tracked")
    }
    missing, extra = sorted(wanted.keys() - given.keys()), sorted(given.keys() - wanted.keys())
    if missing or extra:
        named = f" (first: {missing[0]})" if missing else ""
        strange = f" (first: {extra[0]})" if extra else ""
        raise OnetagError(
            f"{path}: not weights of {architecture}: {len(missing)} of its {len(wanted)} tensors are missing{named}, "
            f"{len(extra)} belong to something else{strange}"
        )
    for key, value in given.items():
        if value.shape != wanted[key].shape:
            raise OnetagError(
                f"{path}: {key} has shape {tuple(value.shape)}, {architecture} needs {tuple(wanted[key].shape)}"
            )
    trunk.load_state_dict({key: value.float() for key, value in given.items()}, strict=False)


def read(path: Path) -> tuple[dict[str, Tensor], str]:
    """The tensors of a file, and the architecture it names, if any."""
    if not path.is_file():
        raise OnetagError(f"{path}: there is no such weights file")
    if path.suffix == ".safetensors":
        return _read_safetensors(path)
    try:
        content: Any = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many types for broken files
        raise OnetagError(f"{path}: cannot be read as a PyTorch state dict ({str(error).splitlines()[0]})") from error
    marker = content.get("arch", "") if isinstance(content, dict) else ""
    for key in _WRAPPERS:
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            content = content[key]
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        raise OnetagError(f"{path}: holds no state dict (a mapping from names to tensors)")
    return content, marker if isinstance(marker, str) else ""


def _read_safetensors(path: Path) -> tuple[dict[str, Tensor], str]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as stream:
            about = stream.metadata() or {}
            tensors = {key: stream.get_tensor(key) for key in stream.keys()}  # noqa: SIM118 (no mapping)
    except (SafetensorError, OSError) as error:
        raise OnetagError(f"{path}: cannot be read as safetensors ({error})") from error
    marker = about.get("architecture") or about.get("arch") or ""
    if not marker and "onetag" in about:
        marker = str(json.loads(about["onetag"]).get("architecture", ""))
    return tensors, marker


def _recognise(state: dict[str, Tensor]) -> str:
    first = state.get("conv1.weight")
    if first is None:
        return ""
    digest = hashlib.blake2b(first.half().contiguous().numpy().tobytes(), digest_size=8).hexdigest()
    return next((name for name, digests in _KNOWN.items() if digest in digests), "")
