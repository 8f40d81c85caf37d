"""Asymmetric pseudo-labeling: each epoch, the lowest scores of a class become negative pseudo-labels (Zhou et al., ECCV 2022)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onetag.core.labels import LabelState, Proposal
from onetag.core.progress import Progress
from onetag.learn.labeler import Labeler, ScoreBlocks

__all__ = ["AsymmetricPseudoLabeling"]


class AsymmetricPseudoLabeling(Labeler):
    """After each epoch e with warmup <= e < T: for every class, the proportion / (T - warmup) lowest scores among its open cells.

    `soft` keeps the score as the pseudo-label (else 0); `weight` is the paper's beta; `quota` counts from the unknown cells at the start
    ("initial": how the published numbers were made, ending at `proportion`) or from those still open ("current": as Eq. 6 reads);
    `positives` is the share of the highest scores that become positive pseudo-labels by the same schedule (an ablation: 0.1 there).

    Differs from the official code: no pass after the last epoch (nothing would train on it); the plain view instead of the augmented
    one; ties by sample id; a pseudo-label of exactly 0 is one.
    """

    def __init__(
        self,
        proportion: float = 0.9,
        warmup: int = 5,
        weight: float = 0.5,
        soft: bool = True,
        quota: str = "initial",
        positives: float = 0.0,
    ) -> None:
        if not 0 <= proportion <= 1 or not 0 <= positives <= 1 or proportion + positives > 1:
            raise ValueError(
                "proportion and positives are shares of the unknown cells: each in [0, 1], together at most 1"
            )
        if quota not in ("initial", "current"):
            raise ValueError(f'quota is "initial" or "current", not {quota!r}')
        if warmup < 0 or weight < 0:
            raise ValueError("warmup and weight cannot be negative")
        self.proportion = proportion
        self.warmup = warmup
        self.weight = weight
        self.soft = soft
        self.quota = quota
        self.positives = positives

    def check(self, num_epochs: int) -> str | None:
        if max(self.warmup, 1) < num_epochs:
            return None
        return (
            f"apl never acts: its warm-up of {self.warmup} epochs leaves none of the {num_epochs} epochs to train on pseudo-labels "
            f"(labeler.warmup must be below {num_epochs})"
        )

    def acts(self, progress: Progress) -> bool:
        return self.warmup <= progress.epoch < progress.num_epochs

    def after_epoch(self, state: LabelState, scores: ScoreBlocks, progress: Progress) -> Proposal | None:
        if not self.acts(progress):
            return None
        base = state.initial_unknown if self.quota == "initial" else state.open_counts()
        passes = progress.num_epochs - self.warmup
        lowest = _Lowest(_quota(self.proportion, base, passes), state.tie_rank)
        # One order (score, then id) for both ends, so that ties at either end never claim the same cells.
        highest = _Lowest(_quota(self.positives, base, passes), -state.tie_rank)
        for rows, block in scores():
            if np.isnan(block).any():
                raise FloatingPointError(
                    "scores of the training set are NaN: the model has diverged (a lower learning rate?)"
                )
            is_open = state.is_open(rows)
            lowest.feed(rows, block, is_open)
            if self.positives:
                highest.feed(rows, -block, is_open)
        rows, cols, values = lowest.result()
        kept, claims = values if self.soft else np.zeros_like(values), np.full(len(values), -1, np.int8)
        if self.positives:
            high_rows, high_cols, negated = highest.result()
            taken = np.isin(high_rows * state.num_classes + high_cols, rows * state.num_classes + cols)
            high_rows, high_cols, negated = high_rows[~taken], high_cols[~taken], negated[~taken]
            rows, cols = np.concatenate([rows, high_rows]), np.concatenate([cols, high_cols])
            kept = np.concatenate([kept, -negated if self.soft else np.ones_like(negated)])
            claims = np.concatenate([claims, np.ones(len(negated), np.int8)])
        return Proposal(rows, cols, kept, self.weight, claims)


def _quota(proportion: float, base: NDArray[np.int64], passes: int) -> NDArray[np.int64]:
    """int(theta U / (T - T_w)) cells per class."""
    return (proportion * base / passes).astype(np.int64)


class _Lowest:
    """The n_c lowest open scores of each class c, from blocks: exact, ties by rank; holds about twice the answer, never all scores."""

    def __init__(self, quota: NDArray[np.int64], tie_rank: NDArray[np.int64]) -> None:
        self._quota = quota
        self._rank = tie_rank
        self._rows: list[list[NDArray[np.int64]]] = [[] for _ in quota]
        self._values: list[list[NDArray[np.float32]]] = [[] for _ in quota]
        self._held = np.zeros(len(quota), np.int64)

    def feed(self, rows: NDArray[np.int64], scores: NDArray[np.float32], is_open: NDArray[np.bool_]) -> None:
        columns, open_columns = np.ascontiguousarray(scores.T), np.ascontiguousarray(is_open.T)
        for c in np.flatnonzero(self._quota):
            at = np.flatnonzero(open_columns[c])
            self._rows[c].append(rows[at])
            self._values[c].append(columns[c][at])
            self._held[c] += len(at)
            if self._held[c] > 2 * self._quota[c] + len(rows):
                self._prune(int(c))

    def _prune(self, c: int) -> None:
        rows, values = np.concatenate(self._rows[c]), np.concatenate(self._values[c])
        n = int(self._quota[c])
        if len(values) > n:
            cut = np.partition(values, n - 1)[n - 1]
            keep = values < cut
            tied, missing = np.flatnonzero(values == cut), n - int(keep.sum())
            ranks = self._rank[rows[tied]]
            keep[tied[ranks <= np.partition(ranks, missing - 1)[missing - 1]]] = True
            rows, values = rows[keep], values[keep]
        self._rows[c], self._values[c], self._held[c] = [rows], [values], len(rows)

    def result(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        """Rows, classes, values: by class, then row."""
        rows, cols, values = [], [], []
        for c in np.flatnonzero(self._quota):
            if not self._rows[c]:
                continue
            self._prune(int(c))
            order = np.argsort(self._rows[c][0], kind="stable")
            rows.append(self._rows[c][0][order])
            values.append(self._values[c][0][order])
            cols.append(np.full(len(order), c, np.int32))
        if not rows:
            return np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32)
        return np.concatenate(rows), np.concatenate(cols), np.concatenate(values)
