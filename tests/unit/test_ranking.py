"""The ranking metrics against scikit-learn and against slow, obvious loops."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.metrics import average_precision_score, top_k_accuracy_score

from onetag.metrics import (
    average_precision,
    known_tag_in_top_k,
    mean_average_precision,
    precision_at_k,
    ranking,
    recall_at_k,
)

Array = NDArray[Any]


def draw(
    seed: int, shape: tuple[int, int], rate: float, dtype: str = "float32", logits: bool = False, decimals: int = 9
) -> tuple[Array, Array]:
    """Draw informative scores with ties and a truth with unknown cells and, from four classes on, an empty class."""
    rng = np.random.default_rng(seed)
    truth = rng.choice([1, -1, 0], p=[rate, 0.9 - rate, 0.1], size=shape)
    if shape[1] >= 4:
        truth[:, 2] = rng.choice([-1, 0], size=shape[0])
    raw = rng.normal(size=shape) + truth
    scores = np.round(raw if logits else 1 / (1 + np.exp(-raw)), decimals)
    return scores.astype(dtype), truth


def reference_ap(scores: Array, truth: Array) -> Array:
    """Score each class with scikit-learn on its known pictures; ranks stand in for scores it cannot take."""
    result = np.full(scores.shape[1], np.nan)
    for column in range(scores.shape[1]):
        known = truth[:, column] != 0
        if (truth[:, column] > 0).any():
            ranks = rankdata(scores[known, column], method="dense")
            result[column] = average_precision_score(truth[known, column] > 0, ranks)
    return result


def best_known(scores: Array, known: Array, k: int) -> list[int]:
    """List the k best known classes of one picture, the lower index first among equals."""
    return sorted(np.flatnonzero(known).tolist(), key=lambda column: (-float(scores[column]), column))[:k]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble"])
@pytest.mark.parametrize("logits", [False, True])
@pytest.mark.parametrize("decimals", [1, 3, 9])
@pytest.mark.parametrize("rate", [0.02, 0.4])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (700, 1), (400, 19)])
def test_average_precision_is_scikit_learns(
    dtype: str, logits: bool, decimals: int, rate: float, shape: tuple[int, int]
) -> None:
    scores, truth = draw(0, shape, rate, dtype, logits, decimals)
    np.testing.assert_allclose(average_precision(scores, truth), reference_ap(scores, truth), rtol=0, atol=1e-12)


def test_average_precision_is_scikit_learns_on_the_very_scores() -> None:
    scores, truth = draw(1, (3000, 5), 0.3, "float64")
    truth[truth == 0] = -1
    expected = [average_precision_score(truth[:, c] > 0, scores[:, c]) for c in (0, 1, 3, 4)]
    np.testing.assert_allclose(average_precision(scores, truth)[[0, 1, 3, 4]], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("sparse", [1, 10**9], ids=["search", "packed"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("values", [[0.0, 0.25, 0.5, 1.0], [-np.inf, -1.0, -0.0, 0.0, np.inf], [0.0, 3.0, np.inf]])
def test_both_paths_keep_every_tie(
    monkeypatch: pytest.MonkeyPatch, sparse: int, dtype: str, values: list[float]
) -> None:
    monkeypatch.setattr(ranking, "_SPARSE", sparse)
    rng = np.random.default_rng(2)
    scores = rng.choice(np.array(values, dtype=dtype), size=(60, 11))
    truth = rng.choice([1, -1, 0], size=scores.shape)
    np.testing.assert_allclose(average_precision(scores, truth), reference_ap(scores, truth), rtol=0, atol=1e-12)


@pytest.mark.parametrize("sparse", [1, 10**9], ids=["search", "packed"])
@pytest.mark.parametrize("top", [1.0, -1.0, 1e-310])
def test_scores_one_float64_step_apart_are_not_a_tie(monkeypatch: pytest.MonkeyPatch, sparse: int, top: float) -> None:
    monkeypatch.setattr(ranking, "_SPARSE", sparse)
    scores = np.array([[top], [np.nextafter(top, -np.inf)]])
    assert average_precision(scores, [[1], [-1]])[0] == 1.0
    assert average_precision(scores, [[-1], [1]])[0] == 0.5
    assert average_precision(np.full((2, 1), top), [[-1], [1]])[0] == 0.5


@pytest.mark.parametrize("logits", [False, True])
def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch, logits: bool) -> None:
    scores, truth = draw(3, (500, 37), 0.2, logits=logits)
    alone = average_precision(scores, truth)
    monkeypatch.setattr(ranking, "_THREADED_CELLS", 0)
    np.testing.assert_array_equal(average_precision(scores, truth), alone)


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("columns", [1, 5])
@pytest.mark.parametrize("rate", [0.01, 0.4])
def test_the_callers_arrays_are_left_alone(layout: Any, columns: int, rate: float) -> None:
    scores, truth = draw(4, (300, columns), rate)
    truth[0] = 1
    scores, truth = np.asarray(scores, order=layout), np.asarray(truth.astype(np.int8), order=layout)
    before = scores.copy(), truth.copy()
    average_precision(scores, truth)
    for metric in (precision_at_k, recall_at_k, known_tag_in_top_k):
        metric(scores, truth, 2)
    np.testing.assert_array_equal(scores, before[0])
    np.testing.assert_array_equal(truth, before[1])


def test_views_byte_orders_and_truth_types_are_all_one() -> None:
    scores, truth = draw(5, (200, 6), 0.3)
    expected = average_precision(scores, truth)
    np.testing.assert_array_equal(average_precision(scores.astype(">f4"), truth.astype(">i8")), expected)
    np.testing.assert_array_equal(average_precision(scores[::-1], truth[::-1].astype(np.float64)), expected)
    np.testing.assert_array_equal(average_precision(scores[:, ::-1], truth[:, ::-1])[::-1], expected)


def test_zeros_are_unknown_so_a_zero_one_truth_looks_perfect() -> None:
    scores = np.array([[0.1], [0.9], [0.5]])
    labels = np.array([[1], [0], [0]])
    assert average_precision(scores, labels)[0] == 1.0
    assert average_precision(scores, np.where(labels == 1, 1, -1))[0] == pytest.approx(1 / 3)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_average_precision_on_any_small_matrix(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.integers(1, 12), st.integers(1, 3)))
    width: Any = data.draw(st.sampled_from([16, 32, 64]))
    few = st.sampled_from([-1.5, -0.0, 0.0, 0.25, 0.5, 1.0])
    any_float = st.floats(width=width, allow_nan=False, allow_infinity=True)
    scores = data.draw(arrays(f"float{width}", shape, elements=few | any_float))
    truth = data.draw(arrays(np.int8, shape, elements=st.sampled_from([-1, 0, 1])))
    ours = average_precision(scores, truth)
    np.testing.assert_allclose(ours, reference_ap(scores, truth), rtol=0, atol=1e-12)
    order = data.draw(st.permutations(range(shape[0])))
    np.testing.assert_allclose(average_precision(scores[order], truth[order]), ours, rtol=0, atol=1e-12)
    elsewhere = np.where(truth == 0, scores.dtype.type(7), scores)
    np.testing.assert_array_equal(average_precision(elsewhere, truth), ours)


def test_mean_average_precision_skips_or_zeroes_empty_classes() -> None:
    scores, truth = draw(6, (300, 8), 0.2)
    filled = reference_ap(scores, truth)
    assert np.isnan(filled).sum() == 1
    assert mean_average_precision(scores, truth) == pytest.approx(np.nanmean(filled), abs=1e-12)
    assert mean_average_precision(scores, truth, empty="zero") == pytest.approx(np.nansum(filled) / 8, abs=1e-12)


@pytest.mark.parametrize("pictures", [0, 3])
def test_mean_average_precision_without_any_positive(pictures: int) -> None:
    scores, truth = np.ones((pictures, 2)), -np.ones((pictures, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(mean_average_precision(scores, truth))
        assert mean_average_precision(scores, truth, empty="zero") == 0.0


def test_mean_average_precision_names_the_valid_choices() -> None:
    with pytest.raises(ValueError, match=r"empty is 'nan': expected 'skip' or 'zero'"):
        mean_average_precision([[0.5]], [[1]], empty="nan")  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("decimals", [0, 1, 9])
@pytest.mark.parametrize("k", [1, 3, 7, 8, 50])
@pytest.mark.parametrize("shape", [(1, 8), (150, 8), (150, 1)])
def test_top_k_metrics_are_the_obvious_loops(dtype: str, decimals: int, k: int, shape: tuple[int, int]) -> None:
    scores, truth = draw(7, shape, 0.3, dtype, logits=True, decimals=decimals)
    truth[0, 0] = 1
    truth[1:4] = 0  # pictures without a known cell
    scores[5:8] = -np.inf
    precision, recall, found = [], [], []
    for row, marks in zip(scores, truth, strict=True):
        top = best_known(row, marks != 0, k)
        positive = set(np.flatnonzero(marks > 0))
        if top:
            precision.append(len(positive & set(top)) / len(top))
        if positive:
            recall.append(len(positive & set(top)) / len(positive))
        everything = best_known(row, np.ones(len(row)), k)
        found += [column in everything for column in positive]
    assert precision_at_k(scores, truth, k) == pytest.approx(np.mean(precision), abs=1e-12)
    assert recall_at_k(scores, truth, k) == pytest.approx(np.mean(recall), abs=1e-12)
    assert known_tag_in_top_k(scores, truth, k) == pytest.approx(np.mean(found), abs=1e-12)


def test_known_tag_in_top_k_is_top_k_accuracy_for_one_tag_a_picture() -> None:
    rng = np.random.default_rng(8)
    scores, classes = rng.random((200, 6)), rng.integers(6, size=200)
    positives = np.eye(6, dtype=bool)[classes]
    expected = top_k_accuracy_score(classes, scores, k=2, labels=range(6))
    assert known_tag_in_top_k(scores, positives, 2) == pytest.approx(expected)
    assert known_tag_in_top_k(scores, np.where(positives, 1, -1), 2) == pytest.approx(expected)


def test_equal_scores_rank_by_class_index() -> None:
    scores = np.full((1, 5), 0.5)
    assert known_tag_in_top_k(scores, [[0, 1, 0, 0, 0]], 2) == 1.0
    assert known_tag_in_top_k(scores, [[0, 0, 1, 0, 0]], 2) == 0.0
    # An unknown cell does not take a place among the known ones, but does among all classes.
    assert precision_at_k(scores, [[0, -1, 1, -1, -1]], 2) == 0.5
    assert recall_at_k(scores, [[0, -1, 1, -1, -1]], 2) == 1.0


@pytest.mark.parametrize("metric", [precision_at_k, recall_at_k, known_tag_in_top_k])
def test_top_k_metrics_without_anything_known_are_nan(metric: Any) -> None:
    assert np.isnan(metric(np.ones((2, 3)), np.zeros((2, 3)), 1))
    assert np.isnan(metric(np.ones((0, 3)), np.zeros((0, 3)), 1))


@pytest.mark.parametrize("k", [0, -1, 1.5, None])
@pytest.mark.parametrize("metric", [precision_at_k, recall_at_k, known_tag_in_top_k])
def test_k_must_be_a_whole_number_from_one(metric: Any, k: Any) -> None:
    with pytest.raises(ValueError, match=r"k is .*expected a whole number of at least 1"):
        metric([[0.5]], [[1]], k)


@pytest.mark.parametrize(
    ("scores", "truth", "message"),
    [
        (np.ones(3), np.ones(3), r"scores has shape \(3,\): expected \[pictures, classes\]"),
        (np.ones((3, 0)), np.ones((3, 0)), r"scores has shape \(3, 0\): .* at least one class"),
        (np.ones((2, 3)), np.ones((3, 2)), r"truth has shape \(3, 2\): expected the shape of the scores, \(2, 3\)"),
        ([[0.1, 0.2], [0.3, np.nan]], np.ones((2, 2)), r"scores holds nan at row 1, column 1"),
        ([["a"]], [[1]], r"scores has dtype <U1: expected a float type"),
        (np.ones((2, 2)), [[1, -1], [2, 3]], r"truth holds 2 at row 1, column 0: expected \+1 .* 0 unknown; from"),
        (np.ones((1, 2)), [[1, -2]], r"truth holds -2 at row 0, column 1"),
        (np.ones((1, 2)), [[1.0, 0.5]], r"truth holds 0.5 at row 0, column 1"),
        (np.ones((1, 2)), [[1.0, np.nan]], r"truth holds nan at row 0, column 1"),
        (np.ones((1, 2)), np.array([[1, 255]], np.uint8), r"truth holds 255 at row 0, column 1"),
        (np.ones((1, 2)), [[True, False]], r"truth has dtype bool: .*np.where\(labels == 1, 1, -1\)"),
    ],
)
def test_bad_input_is_named_with_its_place(scores: Any, truth: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        average_precision(scores, truth)
