"""Boxes of COCO and VOC reach the draws `largest` and `central`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import onetag
from onetag.core.split import Objects
from onetag.observe import observe


def _shown(folder: Path, draw: str) -> list[str]:
    split = onetag.load(folder).side("train")
    assert split is not None
    assert split.truth is not None
    table = observe(split.truth, "one_positive", split.ids, draw, objects=split.objects)
    return [split.classes[int(table.positives(row)[0])] for row in range(len(split))]


def test_coco(tmp_path: Path) -> None:
    (tmp_path / "annotations").mkdir()
    images = [{"id": 1, "file_name": "1.jpg", "width": 100, "height": 50}]
    found = [
        {"image_id": 1, "category_id": 1, "bbox": [0, 0, 60, 50]},
        {"image_id": 1, "category_id": 2, "bbox": [45, 20, 10, 10]},
    ]
    content = {
        "images": images,
        "annotations": found,
        "categories": [{"id": 1, "name": "sofa"}, {"id": 2, "name": "cat"}],
    }
    path = tmp_path / "annotations" / "instances_train2014.json"
    path.write_text(json.dumps(content))
    assert _shown(tmp_path, "largest") == ["sofa"]
    assert _shown(tmp_path, "central") == ["cat"]
    del found[0]["bbox"]
    path.write_text(json.dumps(content))
    with pytest.raises(onetag.core.errors.UsageError, match="no boxes"):
        _shown(tmp_path, "largest")


def test_voc(tmp_path: Path) -> None:
    for name in ("cat", "sofa"):
        (tmp_path / "ImageSets" / "Main").mkdir(parents=True, exist_ok=True)
        (tmp_path / "ImageSets" / "Main" / f"{name}_train.txt").write_text("2008_000008  1\n")
    (tmp_path / "Annotations").mkdir()
    box = (
        "<object><name>{}</name><bndbox><xmin>{}</xmin><ymin>{}</ymin><xmax>{}</xmax><ymax>{}</ymax></bndbox></object>"
    )
    objects = box.format("sofa", 1, 1, 60, 50) + box.format("cat", 45, 20, 55, 30)
    size = "<size><width>100</width><height>50</height></size>"
    (tmp_path / "Annotations" / "2008_000008.xml").write_text(f"<annotation>{size}{objects}</annotation>")
    assert _shown(tmp_path, "largest") == ["sofa"]
    assert _shown(tmp_path, "central") == ["cat"]


def test_objects_follow_their_samples() -> None:
    objects = Objects.from_boxes([2, 0, 2, 1], [0, 1, 2, 3], [[0, 0, 2, 2]] * 4, [[4, 4]] * 4)
    chosen = objects.select(np.array([2, 1, 2]))
    assert chosen.rows.tolist() == [0, 0, 1, 2, 2]
    assert chosen.classes.tolist() == [0, 2, 3, 0, 2]
    assert np.allclose(chosen.area, 0.25)
    assert objects.rename_classes([-1, 0, 1, -1]).rows.tolist() == [0, 2]
