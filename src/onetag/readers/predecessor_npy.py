"""The predecessor's arrays, formatted_{train,val}_{images,labels,labels_obs}.npy: complete labels, and what was revealed of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onetag.core.labels import REST_NEGATIVE, REST_UNKNOWN, LabelTable
from onetag.core.reading import DataError, Reader, ReadOptions
from onetag.core.split import Data, Split
from onetag.readers._matrix import load_array
from onetag.readers._paths import refuse_outside
from onetag.readers._sides import class_names, echo

__all__ = ["PredecessorNpy"]


class PredecessorNpy(Reader):
    """Where train has labels_obs (1 positive, 0 unknown, -1 negative), these are its labels and the complete ones its truth.

    With --labels complete they are passed over. Classes are named by a classes.txt, else by number. What is called val was tested on.
    """

    priority = 20
    complete = True

    def recognises(self, path: Path) -> bool:
        return path.is_dir() and any((path / f"formatted_{side}_labels.npy").is_file() for side in ("train", "val"))

    def read(self, path: Path, options: ReadOptions) -> Data:
        sides = [side for side in ("train", "val") if (path / f"formatted_{side}_labels.npy").is_file()]
        if not sides:
            raise DataError(path, "holds no formatted_train_labels.npy")
        said = options.labels
        made = {side: _side(path, side, options) for side in sides}
        sizes = {part[1].num_classes for part in made.values()}
        if len(sizes) > 1:
            raise DataError(path, f"labels of train and val have different numbers of classes: {sorted(sizes)}")
        classes = _classes(path, sizes.pop())
        is_partial = said == "partial" or (said is None and any(part[2] is not None for part in made.values()))
        splits: dict[str, Split] = {}
        for side, (names, truth, revealed) in made.items():
            labels = truth if said == "complete" or revealed is None else revealed
            if said == "partial" and revealed is None:
                labels = LabelTable.from_dense(np.maximum(truth.to_dense(), 0))
            paths = (
                None if names is None else np.array([str((options.images or path) / n) for n in names], dtype=np.str_)
            )
            ids = np.array(
                names if names is not None else [f"{side} {i}" for i in range(1, len(truth) + 1)], dtype=np.str_
            )
            splits[side] = Split(ids, classes, labels, paths, truth=truth)
        how = ["labels_obs as labels" if is_partial else "labels as labels"]
        return Data(splits, echo("predecessor's arrays", how, splits, not is_partial), path, not is_partial)


def _side(path: Path, side: str, options: ReadOptions) -> tuple[list[str] | None, LabelTable, LabelTable | None]:
    """Names, complete labels, and what was revealed of them."""
    file = path / f"formatted_{side}_labels.npy"
    dense = _signs(file, (0, 1))
    truth = LabelTable.from_dense(np.where(dense == 1, np.int8(1), np.int8(-1)), REST_NEGATIVE)
    revealed, observed = path / f"formatted_{side}_labels_obs.npy", None
    if revealed.is_file() and options.labels != "complete":
        known = _signs(revealed, (-1, 0, 1))
        if known.shape != dense.shape:
            raise DataError(
                revealed, f"has the shape {known.shape}, {file.name} has {dense.shape}; they must be the same"
            )
        observed = LabelTable.from_dense(known, np.where((known == 0).any(axis=1), REST_UNKNOWN, REST_NEGATIVE))
    images = path / f"formatted_{side}_images.npy"
    if not images.is_file():
        return None, truth, observed
    names = load_array(images)
    if names.ndim != 1 or names.dtype.kind not in "US":
        raise DataError(images, f"holds {names.dtype} of the shape {names.shape}; one name per picture is expected")
    if len(names) != len(dense):
        raise DataError(images, f"has {len(names):,} names for the {len(dense):,} rows of {file.name}")
    try:
        if names.dtype.kind == "U" and np.ascontiguousarray(names).view(np.uint32).max(initial=0) > sys.maxunicode:
            raise ValueError("a character beyond Unicode")
        listed = [(name.decode() if isinstance(name, bytes) else name).replace("\\", "/") for name in names.tolist()]
        "".join(listed).encode()
    except ValueError as error:
        raise DataError(images, f"holds names that are no text ({error})") from error
    refuse_outside(images, listed)
    return listed, truth, observed


def _signs(path: Path, allowed: tuple[int, ...]) -> NDArray[np.int8]:
    made: NDArray[Any] = load_array(path)
    if made.ndim != 2 or made.dtype.kind not in "biuf" or not made.size:
        raise DataError(
            path, f"holds {made.dtype} of the shape {made.shape}; numbers of the shape (pictures, classes) are expected"
        )
    wrong = ~np.isin(made, allowed)
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        expected = ", ".join(map(str, allowed))
        raise DataError(path, f"class {column + 1} is {made[row, column]}; one of {expected} is expected", row + 1)
    return made.astype(np.int8)


def _classes(path: Path, size: int) -> tuple[str, ...]:
    file = path / "classes.txt"
    if not file.is_file():
        width = len(str(size - 1))
        return tuple(f"class {code:0{width}d}" for code in range(size))
    names = class_names(file)
    if len(names) != size:
        raise DataError(file, f"names {len(names)} classes, the labels have {size}")
    return names
