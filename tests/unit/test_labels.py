"""LabelTable, LabelState, Proposal, LabelLookup, saved arrays, and the converters of `onetag.labels`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from onetag import labels
from onetag.core.errors import OnetagError
from onetag.core.labels import LabelState, LabelTable, Proposal, load_arrays, save_arrays
from onetag.learn.labels import LabelLookup, NegativeWeights

quick = settings(max_examples=80, deadline=None)
Dense = NDArray[np.int8]

matrices = arrays(
    np.int8, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=7), elements=st.sampled_from([-1, 0, 1])
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[LabelTable, Dense, NDArray[np.float32]]:
    """A table, and the dense labels and weights it means; some rows are complete, some tables weighted."""
    dense = draw(matrices)
    rest = np.array(draw(st.lists(st.sampled_from([0, -1]), min_size=len(dense), max_size=len(dense))), np.int8)
    weights = np.ones(dense.shape, np.float32)
    weighted = draw(st.booleans())
    if weighted:
        weights = draw(arrays(np.float32, dense.shape, elements=st.sampled_from([0.0, 0.05, 1.0, 2.0])))
    table = LabelTable.from_dense(dense, rest, weights if weighted else None)
    meant = np.where((rest[:, None] == -1) & (dense == 0), np.int8(-1), dense)
    return table, meant, np.where(dense == 0, np.float32(1), weights)


def small() -> LabelTable:
    return LabelTable.from_dense(np.array([[1, 0, -1], [0, 1, 0], [0, 0, 0]]), rest=[0, -1, 0])


# ---- LabelTable


@quick
@given(tables())
def test_dense_round_trip(made: tuple[LabelTable, Dense, NDArray[np.float32]]) -> None:
    table, meant, weights = made
    assert np.array_equal(table.to_dense(), meant)
    assert np.array_equal(table.dense_weights(), weights)
    assert (table.num_rows, table.num_classes) == meant.shape
    assert len(table) == len(meant)


@quick
@given(tables())
def test_answers_agree_with_the_dense_matrix(made: tuple[LabelTable, Dense, NDArray[np.float32]]) -> None:
    table, meant, _ = made
    for value in (1, -1, 0):
        assert table.class_counts(value).tolist() == (meant == value).sum(axis=0).tolist()
    assert table.positives_per_row().tolist() == (meant == 1).sum(axis=1).tolist()
    assert table.is_complete == (len(meant) > 0 and not (meant == 0).any())
    for row, values in enumerate(meant):
        assert table.positives(row).tolist() == np.flatnonzero(values == 1).tolist()
        if table.rest[row] == 0:
            assert table.negatives(row).tolist() == np.flatnonzero(values == -1).tolist()


@quick
@given(tables(), st.data())
def test_select_and_concat(made: tuple[LabelTable, Dense, NDArray[np.float32]], data: st.DataObject) -> None:
    table, meant, weights = made
    rows = len(meant)
    index = data.draw(st.lists(st.integers(-rows, rows - 1), max_size=9)) if rows else []
    part = table.select(index)
    at = np.array(index, np.int64)
    assert np.array_equal(part.to_dense(), meant[at])
    assert np.array_equal(part.dense_weights(), weights[at])
    mask = data.draw(arrays(np.bool_, rows))
    assert np.array_equal(table.select(mask).to_dense(), meant[mask])
    both = LabelTable.concat([table, part, table])
    assert np.array_equal(both.to_dense(), np.concatenate([meant, meant[at], meant]))
    assert np.array_equal(both.dense_weights(), np.concatenate([weights, weights[at], weights]))


@quick
@given(tables())
def test_arrays_round_trip(made: tuple[LabelTable, Dense, NDArray[np.float32]]) -> None:
    table, _, _ = made
    again = LabelTable.from_arrays(table.arrays())
    assert again == table
    assert again.digest() == table.digest()
    assert again.is_weighted == table.is_weighted


@quick
@given(tables(), st.data())
def test_rename_classes_moves_and_drops_columns(
    made: tuple[LabelTable, Dense, NDArray[np.float32]], data: st.DataObject
) -> None:
    table, meant, _ = made
    classes = meant.shape[1]
    places = data.draw(st.permutations(range(classes + 2)))[:classes]
    order = [place if data.draw(st.booleans()) else -1 for place in places]
    expected = np.repeat(np.where(table.rest == -1, np.int8(-1), np.int8(0))[:, None], classes + 2, axis=1)
    for old, new in enumerate(order):
        if new >= 0:
            expected[:, new] = meant[:, old]
    assert np.array_equal(table.rename_classes(order, classes + 2).to_dense(), expected)


def test_select_refuses_rows_that_are_not_there() -> None:
    with pytest.raises(IndexError):
        small().select([3])
    with pytest.raises(IndexError):
        small().select([-4])
    assert small().select([]).to_dense().shape == (0, 3)


def test_entries_come_by_row_then_class_whatever_order_they_went_in() -> None:
    table = LabelTable([0, 3, 3, 5], [4, 0, 2, 3, 1], [1, -1, 1, 1, -1], 5, weights=[0.1, 0.2, 0.3, 0.4, 0.5])
    rows, classes, values, weights = table.entries()
    assert rows.tolist() == [0, 0, 0, 2, 2]
    assert classes.tolist() == [0, 2, 4, 1, 3]
    assert values.tolist() == [-1, 1, 1, -1, 1]
    assert weights.tolist() == np.float32([0.2, 0.3, 0.1, 0.5, 0.4]).tolist()
    assert table == LabelTable.from_dense(table.to_dense(), weights=table.dense_weights())


def test_equality_is_that_of_content() -> None:
    assert small() == small()
    assert small() != LabelTable.from_dense(np.array([[1, 0, -1], [0, 1, 0], [0, 0, 0]]))
    assert small() != small().select([0, 1])
    assert small() != "a table"
    same = LabelTable.from_dense(np.array([[1, 0]]), weights=1.0)
    assert same == LabelTable.from_dense(np.array([[1, 0]]))
    assert same != LabelTable.from_dense(np.array([[1, 0]]), weights=0.5)
    assert LabelTable.from_dense(np.zeros((2, 3))) != LabelTable.from_dense(np.zeros((2, 4)))
    with pytest.raises(TypeError, match="unhashable"):
        hash(small())


def test_weight_of_a_negative_in_a_complete_row_is_kept() -> None:
    table = LabelTable.from_dense(np.array([[1, -1, -1]]), rest=-1, weights=np.array([[1.0, 0.05, 1.0]]))
    assert table.dense_weights().tolist() == np.float32([[1, 0.05, 1]]).tolist()
    assert table.is_complete


@pytest.mark.parametrize(
    ("dense", "message"),
    [
        ([[1, 2]], r"row 0, column 1: .*2.* is not one of \+1 \(positive\), 0 \(unknown\), -1 \(negative\)"),
        ([[0, 0], [0.5, 0]], r"row 1, column 0: .*0\.5"),
        ([[0, math.nan]], "row 0, column 1: .*nan"),
        ([0, 1], "two axes"),
        ([[[0]]], "two axes"),
    ],
)
def test_wrong_matrices_are_refused(dense: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LabelTable.from_dense(dense)


def test_unsigned_matrices_do_not_wrap() -> None:
    with pytest.raises(ValueError, match="255"):
        LabelTable.from_dense(np.array([[255]], np.uint8))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [3], [1], 3), r"row 0: class 3 is outside 0 \.\. 2"),
        (([0, 0, 1], [-1], [1], 3), r"row 1: class -1 is outside 0 \.\. 2"),
        (([0, 2, 3], [1, 1, 0], [1, -1, 1], 3), "row 0: class 1 is given twice"),
        (([0, 3], [2, 0, 2], [1, 1, 1], 3), "row 0: class 2 is given twice"),
        (([0, 1], [0], [0], 3), "leave unknown ones out"),
        (([0, 2], [0], [1], 3), "row pointers"),
        (([1, 1], [0], [1], 3), "row pointers"),
        (([0, 1, 0, 1], [0], [1], 3), "row pointers"),
        (([0, 1], [0], [1, 1], 3), "one entry each"),
        (([0, 1], [0], [1], 3, 1), "rest of a row"),
        (([0, 1], [0], [1], 3, 0, [-1.0]), "finite and not negative"),
        (([0, 1], [0], [1], 3, 0, [math.nan]), "finite and not negative"),
        (([0, 1], [0], [1], 3, 0, [1.0, 1.0]), "one entry each"),
    ],
)
def test_wrong_entries_are_refused_with_their_place(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LabelTable(*arguments)


def test_from_lists() -> None:
    table = LabelTable.from_lists([[2, 0], [], [1, 1]], 3, negatives=[[1], [2], []])
    assert table.to_dense().tolist() == [[1, -1, 1], [0, 0, -1], [0, 1, 0]]
    assert LabelTable.from_lists([[0], []], 2, rest=[-1, 0]).to_dense().tolist() == [[1, -1], [0, 0]]
    with pytest.raises(ValueError, match="row 1: class 0 is given as positive and as negative"):
        LabelTable.from_lists([[], [0]], 2, negatives=[[], [0]])


def test_concat_needs_the_same_classes() -> None:
    with pytest.raises(ValueError, match=r"\[2, 3\]"):
        LabelTable.concat([LabelTable.from_dense(np.zeros((1, 2))), LabelTable.from_dense(np.zeros((1, 3)))])


def test_a_million_pictures_stay_small() -> None:
    """Entries are stored, cells are not: 1,000,000 x 1,000 with one tag each."""
    table = LabelTable(np.arange(1_000_001), np.arange(1_000_000) % 1000, np.ones(1_000_000), 1000)
    assert sum(part.nbytes for part in table.arrays().values()) < 20e6
    assert table.class_counts(0).tolist() == [999_000] * 1000
    assert table.select(np.arange(999_998, 1_000_000)).to_dense().shape == (2, 1000)


# ---- saved arrays


@quick
@given(st.dictionaries(st.sampled_from(["indptr", "values", "a b", "ä"]), matrices, min_size=1))
def test_saved_arrays_come_back(tmp_path_factory: pytest.TempPathFactory, parts: dict[str, Dense]) -> None:
    path = tmp_path_factory.mktemp("saved") / "labels.safetensors"
    save_arrays(path, parts)  # type: ignore[arg-type]
    again = load_arrays(path)
    assert set(again) == set(parts)
    for name, part in parts.items():
        assert again[name].dtype == part.dtype
        assert np.array_equal(again[name], part)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.float16, np.float32, np.float64, np.bool_])
def test_saved_arrays_keep_their_type(tmp_path: Path, dtype: Any) -> None:
    part = np.array([[0, 1], [1, 0]]).astype(dtype)
    save_arrays(tmp_path / "a", {"part": part, "turned": part.T, "none": part[:0]})
    again = load_arrays(tmp_path / "a")
    assert all(again[name].dtype == dtype for name in again)
    assert np.array_equal(again["turned"], part.T)
    assert again["none"].shape == (0, 2)


def test_equal_content_is_equal_bytes_and_nothing_is_left_aside(tmp_path: Path) -> None:
    parts = small().arrays()
    save_arrays(tmp_path / "a", parts)
    save_arrays(tmp_path / "b", dict(reversed(parts.items())))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    save_arrays(tmp_path / "a", LabelTable.from_dense(np.ones((1, 1))).arrays())
    assert (tmp_path / "a").read_bytes() != (tmp_path / "b").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_broken_files_are_answered_with_their_name(tmp_path: Path) -> None:
    save_arrays(tmp_path / "cut", small().arrays())
    (tmp_path / "cut").write_bytes((tmp_path / "cut").read_bytes()[:-3])
    (tmp_path / "text").write_text("no arrays in here")
    for name in ("cut", "text", "missing"):
        with pytest.raises(OnetagError, match=f"{name}: cannot be read as saved arrays"):
            load_arrays(tmp_path / name)


# ---- Proposal


def proposal(rows: list[int], cols: list[int], values: list[float], weight: Any = 1.0, claims: Any = None) -> Proposal:
    return Proposal(np.array(rows, np.int64), np.array(cols, np.int32), np.array(values, np.float32), weight, claims)


def test_proposals_have_one_weight_or_one_for_each_cell() -> None:
    assert proposal([0, 1], [0, 0], [0.0, 1.0], 0.25).weights().tolist() == [0.25, 0.25]
    assert proposal([0, 1], [0, 0], [0.0, 1.0], np.float32([0.25, 0.5])).weights().tolist() == [0.25, 0.5]
    assert len(proposal([], [], [])) == 0


def test_claims_say_which_way_a_pseudo_label_points() -> None:
    assert proposal([0, 1, 2], [0, 0, 0], [0.0, 0.5, 0.7]).directions().tolist() == [-1, 1, 1]
    assert proposal([0, 1], [0, 0], [0.6, 0.7], claims=np.int8([-1, 1])).directions().tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0], [0], [1.5]), r"\[0, 1\]"),
        (([0], [0], [-0.1]), r"\[0, 1\]"),
        (([0], [0], [math.nan]), r"\[0, 1\]"),
        (([0, 1], [0], [0.5]), "as many rows as columns and values"),
        (([0], [0], [0.5], -1.0), "finite and not negative"),
        (([0], [0], [0.5], math.nan), "finite and not negative"),
        (([0], [0], [0.5], np.float32([math.inf])), "finite and not negative"),
        (([0], [0], [0.5], 1.0, np.int8([0])), r"\+1 or -1"),
        (([0], [0], [0.5], 1.0, np.int8([1, 1])), r"\+1 or -1"),
    ],
)
def test_wrong_proposals_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        proposal(*arguments)


# ---- LabelState


def test_fresh_state_has_no_pseudo_labels() -> None:
    state = LabelState(small())
    rows = state.rows([2, 0])
    assert rows.observed.tolist() == [[0, 0, 0], [1, 0, -1]]
    assert rows.weight is rows.pseudo is rows.pseudo_weight is None
    assert state.num_pseudo == 0
    assert state.initial_unknown.tolist() == [1, 2, 1]
    assert state.open_counts().tolist() == [1, 2, 1]
    assert state.added_epoch([0, 1]).tolist() == [[0, 0, 0]] * 2
    assert all(len(part) == 0 for part in state.pseudo_entries())


def test_pseudo_labels_never_overrule_an_annotator() -> None:
    state = LabelState(small())
    written = state.apply(proposal([0, 0, 0, 1, 2], [0, 1, 2, 0, 2], [0.0, 0.2, 1.0, 0.9, 0.0], 0.5), 3)
    assert written.rows.tolist() == [0, 2]
    assert written.cols.tolist() == [1, 2]
    assert written.weights().tolist() == [0.5, 0.5]
    rows = state.rows(np.arange(3))
    assert np.array_equal(rows.observed, small().to_dense())
    assert rows.pseudo is not None
    assert rows.pseudo_weight is not None
    assert np.argwhere(~np.isnan(rows.pseudo)).tolist() == [[0, 1], [2, 2]]
    assert rows.pseudo_weight.tolist() == [[0, 0.5, 0], [0, 0, 0], [0, 0, 0.5]]
    assert state.added_epoch(np.arange(3)).tolist() == [[0, 3, 0], [0, 0, 0], [0, 0, 3]]
    assert state.is_open(np.arange(3)).tolist() == [[False, False, False], [False] * 3, [True, True, False]]
    assert state.initial_unknown.tolist() == [1, 2, 1]
    assert state.open_counts().tolist() == [1, 1, 0]


def test_a_later_pseudo_label_replaces_an_earlier_one() -> None:
    state = LabelState(small())
    state.apply(proposal([2], [0], [0.1], 0.5), 1)
    state.apply(proposal([2], [0], [0.9], 1.0), 4)
    rows = state.rows([2])
    assert rows.pseudo is not None
    assert rows.pseudo_weight is not None
    assert (rows.pseudo[0, 0], rows.pseudo_weight[0, 0], state.num_pseudo) == (np.float32(0.9), 1.0, 1)
    assert state.added_epoch([2]).tolist() == [[4, 0, 0]]
    assert [part.tolist() for part in state.pseudo_entries()] == [[2], [0], [1]]


def test_epochs_of_the_diary_begin_at_1() -> None:
    with pytest.raises(ValueError, match="counted from 1"):
        LabelState(small()).apply(proposal([2], [0], [0.1]), 0)


def test_empty_proposals_write_nothing() -> None:
    state = LabelState(small())
    assert len(state.apply(proposal([], [], []), 1)) == 0
    assert len(state.apply(proposal([0], [0], [0.5]), 1)) == 0
    assert state.rows([0]).pseudo is None


@quick
@given(tables(), st.integers(1, 5))
def test_blocks_are_the_rows(made: tuple[LabelTable, Dense, NDArray[np.float32]], size: int) -> None:
    table, meant, weights = made
    state = LabelState(table)
    seen = list(state.blocks(size))
    assert [range(part.start, part.stop) for part, _ in seen] == [
        range(a, min(a + size, len(meant))) for a in range(0, len(meant), size)
    ]
    for part, rows in seen:
        assert np.array_equal(rows.observed, meant[part])
        assert rows.weight is None if not table.is_weighted else np.array_equal(rows.weight, weights[part])


def test_ties_go_by_sample_id() -> None:
    assert LabelState(small(), ["c", "a", "b"]).tie_rank.tolist() == [2, 0, 1]
    assert LabelState(small()).tie_rank.tolist() == [0, 1, 2]
    assert LabelState(small(), ["10.jpg", "9.jpg", "1.jpg"]).tie_rank.tolist() == [1, 2, 0]


def test_reading_rows_gives_copies() -> None:
    state = LabelState(small())
    state.apply(proposal([2], [0], [0.1]), 1)
    rows = state.rows([2])
    assert rows.pseudo is not None
    rows.observed[:] = 1
    rows.pseudo[:] = 1
    assert state.rows([2]).observed.tolist() == [[0, 0, 0]]
    assert state.is_open([2]).tolist() == [[False, True, True]]


# ---- LabelLookup: the same state as tensors


def same(lookup: LabelLookup, state: LabelState, index: list[int]) -> None:
    batch, rows = lookup.rows(torch.tensor(index)), state.rows(index)
    assert np.array_equal(batch.observed.numpy(), rows.observed)
    assert batch.index is not None
    assert batch.index.tolist() == index
    is_pseudo = np.zeros(rows.observed.shape, bool) if rows.pseudo is None else ~np.isnan(rows.pseudo)
    assert np.array_equal(batch.is_pseudo.numpy(), is_pseudo)
    assert np.array_equal(batch.is_unknown.numpy(), (rows.observed == 0) & ~is_pseudo)
    assert np.array_equal(batch.is_positive.numpy(), rows.observed == 1)
    assert np.array_equal(batch.is_negative.numpy(), rows.observed == -1)
    if rows.pseudo is not None and rows.pseudo_weight is not None:
        assert np.array_equal(batch.pseudo.numpy(), np.nan_to_num(rows.pseudo))
        assert np.array_equal(batch.pseudo_weight.numpy(), rows.pseudo_weight)
    assert np.array_equal(batch.weight.numpy(), np.ones(rows.observed.shape) if rows.weight is None else rows.weight)


@quick
@given(tables(), st.integers(0, 2**32 - 1))
def test_lookup_follows_the_state(made: tuple[LabelTable, Dense, NDArray[np.float32]], seed: int) -> None:
    """Cells written one proposal after the other, or read from the state in one go: the same batches."""
    table, meant, _ = made
    state, rng = LabelState(table), np.random.default_rng(seed)
    lookup = LabelLookup(state)
    rows, classes = meant.shape
    for epoch in range(1, 4):
        at = np.argwhere(rng.random(meant.shape) < 0.3)
        values = rng.choice(np.float32([0, 0.25, 1]), len(at))
        written = state.apply(
            Proposal(at[:, 0], at[:, 1].astype(np.int32), values, rng.random(len(at), np.float32)), epoch
        )
        assert (meant[written.rows, written.cols] == 0).all()
        lookup.apply(written)
        if rows and classes:
            index = rng.integers(0, rows, 5).tolist()
            same(lookup, state, index)
            same(LabelLookup(state), state, index)


def test_negative_weight_multiplies_weights_of_observed_negatives_only() -> None:
    dense = np.array([[1, -1, 0], [-1, -1, 1]])
    table = LabelTable.from_dense(dense, weights=np.array([[0.5, 0.5, 1.0], [1.0, 0.25, 1.0]]))
    batch = LabelLookup(LabelState(table), negative_weight=NegativeWeights(np.float32([0.1, 0.2, 0.3]))).rows(
        torch.tensor([0, 1])
    )
    expected = np.float32([[0.5, 0.5 * np.float32(0.2), 1], [0.1, 0.25 * np.float32(0.2), 1]])
    np.testing.assert_allclose(batch.weight.numpy(), expected, rtol=1e-7)
    plain = LabelLookup(
        LabelState(LabelTable.from_dense(dense)), negative_weight=NegativeWeights(np.ones(3, np.float32))
    ).rows(torch.tensor([0]))
    assert not plain.has_weight


def test_negatives_of_complete_rows_may_weigh_something_else() -> None:
    weights = NegativeWeights(np.float32([0.1, 0.2]), in_complete_rows=0.0)
    observed = np.array([[1, -1], [0, -1], [-1, -1], [1, 1]], np.int8)
    assert np.allclose(weights.cells(observed), [[1, 0], [1, 0.2], [0, 0], [1, 1]])


# ---- converters


@quick
@given(matrices)
def test_nan_round_trip(ours: Dense) -> None:
    theirs = labels.to_nan(ours)
    assert np.array_equal(theirs, np.where(ours == 0, np.nan, ours == 1), equal_nan=True)
    assert np.array_equal(labels.from_nan(theirs), ours)


@quick
@given(matrices, st.sampled_from([-1, 2, -100, 255]))
def test_ignore_round_trip(ours: Dense, ignore: int) -> None:
    theirs = labels.to_ignore(ours, ignore)
    assert np.array_equal(theirs, np.where(ours == 0, ignore, ours == 1))
    assert np.array_equal(labels.from_ignore(theirs, ignore), ours)


@quick
@given(arrays(np.int8, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6), elements=st.sampled_from([0, 1])))
def test_lists_round_trip(ours: Dense) -> None:
    classes = [f"class {c}" for c in range(ours.shape[1])]
    theirs = labels.to_lists(ours, classes)
    assert [len(tags) for tags in theirs] == ours.sum(axis=1).tolist()
    assert np.array_equal(labels.from_lists(theirs, classes), ours)


@pytest.mark.parametrize("convert", [labels.from_nan, labels.from_ignore, labels.to_nan, labels.to_ignore])
def test_results_are_of_the_type_the_losses_take(convert: Any) -> None:
    for given_type in (list, np.int64, np.float32, np.uint8):
        y = [[1, 0]] if given_type is list else np.array([[1, 0]], given_type)
        assert convert(y).shape == (1, 2)
    assert labels.from_nan([[1, 0]]).dtype == labels.from_ignore([[1, 0]]).dtype == np.int8


@pytest.mark.parametrize(
    ("convert", "y", "message"),
    [
        (labels.from_nan, [[0.3, 1]], r"row 0, column 0: 0\.3 is not 1 \(positive\), 0 \(negative\) or NaN"),
        (labels.from_nan, [[1, -1]], "row 0, column 1: -1"),
        (labels.from_ignore, [[1, 2]], r"row 0, column 1: 2 is not 1 \(positive\), 0 \(negative\) or -1"),
        (labels.from_ignore, [1, 0], "two axes"),
        (labels.to_nan, [[1, 2]], "row 0, column 1: 2"),
        (labels.to_ignore, np.array([[255]], np.uint8), "row 0, column 0: 255"),
        (labels.from_nan, [[[1]]], "two axes"),
    ],
)
def test_wrong_encodings_are_refused(convert: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        convert(y)


@pytest.mark.parametrize("ignore", [0, 1])
def test_ignore_cannot_be_a_label(ignore: int) -> None:
    for convert in (labels.from_ignore, labels.to_ignore):
        with pytest.raises(ValueError, match="is also a label"):
            convert([[0, 1]], ignore)


def test_tags_are_lists_of_known_names() -> None:
    with pytest.raises(ValueError, match="row 1: tag 'dgo' is not among the 2 classes"):
        labels.from_lists([[], ["dgo"]], ["dog", "cat"])
    with pytest.raises(TypeError, match="row 0: 'cat' is one string"):
        labels.from_lists(["cat"], ["dog", "cat"])
    with pytest.raises(ValueError, match=r"\(1, 2\) for 3 classes"):
        labels.to_lists([[1, 0]], ["a", "b", "c"])
