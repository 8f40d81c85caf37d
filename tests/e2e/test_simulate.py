"""`onetag simulate`: draws that others can reuse."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import onetag as package

from .conftest import Onetag


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = ["path,tags,split"]
    for index in range(300):
        tags = [f"t{c}" for c in np.flatnonzero(rng.random(12) < 0.25)] or ["t0"]
        rows.append(f"p/{index:03d}.jpg,{'|'.join(tags)},{'train' if index < 250 else 'test'}")
    (tmp_path / "all.csv").write_text("\n".join(rows) + "\n")
    return tmp_path / "all.csv"


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open() as stream:
        return list(csv.DictReader(stream))


def test_one_positive_of_each_training_picture(onetag: Onetag, table: Path, tmp_path: Path) -> None:
    answer = onetag("simulate", table, "-o", tmp_path / "s.csv", "--with-truth")
    assert answer.code == 0
    rows = _rows(tmp_path / "s.csv")
    assert list(rows[0]) == ["path", "tags", "split", "truth"]
    assert len(rows) == 250
    for row in rows:
        assert row["tags"] in row["truth"].split("|")
        assert row["split"] == "train"
    about = json.loads((tmp_path / "s.draw.json").read_text())
    assert (about["annotation"], about["draw"], about["seed"], about["shown"]) == ("one_positive", "uniform", 1200, 250)
    assert len(about["source_hash"]) == 32
    assert onetag("simulate", table, "-o", tmp_path / "again.csv", "--with-truth").code == 0
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "s.csv").read_bytes()
    assert onetag("simulate", table, "-o", tmp_path / "other.csv", "--seed", 7).code == 0
    assert [r["tags"] for r in _rows(tmp_path / "other.csv")] != [r["tags"] for r in rows]
    back = package.load(tmp_path / "s.csv")
    assert back.side("train", "all").labels.positives_per_row().tolist() == [1] * 250


def test_the_official_draw_walks_the_rows(onetag: Onetag, table: Path, tmp_path: Path) -> None:
    assert onetag("simulate", table, "--draw", "official", "-o", tmp_path / "s.csv").code == 0
    whole = package.load(table, labels="complete").side("train")
    rng = np.random.RandomState(1200)
    for row, found in enumerate(_rows(tmp_path / "s.csv")):
        dense = whole.truth.select([row]).to_dense()[0]
        positives, negatives = np.flatnonzero(dense == 1), np.flatnonzero(dense == -1)
        rng.shuffle(positives)
        rng.shuffle(negatives)
        assert found["tags"] == whole.classes[positives[0]]


def test_negatives_and_shares(onetag: Onetag, table: Path, tmp_path: Path) -> None:
    regime = "positives:2,negatives:3"
    assert onetag("simulate", table, "--annotation", regime, "-o", tmp_path / "s.csv", "--with-truth").code == 0
    for row in _rows(tmp_path / "s.csv"):
        true = set(row["truth"].split("|"))
        assert set(row["tags"].split("|")) <= true
        assert len(row["tags"].split("|")) == min(2, len(true))
        assert len(row["negatives"].split("|")) == min(3, 12 - len(true))
        assert not set(row["negatives"].split("|")) & true
    assert onetag("simulate", table, "--annotation", "share:0.5", "-o", tmp_path / "h.csv").code == 0
    labels = package.load(tmp_path / "h.csv").side("train", "all").labels
    assert int(labels.class_counts(1).sum() + labels.class_counts(-1).sum()) == 250 * 6


def test_people_name_the_frequent_the_large_and_the_central_first(onetag: Onetag, table: Path, tmp_path: Path) -> None:
    assert onetag("simulate", table, "--draw", "frequent", "-o", tmp_path / "f.csv", "--with-truth").code == 0
    rows = _rows(tmp_path / "f.csv")
    counts = {f"t{c}": sum(f"t{c}" in row["truth"].split("|") for row in rows) for c in range(12)}
    assert all(counts[row["tags"]] == max(counts[tag] for tag in row["truth"].split("|")) for row in rows)
    refused = onetag("simulate", table, "--draw", "largest", "-o", tmp_path / "l.csv")
    assert refused.code == 2
    assert "no boxes" in refused.err


@pytest.mark.parametrize("draw", ["largest", "central"])
def test_objects_decide(draw: str) -> None:
    from onetag.core.labels import LabelTable
    from onetag.core.split import Objects
    from onetag.observe import observe

    truth = LabelTable.from_lists([[0, 1, 2], [0, 2]], 3, rest=-1)
    # Row 0: class 1 is large at the border, class 0 is small in the middle, class 2 has no box. Row 1: class 2 has two objects.
    boxes = [[0, 0, 60, 60], [45, 45, 55, 55], [0, 0, 10, 10], [30, 30, 70, 70], [0, 0, 39, 39]]
    objects = Objects.from_boxes([0, 0, 1, 1, 1], [1, 0, 2, 2, 0], boxes, [[100, 100]] * 5)
    shown = observe(truth, "one_positive", np.array(["a", "b"]), draw, objects=objects)
    assert [shown.positives(row).tolist() for row in range(2)] == [[1 if draw == "largest" else 0], [2]]


def test_mistakes(onetag: Onetag, table: Path, tmp_path: Path) -> None:
    for arguments, code, words in (
        (["-o", tmp_path / "s.tsv"], 2, "*.csv"),
        (["-o", tmp_path / "s.csv", "--annotation", "one_positve"], 2, "did you mean 'one_positive'"),
        (["-o", tmp_path / "s.csv", "--annotation", "share:0.5", "--draw", "frequent"], 2, "drawn uniformly"),
    ):
        answer = onetag("simulate", table, *arguments)
        assert answer.code == code
        assert words in answer.err


def test_names_with_commas_and_bars_survive(onetag: Onetag, tmp_path: Path) -> None:
    (tmp_path / "classes.txt").write_text("a|b\nlight, red\nplain\n")
    (tmp_path / "all.jsonl").write_text(
        "\n".join(json.dumps({"path": f"{i}.jpg", "tags": ["light, red", ["a|b", "plain"][i % 2]]}) for i in range(6))
        + "\n"
    )
    answer = onetag("simulate", tmp_path / "all.jsonl", "-o", tmp_path / "s" / "s.csv", "--with-truth")
    assert answer.code == 0
    assert "--separator ';'" in answer.err
    back = package.load(tmp_path / "s" / "s.csv", separator=";").only()
    assert set(back.classes) <= {"a|b", "light, red", "plain"}
    assert back.labels.positives_per_row().tolist() == [1] * 6
    assert back.truth is not None
    assert back.truth.positives_per_row().tolist() == [2] * 6
