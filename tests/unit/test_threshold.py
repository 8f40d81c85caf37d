"""The cuts and the scores at cuts against scikit-learn and against trying every cut."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from sklearn.metrics import fbeta_score, precision_score, recall_score

from onetag.metrics import F1, best_f_thresholds, f1_scores, matched_thresholds, precision_recall

Array = NDArray[Any]
PROBABILITIES = st.sampled_from([0.0, 1e-300, 0.25, 0.5, 1 - 2**-53, 1.0]) | st.floats(0, 1)


def draw(seed: int, shape: tuple[int, int], dtype: str = "float32", decimals: int = 9) -> tuple[Array, Array]:
    """Draw probabilities with ties and a truth with unknown cells, rare classes and an empty last class."""
    rng = np.random.default_rng(seed)
    rates = np.geomspace(0.4, 0.02, shape[1])
    truth = np.where(rng.random(shape) < rates, 1, -1)
    truth[rng.random(shape) < 0.1] = 0
    if shape[1] > 1:
        truth[:, -1] = rng.choice([-1, 0], size=shape[0])
    scores = 1 / (1 + np.exp(-rng.normal(size=shape) - 2 * truth + 1))
    return np.round(scores, decimals).astype(dtype), truth


def best_f(scores: Array, truth: Array, beta: float) -> float:
    """Return the best F-beta of one vector over every cut there is."""
    cuts = np.unique(scores[truth != 0])
    return max(f1_scores(scores[:, None], truth[:, None], cut, beta).micro for cut in cuts)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (200, 1), (300, 7)])
@pytest.mark.parametrize("per_class", [False, True])
def test_scores_at_cuts_are_scikit_learns(dtype: str, beta: float, shape: tuple[int, int], per_class: bool) -> None:
    scores, truth = draw(0, shape, dtype, decimals=2)
    cuts = np.random.default_rng(1).choice([0.1, 0.25, 0.5, 2.0], size=shape[1]) if per_class else np.float64(0.25)
    ours = f1_scores(scores, truth, cuts, beta)
    yes, known = scores.astype(np.float64) >= cuts, truth != 0
    expected = np.full(shape[1], np.nan)
    for column in range(shape[1]):
        rows = known[:, column]
        if (truth[:, column] > 0).any():
            expected[column] = fbeta_score(truth[rows, column] > 0, yes[rows, column], beta=beta, zero_division=0)
    np.testing.assert_allclose(ours.per_class, expected, rtol=0, atol=1e-12)
    macro = np.mean(expected[~np.isnan(expected)]) if not np.isnan(expected).all() else np.nan
    assert ours.macro == pytest.approx(macro, abs=1e-12, nan_ok=True)
    cells = truth[known] > 0, yes[known]
    assert ours.micro == pytest.approx(fbeta_score(*cells, beta=beta, zero_division=0), abs=1e-12)
    precision, recall = precision_recall(scores, truth, cuts)
    assert precision == pytest.approx(precision_score(*cells, zero_division=0), abs=1e-12)
    assert recall == pytest.approx(recall_score(*cells, zero_division=0), abs=1e-12)


def test_nothing_predicted_or_nothing_positive() -> None:
    never = f1_scores([[0.1, 0.9], [0.2, 0.9]], [[1, 1], [-1, 1]], 0.5)
    assert never.per_class.tolist() == [0.0, 1.0]
    assert never.macro == 0.5
    empty = f1_scores([[0.1], [0.2]], [[-1], [0]], 0.5)
    assert empty.micro == 0.0
    assert np.isnan([empty.macro, *empty.per_class]).all()
    assert precision_recall([[0.1]], [[-1]], 0.5) == (0.0, 0.0)
    with pytest.raises(AttributeError):
        empty.micro = 1.0  # type: ignore[misc]
    assert isinstance(empty, F1)


def test_cuts_are_compared_exactly_not_rounded_to_the_type_of_the_scores() -> None:
    assert float(np.float32(0.7)) < 0.7
    assert precision_recall(np.array([[0.7]], dtype=np.float32), [[1]], 0.7) == (0.0, 0.0)
    assert precision_recall(np.array([[0.7]], dtype=np.float64), [[1]], 0.7) == (1.0, 1.0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("decimals", [1, 9])
@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("shape", [(1, 1), (120, 1), (120, 5)])
def test_best_cuts_beat_every_other_cut(dtype: str, decimals: int, beta: float, shape: tuple[int, int]) -> None:
    scores, truth = draw(2, shape, dtype, decimals)
    truth[0, 0] = 1
    own = best_f_thresholds(scores, truth, beta, shrink=0.0)
    pooled = best_f_thresholds(scores, truth, beta, shrink=1e12)
    for column in np.flatnonzero((truth > 0).any(axis=0)):
        reached = f1_scores(scores[:, [column]], truth[:, [column]], own[column], beta).micro
        assert reached == pytest.approx(best_f(scores[:, column], truth[:, column], beta), abs=1e-12)
    best = best_f(scores.ravel(), truth.ravel(), beta)
    assert f1_scores(scores, truth, pooled, beta).micro == pytest.approx(best, abs=1e-12)
    if shape[1] > 1:
        assert own[-1] == pooled[-1]  # the class without a positive


def test_rare_classes_move_towards_the_pooled_cut() -> None:
    scores, truth = draw(3, (2000, 8))
    own, half, pooled = (best_f_thresholds(scores, truth, shrink=shrink) for shrink in (0.0, 10.0, 1e12))
    known = truth != 0
    yes = [((scores >= cut) & known).sum(axis=0) for cut in (own, half, pooled)]
    positives = (truth > 0).sum(axis=0)
    share = positives / (positives + 10.0)
    filled = positives > 0
    np.testing.assert_allclose(yes[1][filled], (share * yes[0] + (1 - share) * yes[2])[filled], rtol=0, atol=0.5)
    assert (half == np.clip(half, np.minimum(own, pooled), np.maximum(own, pooled))).all()
    assert (yes[0] != yes[2]).sum() >= 4  # or there would have been nothing to see
    np.testing.assert_array_equal(best_f_thresholds(scores, truth), half)


def test_decisions_survive_an_increasing_map() -> None:
    scores, truth = draw(4, (400, 6), "float64")
    logits = np.log(scores / (1 - scores))
    np.testing.assert_array_equal(
        scores >= best_f_thresholds(scores, truth), logits >= best_f_thresholds(logits, truth)
    )


def test_the_highest_of_equally_good_cuts_is_taken() -> None:
    # Both the first picture alone (1/1, 1/2) and all four (2/4, 2/2) have F 2/3.
    assert best_f_thresholds([[0.8], [0.6], [0.4], [0.2]], [[1], [-1], [-1], [1]], shrink=0.0)[0] == pytest.approx(0.7)


def test_a_shrunk_cut_stays_between_its_two_ends() -> None:
    truth = np.full((40, 2), -1)
    truth[:20, 0] = truth[0, 1] = 1
    scores = np.where(truth > 0, [0.6, 0.5], [0.52, 0.1])
    # One positive in the second class: shrunk to no picture at all, for which the pooled cut, 0.56, is high enough.
    np.testing.assert_allclose(best_f_thresholds(scores, truth), [0.56, 0.56])


def test_neighbouring_float32_scores_are_told_apart() -> None:
    truth = np.full((20, 2), -1)
    truth[:10, 0] = truth[0, 1] = 1
    scores = np.where(truth > 0, [0.5, 1 + 2**-23], [0.1, 1.0]).astype(np.float32)
    assert f1_scores(scores, truth, best_f_thresholds(scores, truth, shrink=0.0)).per_class.tolist() == [1.0, 1.0]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_best_cuts_of_probabilities_are_probabilities(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.integers(1, 9), st.integers(1, 3)))
    scores = data.draw(arrays(np.float64, shape, elements=PROBABILITIES))
    truth = data.draw(arrays(np.int8, shape, elements=st.sampled_from([-1, 0, 1])))
    truth[0, 0] = 1
    shrink = data.draw(st.sampled_from([0.0, 1.0, 10.0]))
    cuts = best_f_thresholds(scores, truth, shrink=shrink)
    assert ((cuts >= 0) & (cuts <= 1)).all()
    if shrink == 0.0:
        reached = f1_scores(scores[:, [0]], truth[:, [0]], cuts[0]).micro
        assert reached == pytest.approx(best_f(scores[:, 0], truth[:, 0], 1.0))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_matched_cuts_come_nearest_to_the_count(data: st.DataObject) -> None:
    scores = data.draw(st.lists(PROBABILITIES, min_size=1, max_size=9))
    count = data.draw(st.floats(-3, 12))
    cut = matched_thresholds(np.array(scores)[:, None], [count])[0]
    wanted, size = round(min(max(count, 0), len(scores))), len(scores)
    above = sum(score >= cut for score in scores)
    reachable = {0, *(sum(score >= other for score in scores) for other in scores)}
    reachable -= {size} - {wanted}
    assert above == min(reachable, key=lambda number: (abs(number - wanted), number))
    assert min(scores) <= cut <= (1.0 if max(scores) < 1.0 else np.nextafter(1.0, 2.0))
    assert wanted < size or cut == min(scores)


def test_matched_cuts_at_the_edges() -> None:
    scores = np.array([[0.2, 1.0, 3.0], [0.6, 0.5, -1.0]])
    np.testing.assert_array_equal(matched_thresholds(scores, [1, 1, 1]), [0.4, 0.75, 1.0])
    np.testing.assert_array_equal(matched_thresholds(scores, [9, 2, 2]), [0.2, 0.5, -1.0])
    above = matched_thresholds(scores, [-4, 0, 0.5])
    np.testing.assert_array_equal(above, [0.8, np.nextafter(1.0, 2.0), np.nextafter(3.0, 4.0)])
    for towards in (0.0, 2.0):
        steps = np.array([[1.0], [np.nextafter(1.0, towards)]])  # the midpoint of these two is one of them
        assert (steps >= matched_thresholds(steps, [1])).sum() == 1
    assert matched_thresholds([[0.1], [0.2], [0.2], [0.3]], [2])[0] == pytest.approx(0.25)


def test_matched_cuts_never_take_everything_unasked() -> None:
    level = np.full((5, 1), 0.5)
    assert (level >= matched_thresholds(level, [4])).sum() == 0
    assert (level >= matched_thresholds(level, [5])).sum() == 5


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_matched_cuts_without_ties_match_exactly(dtype: str) -> None:
    scores = np.random.default_rng(5).permuted(np.tile(np.linspace(0, 1, 200), (6, 1)), axis=1).T.astype(dtype)
    counts = np.array([0, 1, 7, 100, 199, 200])
    np.testing.assert_array_equal((scores >= matched_thresholds(scores, counts)).sum(axis=0), counts)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: f1_scores([[0.5]], [[1]], [0.1, 0.2]), r"thresholds has shape \(2,\): expected .* \(1,\)"),
        (lambda: f1_scores([[0.5, 1.0]], [[1, 1]], [0.1, np.nan]), r"thresholds holds nan at 1"),
        (lambda: f1_scores([[0.5]], [[3]], 0.5), r"truth holds 3 at row 0, column 0"),
        (lambda: f1_scores([[0.5]], [[1]], 0.5, beta=0), r"beta is 0: expected a finite number above 0"),
        (lambda: best_f_thresholds([[0.5]], [[1]], beta=np.inf), r"beta is inf"),
        (lambda: best_f_thresholds([[0.5]], [[1]], shrink=-1), r"shrink is -1: expected .* at least 0"),
        (lambda: best_f_thresholds([[0.5, np.inf]], [[1, 1]]), r"scores holds inf at row 0, column 1"),
        (lambda: best_f_thresholds([[0.5]], [[-1]]), r"truth holds no \+1 at all"),
        (lambda: matched_thresholds([[0.5]], [1, 2]), r"counts has shape \(2,\): expected one per class, \(1,\)"),
        (lambda: matched_thresholds([[0.5, 0.5]], [1, np.nan]), r"counts holds nan at 1"),
        (lambda: matched_thresholds(np.ones((0, 1)), [1]), r"scores has no picture"),
        (lambda: precision_recall([[np.nan]], [[1]], 0.5), r"scores holds nan at row 0, column 0"),
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
