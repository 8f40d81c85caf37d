"""Assume negative: unknown cells are taken for negatives (Cole et al., CVPR 2021), down-weighted or with smoothed labels on request."""

from __future__ import annotations

from torch import Tensor, where

from onetag.core.progress import Progress
from onetag.learn import functional as F
from onetag.learn.labels import LabelBatch
from onetag.learn.loss import Loss, LossOutput

__all__ = ["AssumeNegative"]


class AssumeNegative(Loss):
    """P: l+, N: l-, U: negative_weight * l-.

    `negative_weight < 1` is DW. `smoothing = s` replaces the targets 1 and 0 by 1 - s and s, on positives and unknown cells
    (`smooth = "all"`, LS) or on unknown cells alone (`"negatives"`, N-LS); s is Cole's, not s/2. Observed negatives keep l- with weight 1.
    """

    def __init__(
        self, negative_weight: float = 1.0, smoothing: float = 0.0, smooth: str = "all", eps: float = 0.0
    ) -> None:
        super().__init__()
        if negative_weight < 0:
            raise ValueError(
                f"negative_weight cannot be negative ({negative_weight}): unknown cells would become positives"
            )
        if smooth not in ("all", "negatives"):
            raise ValueError(f'smooth is "all" or "negatives", not {smooth!r}')
        if not 0 <= smoothing < 1:
            raise ValueError(f"smoothing lies in [0, 1), not {smoothing}")
        self.negative_weight = negative_weight
        self.smoothing = smoothing
        self.smooth = smooth
        self.eps = eps

    @property
    def unknown_push(self) -> float:
        return self.negative_weight

    def evaluate(self, logits: Tensor, labels: LabelBatch, progress: Progress) -> LossOutput:
        positive, negative = F.positive_loss(logits, self.eps), F.negative_loss(logits, self.eps)
        s = self.smoothing
        on_positive = (1 - s) * positive + s * negative if s and self.smooth == "all" else positive
        on_unknown = (1 - s) * negative + s * positive if s else negative
        on_unknown = self.negative_weight * on_unknown
        return LossOutput(where(labels.is_positive, on_positive, where(labels.is_negative, negative, on_unknown)))
