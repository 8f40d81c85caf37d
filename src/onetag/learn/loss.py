"""The contract of losses, and the one place where weights, pseudo-labels and the reduction are handled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor, nn

from onetag.core.labels import LabelTable
from onetag.core.progress import Progress
from onetag.learn import functional as F
from onetag.learn.labels import LabelBatch, label_batch


@dataclass(frozen=True)
class LossOutput:
    """One value per cell [B, C], and named scalars that are added to their mean."""

    cells: Tensor
    terms: Mapping[str, Tensor] = field(default_factory=dict)

    def total(self) -> Tensor:
        """The only reduction there is."""
        total = self.cells.mean()
        for term in self.terms.values():
            total = total + term
        return total


@dataclass(frozen=True)
class Facts:
    """What a loss may know of the training set before it starts: its annotations and the mean number of tags, never the truth."""

    observed: LabelTable
    mean_tags: float | None = None
    seed: int = 0

    @property
    def num_samples(self) -> int:
        return self.observed.num_rows

    @property
    def num_classes(self) -> int:
        return self.observed.num_classes


@dataclass(frozen=True)
class ParameterGroup:
    """Parameters of a loss of its own: how much faster than the model they learn, and whether only touched rows have gradients."""

    parameters: list[nn.Parameter]
    lr_factor: float = 1.0
    sparse: bool = False


class Loss(nn.Module):
    """Base of all losses: `evaluate` gives one value per cell; everything else is shared.

    `activation` says what turns logits into scores; `needs` names extra information (an argument of the same name, filled from the
    run's facts when not given); `handles_pseudo` is set by a loss that treats pseudo-labelled cells itself.
    `unknown_push` and `complete_row_push` serve `labels.negative_weight = "auto"`: what an observed negative weighs in general, and
    (where that is something else) in a row without unknown cells. A loss that takes `eps`
    (every -log x becomes -log(x + eps)) has it on pseudo-labelled cells, too.
    """

    activation: ClassVar[str] = "sigmoid"
    complete_row_push: ClassVar[float | None] = None
    needs: ClassVar[tuple[str, ...]] = ()
    handles_pseudo: ClassVar[bool] = False
    eps: float = 0.0

    def setup(self, facts: Facts) -> None:
        """Called once before training."""

    def evaluate(self, logits: Tensor, labels: LabelBatch, progress: Progress) -> LossOutput:
        raise TypeError(
            f"{type(self).__name__} does not say how to evaluate cells: define evaluate(logits, labels, progress)"
        )

    @property
    def unknown_push(self) -> float:
        """The weight with which the loss pushes an unknown cell, for `labels.negative_weight = "auto"`."""
        return 1.0

    def extra_repr(self) -> str:
        plain = {name: value for name, value in vars(self).items() if not name.startswith("_") and name != "training"}
        return ", ".join(
            f"{name}={value!r}" for name, value in plain.items() if isinstance(value, bool | int | float | str)
        )

    def parameter_groups(self) -> list[ParameterGroup]:
        """Parameters of the loss itself; none by default."""
        return []

    def compute(self, logits: Tensor, labels: LabelBatch, progress: Progress) -> LossOutput:
        """`evaluate` with weights and pseudo-labels: where(is_pseudo, pseudo_weight * BCE(z, pseudo), cells * weight)."""
        wide = F.widen(logits)
        output = self.evaluate(wide, labels, progress)
        cells = output.cells
        if labels.has_weight:
            cells = cells * labels.weight.to(cells.dtype)
        if labels.has_pseudo and not self.handles_pseudo:
            bce = F.cross_entropy(wide, labels.pseudo.to(wide.dtype), self.eps)
            pseudo_cells = labels.pseudo_weight.to(wide.dtype) * bce
            cells = torch.where(labels.is_pseudo, pseudo_cells, cells)
        return LossOutput(cells, output.terms)

    def forward(self, logits: Tensor, labels: Tensor | LabelBatch, progress: Progress | None = None) -> Tensor:
        """The scalar total, for anybody's loop; `labels` as for `onetag.label_batch`."""
        batch = labels if isinstance(labels, LabelBatch) else label_batch(labels)
        if logits.shape != batch.shape:
            raise ValueError(f"logits have shape {tuple(logits.shape)}, labels have {tuple(batch.shape)}")
        return self.compute(logits, batch, progress or Progress()).total()


def activate(logits: Tensor, activation: str) -> Tensor:
    """Scores from logits, in at least float32."""
    wide = F.widen(logits)
    if activation == "softmax":
        return torch.softmax(wide, dim=-1)
    if activation == "sigmoid":
        return torch.sigmoid(wide)
    raise ValueError(f"unknown activation {activation!r}; valid: sigmoid, softmax")
