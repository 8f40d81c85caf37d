"""Explicit, named converters between label encodings and ours (+1 positive, 0 unknown, -1 negative), and back. `onetag.labels` for users.

Encodings differ between code bases, and the same number means opposite things: nothing is guessed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["from_ignore", "from_lists", "from_nan", "to_ignore", "to_lists", "to_nan"]


def from_nan(y: ArrayLike) -> NDArray[np.int8]:
    """1 = positive, 0 = negative, NaN = unknown.

    >>> from_nan([[1, 0, float("nan")]]).tolist()
    [[1, -1, 0]]
    """
    matrix = np.asarray(y, dtype=float)
    return _recode(matrix, matrix == 1, matrix == 0, np.isnan(matrix), "1 (positive), 0 (negative) or NaN (unknown)")


def to_nan(labels: ArrayLike) -> NDArray[np.float64]:
    """Back to 1 / 0 / NaN.

    >>> to_nan([[1, -1, 0]]).tolist()
    [[1.0, 0.0, nan]]
    """
    matrix = _ours(labels)
    return np.where(matrix == 0, np.nan, (matrix == 1).astype(float))


def from_ignore(y: ArrayLike, ignore: int = -1) -> NDArray[np.int8]:
    """1 = positive, 0 = negative, `ignore` = unknown.

    >>> from_ignore([[1, 0, -1]]).tolist()
    [[1, -1, 0]]
    """
    if ignore in (0, 1):
        raise ValueError(f"ignore={ignore} is also a label; it must differ from 0 and 1")
    matrix = np.asarray(y)
    return _recode(
        matrix, matrix == 1, matrix == 0, matrix == ignore, f"1 (positive), 0 (negative) or {ignore} (unknown)"
    )


def to_ignore(labels: ArrayLike, ignore: int = -1) -> NDArray[np.int64]:
    """Back to 1 / 0 / `ignore`.

    >>> to_ignore([[1, -1, 0]]).tolist()
    [[1, 0, -1]]
    """
    if ignore in (0, 1):
        raise ValueError(f"ignore={ignore} is also a label; it must differ from 0 and 1")
    matrix = _ours(labels)
    return np.where(matrix == 0, ignore, (matrix == 1).astype(np.int64))


def from_lists(tags: Sequence[Iterable[str]], classes: Sequence[str]) -> NDArray[np.int8]:
    """The known tags of each sample; everything else is unknown.

    >>> from_lists([["cat"], []], ["dog", "cat"]).tolist()
    [[0, 1], [0, 0]]
    """
    place = {name: index for index, name in enumerate(classes)}
    matrix = np.zeros((len(tags), len(classes)), np.int8)
    for row, names in enumerate(tags):
        if isinstance(names, str):
            raise TypeError(f"row {row}: {names!r} is one string; give a list of tags")
        for name in names:
            if name not in place:
                raise ValueError(f"row {row}: tag {name!r} is not among the {len(classes)} classes")
            matrix[row, place[name]] = 1
    return matrix


def to_lists(labels: ArrayLike, classes: Sequence[str]) -> list[list[str]]:
    """Back to the positive tags of each sample.

    >>> to_lists([[0, 1]], ["dog", "cat"])
    [['cat']]
    """
    matrix = _ours(labels)
    if matrix.shape[1:] != (len(classes),):
        raise ValueError(f"labels of shape {matrix.shape} for {len(classes)} classes")
    return [[classes[int(c)] for c in np.flatnonzero(row == 1)] for row in matrix]


def _ours(labels: ArrayLike) -> NDArray[np.int8]:
    matrix = np.asarray(labels)
    return _recode(matrix, matrix == 1, matrix == -1, matrix == 0, "+1 (positive), -1 (negative) or 0 (unknown)")


def _recode(
    matrix: NDArray[np.generic],
    positive: NDArray[np.bool_],
    negative: NDArray[np.bool_],
    unknown: NDArray[np.bool_],
    valid: str,
) -> NDArray[np.int8]:
    if matrix.ndim != 2:
        raise ValueError(f"labels have two axes (samples, classes), these have {matrix.ndim}")
    wrong = ~(positive | negative | unknown)
    if wrong.any():
        row, col = (int(i) for i in np.argwhere(wrong)[0])
        raise ValueError(f"row {row}, column {col}: {matrix[row, col]} is not {valid}")
    return positive.astype(np.int8) - negative.astype(np.int8)
