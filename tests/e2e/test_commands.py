"""Every command, used as a person would."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import onetag as package
from onetag.core.errors import OnetagError
from onetag.core.predictions import Predictions
from onetag.runs import Run

from .conftest import Onetag


@pytest.fixture(scope="module")
def run(pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    data, test = package.load(pictures / "photos"), package.load(pictures / "test" / "test.csv", labels="complete")
    return package.train(data, test=test, out=tmp_path_factory.mktemp("runs") / "a").path


def test_a_folder_is_trained_on_and_the_run_is_complete(onetag: Onetag, pictures: Path, tmp_path: Path) -> None:
    answer = onetag("train", pictures / "photos", "-o", tmp_path / "a", "--test", pictures / "test" / "test.csv")
    assert answer.code == 0
    assert "48 pictures" in answer.err
    assert "1.00 positives per picture" in answer.err
    assert "no validation data" in answer.err
    assert answer.out.splitlines()[-1] == str(tmp_path / "a")
    assert answer.out.startswith("test: mAP ")
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert {"recipe.toml", "environment.json", "metrics.jsonl", "labels", "head.safetensors", "config.json"} <= names
    assert {"checkpoint", "predictions.parquet", "README.md", "examples"} <= names
    assert not any(name.endswith(".tmp") or name == "lock" for name in names)
    config = Run.open(tmp_path / "a").config()
    assert config["schema"] == 1
    assert config["version"] == package.__version__
    assert config["architecture"] == {"trunk": "efficientnet_lite0", "frozen": True, "head": "linear", "inputs": 1280}
    assert config["backbone"]["preprocessing"]["size"] == 224
    assert len(config["thresholds"]) == len(config["classes"])
    assert config["thresholds_from"]["rule"] == "matched"
    assert "assumed" in config["thresholds_from"]["mean_tags_source"]


def test_training_knows_validation_and_test_apart(onetag: Onetag, vectors: Path, tmp_path: Path) -> None:
    answer = onetag(
        "train", vectors / "train", "--annotation", "one_positive", "--val-share", 0.2, "--test", vectors / "test",
        "-o", tmp_path / "a", "--epochs", 12, "--lr", 0.01, "--json",
    )  # fmt: skip
    assert answer.code == 0
    results = answer.json()["results"]
    assert results["val"]["pictures"] == 120
    assert results["test"]["pictures"] == 200
    assert results["test"]["map"] > 0.6
    lines = [json.loads(line) for line in (tmp_path / "a" / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines[:4]] == [1, 2, 3, 4]
    assert all(set(line["val"]) == {"map"} for line in lines[:4])
    assert sum("test" in line for line in lines) == 1, "the test is touched once"
    rule = Run.open(tmp_path / "a").config()["thresholds_from"]
    assert rule["rule"] == "best_f1"


def test_a_share_held_out_of_partial_labels_gives_known_tags_and_no_map(
    onetag: Onetag, pictures: Path, tmp_path: Path
) -> None:
    answer = onetag("train", pictures / "photos", "--val-share", 0.25, "-o", tmp_path / "a", "--epochs", 2)
    assert answer.code == 0
    assert "of known tags among the first 1" in answer.out
    assert "mAP " not in answer.out
    assert "not an mAP" in answer.out


@pytest.mark.parametrize("method", ["bce_full", "an", "softmax", "role", "em_apl", "l1r"])
def test_methods_train_on_data_of_ones_own(onetag: Onetag, vectors: Path, tmp_path: Path, method: str) -> None:
    regime = "full" if method == "bce_full" else "one_positive"
    answer = onetag(
        "train", vectors / "train", "--method", method, "--annotation", regime, "--test", vectors / "test",
        "-o", tmp_path / "a", "--epochs", 8, "--lr", 0.01, "--mean-tags", 2.2, "--json", "--set", "dropout=0",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    assert answer.json()["results"]["test"]["map"] > 0.5
    tags = answer.json()["results"]["test"]["tags_per_picture"]
    assert 0.3 < tags < 6, "a tagger that finds nothing, or everything, at its own threshold is broken"


def test_predictions_of_one_picture_and_of_a_batch_agree(run: Path, pictures: Path) -> None:
    tagger = package.Tagger.load(run)
    paths = sorted(str(path) for path in (pictures / "test").glob("*.jpg"))[:5]
    together = tagger.scores(paths)
    assert together.shape == (5, len(tagger.classes))
    for row, path in enumerate(paths):
        assert np.abs(tagger.scores([path])[0] - together[row]).max() < 1e-5
    first = tagger(paths[0])
    assert first == sorted(first, key=lambda tag: -tag.score)
    assert first[0].name in tagger.classes
    assert tagger(paths) == [tagger(path) for path in paths] or len(tagger(paths)) == 5
    from PIL import Image

    with Image.open(paths[0]) as picture:
        assert np.abs(tagger.scores([picture])[0] - together[0]).max() < 1e-5


def test_a_picture_that_cannot_be_read_is_named(onetag: Onetag, run: Path, pictures: Path, tmp_path: Path) -> None:
    (tmp_path / "words.jpg").write_text("no picture")
    good = str(pictures / "test" / "000.jpg")
    tagger = package.Tagger.load(run)
    with pytest.raises(OnetagError, match=r"words\.jpg: not a picture"):
        tagger.scores([good] * 40 + [str(tmp_path / "words.jpg")])
    (tmp_path / "good.jpg").write_bytes(Path(good).read_bytes())
    answer = onetag("predict", run, tmp_path, "-o", tmp_path / "t.csv")
    assert answer.code == 0
    assert "skipped words.jpg: not a picture" in answer.err
    assert "words.jpg" not in (tmp_path / "t.csv").read_text()
    assert onetag("predict", run, tmp_path / "words.jpg").code == 1


def test_predict_writes_tables_sidecars_and_lines(onetag: Onetag, run: Path, pictures: Path, tmp_path: Path) -> None:
    source = pictures / "test" / "test.csv"
    assert onetag("predict", run, source, "-o", tmp_path / "t.csv").code == 0
    with (tmp_path / "t.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["path", "tag", "score"]
    assert {row["path"] for row in rows} == {f"{index:03d}.jpg" for index in range(24)}, (
        "every picture has at least one tag"
    )
    assert onetag("predict", run, source, "-o", tmp_path / "t.parquet").code == 0
    assert pq.read_table(tmp_path / "t.parquet").num_rows == len(rows)
    assert onetag("predict", run, source, "-o", tmp_path / "t.jsonl", "--top", 3).code == 0
    lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert [len(line["tags"]) for line in lines] == [3] * 24
    assert onetag("predict", run, source, "-o", tmp_path / "all.parquet", "--all-scores").code == 0
    assert Predictions.load(tmp_path / "all.parquet").scores.shape == (24, len(Run.open(run).config()["classes"]))
    one = onetag("predict", run, pictures / "test" / "000.jpg", "--top", 2)
    assert [line.count("\t") for line in one.out.splitlines()] == [2, 2]
    (tmp_path / "own").mkdir()
    for name in ("000.jpg", "001.jpg"):
        (tmp_path / "own" / name).write_bytes((pictures / "test" / name).read_bytes())
    (tmp_path / "own" / "001.txt").write_text("mine")
    beside = onetag("predict", run, tmp_path / "own", "--sidecar")
    assert beside.code == 0
    assert "1 sidecar files were there already" in beside.err
    assert (tmp_path / "own" / "001.txt").read_text() == "mine"
    assert (tmp_path / "own" / "000.txt").read_text().strip()
    assert onetag("predict", run, str(tmp_path / "own" / "*.jpg"), "--json").json()["pictures"] == 2


def test_a_broken_off_prediction_is_continued(onetag: Onetag, run: Path, pictures: Path, tmp_path: Path) -> None:
    from onetag.exporters.tags import TagWriter

    source = pictures / "test" / "test.csv"
    onetag("predict", run, source, "-o", tmp_path / "whole.csv")
    tagger = package.Tagger.load(run)
    ids = [f"{index:03d}.jpg" for index in range(24)]
    fingerprint = tagger.config["backbone"]["fingerprint"]
    writer = TagWriter(
        tmp_path / "part.csv", [str(run.resolve()), fingerprint, str(tagger.thresholds.tolist()), "(None, None)", *ids]
    )
    writer.add([(ids[row], tagger.tags(tagger.scores([str(pictures / "test" / ids[row])])[0])) for row in range(10)])
    writer.close()
    with (tmp_path / "part.csv.partial").open("ab") as stream:
        stream.write(b"half a line")  # what a kill in the middle of a write leaves
    answer = onetag("predict", run, source, "-o", tmp_path / "part.csv")
    assert "going on after 10 of 24" in answer.err
    whole, part = ((tmp_path / name).read_text().splitlines() for name in ("whole.csv", "part.csv"))
    assert [line.rsplit(",", 1)[0] for line in part] == [line.rsplit(",", 1)[0] for line in whole]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part.csv", "whole.csv"]


def test_eval_agrees_with_the_run(onetag: Onetag, run: Path, pictures: Path) -> None:
    answer = onetag("eval", run, pictures / "test" / "test.csv", "--json")
    assert answer.code == 0
    stored = Run.open(run).config()["results"]["test"]
    assert answer.json()["map"] == pytest.approx(
        stored["map"], abs=0.02
    )  # features are cached as float16, eval runs in float32
    assert "mAP" in onetag("eval", run, pictures / "test" / "test.csv").out


def test_features_are_computed_once_and_trained_on(onetag: Onetag, pictures: Path, run: Path, tmp_path: Path) -> None:
    assert onetag("features", pictures / "photos", "-o", tmp_path / "feats").code == 0
    assert sorted(path.name for path in (tmp_path / "feats").iterdir()) == ["classes.txt", "features.npy", "table.csv"]
    assert np.load(tmp_path / "feats" / "features.npy").shape == (48, 1280)
    answer = onetag("train", tmp_path / "feats", "-o", tmp_path / "a")
    assert answer.code == 0
    same = [(path / "head.safetensors").read_bytes() for path in (run, tmp_path / "a")]
    assert same[0] == same[1], "the same samples, features and seed give the same head"
    again = onetag("features", pictures / "photos", "-o", tmp_path / "feats")
    assert again.code == 2
    assert "already holds features" in again.err


def test_report_is_one_file_without_links(onetag: Onetag, run: Path, tmp_path: Path) -> None:
    answer = onetag("report", run, "-o", tmp_path / "r.html")
    assert answer.code == 0
    text = (tmp_path / "r.html").read_text()
    assert "<svg" in text
    assert "data:image/jpeg;base64," in text
    for link in ("http://", "https://", 'src="/', "<script", "<link"):
        assert link not in text.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
            "http://creativecommons.org", ""
        )


def test_list_gives_bare_names_and_json(onetag: Onetag) -> None:
    names = onetag("list", "methods").out.split()
    assert {"em", "em_apl", "softmax", "role_li", "em_apl_no_downweight"} <= set(names)
    assert len(names) == 22
    assert {
        item["name"]
        for item in onetag("list", "losses", "--json").out and json.loads(onetag("list", "losses", "--json").out)
    } >= {"em"}
    assert set(onetag("list", "datasets").out.split()) == {"coco10k", "coco2014", "cub", "nuswide", "scenes", "voc2012"}
    for kind in ("labelers", "backbones", "readers"):
        assert onetag("list", kind).out.split()


@pytest.mark.slow
def test_demo(onetag: Onetag, tmp_path: Path) -> None:
    answer = onetag("demo", "-o", tmp_path / "d", "--json")
    assert answer.code == 0
    told = answer.json()
    assert told["seconds"] < 120
    maps = {name: np.mean(values["map"]) for name, values in told["results"].items()}
    assert maps["bce_full"] - maps["an"] > 0.05
    assert maps["em"] > maps["an"]
    assert 0.6 < maps["bce_full"] < 0.95
    assert (tmp_path / "d" / "report.html").stat().st_size > 100_000
    assert onetag("demo", "-o", tmp_path / "d").code == 2
