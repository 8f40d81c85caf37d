"""Recipes: typed, complete, strict; and the published methods with the paper's numbers."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from onetag import build
from onetag.core.errors import UsageError
from onetag.recipe import differences, load_file, load_method, methods, parse, parse_setting, set_epochs

NAMES = {
    "bce_full", "bce_one_positive_all_negatives", "an", "dw", "l1r", "l2r", "ls", "nls", "entmin", "focal", "asl", "role", "role_li",
    "em", "em_apl", "bce_ignore", "softmax", "an_apl", "em_apl_low_proportion", "em_apl_hard", "em_apl_no_downweight", "em_apl_positive",
}  # fmt: skip
DATA = ("voc2012", "coco2014", "nuswide", "cub")


def test_all_methods_are_there_and_build() -> None:
    assert set(methods()) == NAMES
    for name in NAMES:
        method = load_method(name)
        assert method.columns == ("own", *DATA)
        for column in method.columns:
            recipe = method.recipe(column)
            assert recipe.method == name
            loss = build.build_loss(recipe, 2.0)
            labeler = build.build_labeler(recipe, loss)
            assert (labeler is not None) == ("apl" in name)
            assert labeler is None or labeler.check(recipe.num_epochs) is None


def _numbers(name: str, *keys: str) -> list[tuple[object, ...]]:
    def get(data: str, key: str) -> object:
        part: object = load_method(name).recipe(data)
        for word in key.split("."):
            part = part[word] if isinstance(part, dict) else getattr(part, word)
        return part

    return [tuple(get(data, key) for key in keys) for data in DATA]


def test_numbers_of_the_papers_appendix() -> None:
    table = _numbers(
        "em_apl", "batch_size", "optimizer.lr", "loss.alpha", "labeler.weight", "labeler.proportion", "labeler.warmup"
    )
    assert table == [
        (8, 1e-5, 0.2, 0.02, 0.9, 5),
        (16, 1e-5, 0.1, 0.9, 0.9, 5),
        (16, 1e-5, 0.1, 0.2, 0.9, 4),
        (8, 1e-4, 0.01, 0.4, 0.9, 3),
    ]
    assert _numbers("em", "loss.alpha", "batch_size", "optimizer.lr") == [
        (0.2, 8, 1e-5),
        (0.1, 16, 1e-5),
        (0.1, 16, 1e-5),
        (0.01, 8, 1e-4),
    ]
    assert _numbers("dw", "loss.negative_weight") == [(0.1,), (0.1,), (0.1,), (0.02,)]
    assert _numbers("ls", "loss.smoothing", "loss.smooth") == [(0.1, "all")] * 4
    assert _numbers("nls", "loss.smoothing", "loss.smooth") == [(0.3, "negatives")] + [(0.1, "negatives")] * 3
    assert _numbers("entmin", "loss.alpha") == [(0.01,), (0.9,), (0.4,), (0.4,)]
    assert _numbers("focal", "loss.gamma", "loss.alpha") == [(2.0, 0.75)] * 4
    assert _numbers("asl", "loss.gamma_positive", "loss.gamma_negative", "loss.margin") == [(0.0, 2.0, 0.2)] * 3 + [
        (0.0, 1.0, 0.0)
    ]
    assert _numbers("l1r", "optimizer.l1") == [(1e-6,), (1e-7,), (1e-7,), (1e-9,)]
    assert _numbers("l2r", "optimizer.l2") == [(1e-6,), (1e-7,), (1e-6,), (1e-8,)]
    assert _numbers("role", "mean_tags", "loss.lr_factor") == [(1.5, 10.0), (2.9, 10.0), (1.9, 10.0), (31.4, 10.0)]
    assert _numbers("em_apl_low_proportion", "labeler.proportion") == [(0.1,)] * 4
    assert _numbers("em_apl_hard", "labeler.soft") == [(False,)] * 4
    assert _numbers("em_apl_no_downweight", "labeler.weight") == [(1.0,)] * 4
    assert _numbers("em_apl_positive", "labeler.positives", "labeler.proportion") == [(0.1, 0.9)] * 4
    for name in NAMES:
        rows = _numbers(
            name,
            "backbone",
            "image_size",
            "dropout",
            "labels.negative_weight",
            "stopping.patience",
            "draw",
            "optimizer.schedule",
            "min_steps",
        )
        assert rows == [("resnet50", 448, 0.0, 1, 0, "official", "constant", 0)] * 4
    assert load_method("role_li").recipe("cub").num_epochs == 35
    assert load_method("em").published["cub"] == (20.85, 0.42)
    assert load_method("bce_full").recipe("cub").annotation == "full"


def test_a_recipe_survives_toml() -> None:
    for name in NAMES:
        recipe = load_method(name).recipe()
        assert parse(tomllib.loads(recipe.to_toml()), "text") == recipe


def test_changes_and_their_mistakes() -> None:
    recipe = load_method("em").recipe()
    assert recipe.change({"loss.alpha": 0.2}).loss["alpha"] == 0.2
    other = recipe.change({"loss.name": "an"})
    assert other.loss == {"name": "an"}, "arguments of another loss mean nothing to it"
    assert parse_setting("loss.alpha=0.2") == ("loss.alpha", 0.2)
    assert parse_setting("loss.name=an") == ("loss.name", "an")
    assert parse_setting("labeler.soft=false") == ("labeler.soft", False)
    assert set_epochs(recipe, 3).num_epochs == 3
    assert list(differences(recipe, recipe.change({"seed": 1}))) == ["seed was 0, is now 1"]
    for key, value, words in (
        ("optimizer.lrr", 1.0, "did you mean 'optimizer.lr'"),
        ("opimizer.lr", 1.0, "did you mean 'optimizer'"),
        ("sed", 1, "did you mean 'seed'"),
        ("seed", "one", "seed: expected `int`"),
        ("dropout", 1.0, "dropout lies in"),
        ("batch_size", 0, "batch_size must be 1 or more"),
        ("phases", [{"train": "head", "epoch": 1}], "did you mean 'phases\\[0\\].epochs'"),
        ("phases", [{"train": "heads", "epochs": 1}], "did you mean 'head'"),
        ("phases", [], "names nothing to train"),
        ("optimizer.name", "adamx", "did you mean 'adam"),
        ("labels.negative_weight", -1.0, "cannot be -1.0"),
    ):
        with pytest.raises(UsageError, match=words):
            recipe.change({key: value})


def test_files_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[loss]\nname = "focal"\ngamma = 1.5\n[optimizer]\nlr = 0.01\n')
    recipe = load_file(path)
    assert (recipe.method, recipe.loss, recipe.optimizer.lr) == ("mine", {"name": "focal", "gamma": 1.5}, 0.01)
    path.write_text('method = "em_apl"\nseed = 4\n')
    assert load_file(path).labeler["name"] == "apl"
    assert load_file(path).seed == 4
    path.write_text(load_method("asl").recipe("cub").to_toml())
    assert load_file(path) == load_method("asl").recipe("cub")
    for text, words in (
        ("a = ", "not TOML"),
        ("bach_size = 3", "did you mean 'batch_size'"),
        ("[optimizer]\nlr = 'x'", "optimizer.lr: expected `float`"),
    ):
        path.write_text(text)
        with pytest.raises(UsageError, match=words):
            load_file(path)


def test_small_data_gets_more_epochs() -> None:
    recipe = load_method("em").recipe()
    assert recipe.for_samples(6400).num_epochs == 15
    assert recipe.for_samples(1600).num_epochs == 60
    assert recipe.for_samples(40).num_epochs == 60, "no more than four times as many"
    assert set_epochs(recipe, 3).for_samples(40).num_epochs == 3, "who says a number of epochs gets it"
