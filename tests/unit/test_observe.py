"""What annotation regimes reveal, the official draw and the official cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from onetag.core.errors import UsageError
from onetag.core.labels import LabelTable
from onetag.observe import Regime, cut, observe

quick = settings(max_examples=60, deadline=None)


def complete(seed: int, rows: int = 200, classes: int = 12) -> tuple[LabelTable, NDArray[np.str_]]:
    """A truth with rare and frequent classes, one picture without tags and one with all."""
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((rows, classes)) < np.linspace(0.05, 0.6, classes), 1, -1)
    dense[:2] = np.array([[-1], [1]])[: len(dense)]
    return LabelTable.from_dense(dense), np.array([f"{i:05d}.jpg" for i in range(rows)])


# ---- parsing


@pytest.mark.parametrize(
    ("text", "regime"),
    [
        ("full", Regime(-1, -1)), ("one_positive", Regime(1, 0)), ("one_positive_all_negatives", Regime(1, -1)),
        ("positives:3,negatives:4", Regime(3, 4)), ("negatives:4,positives:3", Regime(3, 4)),
        ("positives:2", Regime(2, 0)),
        ("negatives:7", Regime(0, 7)), ("positives:0,negatives:0", Regime(0, 0)),
        ("positives:1, negatives:2", Regime(1, 2)),
        ("share:0.3", Regime(share=0.3)), ("share:0", Regime(share=0.0)), ("share:1", Regime(share=1.0)),
    ],
)  # fmt: skip
def test_regimes_are_read(text: str, regime: Regime) -> None:
    assert Regime.parse(text) == regime


@pytest.mark.parametrize(
    "text",
    ["", "one_positve", "share:1.1", "share:-0.1", "share:nan", "share:x", "share", "positives:-1", "positives:1.5",
     "positives", "positives:1,share:0.5", "tags:3", "positives:1:2"],
)  # fmt: skip
def test_wrong_regimes_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a regime.*valid: given, full, one_positive"):
        Regime.parse(text)


def test_nearest_names_are_offered() -> None:
    truth, ids = complete(0)
    with pytest.raises(UsageError, match="did you mean 'one_positive'"):
        observe(truth, "one_positve", ids)
    with pytest.raises(UsageError, match="did you mean 'official'"):
        observe(truth, "one_positive", ids, "oficial")


# ---- what is revealed


@pytest.mark.parametrize("draw", ["uniform", "official"])
@pytest.mark.parametrize(
    ("annotation", "positives", "negatives"),
    [
        ("one_positive", 1, 0),
        ("one_positive_all_negatives", 1, 99),
        ("positives:2,negatives:3", 2, 3),
        ("negatives:1", 0, 1),
        ("positives:99", 99, 0),
    ],
)
def test_counts_per_picture(draw: str, annotation: str, positives: int, negatives: int) -> None:
    """As many as asked for, or as many as there are; never one that is not true; the rest stays unknown."""
    truth, ids = complete(1)
    shown = observe(truth, annotation, ids, draw)
    dense, known = truth.to_dense(), shown.to_dense()
    assert (known[known != 0] == dense[known != 0]).all()
    for value, count in ((1, positives), (-1, negatives)):
        assert np.array_equal((known == value).sum(axis=1), np.minimum((dense == value).sum(axis=1), count))


@pytest.mark.parametrize("annotation", ["full", "given"])
def test_full_and_given_hide_nothing(annotation: str) -> None:
    truth, ids = complete(2)
    assert observe(truth, annotation, ids) is truth


def test_given_takes_what_is_there_and_other_regimes_need_complete_labels() -> None:
    partial = LabelTable.from_dense(np.array([[1, 0], [-1, 1]]))
    ids = np.array(["a", "b"])
    assert observe(partial, "given", ids) is partial
    for annotation in ("one_positive", "share:0.5", "positives:1"):
        with pytest.raises(UsageError, match="hides labels of complete data, but 1 cells are unknown"):
            observe(partial, annotation, ids)


def test_one_positive_and_all_negatives_leaves_hidden_positives_unknown() -> None:
    truth, ids = complete(3)
    dense, known = truth.to_dense(), observe(truth, "one_positive_all_negatives", ids).to_dense()
    assert np.array_equal(known == -1, dense == -1)
    assert np.array_equal((known == 0).sum(axis=1), np.maximum((dense == 1).sum(axis=1) - 1, 0))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("classes", [1, 5, 12])
def test_share_is_per_picture(share: float, classes: int) -> None:
    """MLML: round(share * C) labels of each picture, positive or negative as they fall."""
    truth, ids = complete(4, classes=classes)
    shown = observe(truth, f"share:{share}", ids)
    known = shown.to_dense()
    assert ((known != 0).sum(axis=1) == round(share * classes)).all()
    assert np.array_equal(known[known != 0], truth.to_dense()[known != 0])
    assert shown.is_complete == (round(share * classes) == classes)


def test_complete_rows_may_be_stored_either_way() -> None:
    """Negatives written out, or rows whose rest is negative: the same truth, the same draw."""
    truth, ids = complete(5)
    sparse = LabelTable.from_dense(np.maximum(truth.to_dense(), 0), rest=-1)
    assert np.array_equal(sparse.to_dense(), truth.to_dense())
    for annotation in ("one_positive", "one_positive_all_negatives", "share:0.4"):
        for draw in ("uniform", "official"):
            assert observe(sparse, annotation, ids, draw) == observe(truth, annotation, ids, draw)


# ---- the uniform draw


@pytest.mark.parametrize(
    "annotation", ["one_positive", "one_positive_all_negatives", "positives:2,negatives:2", "share:0.3"]
)
def test_uniform_draw_does_not_depend_on_the_order_or_number_of_rows(annotation: str) -> None:
    truth, ids = complete(6)
    shown = observe(truth, annotation, ids)
    order = np.random.default_rng(6).permutation(len(ids))
    assert observe(truth.select(order), annotation, ids[order]) == shown.select(order)
    assert observe(truth.select(order[:17]), annotation, ids[order[:17]]) == shown.select(order[:17])
    np.random.seed(0)
    assert observe(truth, annotation, ids) == shown


def test_uniform_draw_is_uniform_over_the_tags_of_a_picture() -> None:
    rows = 20_000
    dense = np.tile(np.array([1, -1, 1, 1, -1, 1]), (rows, 1))
    shown = observe(LabelTable.from_dense(dense), "one_positive", np.array([str(i) for i in range(rows)]))
    counts = shown.class_counts(1)
    assert counts[[1, 4]].tolist() == [0, 0]
    assert np.abs(counts[[0, 2, 3, 5]] - rows / 4).max() < 4 * np.sqrt(rows * 3 / 16)


@pytest.mark.parametrize("draw", ["uniform", "official"])
def test_seeds_give_other_draws(draw: str) -> None:
    truth, ids = complete(7)
    assert observe(truth, "one_positive", ids, draw, 1) != observe(truth, "one_positive", ids, draw, 2)
    assert observe(truth, "one_positive", ids, draw, 1) == observe(truth, "one_positive", ids, draw, 1)


# ---- the official draw


def as_interface_md_says(dense: list[list[int]], seed: int, positives: int = 1, negatives: int = 0) -> list[list[int]]:
    """One RandomState walks the rows: positives, ascending, are shuffled, the first kept; then the negatives."""
    rng = np.random.RandomState(seed)
    shown = []
    for labels in dense:
        row = [0] * len(labels)
        for value, count in ((1, positives), (-1, negatives)):
            indices = [c for c, label in enumerate(labels) if label == value]
            rng.shuffle(indices)
            for c in indices[: len(indices) if count < 0 else count]:
                row[c] = value
        shown.append(row)
    return shown


@quick
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 30),
    st.integers(1, 25),
    st.sampled_from([(1, 0), (1, -1), (2, 3), (0, 1)]),
)
def test_official_draw_is_the_literal_one(seed: int, rows: int, classes: int, counts: tuple[int, int]) -> None:
    truth, ids = complete(seed, rows, classes)
    annotation = {(1, 0): "one_positive", (1, -1): "one_positive_all_negatives"}.get(
        counts, "positives:{},negatives:{}".format(*counts)
    )
    shown = observe(truth, annotation, ids, "official", seed)
    assert shown.to_dense().tolist() == as_interface_md_says(truth.to_dense().tolist(), seed, *counts)


def test_official_draw_is_pinned() -> None:
    """numpy keeps RandomState as it is for good; twenty classes as in VOC, labels by a rule anybody can repeat."""
    dense = [[1 if (7 * row + 3 * c) % 5 == 0 else -1 for c in range(20)] for row in range(12)]
    shown = observe(
        LabelTable.from_dense(np.array(dense)), "one_positive", np.array([str(i) for i in range(12)]), "official", 1200
    )
    assert [shown.positives(row).tolist() for row in range(12)] == [
        [0],
        [6],
        [2],
        [3],
        [19],
        [5],
        [16],
        [2],
        [18],
        [14],
        [5],
        [11],
    ]


def test_negatives_are_shuffled_even_when_none_is_kept() -> None:
    """That advances the generator, and so decides the positive of the next row."""
    truth, ids = complete(8)
    rng = np.random.RandomState(1200)
    lazy = []
    for labels in truth.to_dense():
        indices = np.flatnonzero(labels == 1)
        rng.shuffle(indices)
        lazy.append(indices[:1].tolist())
    shown = observe(truth, "one_positive", ids, "official", 1200)
    assert [shown.positives(row).tolist() for row in range(len(ids))] != lazy
    assert (
        observe(truth, "one_positive_all_negatives", ids, "official").class_counts(1).tolist()
        == shown.class_counts(1).tolist()
    )


def test_official_draw_depends_on_rows_before_and_on_nothing_after() -> None:
    truth, ids = complete(9)
    shown = observe(truth, "one_positive", ids, "official")
    assert observe(truth.select(np.arange(50)), "one_positive", ids[:50], "official") == shown.select(np.arange(50))
    assert observe(truth.select(np.arange(1, 200)), "one_positive", ids[1:], "official") != shown.select(
        np.arange(1, 200)
    )
    assert observe(truth, "one_positive", ids[::-1], "official") == shown  # ids do not matter to it


# ---- the cut


@pytest.mark.parametrize(
    ("rows", "share"), [(5717, 0.2), (10, 0.2), (7, 0.5), (3, 0.2), (2, 0.2), (1, 0.2), (82081, 0.2), (5, 0.99)]
)
@pytest.mark.parametrize("groups", [None, "single"])
def test_official_cut(rows: int, share: float, groups: str | None) -> None:
    """RandomState(1200).permutation(N): the last round(0.2 N) sorted are val, the rest sorted train."""
    order = np.random.RandomState(1200).permutation(rows).tolist()
    num_val = round(share * rows)
    names = None if groups is None else np.array([f"g{i}" for i in range(rows)])[::-1]
    train, val = cut(rows, share, groups=names)
    assert val.tolist() == sorted(order[rows - num_val :])
    assert train.tolist() == sorted(order[: rows - num_val])


def test_official_cut_of_voc_has_the_published_sizes() -> None:
    train, val = cut(5717, 0.2)
    assert (len(train), len(val)) == (4574, 1143)
    assert val[:6].tolist() == [5, 6, 11, 15, 22, 23]


def test_cut_has_seeds() -> None:
    assert cut(100, 0.2, 1)[1].tolist() != cut(100, 0.2, 2)[1].tolist()


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(10), 5)])
def test_share_of_zero_leaves_val_empty(groups: Any) -> None:
    train, val = cut(50, 0.0, groups=groups)
    assert val.shape == (0,)
    assert train.tolist() == list(range(50))


@pytest.mark.parametrize("share", [-0.1, 1.0, 1.5, float("nan")])
def test_wrong_shares_are_refused(share: float) -> None:
    with pytest.raises(UsageError, match=r"\[0, 1\)"):
        cut(10, share)


def test_nothing_to_cut() -> None:
    train, val = cut(0, 0.2)
    assert train.shape == val.shape == (0,)


@quick
@given(st.lists(st.integers(0, 12), min_size=1, max_size=80), st.floats(0, 0.99), st.integers(0, 2**32 - 1))
def test_groups_never_stand_on_both_sides(members: list[int], share: float, seed: int) -> None:
    groups = np.array([f"album {g}" for g in members])
    train, val = cut(len(groups), share, seed, groups)
    assert np.array_equal(np.sort(np.concatenate([train, val])), np.arange(len(groups)))
    assert (np.diff(train) > 0).all()
    assert (np.diff(val) > 0).all()
    assert not set(groups[train]) & set(groups[val])
    room = round(share * len(groups)) - len(val)
    assert room >= 0
    if len(set(members)) < len(members):  # nothing is left out that would have fitted
        assert all((groups == name).sum() > room for name in set(groups[train]))


def test_one_large_album_does_not_leave_val_empty() -> None:
    """Whichever place the permutation gives it."""
    groups = np.array(["large"] * 60 + [f"single {i}" for i in range(40)])
    for seed in range(20):
        _, val = cut(100, 0.2, seed, groups)
        assert len(val) == 20
        assert val.min() >= 60


def test_cut_by_groups_does_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(10)
    groups = np.array([f"g{i}" for i in rng.integers(0, 30, 200)])
    order = rng.permutation(200)
    first = set(groups[cut(200, 0.25, 3, groups)[1]])
    assert set(groups[order][cut(200, 0.25, 3, groups[order])[1]]) == first
