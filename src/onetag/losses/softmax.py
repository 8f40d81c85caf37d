"""Softmax cross-entropy: the shown tag against all others in one distribution; scores are softmax probabilities."""

from __future__ import annotations

import torch
from torch import Tensor, where

from onetag.core.progress import Progress
from onetag.learn.labels import LabelBatch
from onetag.learn.loss import Loss, LossOutput

__all__ = ["SoftmaxCrossEntropy"]


class SoftmaxCrossEntropy(Loss):
    """-log softmax(z) over the positives of a picture, averaged; the total is the mean over pictures that have one.

    An observed negative of weight w keeps (1 - w) of its place in the denominator: at weight 1 it leaves it. `smoothing` moves that
    share of the target from the positives evenly to all classes still in the denominator.
    """

    activation = "softmax"
    complete_row_push = 0.0  # with all negatives out of the denominator only the positives would be left to compete

    def __init__(self, smoothing: float = 0.0) -> None:
        super().__init__()
        if not 0 <= smoothing < 1:
            raise ValueError(f"smoothing lies in [0, 1), not {smoothing}")
        self.smoothing = smoothing

    def evaluate(self, logits: Tensor, labels: LabelBatch, progress: Progress) -> LossOutput:
        present = ~labels.is_negative
        kept = logits
        if labels.has_weight:
            share = where(labels.is_negative, 1 - labels.weight.to(logits.dtype).clamp(0, 1), torch.ones_like(logits))
            kept = where(
                share > 0,
                logits + torch.log(share.clamp_min(torch.finfo(logits.dtype).tiny)),
                torch.full_like(logits, -torch.inf),
            )
        else:
            kept = where(present, logits, torch.full_like(logits, -torch.inf))
        # A picture without any class left in the denominator has no positive either: it must cost 0, not NaN.
        has_positive = labels.is_positive.any(dim=1, keepdim=True)
        kept = where(has_positive, kept, torch.zeros_like(kept))
        normaliser = torch.logsumexp(kept, dim=1, keepdim=True)
        count = labels.is_positive.sum(dim=1, keepdim=True).clamp_min(1)
        cells = where(labels.is_positive, (normaliser - logits) / count, torch.zeros_like(logits))
        if self.smoothing:
            choices = present.sum(dim=1, keepdim=True).clamp_min(1)
            even = where(present, normaliser - logits, torch.zeros_like(logits)).sum(dim=1, keepdim=True) / choices
            spread = where(labels.is_positive, even / count, torch.zeros_like(logits))
            cells = (1 - self.smoothing) * cells + self.smoothing * spread
        pictures = (
            has_positive.sum().clamp_min(1).to(logits.dtype)
        )  # a number over an integer tensor would be rounded to float32
        return LossOutput(cells * (logits.numel() / pictures))
