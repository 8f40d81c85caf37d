"""Entropy maximization: unknown cells are acknowledged as unknown (Zhou et al., ECCV 2022)."""

from __future__ import annotations

from torch import Tensor, where

from onetag.core.progress import Progress
from onetag.learn import functional as F
from onetag.learn.labels import LabelBatch
from onetag.learn.loss import Loss, LossOutput

__all__ = ["EntropyMaximization"]


class EntropyMaximization(Loss):
    """P: l+, N: l-, U: -alpha H. The total is normally negative, and scores of unknown cells stay near 0.5.

    Differs from the official code: observed negatives are allowed, and logs are exact (`eps=1e-5` for `log(x + eps)`).
    """

    def __init__(self, alpha: float = 0.1, eps: float = 0.0) -> None:
        super().__init__()
        if alpha < 0:
            raise ValueError(f"alpha cannot be negative ({alpha}): that is entropy minimization, the loss entmin")
        self.alpha = alpha
        self.eps = eps

    @property
    def unknown_push(self) -> float:
        return self.alpha

    def evaluate(self, logits: Tensor, labels: LabelBatch, progress: Progress) -> LossOutput:
        known = where(labels.is_positive, F.positive_loss(logits, self.eps), F.negative_loss(logits, self.eps))
        return LossOutput(where(labels.is_unknown, -self.alpha * F.entropy(logits, self.eps), known))
