"""Rows of features for the loop, and the order in which an epoch visits them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from onetag.core import draws


class Rows:
    """Rows of a feature matrix (float16 or float32, in memory or mapped), possibly a selection of them."""

    def __init__(self, values: NDArray[np.floating], index: NDArray[np.int64] | None = None) -> None:
        self._values = torch.from_numpy(values)
        self._index = None if index is None else torch.from_numpy(np.ascontiguousarray(index, np.int64))

    def __len__(self) -> int:
        return len(self._values) if self._index is None else len(self._index)

    @property
    def dim(self) -> int:
        return int(self._values.shape[1])

    def batch(self, index: Tensor) -> Tensor:
        """float32 features of these rows."""
        return self._values[index if self._index is None else self._index[index]].float()

    def select(self, index: NDArray[np.int64]) -> Rows:
        chosen = index if self._index is None else self._index.numpy()[index]
        made = Rows.__new__(Rows)
        made._values, made._index = self._values, torch.from_numpy(np.ascontiguousarray(chosen, np.int64))
        return made


class Batches:
    """The batches of any epoch, known without having walked the epochs before it.

    An epoch has ceil(N / batch_size) batches of nearly equal size: no ragged last batch whose few samples would weigh more than others.
    """

    def __init__(self, ids: Sequence[str] | NDArray[np.str_], batch_size: int, seed: int) -> None:
        self._keys = draws.sample_keys(ids)
        self._seed = seed
        self.num_steps = max(1, -(-len(self._keys) // batch_size))
        self._bounds = np.arange(self.num_steps + 1) * len(self._keys) // self.num_steps

    def epoch(self, epoch: int) -> list[Tensor]:
        order = torch.from_numpy(draws.epoch_order(self._keys, self._seed, epoch))
        return [order[start:stop] for start, stop in zip(self._bounds[:-1], self._bounds[1:], strict=True)]
