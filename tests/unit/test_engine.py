"""Parts of the engine: batches, dropout, thresholds, checkpoints, features, sides."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from onetag import build
from onetag.core.labels import LabelTable
from onetag.core.progress import Listener
from onetag.core.split import Data, Split
from onetag.engine import checkpoint, thresholds
from onetag.engine.data import Batches, Rows
from onetag.engine.features import cached, compute
from onetag.engine.fit import Job, fit
from onetag.engine.head import LinearHead, drop
from onetag.engine.optimize import make_optimizers, set_rates
from onetag.engine.sides import _groups, _held_out
from onetag.learn.backbone import Backbone, Preprocessing
from onetag.learn.loss import Facts
from onetag.observe import cut
from onetag.recipe import load_method, set_epochs


def test_an_epoch_visits_every_sample_once_in_nearly_equal_batches() -> None:
    ids = np.array([f"p{i}" for i in range(65)])
    batches = Batches(ids, 16, seed=0)
    first, again, second = batches.epoch(1), batches.epoch(1), batches.epoch(2)
    assert sorted(torch.cat(first).tolist()) == list(range(65))
    assert [len(batch) for batch in first] == [13] * 5, "no ragged last batch of one picture with full weight"
    assert torch.cat(first).tolist() == torch.cat(again).tolist() != torch.cat(second).tolist()
    more = torch.cat(Batches(np.append(ids, "extra"), 16, seed=0).epoch(1)).tolist()
    assert [row for row in more if row < 65] == torch.cat(first).tolist(), (
        "one sample more leaves the others' order alone"
    )


def test_dropout_depends_on_its_counters_alone() -> None:
    ones = torch.ones(64, 640)
    made = drop(ones.clone(), 0.5, 0, 3, 7)
    assert torch.equal(made, drop(ones.clone(), 0.5, 0, 3, 7))
    for other in ((1, 3, 7), (0, 4, 7), (0, 3, 8)):
        assert not torch.equal(made, drop(ones.clone(), 0.5, *other))
    assert set(made.unique().tolist()) == {0.0, 2.0}
    assert abs(made.mean().item() - 1) < 0.02
    assert abs(drop(ones.clone(), 0.3, 0, 1, 1).mean().item() - 1) < 0.02
    assert torch.equal(drop(ones.clone(), 0.0, 0, 1, 1), ones)


def test_initial_weights_belong_to_class_names() -> None:
    head, more = LinearHead(8, ["cat", "dog"], 0), LinearHead(8, ["ant", "dog", "cat"], 0)
    assert torch.equal(head.weight[0], more.weight[2])
    assert torch.equal(head.bias[1], more.bias[1])
    assert not torch.equal(head.weight, LinearHead(8, ["cat", "dog"], 1).weight)
    assert head.weight.abs().max() <= 8**-0.5


def test_rates_follow_time_and_factors() -> None:
    recipe = load_method("role").recipe().change({"optimizer.lr": 0.1})
    loss = build.build_loss(recipe, 2.0)
    loss.setup(Facts(LabelTable.from_lists([[0], [1]], 2), 2.0))
    model, estimator = make_optimizers(LinearHead(3, ["a", "b"]), loss, recipe.optimizer)
    assert isinstance(estimator, torch.optim.SparseAdam)
    for fraction, share in ((0.0, 1.0), (0.5, 0.5), (1.0, 0.0)):
        set_rates([model, estimator], "cosine", fraction)
        assert model.param_groups[0]["lr"] == pytest.approx(0.1 * share)
        assert estimator.param_groups[0]["lr"] == pytest.approx(1.0 * share)
    set_rates([model], "constant", 0.9)
    assert model.param_groups[0]["lr"] == 0.1


def test_expected_counts_scale_what_is_shown() -> None:
    single = LabelTable.from_lists([[0]] * 6 + [[1]] * 2, 3)
    assert thresholds.expected_counts(single, 2.5).tolist() == [8.0, 5.0, 0.0], "never more than all pictures"
    mixed = LabelTable.from_lists([[0], [0], [1], [0, 1]], 2, rest=[0, 0, 0, -1])
    assert thresholds.expected_counts(mixed, 2.0).tolist() == [4.0, 3.0], "complete rows count as they are"
    assert thresholds.expected_counts(single, 0.5).tolist() == [6.0, 2.0, 0.0], "never fewer than were shown"


def _job(method: str = "em", size: int = 200, **changes: object) -> Job:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(size, 16)).astype(np.float32)
    tags = values[:, :4].argmax(axis=1)
    table = LabelTable.from_lists([[int(tag)] for tag in tags], 4)
    recipe = set_epochs(load_method(method).recipe().change(changes), 6)
    loss = build.build_loss(recipe, 1.5)
    loss.setup(Facts(table, 1.5))
    ids = np.array([f"p{i}" for i in range(size)])
    from onetag.core.labels import LabelState

    state = LabelState(table, ids.tolist())
    labeler = build.build_labeler(recipe, loss)
    return Job(
        recipe,
        ids,
        ("a", "b", "c", "d"),
        Rows(values),
        state,
        loss,
        labeler,
        build.negative_weights(recipe, loss, table),
    )


def test_cross_fitting_never_scores_with_a_model_that_saw_the_row() -> None:
    job = _job()
    held_out = thresholds.cross_fitted(job, 6, Listener())
    assert held_out.shape == (200, 4)
    assert np.isfinite(held_out).all()
    # A sample whose label is changed keeps its own held-out score, but moves those of samples in other folds.
    classes = [int(c) for c in job.labels.observed.to_dense().argmax(axis=1)]
    classes[7] = (classes[7] + 1) % 4
    changed = _job()
    from onetag.core.labels import LabelState

    changed.labels = LabelState(LabelTable.from_lists([[c] for c in classes], 4), changed.ids.tolist())
    moved = np.abs(thresholds.cross_fitted(changed, 6, Listener()) - held_out).max(axis=1)
    assert moved[7] == 0
    assert (moved > 0).sum() > 100


def test_albums_and_copies_stay_in_one_fold() -> None:
    job = _job(size=60)
    alone = thresholds._folds(job)
    assert np.bincount(alone).tolist() == [12] * 5
    job.groups = np.arange(60)
    assert thresholds._folds(job).tolist() == alone.tolist(), "single samples: the same folds"
    job.groups = np.arange(60) // 6
    folds = thresholds._folds(job)
    assert {len(set(folds[start : start + 6].tolist())) for start in range(0, 60, 6)} == {1}
    assert np.bincount(folds).tolist() == [12] * 5
    job.groups = np.zeros(60, np.int64)
    assert np.isfinite(thresholds.cross_fitted(job, 2, Listener())).all(), "one album: nothing to leave out"


def test_the_best_epoch_is_kept_and_nan_is_never_better() -> None:
    said = iter([0.2, float("nan"), 0.5, 0.4, 0.3, 0.1])
    job = _job()
    job.val, job.monitor, job.validate = Rows(np.zeros((3, 16), np.float32)), "map", lambda scores: {"map": next(said)}
    done = fit(job)
    assert (done.best_epoch, done.last_epoch) == (3, 6)
    said = iter([0.2, 0.2, 0.5])
    job = _job(**{"stopping.patience": 0})
    job.val, job.monitor, job.validate = Rows(np.zeros((3, 16), np.float32)), "map", lambda scores: {"map": next(said)}
    done = fit(job)
    assert (done.best_epoch, done.last_epoch) == (1, 2), "patience 0 stops at the first epoch that is not better"
    said = iter([0.2, 0.1, 0.1, 0.1, 0.1])
    job = _job(**{"stopping.patience": 0, "stopping.floor": 4})
    job.val, job.monitor, job.validate = Rows(np.zeros((3, 16), np.float32)), "map", lambda scores: {"map": next(said)}
    done = fit(job)
    assert (done.best_epoch, done.last_epoch) == (1, 4), "the floor comes before patience"
    job = _job()
    job.val, job.monitor, job.validate = (
        Rows(np.zeros((3, 16), np.float32)),
        "map",
        lambda scores: {"map": float("nan")},
    )
    assert fit(job).best_epoch == 6, "never a number: the last weights, no failure"


def test_pseudo_labels_reach_the_next_epoch_and_the_log_knows_how_right_they_are() -> None:
    job = _job("em_apl", **{"labeler.warmup": 2})
    truth = job.labels.observed.to_dense()
    job.truth = LabelTable.from_dense(np.where(truth == 1, 1, -1), -1)
    history = fit(job).history
    assert ["pseudo_added" in record for record in history] == [False, True, True, True, True, False]
    assert history[4]["pseudo_total"] == job.labels.num_pseudo > 0.8 * 0.9 * 600
    assert history[4]["pseudo_precision_pooled"] == 1.0
    assert history[4]["pseudo_precision_of_a_coin"] == 1.0


def test_checkpoints_are_whole_and_the_last_two(tmp_path: Path) -> None:
    for step in range(4):
        checkpoint.save(tmp_path / "c", 1, step, {"x": torch.full((2,), float(step))}, {"step": step})
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == ["00001-00000002", "00001-00000003"]
    tensors, state = checkpoint.latest(tmp_path / "c") or ({}, {})
    assert (state["step"], tensors["x"].tolist()) == (3, [3.0, 3.0])
    (tmp_path / "c" / "00001-00000003" / "state.safetensors").write_bytes(b"half")
    tensors, state = checkpoint.latest(tmp_path / "c") or ({}, {})
    assert state["step"] == 2, "a broken one is passed over"
    assert checkpoint.latest(tmp_path / "none") is None


class _Mean(Backbone):
    """Three features: the mean of each colour; counts how many pictures it saw."""

    def __init__(self) -> None:
        super().__init__("mean", torch.nn.Identity(), 3, Preprocessing(8, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)), "")
        self.seen = 0

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        self.seen += len(pictures)
        return pictures.float().mean(dim=(2, 3)) / 255


def test_features_are_computed_once_and_go_on_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    monkeypatch.setenv("ONETAG_CACHE", str(tmp_path / "cache"))
    paths = []
    for index in range(70):
        Image.new("RGB", (20, 10), (index, 0, 255)).save(tmp_path / f"{index}.png")
        paths.append(str(tmp_path / f"{index}.png"))
    (tmp_path / "3.png").write_bytes(b"broken")
    digests = np.array([str(index) for index in range(70)])
    trunk = _Mean()
    first = cached(trunk, paths, digests, Listener())
    assert trunk.seen == 69
    assert list(first.unreadable) == [3]
    assert first.values.dtype == np.float16
    assert first.values[5, 0] == pytest.approx(5 / 255, abs=1e-4)
    again = cached(trunk, paths, digests, Listener())
    assert trunk.seen == 69, "the second time nothing is computed"
    assert np.array_equal(first.values, again.values)
    cached(trunk, paths, digests[::-1], Listener())
    assert trunk.seen == 2 * 69, "other content, other features"

    part = tmp_path / "own"
    part.mkdir()
    half = np.lib.format.open_memmap(part / "part.npy", mode="w+", dtype=np.float16, shape=(70, 3))
    half[:64] = first.values[:64]
    half.flush()
    (part / "part.json").write_text(json.dumps({"done": 64, "unreadable": {"3": "known"}}))
    trunk.seen = 0
    whole = compute(trunk, paths, part, Listener())
    assert trunk.seen == 6
    assert whole.unreadable == {3: "known"}
    assert np.array_equal(whole.values, first.values)


def test_groups_join_albums_and_equal_pictures() -> None:
    table = LabelTable.from_lists([[0]] * 6, 1)
    ids = np.array(list("abcdef"))
    split = Split(ids, ("x",), table, groups=np.array(["u", "u", "v", "", "", "w"]))
    digests = np.array(["1", "2", "2", "4", "", ""])
    groups = _groups(split, digests)
    assert groups is not None
    assert groups[0] == groups[1] == groups[2], "a and b share an album, b and c are the same picture"
    assert len(set(groups.tolist())) == 4, "pictures without a group, or that cannot be read, stand alone"


def test_copies_leave_the_official_cut_as_it_is_but_for_themselves() -> None:
    split = Split(np.array([f"p{i}" for i in range(100)]), ("x",), LabelTable.from_lists([[0]] * 100, 1))
    train, val = cut(100, 0.2)
    digests = np.array([str(i) for i in range(100)])
    digests[val[0]], digests[val[1]] = digests[train[0]], digests[val[2]]
    held = _held_out(split, _groups(split, digests), 0.2, 1200)
    assert np.flatnonzero(held).tolist() == val[1:].tolist(), (
        "a copy of a training picture trains, copies within val stay"
    )
    albums = Split(split.ids, ("x",), split.labels, groups=np.array([f"g{i // 10}" for i in range(100)]))
    held = _held_out(albums, _groups(albums, None), 0.2, 1200)
    assert held.sum() == 20
    assert {len(set(held[start : start + 10].tolist())) for start in range(0, 100, 10)} == {1}, "albums stay whole"


def test_data_joins_its_sides() -> None:
    part = Split(np.array(["a"]), ("x",), LabelTable.from_lists([[0]], 1), paths=np.array(["/a"]))
    data = Data({"train": part, "test": part}, "read")
    assert len(data.only()) == 2
    assert data.side("val", "test") is part
