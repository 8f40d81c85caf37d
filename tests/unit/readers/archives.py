"""Small data in the real layouts of official archives, written by the tests themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


def write(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8", newline="")
    return root


COCO: dict[str, Any] = {
    "info": {"year": 2014},
    "images": [
        {"id": 9, "file_name": "COCO_train2014_000000000009.jpg", "height": 480, "width": 640},
        {"id": 25, "file_name": "COCO_train2014_000000000025.jpg", "height": 426, "width": 640},
        {"id": 100, "file_name": "COCO_train2014_000000000100.jpg", "height": 426, "width": 640},
        {"id": 30, "file_name": "COCO_train2014_000000000030.jpg", "height": 426, "width": 640},
    ],
    "annotations": [
        {"id": 1, "image_id": 9, "category_id": 90, "iscrowd": 0, "bbox": [1, 2, 3, 4], "segmentation": [[1.0, 2.0]]},
        {"id": 2, "image_id": 9, "category_id": 90, "iscrowd": 0, "bbox": [1, 2, 3, 4], "segmentation": [[1.0, 2.0]]},
        {"id": 3, "image_id": 100, "category_id": 3, "iscrowd": 1, "segmentation": {"counts": [1, 2], "size": [2, 2]}},
        {"id": 4, "image_id": 25, "category_id": 1, "iscrowd": 0},
        {"id": 5, "image_id": 25, "category_id": 3, "iscrowd": 0},
    ],
    "categories": [
        {"id": 90, "name": "toothbrush", "supercategory": "indoor"},
        {"id": 1, "name": "person", "supercategory": "person"},
        {"id": 3, "name": "car", "supercategory": "vehicle"},
    ],
}


def coco(root: Path) -> Path:
    val = COCO | {
        "images": [{"id": 42, "file_name": "COCO_val2014_000000000042.jpg"}],
        "annotations": [{"id": 6, "image_id": 42, "category_id": 1, "iscrowd": 0}],
    }
    return write(
        root,
        {
            "annotations/instances_train2014.json": json.dumps(COCO),
            "annotations/instances_val2014.json": json.dumps(val),
            "annotations/captions_train2014.json": "{}",
        },
    )


def voc(root: Path) -> Path:
    """Three pictures, three classes; the only cat of the second one is difficult."""
    lists = {
        "aeroplane": {"train": "2008_000008 -1\n2008_000002 -1\n", "val": "2008_000003  1\n"},
        "cat": {"train": "2008_000008 -1\n2008_000002  0\n", "val": "2008_000003 -1\n"},
        "dog": {"train": "2008_000008  1\n2008_000002  1\n", "val": "2008_000003 -1\n"},
    }
    files = {
        f"VOCdevkit/VOC2012/ImageSets/Main/{name}_{side}.txt": text
        for name, sides in lists.items()
        for side, text in sides.items()
    }
    files["VOCdevkit/VOC2012/ImageSets/Main/train.txt"] = "2008_000008\n2008_000002\n"
    files["VOCdevkit/VOC2012/ImageSets/Main/val.txt"] = "2008_000003\n"
    objects = {
        "2008_000002": [("cat", 1), ("dog", 1), ("dog", 0)],
        "2008_000003": [("aeroplane", 0)],
        "2008_000008": [("dog", 0)],
    }
    for name, found in objects.items():
        inner = "".join(
            f"<object><name>{each}</name><difficult>{marked}</difficult><part><name>head</name></part></object>"
            for each, marked in found
        )
        files[f"VOCdevkit/VOC2012/Annotations/{name}.xml"] = (
            f"<annotation><filename>{name}.jpg</filename>{inner}</annotation>"
        )
    return write(root, files)


def cub(root: Path) -> Path:
    rows = [
        (2, 1, 1, 3, "9.1"), (2, 2, 0, 1, "2.2"), (2, 3, 1, 4, "1"), (1, 1, 0, 4, "27.7"), (1, 2, 1, 2, "1.2"),
        (1, 3, 0, 3, "0 1.5"), (3, 1, 0, 1, "0 3 0 2.0"), (3, 2, 0, 1, "1"), (3, 3, 0, 1, "1"),
    ]  # fmt: skip
    return write(
        root,
        {
            "CUB_200_2011/images.txt": "1 001.Albatross/b_0046.jpg\n2 001.Albatross/a_0009.jpg\n3 002.Auk/c_1.jpg\n",
            "CUB_200_2011/train_test_split.txt": "1 0\n2 1\n3 1\n",
            "attributes.txt": "1 has_bill_shape::curved_(up_or_down)\n2 has_bill_shape::dagger\n3 has_wing_color::blue\n",
            "CUB_200_2011/attributes/image_attribute_labels.txt": "".join(
                " ".join(map(str, row)) + "\n" for row in rows
            ),
        },
    )


def nuswide(root: Path) -> Path:
    return write(
        root,
        {
            "ConceptsList/Concepts81.txt": "airport\r\nanimal\r\nbeach\r\n",
            "ImageList/TrainImagelist.txt": "actor\\0001_212.jpg\r\nzebra\\0002_77.jpg\r\nbeach\\0003_5.jpg\r\n",
            "ImageList/TestImagelist.txt": "actor\\0004_9.jpg \r\n",
            "Groundtruth/TrainTestLabels/Labels_airport_Train.txt": "0 \n0 \n0 \n",
            "Groundtruth/TrainTestLabels/Labels_animal_Train.txt": "0\n1\n0\n",
            "Groundtruth/TrainTestLabels/Labels_beach_Train.txt": "0\r\n1\r\n1",
            "Groundtruth/TrainTestLabels/Labels_airport_Test.txt": "1\n",
            "Groundtruth/TrainTestLabels/Labels_animal_Test.txt": "0\n",
            "Groundtruth/TrainTestLabels/Labels_beach_Test.txt": "0\n",
        },
    )


def openimages(root: Path) -> Path:
    return write(
        root,
        {
            "train-annotations-human-imagelabels.csv": (
                "ImageID,Source,LabelName,Confidence\n"
                "000002b66c9c498e,verification,/m/01g317,1\n"
                "000002b66c9c498e,verification,/m/012mj,0\n"
                "00000b4dcff7f799,crowdsource-verification,/m/01g317,0\n"
                "000002b66c9c498e,crowdsource-verification,/m/0284d,1\n"
                "000002b66c9c498e,verification,/m/0284d,0\n"
                "00000b4dcff7f799,machine,/m/012mj,0.7\n"
            ),
            "class-descriptions.csv": '/m/01g317,Person\n/m/012mj,"Alcoholic beverage, strong"\n/m/0284d,Person\n/m/x,Other\n',
        },
    )


def predecessor(root: Path) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    np.save(root / "formatted_train_images.npy", np.array(["b.jpg", "a.jpg"]))
    np.save(root / "formatted_train_labels.npy", np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    np.save(root / "formatted_train_labels_obs.npy", np.array([[1, 0, 0], [0, 1, -1]]))
    np.save(root / "formatted_val_images.npy", np.array(["c.jpg"]))
    np.save(root / "formatted_val_labels.npy", np.array([[0, 0, 1]]))
    return root


def hf(root: Path) -> Path:
    return write(
        root,
        {
            "train/metadata.csv": "file_name,labels\n0001.png,cat|dog\nsub/0002.png,dog\n",
            "validation/metadata.jsonl": '{"file_name": "0003.png", "labels": ["cow"]}\n',
        },
    )
