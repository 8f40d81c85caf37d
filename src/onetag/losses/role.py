"""Regularized online label estimation (Cole et al., CVPR 2021): the labels of every training cell are learned beside the model."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from onetag.core.draws import generator
from onetag.core.labels import LabelTable
from onetag.core.progress import Progress
from onetag.learn import functional as F
from onetag.learn.labels import LabelBatch
from onetag.learn.loss import Facts, Loss, LossOutput, ParameterGroup

__all__ = ["RegularizedOnlineLabelEstimation"]

_CERTAIN = math.log(0.995 / 0.005)
_SPREAD = math.log(0.6 / 0.4)


class RegularizedOnlineLabelEstimation(Loss):
    """Half of [1_P l+(p) + 1_P l+(q) + CE(q -> p) + CE(p -> q)] per cell, plus half of R(p) + R(q), where q is the estimator.

    R = ((mean number of positives per picture) - mean_tags)^2 / C^2. Observed negatives add l-(p) and start the estimator at 0.005.
    The estimator has one logit per training cell; only the rows of a batch have gradients (row-sparse Adam), learning
    `lr_factor` times as fast as the model. Differs from the official code: dense Adam there keeps untouched rows moving by momentum.
    """

    needs = ("mean_tags",)

    def __init__(self, mean_tags: float, lr_factor: float = 10.0) -> None:
        super().__init__()
        if not mean_tags > 0:
            raise ValueError(f"mean_tags is the mean number of tags of a picture, above 0, not {mean_tags}")
        self.mean_tags = float(mean_tags)
        self.lr_factor = lr_factor
        self.estimator: nn.Parameter | None = None
        self._whole: Tensor | None = None

    @property
    def unknown_push(self) -> float:
        """Small beside the estimates that unknown cells follow (measured: docs/decisions/0008)."""
        return 0.05

    def setup(self, facts: Facts) -> None:
        start = (
            generator("role", facts.seed)
            .uniform(-_SPREAD, _SPREAD, (facts.num_samples, facts.num_classes))
            .astype("float32")
        )
        dense = facts.observed.to_dense()
        start[dense == 1] = _CERTAIN
        start[dense == -1] = -_CERTAIN
        self.estimator = nn.Parameter(torch.from_numpy(start))

    def parameter_groups(self) -> list[ParameterGroup]:
        return [] if self.estimator is None else [ParameterGroup([self.estimator], self.lr_factor, sparse=True)]

    def _rows(self, labels: LabelBatch, like: Tensor) -> Tensor:
        if self.estimator is None:
            if labels.index is not None:
                raise RuntimeError(
                    "role keeps one estimate per training cell: call setup(Facts(observed=...)) before training"
                )
            # Somebody's own loop with a plain label matrix: these rows are the whole training set.
            self._whole = labels.observed.detach().to("cpu", torch.int8)
            self.setup(Facts(LabelTable.from_dense(self._whole.numpy())))
        assert self.estimator is not None
        if self.estimator.device != like.device:
            self.to(like.device)
        whole = self._whole
        other = (
            whole is not None
            and whole.shape == labels.shape
            and not torch.equal(whole, labels.observed.to("cpu", torch.int8))
        )
        if labels.index is None and (other or len(self.estimator) != len(like)):
            raise ValueError(
                f"role keeps one estimate per training cell and was set up for {len(self.estimator)} samples: "
                "say which ones these are, with label_batch(observed, index=...)"
            )
        index = torch.arange(len(like), device=like.device) if labels.index is None else labels.index
        return torch.nn.functional.embedding(index, self.estimator, sparse=True).to(like.dtype)

    def _regularizer(self, probabilities: Tensor) -> Tensor:
        return ((probabilities.sum(dim=1).mean() - self.mean_tags) / probabilities.shape[1]) ** 2

    def evaluate(self, logits: Tensor, labels: LabelBatch, progress: Progress) -> LossOutput:
        estimate = self._rows(labels, logits)
        p, q = torch.sigmoid(logits), torch.sigmoid(estimate)
        to_estimate = F.cross_entropy(logits, q.detach())
        # Nothing may push an observed negative up: neither an estimate above p nor too few tags (values stay, gradients go).
        to_estimate = torch.where(labels.is_negative & (p < q), to_estimate.detach(), to_estimate)
        both = to_estimate + F.cross_entropy(estimate, p.detach())
        none = torch.zeros_like(both)
        both = both + torch.where(labels.is_positive, F.positive_loss(logits) + F.positive_loss(estimate), none)
        cells = 0.5 * both + torch.where(labels.is_negative, F.negative_loss(logits), none)
        regularizer = 0.5 * (self._regularizer(torch.where(labels.is_negative, p.detach(), p)) + self._regularizer(q))
        return LossOutput(cells, {"mean_tags": regularizer})
