"""Scores of a head over features, in blocks of a fixed size and order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from onetag.engine.data import Rows
from onetag.learn.labeler import Block
from onetag.learn.loss import activate

_BLOCK = 4096


def score_blocks(head: torch.nn.Module, rows: Rows, activation: str) -> Iterator[Block]:
    """The plain view: no dropout, no augmentation."""
    with torch.inference_mode():
        for start in range(0, len(rows), _BLOCK):
            index = np.arange(start, min(start + _BLOCK, len(rows)))
            logits = head(rows.batch(torch.from_numpy(index)))
            yield index, activate(logits, activation).numpy()


def scores(head: torch.nn.Module, rows: Rows, activation: str) -> NDArray[np.float32]:
    blocks = [block for _, block in score_blocks(head, rows, activation)]
    return np.concatenate(blocks) if blocks else np.zeros((0, 0), np.float32)
