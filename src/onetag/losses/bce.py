"""Binary cross-entropy on what is known; unknown cells cost nothing."""

from __future__ import annotations

from torch import Tensor, where, zeros_like

from onetag.core.progress import Progress
from onetag.learn import functional as F
from onetag.learn.labels import LabelBatch
from onetag.learn.loss import Loss, LossOutput

__all__ = ["BinaryCrossEntropy"]


class BinaryCrossEntropy(Loss):
    """P: l+, N: l-, U: 0. The mean runs over all cells, unknown ones included (as the official `loss_iun` does)."""

    def __init__(self, eps: float = 0.0) -> None:
        super().__init__()
        self.eps = eps

    def evaluate(self, logits: Tensor, labels: LabelBatch, progress: Progress) -> LossOutput:
        known = where(labels.is_positive, F.positive_loss(logits, self.eps), F.negative_loss(logits, self.eps))
        return LossOutput(where(labels.is_positive | labels.is_negative, known, zeros_like(known)))
