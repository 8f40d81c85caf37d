"""Entropy minimization of unknown cells (Grandvalet and Bengio, NeurIPS 2004): the opposite of EM, unstable with positives alone."""

from __future__ import annotations

from torch import Tensor, where

from onetag.core.progress import Progress
from onetag.learn import functional as F
from onetag.learn.labels import LabelBatch
from onetag.learn.loss import Loss, LossOutput

__all__ = ["EntropyMinimization"]


class EntropyMinimization(Loss):
    """P: l+, N: l-, U: +alpha H."""

    def __init__(self, alpha: float, eps: float = 0.0) -> None:
        super().__init__()
        if alpha < 0:
            raise ValueError(f"alpha cannot be negative ({alpha}): that is entropy maximization, the loss em")
        self.alpha = alpha
        self.eps = eps

    def evaluate(self, logits: Tensor, labels: LabelBatch, progress: Progress) -> LossOutput:
        known = where(labels.is_positive, F.positive_loss(logits, self.eps), F.negative_loss(logits, self.eps))
        return LossOutput(where(labels.is_unknown, self.alpha * F.entropy(logits, self.eps), known))
