"""`labels.toml`: names merged, left out, ordered; nothing inverted, lost or invented."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import onetag
from onetag.core.errors import OnetagError

_ROWS = "path,tags,negatives\na.jpg,Cat|dog,\nb.jpg,kitty,misc\nc.jpg,,Cat|kitty\nd.jpg,,Cat\n"


def _load(folder: Path, labels: str, **options: str) -> onetag.core.split.Data:
    (folder / "tags.csv").write_text(_ROWS)
    (folder / "labels.toml").write_text(labels)
    return onetag.load(folder / "tags.csv", **options)


def test_names_are_merged_left_out_and_ordered(tmp_path: Path) -> None:
    data = _load(tmp_path, 'order = ["dog"]\nleave_out = ["misc"]\n[aliases]\ncat = ["Cat", "kitty"]\n')
    split = data.only()
    assert split.classes == ("dog", "cat")
    assert split.labels.to_dense().tolist() == [[1, 1], [0, 1], [0, -1], [0, 0]], (
        "absent only where all of its names are"
    )
    assert any("4 classes became 2 (1 merged, 1 left out)" in note for note in data.notes)


def test_complete_rows_stay_complete(tmp_path: Path) -> None:
    (tmp_path / "tags.csv").write_text("path,tags\na.jpg,Cat\nb.jpg,dog\n")
    (tmp_path / "labels.toml").write_text('[aliases]\ncat = ["Cat"]\n')
    split = onetag.load(tmp_path / "tags.csv", labels="complete").only()
    assert split.classes == ("cat", "dog")
    assert split.truth is not None
    assert split.truth.to_dense().tolist() == [[1, -1], [-1, 1]]


def test_a_folder_has_its_own(tmp_path: Path) -> None:
    for name in ("Cat", "cat"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.jpg").write_bytes(name.encode())
    (tmp_path / "labels.toml").write_text('[aliases]\ncat = ["Cat"]\n')
    split = onetag.load(tmp_path).only()
    assert split.classes == ("cat",)
    assert split.labels.to_dense().tolist() == [[1], [1]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("alias = 1", "did you mean 'aliases'"),
        ("leave_out = 'misc'", "is a list of names"),
        ("leave_out = ['mics']", "did you mean 'misc'"),
        ("[aliases]\ncat = ['Catt']", "did you mean 'Cat'"),
        ("order = ['dgo']", "did you mean 'dog'"),
        ("order = ['dog', 'dog']", "names 'dog' twice"),
        ("[aliases]\na = ['Cat']\nb = ['Cat']", "keep one"),
        ("[aliases]\na = ['kitty']\nb = ['a']\nc = ['b']", "is itself an alias"),
        ("x = ", "cannot be read as TOML"),
        ("[aliases]\nmisc = ['kitty']", "both positive and negative"),
    ],
)
def test_mistakes_are_answered(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(OnetagError, match=words) as error:
        _load(tmp_path, text)
    assert "labels.toml" in str(error.value)


def test_weights_and_objects_follow(tmp_path: Path) -> None:
    from onetag.core.labels import LabelTable
    from onetag.core.split import Data, Objects, Split
    from onetag.core.vocabulary import Vocabulary

    table = LabelTable([0, 2, 3], [0, 1, 2], [1, 1, 1], 3, weights=[0.5, 0.2, 0.7])
    objects = Objects.from_boxes([0, 1], [1, 2], [[0, 0, 10, 10], [0, 0, 5, 5]], [[10, 10], [10, 10]])
    data = Data({"all": Split(np.array(["a", "b"]), ("x", "X", "y"), table, objects=objects)}, "made")
    path = tmp_path / "labels.toml"
    path.write_text('[aliases]\nx = ["X"]\n')
    split = Vocabulary.read(path).apply(data).only()
    assert split.labels.dense_weights().tolist() == [[0.5, 1.0], [1.0, pytest.approx(0.7)]]
    assert split.objects is not None
    assert split.objects.classes.tolist() == [0, 1]
    assert split.objects.area.tolist() == [1.0, 0.25]
