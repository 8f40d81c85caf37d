"""Checkpoints: safetensors and JSON, written aside and renamed; the last two are kept. No pickle."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

_KEEP = 2


def save(folder: Path, epoch: int, step: int, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
    """`folder/00012-000345` appears whole or not at all."""
    folder.mkdir(exist_ok=True)
    target = folder / f"{epoch:05d}-{step:08d}"
    aside = folder / f"{target.name}.tmp"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    save_file({key: value.detach().contiguous() for key, value in tensors.items()}, aside / "state.safetensors")
    (aside / "state.json").write_text(json.dumps(state, sort_keys=True), encoding="utf-8")
    for part in aside.iterdir():
        with part.open("r+b") as stream:  # Windows flushes only what may be written
            os.fsync(stream.fileno())
    shutil.rmtree(target, ignore_errors=True)
    aside.rename(target)
    for old in _all(folder)[:-_KEEP]:
        shutil.rmtree(old, ignore_errors=True)


def latest(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """The newest checkpoint that can be read."""
    for path in reversed(_all(folder)):
        try:
            return load_file(path / "state.safetensors"), json.loads((path / "state.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, SafetensorError):
            continue
    return None


def _all(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.endswith(".tmp")) if folder.is_dir() else []


def pack(optimizers: list[torch.optim.Optimizer]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The state of optimizers as tensors and plain numbers, by optimizer, parameter and key."""
    tensors: dict[str, Tensor] = {}
    numbers: dict[str, Any] = {}
    for o, optimizer in enumerate(optimizers):
        for p, parameter in enumerate(_parameters(optimizer)):
            for key, value in optimizer.state.get(parameter, {}).items():
                (tensors if isinstance(value, Tensor) else numbers)[f"optimizer.{o}.{p}.{key}"] = value
    return tensors, numbers


def unpack(optimizers: list[torch.optim.Optimizer], tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
    for name, value in [*tensors.items(), *numbers.items()]:
        if name.startswith("optimizer."):
            _, o, p, key = name.split(".", 3)
            optimizer = optimizers[int(o)]
            optimizer.state[_parameters(optimizer)[int(p)]][key] = value


def _parameters(optimizer: torch.optim.Optimizer) -> list[torch.nn.Parameter]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
