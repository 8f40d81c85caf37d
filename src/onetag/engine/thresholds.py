"""The thresholds every model has, with the rule they came from: a tagger that finds nothing, or everything, is broken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onetag import metrics
from onetag.core import draws
from onetag.core.labels import REST_NEGATIVE, LabelState, LabelTable
from onetag.core.progress import Listener
from onetag.engine.fit import Job, fit
from onetag.engine.score import scores
from onetag.learn.loss import Facts

FOLDS = 5


@dataclass(frozen=True)
class Thresholds:
    """`score >= values[c]` says yes. `rule` is what config.json says of where they come from."""

    values: NDArray[np.float64]
    rule: dict[str, Any]


def from_complete(val_scores: NDArray[np.float32], truth: LabelTable) -> Thresholds:
    """Best F1 per class on complete validation labels, shrunk for rare classes."""
    values = metrics.best_f_thresholds(val_scores, truth.to_dense())
    return Thresholds(values, {"rule": "best_f1", "on": "complete validation labels", "pictures": len(val_scores)})


def matched(held_out: NDArray[np.float32], observed: LabelTable, mean_tags: float, source: str) -> Thresholds:
    """The cut above which lie (times shown) x (mean tags) pictures of a class, on scores of models that did not train on them."""
    values = metrics.matched_thresholds(held_out, expected_counts(observed, mean_tags))
    return Thresholds(
        values,
        {
            "rule": "matched",
            "on": f"{FOLDS}-fold cross-fitted scores",
            "mean_tags": mean_tags,
            "mean_tags_source": source,
        },
    )


def expected_counts(observed: LabelTable, mean_tags: float) -> NDArray[np.float64]:
    """How many pictures probably have each class: completely labelled rows count as they are; elsewhere the shown tags stand for all.

    Where each picture shows one tag, a class shown n times is expected n x mean_tags times.
    """
    is_complete = observed.rest == REST_NEGATIVE
    certain = observed.select(np.flatnonzero(is_complete)).class_counts(1).astype(np.float64)
    partial = observed.select(np.flatnonzero(~is_complete))
    shown = partial.class_counts(1).astype(np.float64)
    per_picture = shown.sum() / max(len(partial), 1)
    factor = max(mean_tags / per_picture, 1.0) if per_picture else 1.0
    return np.minimum(certain + shown * factor, len(observed))


def cross_fitted(job: Job, num_epochs: int, listener: Listener) -> NDArray[np.float32]:
    """Scores of every training row by a head that never saw it, nor a copy of it, nor its album."""
    member = _folds(job)
    folds = int(member.max(initial=0)) + 1
    if folds < 2:  # nothing can be left out of a single sample, or album
        return scores(fit(replace(job, val=None, validate=None)).head, job.rows, job.loss.activation)
    out = np.zeros((len(job.ids), len(job.classes)), np.float32)
    for fold in range(folds):
        inside, outside = np.flatnonzero(member != fold), np.flatnonzero(member == fold)
        part = _part(job, inside, num_epochs)
        out[outside] = scores(fit(part).head, job.rows.select(outside), job.loss.activation)
        listener.advance("cross-fitting for thresholds", fold + 1, folds)
    return out


def _folds(job: Job) -> NDArray[np.int64]:
    """The fold of each row: by a hash of sample ids, or of the first of a group."""
    noise = draws.mix(draws.sample_keys(job.ids), draws.stream_key("folds", job.recipe.seed))
    _, group = np.unique(np.arange(len(noise)) if job.groups is None else job.groups, return_inverse=True)
    lowest = np.full(int(group.max(initial=-1)) + 1, np.iinfo(np.uint64).max)
    np.minimum.at(lowest, group, noise)
    fold = np.empty(len(lowest), np.int64)
    fold[np.argsort(lowest, kind="stable")] = np.arange(len(lowest)) % FOLDS
    return fold[group]


def _part(job: Job, rows: NDArray[np.int64], num_epochs: int) -> Job:
    """The same job on some of its rows, for a fixed number of epochs, without validation."""
    import copy

    from onetag.recipe import set_epochs

    observed = job.labels.observed.select(rows)
    loss = copy.deepcopy(job.loss)
    recipe = (
        job.recipe
        if num_epochs == job.recipe.num_epochs
        else set_epochs(job.recipe, max(1, num_epochs - sum(p.epochs for p in job.recipe.phases[:-1])))
    )
    loss.setup(Facts(observed, getattr(loss, "mean_tags", None), recipe.seed))
    return replace(
        job, recipe=recipe, ids=job.ids[rows], rows=job.rows.select(rows), labels=LabelState(observed, job.ids[rows].tolist()),
        loss=loss, val=None, validate=None, truth=None,
    )  # fmt: skip
