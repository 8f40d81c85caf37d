"""Asymmetric loss (Ridnik et al., ICCV 2021) with unknown cells assumed negative."""

from __future__ import annotations

import torch
from torch import Tensor, where

from onetag.core.progress import Progress
from onetag.learn import functional as F
from onetag.learn.labels import LabelBatch
from onetag.learn.loss import Loss, LossOutput

__all__ = ["AsymmetricLoss"]


class AsymmetricLoss(Loss):
    """P: (1 - p)^g+ l+, U: p_m^g- (-log(1 - p_m)) with p_m = max(p - margin, 0), N: l-.

    Differs from the official code: the mean over cells instead of the sum; the gradient flows through the focusing factor as in its
    optimized class (`stop_gradient=True` for the other one).
    """

    def __init__(
        self, gamma_positive: float = 0.0, gamma_negative: float = 2.0, margin: float = 0.2, stop_gradient: bool = False
    ) -> None:
        super().__init__()
        if gamma_positive < 0 or gamma_negative < 0 or not 0 <= margin < 1:
            raise ValueError("gamma_positive and gamma_negative are 0 or more, margin lies in [0, 1)")
        self.gamma_positive = gamma_positive
        self.gamma_negative = gamma_negative
        self.margin = margin
        self.stop_gradient = stop_gradient

    def evaluate(self, logits: Tensor, labels: LabelBatch, progress: Progress) -> LossOutput:
        negative = F.negative_loss(logits)
        positive = self._focus(F.power_of_p(-logits, self.gamma_positive)) * F.positive_loss(logits)
        if self.margin:
            shifted = torch.sigmoid(logits) - self.margin
            above = shifted > 0
            p_m = where(
                above, shifted, torch.full_like(shifted, 0.5)
            )  # 0.5 keeps powers and logs finite in the branch not taken
            # 1 - p_m = (1 - p) + margin, from the exact 1 - p
            decay = -torch.log(where(above, torch.sigmoid(-logits) + self.margin, torch.ones_like(shifted)))
            unknown = where(above, self._focus(p_m**self.gamma_negative) * decay, torch.zeros_like(shifted))
        else:
            unknown = self._focus(F.power_of_p(logits, self.gamma_negative)) * negative
        return LossOutput(where(labels.is_positive, positive, where(labels.is_negative, negative, unknown)))

    def _focus(self, factor: Tensor) -> Tensor:
        return factor.detach() if self.stop_gradient else factor
