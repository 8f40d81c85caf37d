"""Ranking metrics over scores [N, C] and truth [N, C] of +1 positive, -1 negative and 0 unknown."""

import operator
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]

# Eight float32 columns are half a cache line per picture: narrow enough to share out over threads,
# wide enough that the transposing copy does not read every line eight times over.
_BLOCK_CLASSES = 8
_THREADED_CELLS = 500_000
_MAX_THREADS = 8
# With fewer than one positive in so many pictures, searching for them beats packing a flag into every score.
_SPARSE = 16


def checked_scores(scores: ArrayLike) -> FloatArray:
    """Return the scores as a native float matrix of at least 32 bits, or say which cell is wrong.

    >>> checked_scores(np.array([[0.5, 1.0]], dtype=np.float16)).dtype
    dtype('float32')
    """
    values = np.asarray(scores)
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(f"scores has shape {values.shape}: expected [pictures, classes] with at least one class")
    if values.dtype.kind not in "fiub":
        raise ValueError(f"scores has dtype {values.dtype}: expected a float type")
    # float16 has no fast sort; every wider type holds it exactly, so ties stay ties.
    values = values.astype(np.result_type(values.dtype, np.float32), copy=False)
    _reject(np.isnan(values), values, "scores", "every score must be a number; leave a cell out by truth 0")
    return values


def checked_truth(truth: ArrayLike, shape: tuple[int, ...], name: str = "truth") -> NDArray[np.int8]:
    """Return the truth as int8 of the given shape, or say which cell is wrong.

    >>> checked_truth([[1, -1, 0]], (1, 3))
    array([[ 1, -1,  0]], dtype=int8)
    """
    labels = np.asarray(truth)
    if labels.shape != shape:
        raise ValueError(f"{name} has shape {labels.shape}: expected the shape of the scores, {shape}")
    advice = "expected +1 positive, -1 negative, 0 unknown; from complete 0/1 labels: np.where(labels == 1, 1, -1)"
    if labels.dtype.kind not in "fiu":
        raise ValueError(f"{name} has dtype {labels.dtype}: {advice}")
    # The extremes of an integer matrix settle it without building three masks.
    if labels.dtype.kind == "f" or (labels.size and (labels.min() < -1 or labels.max() > 1)):
        _reject((labels != 1) & (labels != -1) & (labels != 0), labels, name, advice)
    return labels.astype(np.int8, copy=False)


def _reject(wrong: NDArray[np.bool_], values: NDArray[Any], name: str, advice: str) -> None:
    if wrong.any():
        row, column = divmod(int(np.argmax(wrong)), wrong.shape[1])
        raise ValueError(f"{name} holds {values[row, column]} at row {row}, column {column}: {advice}")


def group_starts(ordered: NDArray[Any]) -> NDArray[np.intp]:
    """Return where each run of equal values starts in a sorted, non-empty vector.

    >>> group_starts(np.array([1, 1, 2, 5, 5]))
    array([0, 2, 3])
    """
    return np.concatenate((np.zeros(1, np.intp), np.flatnonzero(ordered[1:] != ordered[:-1]) + 1))


def average_precision(scores: ArrayLike, truth: ArrayLike) -> NDArray[np.float64]:
    """Return the average precision of each class over its known pictures, as scikit-learn defines it.

    Equal scores form one threshold. A class without a known positive is NaN. A class with positives but no
    negative has AP 1 by definition, whatever the scores: a truth of 0/1 only therefore looks perfect, for its
    zeros mean unknown, not negative. Where every 0 means no, pass np.where(labels == 1, 1, -1).

    >>> average_precision([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]], [[1, 0], [-1, 0], [1, 0]]).round(4)
    array([0.8333,    nan])
    """
    values = checked_scores(scores)
    labels = checked_truth(truth, values.shape)

    def block(start: int) -> list[float]:
        columns = slice(start, start + _BLOCK_CLASSES)
        rows = np.array(values[:, columns].T, order="C")  # always a copy: it is sorted in place
        marks = np.ascontiguousarray(labels[:, columns].T)
        return [_class_average_precision(row, mark) for row, mark in zip(rows, marks, strict=True)]

    starts = range(0, values.shape[1], _BLOCK_CLASSES)
    parts: Iterable[list[float]]
    if values.size < _THREADED_CELLS:
        parts = map(block, starts)
    else:
        # numpy sorts and searches without the interpreter lock, so threads share the classes out.
        with ThreadPoolExecutor(min(_MAX_THREADS, os.cpu_count() or 1)) as pool:
            parts = list(pool.map(block, starts))
    return np.array([value for part in parts for value in part], dtype=np.float64)


def _class_average_precision(scores: FloatArray, truth: NDArray[np.int8]) -> float:
    """Return the AP of one class; `scores` is a private copy and is overwritten."""
    positive = truth > 0
    size = int(np.count_nonzero(positive))
    if size == 0:
        return float("nan")
    known = truth != 0
    keys = _packed(scores) if size * _SPARSE > scores.size else None
    if keys is None:
        # Few positives, or nothing to pack: look each distinct positive score up among the sorted known ones.
        values = np.sort(scores[positive])
        first = group_starts(values)
        np.copyto(scores, -np.inf, where=~known)
        scores.sort()
        # The minimum takes the unknown cells out again for a positive that itself scores minus infinity.
        retrieved = np.minimum(scores.size - np.searchsorted(scores, values[first]), np.count_nonzero(known))
    else:
        # One sort of (score, is positive) pairs; unknown cells become 0, below every known one (at least 2).
        keys <<= 1
        keys += 2
        keys |= positive
        keys *= known
        keys.sort()
        places = np.flatnonzero((keys.astype(np.uint8) & 1).view(np.bool_))
        first = group_starts(keys[places])
        begin = places[first]
        # A group of equal scores starts at its negatives, if any: they sort just before its positives.
        as_negative = keys[begin] - 1
        tied = np.flatnonzero(keys[np.maximum(begin - 1, 0)] == as_negative)
        begin[tied] = np.searchsorted(keys, as_negative[tied])
        retrieved = keys.size - begin
    weights = np.diff(first, append=size)
    return float((weights * ((size - first) / retrieved)).sum() / size)


def _packed(scores: FloatArray) -> NDArray[np.unsignedinteger[Any]] | None:
    """Return unsigned keys in exactly the order and ties of the scores, with a high bit to spare, or None.

    The bits of an IEEE number without sign already order as an integer does (a view, so writing to it writes to the
    scores). Integers of 32 and 64 bits are what np.sort is fastest at, and unlike argsort it moves no second array.
    """
    if scores.dtype == np.float32:
        bits = scores.view(np.int32)
        if bits.min() >= 0:
            return scores.view(np.uint32)
        wide = bits.astype(np.int64)
        return (np.where(wide < 0, -(wide + 2**31), wide) + 2**31).view(np.uint64)
    if scores.dtype == np.float64 and scores.view(np.int64).min() >= 0:
        return scores.view(np.uint64)
    # A signed float64 uses all 64 bits: no room for the flag without losing ties.
    return None


def mean_average_precision(scores: ArrayLike, truth: ArrayLike, empty: Literal["skip", "zero"] = "skip") -> float:
    """Return the mean AP over classes as a fraction; a class without a known positive is skipped or counts as 0.

    With every class empty the result is NaN for "skip" and 0.0 for "zero".

    >>> mean_average_precision([[0.9, 0.1], [0.2, 0.2]], [[1, 0], [-1, -1]])
    1.0
    >>> mean_average_precision([[0.9, 0.1], [0.2, 0.2]], [[1, 0], [-1, -1]], empty="zero")
    0.5
    """
    if empty not in ("skip", "zero"):
        raise ValueError(f"empty is {empty!r}: expected 'skip' or 'zero'")
    per_class = average_precision(scores, truth)
    scored = per_class[~np.isnan(per_class)]
    if empty == "zero":
        return float(scored.sum() / per_class.size)
    return float(scored.mean()) if scored.size else float("nan")


def _in_top_k(scores: FloatArray, known: NDArray[np.bool_], k: int) -> NDArray[np.bool_]:
    """Mark the k best known cells of each picture, the lower class index first among equal scores."""
    try:
        k = operator.index(k)
    except TypeError:
        raise ValueError(f"k is {k!r}: expected a whole number of at least 1") from None
    if k < 1:
        raise ValueError(f"k is {k}: expected a whole number of at least 1")
    classes = scores.shape[1]
    k = min(k, classes)
    # A partition finds the k-th best score without a full, slow, stable sort; only its ties need an order.
    masked = np.where(known, scores, scores.dtype.type(-np.inf))
    masked.partition(classes - k, axis=1)
    kth = masked[:, classes - k, None]
    above = known & (scores > kth)
    level = known & (scores == kth)
    room = k - np.count_nonzero(above, axis=1)
    crowded = np.flatnonzero(np.count_nonzero(level, axis=1) > room)
    level[crowded] &= np.cumsum(level[crowded], axis=1) <= room[crowded, None]
    above |= level
    return above


def precision_at_k(scores: ArrayLike, truth: ArrayLike, k: int) -> float:
    """Return the share of positives among each picture's k best known cells, averaged over pictures.

    A picture with fewer than k known cells is divided by their number, one with none is left out (no picture left:
    NaN). Equal scores rank by class index. k larger than the number of classes means all of them.

    >>> precision_at_k([[0.9, 0.8, 0.1], [0.9, 0.8, 0.1]], [[1, -1, 1], [0, 0, 1]], k=2)
    0.75
    """
    values = checked_scores(scores)
    labels = checked_truth(truth, values.shape)
    known = labels != 0
    top = _in_top_k(values, known, k)
    kept = np.count_nonzero(top, axis=1)  # min(k, number of known cells)
    hits = np.count_nonzero(top & (labels > 0), axis=1)
    usable = kept > 0
    return float((hits[usable] / kept[usable]).mean()) if usable.any() else float("nan")


def recall_at_k(scores: ArrayLike, truth: ArrayLike, k: int) -> float:
    """Return the share of a picture's positives among its k best known cells, averaged over pictures.

    Pictures without a known positive are left out (no picture left: NaN). Equal scores rank by class index.

    >>> recall_at_k([[0.9, 0.8, 0.1], [0.9, 0.8, 0.1]], [[1, -1, 1], [0, 0, 1]], k=2)
    0.75
    """
    values = checked_scores(scores)
    labels = checked_truth(truth, values.shape)
    positive = labels > 0
    total = np.count_nonzero(positive, axis=1)
    hits = np.count_nonzero(_in_top_k(values, labels != 0, k) & positive, axis=1)
    usable = total > 0
    return float((hits[usable] / total[usable]).mean()) if usable.any() else float("nan")


def known_tag_in_top_k(scores: ArrayLike, positives: ArrayLike, k: int) -> float:
    """Return the share of (picture, known positive) pairs whose class is among the picture's k best scores.

    Only the +1 of `positives` (or the True of a boolean matrix) are used; every class competes for the k places.
    Equal scores rank by class index, neither best nor worst case. Without any positive the share is NaN.

    >>> round(known_tag_in_top_k([[0.9, 0.8, 0.1], [0.5, 0.5, 0.5]], [[0, 1, 0], [1, 0, 1]], k=2), 4)
    0.6667
    """
    values = checked_scores(scores)
    marks = np.asarray(positives)
    marks = marks.astype(np.int8) if marks.dtype == np.bool_ else marks
    positive = checked_truth(marks, values.shape, "positives") > 0
    top = _in_top_k(values, np.ones(values.shape, dtype=np.bool_), k)
    pairs = np.count_nonzero(positive)
    return float(np.count_nonzero(top & positive) / pairs) if pairs else float("nan")
