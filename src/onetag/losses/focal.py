"""Focal loss (Lin et al., ICCV 2017) with unknown cells assumed negative."""

from __future__ import annotations

from torch import Tensor, where

from onetag.core.progress import Progress
from onetag.learn import functional as F
from onetag.learn.labels import LabelBatch
from onetag.learn.loss import Loss, LossOutput

__all__ = ["FocalLoss"]


class FocalLoss(Loss):
    """P: alpha (1 - p)^gamma l+, U: (1 - alpha) p^gamma l-, N: l-. The gradient flows through the focusing factor."""

    def __init__(self, gamma: float = 2.0, alpha: float = 0.75) -> None:
        super().__init__()
        if gamma < 0 or not 0 <= alpha <= 1:
            raise ValueError(f"gamma is 0 or more, alpha lies in [0, 1]; not {gamma} and {alpha}")
        self.gamma = gamma
        self.alpha = alpha

    @property
    def unknown_push(self) -> float:
        return 1 - self.alpha

    def evaluate(self, logits: Tensor, labels: LabelBatch, progress: Progress) -> LossOutput:
        positive = self.alpha * F.power_of_p(-logits, self.gamma) * F.positive_loss(logits)
        negative = F.negative_loss(logits)
        unknown = (1 - self.alpha) * F.power_of_p(logits, self.gamma) * negative
        return LossOutput(where(labels.is_positive, positive, where(labels.is_negative, negative, unknown)))
