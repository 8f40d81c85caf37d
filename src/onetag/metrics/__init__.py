"""Ranking and threshold metrics of a multi-label tagger, on numpy alone."""

from onetag.metrics.ranking import (
    average_precision,
    known_tag_in_top_k,
    mean_average_precision,
    precision_at_k,
    recall_at_k,
)
from onetag.metrics.threshold import (
    F1,
    best_f_thresholds,
    f1_scores,
    matched_thresholds,
    precision_recall,
)

__all__ = [
    "F1",
    "average_precision",
    "best_f_thresholds",
    "f1_scores",
    "known_tag_in_top_k",
    "matched_thresholds",
    "mean_average_precision",
    "precision_at_k",
    "precision_recall",
    "recall_at_k",
]
