"""LabelBatch: rows of the label state as tensors, the only thing a loss sees of labels; and where batches come from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from onetag.core.labels import LabelState, Proposal


class LabelBatch:
    """Rows [B, C] of the label state. There is no ready-made target: what is assumed of unknown cells stands in the loss.

    `observed` is +1 / 0 / -1; `pseudo` holds pseudo-labels in [0, 1] and NaN where there are none; `weight` belongs to observed
    cells; `index` says which samples of the training set these are.
    """

    def __init__(
        self,
        observed: Tensor,
        pseudo: Tensor | None = None,
        pseudo_weight: Tensor | float = 1.0,
        weight: Tensor | None = None,
        index: Tensor | None = None,
    ) -> None:
        self.observed = observed
        self._pseudo = pseudo
        self._pseudo_weight = pseudo_weight
        self._weight = weight
        self.index = index

    @property
    def shape(self) -> torch.Size:
        return self.observed.shape

    @property
    def has_pseudo(self) -> bool:
        """Whether any cell may be pseudo-labelled (False lets the common case skip the work)."""
        return self._pseudo is not None

    @property
    def has_weight(self) -> bool:
        return self._weight is not None

    @cached_property
    def is_positive(self) -> Tensor:
        return self.observed > 0

    @cached_property
    def is_negative(self) -> Tensor:
        return self.observed < 0

    @cached_property
    def is_pseudo(self) -> Tensor:
        if self._pseudo is None:
            return torch.zeros_like(self.observed, dtype=torch.bool)
        return (self.observed == 0) & ~torch.isnan(self._pseudo)

    @cached_property
    def is_unknown(self) -> Tensor:
        """Neither observed nor pseudo-labelled."""
        unknown = self.observed == 0
        return unknown & ~self.is_pseudo if self.has_pseudo else unknown

    @cached_property
    def pseudo(self) -> Tensor:
        """Pseudo-labels, 0 where there are none (ask `is_pseudo` first)."""
        if self._pseudo is None:
            return torch.zeros(self.shape, device=self.observed.device)
        return torch.nan_to_num(self._pseudo, nan=0.0)

    @cached_property
    def pseudo_weight(self) -> Tensor:
        given = torch.as_tensor(self._pseudo_weight, device=self.observed.device)
        return given.expand(self.shape) * self.is_pseudo

    @cached_property
    def weight(self) -> Tensor:
        """Weights of observed cells; 1 elsewhere."""
        if self._weight is None:
            return torch.ones(self.shape, device=self.observed.device)
        return torch.where(self.observed != 0, self._weight, torch.ones_like(self._weight))


def label_batch(
    observed: Tensor,
    pseudo: Tensor | None = None,
    pseudo_weight: Tensor | float = 1.0,
    weight: Tensor | float | None = None,
    index: Tensor | None = None,
) -> LabelBatch:
    """A LabelBatch from plain tensors, checked.

    `observed`: [B, C] of +1, 0 (unknown), -1 in any integer or float dtype. `pseudo`: [B, C] in [0, 1], NaN where there is none.
    Weights: a number or [B, C]. `index`: which samples of the training set these are (losses with state of their own need it).
    """
    matrix = torch.as_tensor(observed)
    if matrix.dim() != 2:
        raise ValueError(f"labels have two axes (samples, classes), these have {matrix.dim()}")
    if matrix.dtype == torch.bool:
        raise TypeError("labels are bool, which cannot say *unknown*: use +1 (positive), 0 (unknown), -1 (negative)")
    allowed = (matrix == 1) | (matrix == 0) | (matrix == -1) if matrix.dtype.is_signed else matrix <= 1
    if not bool(allowed.all()):
        row, col = (int(i) for i in (~allowed).nonzero()[0])
        raise ValueError(
            f"labels[{row}, {col}] is {matrix[row, col].item()!r}, "
            "not one of +1 (positive), 0 (unknown), -1 (negative); soft labels go into `pseudo`"
        )
    if pseudo is not None:
        pseudo = torch.as_tensor(pseudo, device=matrix.device)
        if pseudo.shape != matrix.shape:
            raise ValueError(f"pseudo has shape {tuple(pseudo.shape)}, labels have {tuple(matrix.shape)}")
        if not bool((torch.isnan(pseudo) | ((pseudo >= 0) & (pseudo <= 1))).all()):
            raise ValueError("pseudo-labels lie in [0, 1]; NaN where there is none")
        pseudo_weight = _weights("pseudo_weight", pseudo_weight, matrix)
    if weight is not None:
        weight = _weights("weight", weight, matrix)
    if index is not None:
        index = torch.as_tensor(index, device=matrix.device)
        if index.shape != matrix.shape[:1]:
            raise ValueError(
                f"index has shape {tuple(index.shape)}: one number for each of the {len(matrix)} rows of labels"
            )
    return LabelBatch(matrix, pseudo, pseudo_weight, weight, index)


def _weights(name: str, given: Tensor | float, labels: Tensor) -> Tensor:
    """A weight per cell; numbers are kept in double precision until the loss knows the precision of the logits."""
    exact = torch.float32 if labels.device.type == "mps" else torch.float64
    weight = torch.as_tensor(given, device=labels.device, dtype=None if isinstance(given, Tensor) else exact)
    if weight.dim() and weight.shape != labels.shape:
        raise ValueError(
            f"{name} has shape {tuple(weight.shape)}, labels have {tuple(labels.shape)}; give a number or one per cell"
        )
    if not bool((torch.isfinite(weight) & (weight >= 0)).all()):
        raise ValueError(f"{name} must be finite and not negative")
    return weight.expand(labels.shape)


@dataclass(frozen=True)
class NegativeWeights:
    """What observed negatives weigh (`labels.negative_weight` of a recipe): per class, and, where that is something else, in rows
    without unknown cells."""

    per_class: NDArray[np.float32]
    in_complete_rows: float | None = None

    def cells(self, observed: NDArray[np.int8]) -> NDArray[np.float32]:
        """A factor per cell of these rows; 1 for everything but observed negatives."""
        factor = np.broadcast_to(self.per_class, observed.shape)
        if self.in_complete_rows is not None:
            is_complete = (observed != 0).all(axis=1, keepdims=True)
            factor = np.where(is_complete, np.float32(self.in_complete_rows), factor)
        return np.where(observed < 0, factor, np.float32(1))


class LabelLookup:
    """The label state as tensors on the training device: rows by sample index, proposals written as cells."""

    def __init__(
        self, state: LabelState, device: torch.device | str = "cpu", negative_weight: NegativeWeights | None = None
    ) -> None:
        shape = (state.num_rows, state.num_classes)
        self._observed = torch.empty(shape, dtype=torch.int8, device=device)
        self._weight: Tensor | None = None
        self._pseudo: Tensor | None = None
        self._pseudo_weight: Tensor | None = None
        for part, rows in state.blocks():
            self._observed[part] = torch.from_numpy(rows.observed).to(device)
            factor = None if negative_weight is None else negative_weight.cells(rows.observed)
            weight = factor if rows.weight is None else rows.weight * (1 if factor is None else factor)
            if weight is not None and not (weight == 1).all():  # the common case, all of them 1, costs a step nothing
                if self._weight is None:
                    self._weight = torch.ones(shape, device=device)
                self._weight[part] = torch.from_numpy(weight).to(device)
            if rows.pseudo is not None and rows.pseudo_weight is not None:
                pseudo, pseudo_weight = self._pseudo_tensors()
                pseudo[part] = torch.from_numpy(rows.pseudo).to(device)
                pseudo_weight[part] = torch.from_numpy(rows.pseudo_weight).to(device)

    def _pseudo_tensors(self) -> tuple[Tensor, Tensor]:
        if self._pseudo is None or self._pseudo_weight is None:
            self._pseudo = torch.full(self._observed.shape, float("nan"), device=self._observed.device)
            self._pseudo_weight = torch.zeros(self._observed.shape, device=self._observed.device)
        return self._pseudo, self._pseudo_weight

    def rows(self, index: Tensor) -> LabelBatch:
        return LabelBatch(
            self._observed[index],
            None if self._pseudo is None else self._pseudo[index],
            1.0 if self._pseudo_weight is None else self._pseudo_weight[index],
            None if self._weight is None else self._weight[index],
            index,
        )

    def apply(self, written: Proposal) -> None:
        """Cells that `LabelState.apply` has written."""
        if not len(written):
            return
        pseudo, pseudo_weight = self._pseudo_tensors()
        device = pseudo.device
        rows, cols = (
            torch.from_numpy(written.rows).to(device),
            torch.from_numpy(written.cols.astype(np.int64)).to(device),
        )
        pseudo[rows, cols] = torch.from_numpy(np.ascontiguousarray(written.values)).to(device)
        pseudo_weight[rows, cols] = torch.from_numpy(np.ascontiguousarray(written.weights())).to(device)
