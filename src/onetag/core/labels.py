"""Labels and their state: what annotators said (LabelTable), and what a run adds to it (LabelState, Proposal).

This is the only file that knows how label state is stored. Everybody else asks `rows`, `blocks`, `apply`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onetag.core.arrays import load_arrays, save_arrays
from onetag.core.table import REST_NEGATIVE, REST_UNKNOWN, LabelTable

__all__ = [
    "REST_NEGATIVE", "REST_UNKNOWN", "LabelRows", "LabelState", "LabelTable", "Proposal", "load_arrays", "save_arrays",
]  # fmt: skip


@dataclass(frozen=True)
class Proposal:
    """What a labeler suggests: pseudo-labels in [0, 1] for cells, with one weight each or one for all.

    `claims` says which way each one points, +1 or -1: a soft label of 0.6 may well be meant as a negative, where the model holds
    everything it does not know above 0.5. Without it, values of 0.5 and more point to +1.
    """

    rows: NDArray[np.int64]
    cols: NDArray[np.int32]
    values: NDArray[np.float32]
    weight: NDArray[np.float32] | float = 1.0
    claims: NDArray[np.int8] | None = None

    def __post_init__(self) -> None:
        if not len(self.rows) == len(self.cols) == len(self.values):
            raise ValueError("a proposal has as many rows as columns and values")
        if len(self.values) and not ((self.values >= 0) & (self.values <= 1)).all():
            raise ValueError("pseudo-labels lie in [0, 1]")
        weight = np.asarray(self.weight)
        if not (np.isfinite(weight) & (weight >= 0)).all():
            raise ValueError("weights of pseudo-labels must be finite and not negative")
        if self.claims is not None and not (len(self.claims) == len(self.rows) and np.isin(self.claims, (-1, 1)).all()):
            raise ValueError("claims are +1 or -1, one for each cell")

    def __len__(self) -> int:
        return len(self.rows)

    def directions(self) -> NDArray[np.int8]:
        return np.where(self.values >= 0.5, 1, -1).astype(np.int8) if self.claims is None else self.claims

    def weights(self) -> NDArray[np.float32]:
        return np.broadcast_to(np.asarray(self.weight, np.float32), self.values.shape).copy()


class LabelRows(NamedTuple):
    """Rows of the state, dense: `observed` +1/0/-1, `weight` of observed cells (None = 1), `pseudo` (NaN = none; None = nowhere)."""

    observed: NDArray[np.int8]
    weight: NDArray[np.float32] | None
    pseudo: NDArray[np.float32] | None
    pseudo_weight: NDArray[np.float32] | None


class LabelState:
    """Observed labels, fixed for a run, and the pseudo-labels that were added to them.

    Pseudo-labels live in their own arrays: a soft label of exactly 0 is a label, and an observed -1 never looks like one.
    """

    def __init__(self, observed: LabelTable, ids: Sequence[str] | None = None) -> None:
        self.observed = observed
        self._dense = observed.to_dense()
        self._weight = observed.dense_weights() if observed.is_weighted else None
        self._pseudo: NDArray[np.float32] | None = None
        self._pseudo_weight: NDArray[np.float32] | None = None
        self._added: NDArray[np.int16] | None = None
        self._claim: NDArray[np.int8] | None = None
        # Ties between equal scores are broken by sample id, so that they do not depend on the order of a file.
        self.tie_rank = (
            np.arange(observed.num_rows)
            if ids is None
            else np.argsort(np.argsort(np.asarray(ids), kind="stable"), kind="stable")
        )
        self.initial_unknown = observed.class_counts(0)

    @property
    def num_rows(self) -> int:
        return self.observed.num_rows

    @property
    def num_classes(self) -> int:
        return self.observed.num_classes

    @property
    def num_pseudo(self) -> int:
        return 0 if self._added is None else int((self._added > 0).sum())

    def rows(self, index: ArrayLike) -> LabelRows:
        at = np.asarray(index)
        if self._pseudo is None or self._pseudo_weight is None:
            return LabelRows(self._dense[at], None if self._weight is None else self._weight[at], None, None)
        return LabelRows(
            self._dense[at],
            None if self._weight is None else self._weight[at],
            self._pseudo[at],
            self._pseudo_weight[at],
        )

    def blocks(self, size: int = 65536) -> Iterator[tuple[slice, LabelRows]]:
        for start in range(0, self.num_rows, size):
            part = slice(start, min(start + size, self.num_rows))
            yield part, self.rows(np.arange(part.start, part.stop))

    def is_open(self, index: ArrayLike) -> NDArray[np.bool_]:
        """Cells that are unknown and carry no pseudo-label yet."""
        at = np.asarray(index)
        unknown = np.asarray(self._dense[at] == 0)
        return unknown if self._added is None else unknown & (self._added[at] == 0)

    def open_counts(self) -> NDArray[np.int64]:
        """Open cells per class."""
        counts = np.zeros(self.num_classes, np.int64)
        for part, _ in self.blocks():
            counts += self.is_open(np.arange(part.start, part.stop)).sum(axis=0)
        return counts

    def added_epoch(self, index: ArrayLike) -> NDArray[np.int16]:
        """The pseudo-label diary: in which epoch a cell was labelled (0 = not)."""
        at = np.asarray(index)
        return np.zeros((len(at), self.num_classes), np.int16) if self._added is None else self._added[at]

    def apply(self, proposal: Proposal, epoch: int) -> Proposal:
        """Write the proposal's cells and return what was written; cells an annotator has decided are refused."""
        if epoch < 1:
            raise ValueError("epochs are counted from 1 (0 in the diary means: no pseudo-label)")
        allowed = self._dense[proposal.rows, proposal.cols] == 0
        written = Proposal(
            proposal.rows[allowed], proposal.cols[allowed], proposal.values[allowed],
            proposal.weights()[allowed], proposal.directions()[allowed],
        )  # fmt: skip
        if not len(written):
            return written
        if self._pseudo is None or self._pseudo_weight is None or self._added is None or self._claim is None:
            shape = (self.num_rows, self.num_classes)
            self._pseudo = np.full(shape, np.nan, np.float32)
            self._pseudo_weight = np.zeros(shape, np.float32)
            self._added = np.zeros(shape, np.int16)
            self._claim = np.zeros(shape, np.int8)
        self._pseudo[written.rows, written.cols] = written.values
        self._pseudo_weight[written.rows, written.cols] = written.weight
        self._added[written.rows, written.cols] = epoch
        self._claim[written.rows, written.cols] = written.directions()
        return written

    def pseudo_entries(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
        """All pseudo-labels as (rows, classes, claims +1 / -1)."""
        if self._added is None or self._claim is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int8)
        rows, cols = np.nonzero(self._added)
        return rows, cols, self._claim[rows, cols]
