"""Numbers for scores: complete truth, or, where only some tags are known, what can be said of those."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onetag import metrics
from onetag.core.labels import LabelTable


def complete(
    scores: NDArray[np.float32], truth: LabelTable, classes: tuple[str, ...], thresholds: NDArray[np.float64]
) -> dict[str, Any]:
    """Metrics against complete labels, as shares. Classes without a positive here are skipped in `map`, 0 in `map_empty_zero`."""
    dense = truth.to_dense()
    ap = metrics.average_precision(scores, dense)
    f1 = metrics.f1_scores(scores, dense, thresholds)
    precision, recall = metrics.precision_recall(scores, dense, thresholds)
    return {
        "pictures": len(scores),
        "map": metrics.mean_average_precision(scores, dense, empty="skip"),
        "map_empty_zero": metrics.mean_average_precision(scores, dense, empty="zero"),
        "classes_without_positive": [name for name, value in zip(classes, ap, strict=True) if np.isnan(value)],
        "micro_f1": f1.micro,
        "macro_f1": f1.macro,
        "micro_precision": precision,
        "micro_recall": recall,
        "precision_at_1": metrics.precision_at_k(scores, dense, 1),
        "precision_at_3": metrics.precision_at_k(scores, dense, 3),
        "recall_at_3": metrics.recall_at_k(scores, dense, 3),
        "tags_per_picture": float((scores >= thresholds).sum(axis=1).mean()),
        "true_tags_per_picture": float((dense == 1).sum(axis=1).mean()),
        "average_precision": {
            name: None if np.isnan(value) else float(value) for name, value in zip(classes, ap, strict=True)
        },
    }


def map_only(scores: NDArray[np.float32], truth: LabelTable) -> dict[str, float]:
    return {"map": metrics.mean_average_precision(scores, truth.to_dense(), empty="skip")}


def known_tags(scores: NDArray[np.float32], known: LabelTable) -> dict[str, float]:
    """How often the known tag is among the first 1, 3, 5. Not an mAP: absent tags may be present."""
    dense = known.to_dense()
    return {f"known_tag_in_top_{k}": metrics.known_tag_in_top_k(scores, dense, k) for k in (1, 3, 5)}
