"""Cuts that turn scores [N, C] into yes or no per class, and the F-score, precision and recall at such cuts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onetag.metrics.ranking import FloatArray, checked_scores, checked_truth, group_starts

# In a simulation of rare classes fitted on 4,000 pictures and judged on others, 10 did best or nearly so, both for
# calibrated scores and for scores off by a random scale and offset per class; 5 to 20 differed little.
SHRINK = 10.0


@dataclass(frozen=True, eq=False, slots=True)
class F1:
    """F-beta at given cuts: over all known cells, averaged over classes, and of each class.

    >>> F1(micro=0.5, macro=0.25, per_class=np.array([0.25])).micro
    0.5
    """

    micro: float
    macro: float
    per_class: NDArray[np.float64]


def f1_scores(scores: ArrayLike, truth: ArrayLike, thresholds: ArrayLike, beta: float = 1.0) -> F1:
    """Return micro, macro and per-class F-beta of `score >= threshold` over the known cells.

    `thresholds` is one cut or one per class. A class without a known positive is NaN and left out of the macro mean
    (no class left: NaN); one with positives that is never predicted is 0. Micro is 0 where there is nothing to count.

    >>> f1_scores([[0.9, 0.9], [0.8, 0.1], [0.2, 0.1]], [[1, -1], [-1, 0], [-1, 1]], 0.5)
    F1(micro=0.4, macro=0.3333333333333333, per_class=array([0.66666667, 0.        ]))
    """
    weight = _checked_beta(beta) ** 2
    hits, predicted, positive = _counts(scores, truth, thresholds)
    has_positive = positive > 0
    per_class = np.full(hits.size, np.nan)
    np.divide((1 + weight) * hits, weight * positive + predicted, out=per_class, where=has_positive)
    below = weight * positive.sum() + predicted.sum()
    return F1(
        micro=float((1 + weight) * hits.sum() / below) if below else 0.0,
        macro=float(per_class[has_positive].mean()) if has_positive.any() else float("nan"),
        per_class=per_class,
    )


def precision_recall(scores: ArrayLike, truth: ArrayLike, thresholds: ArrayLike) -> tuple[float, float]:
    """Return micro precision and micro recall of `score >= threshold` over the known cells, 0 where undefined.

    >>> precision_recall([[0.9, 0.9], [0.8, 0.1]], [[1, -1], [-1, 1]], 0.85)
    (0.5, 0.5)
    """
    hits, predicted, positive = (int(count.sum()) for count in _counts(scores, truth, thresholds))
    return hits / predicted if predicted else 0.0, hits / positive if positive else 0.0


def best_f_thresholds(
    scores: ArrayLike, truth: ArrayLike, beta: float = 1.0, shrink: float = SHRINK
) -> NDArray[np.float64]:
    """Return per class the cut with the best F-beta on complete labels, shrunk towards a pooled cut for rare classes.

    The pooled cut has the best micro F-beta over all classes. A class with n known positives goes n / (n + shrink)
    of the way from the pooled cut to its own best one; without positives it gets the pooled cut. The way is measured
    in ranks: the number of the class's known pictures above the cut is interpolated. So any increasing map applied
    to all scores, such as logits to probabilities, changes no decision on the pictures fitted on, and scores of
    exactly 0 or 1, whose logit is infinite, need no special care. Among equally good cuts the highest is taken.

    A cut is float64, midway between neighbouring distinct scores (or the lowest score, if all are to be above): for
    probabilities always in [0, 1]. Scores must be finite; without a single known positive there is nothing to fit.

    >>> best_f_thresholds([[0.9, 0.9], [0.6, 0.7], [0.2, 0.1]], [[1, 1], [1, -1], [-1, -1]], shrink=0.0)
    array([0.4, 0.8])
    """
    weight = _checked_beta(beta) ** 2
    if not (np.isfinite(shrink) and shrink >= 0):
        raise ValueError(f"shrink is {shrink}: expected a finite number of at least 0")
    values = _finite_scores(scores)
    labels = checked_truth(truth, values.shape)
    known = labels != 0
    positive = labels > 0
    if not positive.any():
        raise ValueError("truth holds no +1 at all: expected a known positive in at least one class")
    pooled = _best_cut(np.sort(values[known]), np.sort(values[positive]), weight)
    cuts = np.full(values.shape[1], pooled)
    for column in np.flatnonzero(positive.any(axis=0)):
        hits = np.sort(values[positive[:, column], column])
        ordered = np.sort(values[known[:, column], column])
        own = _best_cut(ordered, hits, weight)
        share = hits.size / (hits.size + shrink)
        above = _above(ordered, own) * share + _above(ordered, pooled) * (1 - share)
        # Inside one gap between scores every cut decides alike, so staying between the two ends costs nothing.
        cuts[column] = np.clip(_cut_at(ordered, round(above)), min(own, pooled), max(own, pooled))
    return cuts


def matched_thresholds(scores: ArrayLike, counts: ArrayLike) -> NDArray[np.float64]:
    """Return per class the cut above which lie round(counts[c]) of the N pictures, as `score >= cut` counts them.

    The cut for k pictures is midway between the k-th and (k+1)-th highest score, in float64; k is clipped to [0, N].
    k = N gives the lowest score. k = 0 gives a cut above the highest score: midway between it and 1.0, or, if it is
    1.0 or more, the next float64 after it (rounded to float32 that cut would be the highest score itself). Where
    equal scores straddle the cut, the end of their run nearer to k is taken, the fewer pictures if both are as near,
    and never all N pictures unless k asks for it.

    >>> matched_thresholds([[0.9, 0.5], [0.6, 0.5], [0.2, 0.5]], [2, 1])
    array([0.4 , 0.75])
    """
    values = _finite_scores(scores)
    pictures, classes = values.shape
    wanted = np.asarray(counts, dtype=np.float64)
    if wanted.shape != (classes,):
        raise ValueError(f"counts has shape {wanted.shape}: expected one per class, {(classes,)}")
    if not np.isfinite(wanted).all():
        column = int(np.argmin(np.isfinite(wanted)))
        raise ValueError(f"counts holds {wanted[column]} at {column}: expected a finite number of pictures")
    if pictures == 0:
        raise ValueError("scores has no picture: expected at least one to place a cut by")
    places = np.rint(np.clip(wanted, 0, pictures)).astype(np.intp)
    return np.array([_cut_at(np.sort(values[:, column]), int(places[column])) for column in range(classes)])


def _checked_beta(beta: float) -> float:
    if not (np.isfinite(beta) and beta > 0):
        raise ValueError(f"beta is {beta}: expected a finite number above 0")
    return float(beta)


def _finite_scores(scores: ArrayLike) -> FloatArray:
    values = checked_scores(scores)
    infinite = np.isinf(values)
    if infinite.any():
        row, column = divmod(int(np.argmax(infinite)), values.shape[1])
        raise ValueError(f"scores holds {values[row, column]} at row {row}, column {column}: a cut needs finite scores")
    return values


def _counts(
    scores: ArrayLike, truth: ArrayLike, thresholds: ArrayLike
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return per class the numbers of true yeses, of known yeses and of known positives."""
    values = checked_scores(scores)
    labels = checked_truth(truth, values.shape)
    # As an array, not a Python number: numpy would round the latter to the type of the scores before comparing.
    cuts = np.asarray(thresholds, dtype=np.float64)
    if cuts.shape not in ((), values.shape[1:]):
        raise ValueError(f"thresholds has shape {cuts.shape}: expected one number or one per class, {values.shape[1:]}")
    if np.isnan(cuts).any():
        raise ValueError(f"thresholds holds nan at {int(np.argmax(np.isnan(cuts)))}: expected numbers")
    yes = values >= np.broadcast_to(cuts, values.shape[1:])
    positive = labels > 0

    def per_class(mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        return np.asarray(np.count_nonzero(mask, axis=0), dtype=np.intp)

    return per_class(yes & positive), per_class(yes & (labels != 0)), per_class(positive)


def _best_cut(ordered: FloatArray, hits: FloatArray, weight: float) -> float:
    """Return the best F-beta cut (weight = beta squared) from all known scores and those of positives, ascending."""
    # Only a positive's score can be the lowest one worth including: below it, only false yeses are added.
    first = group_starts(hits)
    starts = np.searchsorted(ordered, hits[first])
    found = hits.size - first
    score = (1 + weight) * found / (weight * hits.size + (ordered.size - starts))
    best = score.size - 1 - int(np.argmax(score[::-1]))
    return _between(ordered, int(starts[best]))


def _above(ordered: FloatArray, cut: float) -> int:
    # A float64 array scalar keeps the comparison exact for float32 scores.
    return int(ordered.size - np.searchsorted(ordered.astype(np.float64, copy=False), cut))


def _cut_at(ordered: FloatArray, count: int) -> float:
    """Return the cut that leaves the count nearest to `count` of the ascending scores at or above it."""
    size = ordered.size
    if count in (0, size):
        return _between(ordered, size - count)
    edge = ordered[size - count]
    start, stop = (int(np.searchsorted(ordered, edge, side)) for side in ("left", "right"))
    # The run of the count-th highest score holds ranks size - stop + 1 to size - start.
    more, fewer = size - start - count, count - (size - stop)
    return _between(ordered, start if more < fewer and start > 0 else stop)


def _between(ordered: FloatArray, place: int) -> float:
    """Return a cut with ordered[place] and all after it at or above, all before it below."""
    if place == 0:
        return float(ordered[0])
    low = float(ordered[place - 1])
    if place == ordered.size and low >= 1:
        return float(np.nextafter(low, np.inf))
    high = 1.0 if place == ordered.size else float(ordered[place])
    middle = low / 2 + high / 2
    # Between adjacent or tiny floats the midpoint may round on to the lower one, which would then pass as a yes.
    return middle if low < middle <= high else high
