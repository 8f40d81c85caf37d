"""The contract of labelers: after an epoch (or a batch) they propose pseudo-labels; the engine applies and logs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from onetag.core.labels import LabelState, Proposal
from onetag.core.progress import Progress

Block = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Row numbers, and their scores [b, C] in the plain view."""

ScoreBlocks = Callable[[], Iterator[Block]]
"""Scores of the training split in blocks, computed when called."""


class Labeler:
    """Base of all labelers: pure functions of state, scores and time."""

    activations: ClassVar[tuple[str, ...]] = ("sigmoid",)

    def check(self, num_epochs: int) -> str | None:
        """A sentence when this labeler will never act in so many epochs."""
        return None

    def acts(self, progress: Progress) -> bool:
        """Whether `after_epoch` will propose something now (scores are only computed then)."""
        return True

    def after_epoch(self, state: LabelState, scores: ScoreBlocks, progress: Progress) -> Proposal | None:
        raise TypeError(
            f"{type(self).__name__} does not say what it proposes: define after_epoch(state, scores, progress)"
        )
