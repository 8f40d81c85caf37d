"""Annotation regimes: what of complete labels is revealed, and the official draw of single positives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onetag.core import draws
from onetag.core.errors import UsageError, nearest
from onetag.core.labels import REST_NEGATIVE, REST_UNKNOWN, LabelTable
from onetag.core.split import Objects

DRAWS = ("uniform", "official", "frequent", "largest", "central")
_FORMS = ("given", "full", "one_positive", "one_positive_all_negatives", "positives:K,negatives:M", "share:X")


@dataclass(frozen=True)
class Regime:
    """How many positives and negatives of each picture are revealed (-1 = all), or which share of all its labels."""

    positives: int = -1
    negatives: int = -1
    share: float | None = None

    @classmethod
    def parse(cls, text: str) -> Regime:
        """`full`, `one_positive`, `one_positive_all_negatives`, `positives:K,negatives:M` (either may be left out), `share:0.3`."""
        fixed = {"full": cls(), "one_positive": cls(1, 0), "one_positive_all_negatives": cls(1, -1)}
        if text in fixed:
            return fixed[text]
        try:
            parts = dict(part.strip().split(":") for part in text.split(","))
            if set(parts) == {"share"} and 0 <= float(parts["share"]) <= 1:
                return cls(share=float(parts["share"]))
            if parts and set(parts) <= {"positives", "negatives"}:
                regime = cls(int(parts.get("positives", 0)), int(parts.get("negatives", 0)))
                if regime.positives >= 0 and regime.negatives >= 0:
                    return regime
        except ValueError:
            pass
        raise UsageError(f"annotation {text!r} is not a regime; {nearest(text, _FORMS)} (valid: {', '.join(_FORMS)})")


def observe(
    truth: LabelTable,
    annotation: str,
    ids: NDArray[np.str_],
    draw: str = "uniform",
    seed: int = 1200,
    objects: Objects | None = None,
) -> LabelTable:
    """Hide labels of complete data.

    `uniform` depends on the seed and each sample's id alone; `official` on the order of the rows. Biased draws resemble people:
    `frequent` names the class that most pictures have, `largest` the largest object, `central` the one nearest the middle (both
    need `objects`). Negatives, where any are revealed, and ties are drawn uniformly.
    """
    if draw not in DRAWS:
        raise UsageError(f"draw {draw!r} does not exist; {nearest(draw, DRAWS)}")
    if annotation in ("given", "full"):
        return truth
    regime = Regime.parse(annotation)
    if not truth.is_complete:
        raise UsageError(
            f"annotation {annotation!r} hides labels of complete data, but {int(truth.class_counts(0).sum())} cells are unknown"
        )
    if regime.share is not None:
        if draw not in ("uniform", "official"):  # nobody has published a draw of shares
            raise UsageError(f"a share of the labels is drawn uniformly, not by {draw!r}")
        return _share(truth, regime.share, ids, seed)
    if draw == "official":
        return _official(truth, regime, seed)
    dense = truth.to_dense()
    kept = np.zeros_like(dense)
    rank = _rank(truth, draw, objects)
    for value, count in ((1, regime.positives), (-1, regime.negatives)):
        is_value = dense == value
        if count < 0:
            kept[is_value] = value
        elif count:
            noise = _noise(dense.shape, ids, seed, value)
            kept[_lowest(noise, is_value, count, rank if value == 1 else None)] = value
    return LabelTable.from_dense(kept)


def _rank(truth: LabelTable, draw: str, objects: Objects | None) -> NDArray[np.float64] | None:
    """What a biased draw names first has the lowest number, per cell; tags without an object come last."""
    if draw == "frequent":
        return np.broadcast_to(-truth.class_counts(1).astype(np.float64), (len(truth), truth.num_classes))
    if draw not in ("largest", "central"):
        return None
    if objects is None:
        raise UsageError(
            f"the draw {draw!r} needs to know where things are, and this data has no boxes (COCO, VOC's XML and scenes have)"
        )
    rank = np.full((len(truth), truth.num_classes), np.inf)
    np.minimum.at(rank, (objects.rows, objects.classes), -objects.area if draw == "largest" else objects.distance)
    return rank


def _noise(shape: tuple[int, ...], ids: NDArray[np.str_], seed: int, purpose: int) -> NDArray[np.uint64]:
    """A number per cell that depends on the seed, the sample's id and the class alone."""
    keys = draws.sample_keys(ids)
    columns = [draws.mix(keys, draws.stream_key("observe", seed, purpose, c)) for c in range(shape[1])]
    return np.stack(columns, axis=1) if columns else np.zeros(shape, np.uint64)


def _lowest(
    noise: NDArray[np.uint64], is_candidate: NDArray[np.bool_], count: int, rank: NDArray[np.float64] | None = None
) -> NDArray[np.bool_]:
    """Per row, the `count` candidates with the lowest rank, then the lowest noise (all, where there are fewer)."""
    keyed = np.where(is_candidate, noise >> np.uint64(1), np.iinfo(np.uint64).max)
    order = np.argsort(keyed, axis=1, kind="stable")
    if rank is not None:
        places = np.take_along_axis(np.where(is_candidate, rank, np.inf), order, axis=1)
        order = np.take_along_axis(order, np.argsort(places, axis=1, kind="stable"), axis=1)
    order = order[:, :count]
    chosen = np.zeros(is_candidate.shape, bool)
    np.put_along_axis(chosen, order, True, axis=1)
    return chosen & is_candidate


def _share(truth: LabelTable, share: float, ids: NDArray[np.str_], seed: int) -> LabelTable:
    """round(share * C) labels of every picture, positive or negative."""
    dense = truth.to_dense()
    chosen = _lowest(_noise(dense.shape, ids, seed, 0), np.ones(dense.shape, bool), round(share * dense.shape[1]))
    kept = np.where(chosen, dense, np.int8(0))
    return LabelTable.from_dense(kept, np.where(chosen.all(axis=1), REST_NEGATIVE, REST_UNKNOWN))


def _official(truth: LabelTable, regime: Regime, seed: int) -> LabelTable:
    """One RandomState walks the rows; in each it shuffles the positives, then the negatives, and keeps the first ones of each.

    The negatives are shuffled even when none is kept: that advances the generator, and so decides the next row's positive.
    """
    rng = np.random.RandomState(seed)
    dense = truth.to_dense()
    kept = np.zeros_like(dense)
    for row, labels in enumerate(dense):
        for value, count in ((1, regime.positives), (-1, regime.negatives)):
            indices = np.flatnonzero(labels == value)
            rng.shuffle(indices)
            kept[row, indices if count < 0 else indices[:count]] = value
    return LabelTable.from_dense(kept)


def cut(
    num_rows: int, share: float, seed: int = 1200, groups: NDArray[np.generic] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of train and val: the official cut, or, where samples share groups, the same cut over groups.

    A share of 0 gives an empty val (the official code gives all of the training set there).
    """
    if not 0 <= share < 1:
        raise UsageError(f"the share held out lies in [0, 1), not {share}")
    if groups is not None and len(np.unique(groups)) < num_rows:
        _, first, member = np.unique(groups, return_index=True, return_inverse=True)
        order = np.random.RandomState(seed).permutation(len(first))
        sizes, room = np.bincount(member), round(share * num_rows)
        is_held = np.zeros(len(first), bool)
        for group in order[::-1]:  # a group that does not fit is passed over: one large album must not leave val empty
            if sizes[group] <= room:
                is_held[group] = True
                room -= int(sizes[group])
        is_val = is_held[member]
    else:
        order = np.random.RandomState(seed).permutation(num_rows)
        is_val = np.zeros(num_rows, bool)
        is_val[order[num_rows - round(share * num_rows) :]] = True
    return np.flatnonzero(~is_val), np.flatnonzero(is_val)
