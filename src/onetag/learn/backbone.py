"""The contract of backbones: a trunk that turns pictures into feature vectors, and how pictures must be prepared for it."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Preprocessing:
    """Pictures are squashed to size x size (no crop: tags at the border count), then (x / 255 - mean) / std."""

    size: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    interpolation: str = "bicubic"

    def describe(self) -> dict[str, Any]:
        return asdict(self)


class Backbone(nn.Module):
    """`forward` takes uint8 [B, 3, S, S] and gives features [B, dim]: normalisation is part of the trunk."""

    def __init__(self, name: str, trunk: nn.Module, dim: int, preprocessing: Preprocessing, weights: str) -> None:
        super().__init__()
        self.name = name
        self.trunk = trunk
        self.dim = dim
        self.preprocessing = preprocessing
        self.weights = weights
        self.register_buffer("_mean", torch.tensor(preprocessing.mean).view(1, 3, 1, 1) * 255, persistent=False)
        self.register_buffer("_scale", 1 / (torch.tensor(preprocessing.std).view(1, 3, 1, 1) * 255), persistent=False)

    def forward(self, pictures: Tensor) -> Tensor:
        mean, scale = self.get_buffer("_mean"), self.get_buffer("_scale")
        normal = (pictures.to(mean.dtype) - mean) * scale
        return torch.as_tensor(self.trunk(normal.to(memory_format=torch.channels_last)))

    def fingerprint(self) -> str:
        """A hash of architecture, weights and preprocessing: the key of cached features."""
        content = hashlib.blake2b(digest_size=16)
        content.update(repr((self.name.split("@")[0], sorted(self.preprocessing.describe().items()))).encode())
        for key, tensor in sorted(self.trunk.state_dict().items()):
            if not key.endswith("num_batches_tracked"):
                content.update(key.encode())
                content.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return content.hexdigest()
