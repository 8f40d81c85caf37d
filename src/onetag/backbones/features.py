"""No trunk: the data are feature vectors already."""

from __future__ import annotations

from torch import Tensor, nn

from onetag.core.errors import UsageError
from onetag.learn.backbone import Backbone, Preprocessing

__all__ = ["features"]


class _Given(Backbone):
    def forward(self, pictures: Tensor) -> Tensor:
        return pictures.float()


def features(name: str, weights: str = "", download: bool = False) -> Backbone:
    """For feature matrices (`.npy`, `.npz`, Parquet)."""
    if weights:
        raise UsageError("backbones/features has no weights: --weights belongs to a trunk")
    return _Given(name, nn.Identity(), 0, Preprocessing(0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)), "")
