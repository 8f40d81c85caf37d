"""The head on frozen features: dropout and one linear layer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from onetag.core import draws


class LinearHead(nn.Module):
    """Logits from features. A class's initial weights depend on (seed, its name) alone, not on which other classes there are."""

    def __init__(self, dim: int, classes: Sequence[str], seed: int = 0) -> None:
        super().__init__()
        bound = 1 / max(dim, 1) ** 0.5
        start = np.stack([draws.generator("head", seed, name).uniform(-bound, bound, dim + 1) for name in classes])
        self.weight = nn.Parameter(torch.from_numpy(start[:, :dim].astype(np.float32)))
        self.bias = nn.Parameter(torch.from_numpy(start[:, dim].astype(np.float32)))

    def forward(self, features: Tensor) -> Tensor:
        return torch.nn.functional.linear(features, self.weight, self.bias)


def drop(features: Tensor, rate: float, seed: int, epoch: int, step: int) -> Tensor:
    """Dropout, in place, whose mask depends on (seed, epoch, step) alone.

    The rate is rounded to a 256th (a byte is drawn per number), and what is kept is scaled by what it became.
    """
    dropped = round(rate * 256)
    if not dropped:
        return features
    count = features.numel()
    words = draws.mix(draws.counters(-(-count // 8)), draws.stream_key("dropout", seed, epoch, step))
    kept = (words.view(np.uint8)[:count] >= dropped).astype(np.float32)
    kept *= 256 / (256 - dropped)
    return features.mul_(torch.from_numpy(kept).view(features.shape).to(features.device))
