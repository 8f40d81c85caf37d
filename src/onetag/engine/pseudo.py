"""Pseudo-labels of a run: kept as appended proposals, one file an epoch, and compared with the truth where it is known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onetag.core.labels import LabelState, LabelTable, Proposal, load_arrays, save_arrays

_PREFIX = "proposal-"


def save(folder: Path, written: Proposal, epoch: int) -> None:
    """What was written in an epoch."""
    parts: dict[str, NDArray[np.generic]] = {
        "rows": written.rows, "cols": written.cols, "values": written.values,
        "weights": written.weights(), "claims": written.directions(),
    }  # fmt: skip
    save_arrays(folder / f"{_PREFIX}{epoch:05d}.safetensors", parts)


def load(folder: Path, before: int) -> Iterator[tuple[int, Proposal]]:
    """The proposals of epochs before this one; later ones are removed (they belong to epochs that will be done again)."""
    for path in sorted(folder.glob(f"{_PREFIX}*.safetensors")):
        epoch = int(path.stem.removeprefix(_PREFIX))
        if epoch >= before:
            path.unlink()
            continue
        parts = load_arrays(path)
        rows, cols = np.asarray(parts["rows"], np.int64), np.asarray(parts["cols"], np.int32)
        values, weights = np.asarray(parts["values"], np.float32), np.asarray(parts["weights"], np.float32)
        yield epoch, Proposal(rows, cols, values, weights, np.asarray(parts["claims"], np.int8))


def describe(labels: LabelState, written: Proposal, truth: LabelTable | None) -> dict[str, Any]:
    """How many there are, and how many point to the truth: of this epoch, of all, and as drawing unknown cells at random would get."""
    record: dict[str, Any] = {"pseudo_added": len(written), "pseudo_total": labels.num_pseudo}
    if truth is None or not len(written):
        return record
    dense = truth.to_dense()
    rows, cols, claims = labels.pseudo_entries()
    return record | {
        "pseudo_precision": float((written.directions() == dense[written.rows, written.cols]).mean()),
        "pseudo_precision_pooled": float((claims == dense[rows, cols]).mean()),
        "pseudo_precision_of_a_coin": float((dense[labels.observed.to_dense() == 0] == -1).mean()),
    }
