"""Formats of official archives: order of rows and classes, sides, what is positive, and what is wrong with them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onetag.core.errors import UsageError
from onetag.core.reading import DataError, Reader, ReadOptions
from onetag.core.split import Data
from onetag.readers.coco import Coco
from onetag.readers.cub import Cub
from onetag.readers.hf_imagefolder import HuggingFaceImageFolder
from onetag.readers.nuswide import NusWide
from onetag.readers.openimages import OpenImages
from onetag.readers.predecessor_npy import PredecessorNpy
from onetag.readers.voc import Voc

sys.path.insert(0, str(Path(__file__).parent))
import archives


def read(reader: Reader, path: Path, **options: Any) -> Data:
    assert reader.recognises(path)
    return reader.read(path, ReadOptions(**options))


def dense(data: Data, side: str) -> list[list[int]]:
    rows: list[list[int]] = data.splits[side].labels.to_dense().tolist()
    return rows


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


# ---- COCO


def test_coco_in_the_official_order(tmp_path: Path) -> None:
    data = read(Coco(), archives.coco(tmp_path))
    train = data.splits["train"]
    assert list(data.splits) == ["train", "val"]
    assert train.ids.tolist() == ["100", "25", "9"]  # as text, and only pictures with annotations
    assert train.classes == ("person", "car", "toothbrush")
    assert dense(data, "train") == [[-1, 1, -1], [1, 1, -1], [-1, -1, 1]]
    assert data.complete and train.truth == train.labels
    assert train.paths is not None
    assert train.paths[1] == str(tmp_path / "train2014" / "COCO_train2014_000000000025.jpg")
    assert data.read_as == (
        "read as COCO instances: classes by category id, 4 pictures (train 3, val 1), 3 classes,"
        " 1.25 positives per picture, rest negative"
    )
    assert "1 images of instances_train2014.json have no annotations" in data.notes[0]


def test_coco_by_file_and_partial(tmp_path: Path) -> None:
    archives.coco(tmp_path)
    (tmp_path / "images" / "val2014").mkdir(parents=True)
    data = read(Coco(), tmp_path / "annotations" / "instances_val2014.json", labels="partial")
    assert dense(data, "val") == [[1, 0, 0]]
    assert not data.complete and data.splits["val"].truth is None
    assert data.splits["val"].paths is not None
    assert data.splits["val"].paths[0] == str(tmp_path / "images/val2014/COCO_val2014_000000000042.jpg")
    (tmp_path / "mine.json").write_text(json.dumps(archives.COCO))
    data = read(Coco(), tmp_path / "mine.json", images=tmp_path / "elsewhere")
    assert list(data.splits) == ["all"]
    assert data.only().paths is not None
    assert data.only().paths[0].startswith(str(tmp_path / "elsewhere"))  # type: ignore[index]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"category_id": 3', '"category_id": 4', r"annotations\[2\]: category_id 4 is not among the 3 categories"),
        ('"image_id": 100', '"image_id": 101', r"annotations\[2\]: image_id 101 is not among the 4 images"),
        ('"image_id": 100', '"image_id": [100]', r"annotations\[2\] has no 'image_id' that is a number or text"),
        ('"categories"', '"kinds"', "has no list 'categories'"),
        ('"id": 30', '"id": 25', r"images\[3\]: the id 25 is given to two pictures"),
        ('"name": "car"', '"name": "person"', r"categories\[2\]: the id 3 or the name 'person' is given twice"),
        ("COCO_train2014_000000000009.jpg", "../../x.jpg", "no path inside the folder"),
        ('{"info"', '{"info', "is not JSON"),
    ],
)
def test_coco_that_is_broken(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = archives.coco(tmp_path) / "annotations" / "instances_train2014.json"
    change(path, old, new)
    with pytest.raises(DataError, match=said):
        read(Coco(), path)


def test_coco_of_two_years(tmp_path: Path) -> None:
    root = archives.coco(tmp_path)
    (root / "annotations/instances_train2017.json").write_text(json.dumps(archives.COCO))
    with pytest.raises(DataError, match=r"instances_train2014.json and instances_train2017.json"):
        read(Coco(), root)


# ---- Pascal VOC


@pytest.mark.parametrize("place", ["", "VOCdevkit", "VOCdevkit/VOC2012"])
def test_voc_lists(tmp_path: Path, place: str) -> None:
    data = read(Voc(), archives.voc(tmp_path) / place)
    train = data.splits["train"]
    assert list(data.splits) == ["train", "val"]
    assert train.ids.tolist() == ["2008_000002", "2008_000008"]
    assert train.classes == ("aeroplane", "cat", "dog")
    assert dense(data, "train") == [[-1, -1, 1], [-1, -1, 1]]
    assert dense(data, "val") == [[1, -1, -1]]
    assert data.complete and train.truth is not None and train.truth.is_complete
    assert train.paths is not None
    assert train.paths[0] == str(tmp_path / "VOCdevkit/VOC2012/JPEGImages/2008_000002.jpg")
    assert "official lists, difficult = negative" in data.read_as


@pytest.mark.parametrize(("difficult", "cat"), [("unknown", 0), ("positive", 1), ("negative", -1)])
@pytest.mark.parametrize("form", ["lists", "xml"])
def test_voc_difficult_objects(tmp_path: Path, difficult: str, cat: int, form: str) -> None:
    root = archives.voc(tmp_path)
    if form == "xml":
        for file in (root / "VOCdevkit/VOC2012/ImageSets/Main").glob("*_*.txt"):
            file.unlink()
    data = read(Voc(), root, difficult=difficult)
    cats = {
        str(n): int(v)
        for n, v in zip(
            data.splits["train"].ids, np.array(dense(data, "train"))[:, data.classes.index("cat")], strict=True
        )
    }
    assert cats == {"2008_000002": cat, "2008_000008": -1}
    assert len(data.classes) == (3 if form == "lists" else 20)
    assert data.splits["train"].labels.positives_per_row().tolist() == [1 + (cat == 1), 1]


def test_voc_annotations_without_lists(tmp_path: Path) -> None:
    root = archives.voc(tmp_path) / "VOCdevkit/VOC2012"
    for file in (root / "ImageSets/Main").glob("*.txt"):
        file.unlink()
    data = read(Voc(), root)
    assert data.only().ids.tolist() == ["2008_000002", "2008_000003", "2008_000008"]
    change(root / "Annotations/2008_000002.xml", "<name>dog", "<name>wombat")
    assert read(Voc(), root).classes == ("aeroplane", "cat", "dog", "wombat")


def test_voc_that_is_broken(tmp_path: Path) -> None:
    root = archives.voc(tmp_path)
    with pytest.raises(UsageError, match="did you mean 'unknown'"):
        read(Voc(), root, difficult="unknow")
    lists = root / "VOCdevkit/VOC2012/ImageSets/Main"
    change(lists / "dog_train.txt", "2008_000002  1", "2008_000002  2")
    with pytest.raises(DataError, match=r"dog_train.txt, row 2: '2008_000002  2' is not a picture and 1, 0 or -1"):
        read(Voc(), root)
    change(lists / "dog_train.txt", "2008_000002  2", "2008_000009  1")
    with pytest.raises(
        DataError, match=r"dog_train.txt: does not list the same pictures as aeroplane_train.txt; '2008_000002'"
    ):
        read(Voc(), root)
    for file in lists.glob("*_*.txt"):
        file.unlink()
    change(root / "VOCdevkit/VOC2012/Annotations/2008_000003.xml", "</annotation>", "")
    with pytest.raises(DataError, match=r"2008_000003.xml, row 1: is not XML"):
        read(Voc(), root)
    (root / "VOCdevkit/VOC2007/ImageSets/Main").mkdir(parents=True)
    with pytest.raises(DataError, match="several years: VOC2007, VOC2012"):
        read(Voc(), root)


# ---- CUB


@pytest.mark.parametrize("place", ["", "CUB_200_2011"])
def test_cub(tmp_path: Path, place: str) -> None:
    data = read(Cub(), archives.cub(tmp_path) / place)
    assert data.splits["train"].ids.tolist() == ["001.Albatross/a_0009.jpg", "002.Auk/c_1.jpg"]
    assert dense(data, "train") == [[1, -1, 1], [-1, -1, -1]]
    assert dense(data, "test") == [[-1, 1, -1]]
    assert data.classes == ("has_bill_shape::curved_(up_or_down)", "has_bill_shape::dagger", "has_wing_color::blue")
    assert data.complete and data.splits["train"].labels.is_complete
    assert data.splits["train"].paths is not None
    assert data.splits["train"].paths[0] == str(tmp_path / "CUB_200_2011/images/001.Albatross/a_0009.jpg")


def test_cub_certainty(tmp_path: Path) -> None:
    data = read(Cub(), archives.cub(tmp_path), certainty=3)
    assert dense(data, "train") == [[1, 0, 1], [0, 0, 0]]
    assert dense(data, "test") == [[-1, 0, -1]]
    with pytest.raises(UsageError, match="certainty is 5"):
        read(Cub(), tmp_path, certainty=5)


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("attributes/image_attribute_labels.txt", "1 2 1 2", "1 9 1 2", r"row 5: the attribute 9 is not in the list"),
        ("attributes/image_attribute_labels.txt", "1 2 1 2", "8 2 1 2", r"row 5: the picture 8 is not in the list"),
        ("attributes/image_attribute_labels.txt", "1 2 1 2", "1 2 7 2", r"row 5: present is 7"),
        ("attributes/image_attribute_labels.txt", "1 2 1 2", "1 2 x 2", r"cannot be read as rows of .* at row 4"),
        ("images.txt", "2 001.Albatross/a_0009.jpg", "2", r"images.txt, row 2: '2' is not an id and a path"),
        ("images.txt", "001.Albatross/a_0009.jpg", "../a.jpg", r"images.txt, row 2: '../a.jpg' is no path inside"),
        ("images.txt", "2 001", "x 001", r"cannot be read"),
        ("train_test_split.txt", "2 1", "2 7", r"images.txt, row 2: this picture has no 1 \(train\) or 0 \(test\)"),
    ],
)
def test_cub_that_is_broken(tmp_path: Path, file: str, old: str, new: str, said: str) -> None:
    root = archives.cub(tmp_path)
    change(root / "CUB_200_2011" / file, old, new)
    with pytest.raises(DataError, match=said):
        read(Cub(), root)


# ---- NUS-WIDE


def test_nuswide(tmp_path: Path) -> None:
    data = read(NusWide(), archives.nuswide(tmp_path))
    assert data.splits["train"].ids.tolist() == ["actor/0001_212.jpg", "zebra/0002_77.jpg", "beach/0003_5.jpg"]
    assert data.splits["test"].ids.tolist() == ["actor/0004_9.jpg"]
    assert dense(data, "train") == [[-1, -1, -1], [-1, 1, 1], [-1, -1, 1]]
    assert data.complete and data.classes == ("airport", "animal", "beach")
    assert data.splits["train"].paths is not None
    assert data.splits["train"].paths[0] == str(tmp_path / "Flickr/actor/0001_212.jpg")


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("Groundtruth/TrainTestLabels/Labels_animal_Train.txt", "1", "2", r"Labels_animal_Train.txt, row 2: 1 or 0"),
        ("Groundtruth/TrainTestLabels/Labels_animal_Train.txt", "1\n", "", r"has 2 rows for the 3 pictures"),
        ("Groundtruth/TrainTestLabels/Labels_animal_Train.txt", "1\n", "11\n", r"Labels_animal_Train.txt, row 2"),
        ("ImageList/TrainImagelist.txt", "zebra", "..\\..", r"TrainImagelist.txt, row 2: .* no path inside"),
        ("ConceptsList/Concepts81.txt", "airport", "airprot", r"Labels_airprot_Train.txt is missing"),
        ("ConceptsList/Concepts81.txt", "airport", "animal", r"names no concept, or one twice"),
    ],
)
def test_nuswide_that_is_broken(tmp_path: Path, file: str, old: str, new: str, said: str) -> None:
    root = archives.nuswide(tmp_path)
    change(root / file, old, new)
    with pytest.raises(DataError, match=said):
        read(NusWide(), root)


# ---- Open Images


@pytest.mark.parametrize("place", ["", "train-annotations-human-imagelabels.csv"])
def test_openimages(tmp_path: Path, place: str) -> None:
    data = read(OpenImages(), archives.openimages(tmp_path) / place)
    split = data.splits["train"]
    assert split.classes == ("Alcoholic beverage, strong", "Person (/m/01g317)", "Person (/m/0284d)")
    assert split.ids.tolist() == ["000002b66c9c498e", "00000b4dcff7f799"]
    assert dense(data, "train") == [[-1, 1, 0], [0, -1, 0]]
    assert not data.complete
    assert split.paths is not None
    assert split.paths[0] == str(tmp_path / "000002b66c9c498e.jpg")
    assert any("1 label of train-annotations-human-imagelabels.csv answered both ways" in note for note in data.notes)
    assert any("1 label of machines" in note for note in data.notes)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("/m/012mj,0\n", "/m/012mj,yes\n", r"row 3: the Confidence 'yes' is no number"),
        ("/m/012mj,0\n", ",0\n", r"row 3: no LabelName"),
        ("00000b4dcff7f799,crowd", ",crowd", r"row 4: no path"),
        ("LabelName", "Label", r"row 1: no column 'LabelName'"),
        ("/m/012mj,0\n", "/m/012mj\n", r"row 3: 3 cells"),
    ],
)
def test_openimages_that_is_broken(tmp_path: Path, old: str, new: str, said: str) -> None:
    root = archives.openimages(tmp_path)
    change(root / "train-annotations-human-imagelabels.csv", old, new)
    with pytest.raises(DataError, match=said):
        read(OpenImages(), root)


# ---- the predecessor's arrays


def test_predecessor(tmp_path: Path) -> None:
    data = read(PredecessorNpy(), archives.predecessor(tmp_path))
    train = data.splits["train"]
    assert train.ids.tolist() == ["b.jpg", "a.jpg"]
    assert dense(data, "train") == [[1, 0, 0], [0, 1, -1]]
    assert train.truth is not None
    assert train.truth.to_dense().tolist() == [[1, -1, 1], [-1, 1, -1]]
    assert dense(data, "val") == [[-1, -1, 1]]
    assert not data.complete
    assert data.classes == ("class 0", "class 1", "class 2")


def test_predecessor_with_complete_labels(tmp_path: Path) -> None:
    archives.predecessor(tmp_path)
    (tmp_path / "classes.txt").write_text("ant\nbee\ncow\n")
    data = read(PredecessorNpy(), tmp_path, labels="complete")
    assert data.complete and data.classes == ("ant", "bee", "cow")
    assert dense(data, "train") == [[1, -1, 1], [-1, 1, -1]]
    (tmp_path / "formatted_train_labels_obs.npy").unlink()
    (tmp_path / "formatted_train_images.npy").unlink()
    data = read(PredecessorNpy(), tmp_path)
    assert data.complete and data.splits["train"].ids.tolist() == ["train 1", "train 2"]
    assert dense(read(PredecessorNpy(), tmp_path, labels="partial"), "val") == [[0, 0, 1]]


@pytest.mark.parametrize(
    ("name", "array", "said"),
    [
        ("labels", np.array([[1, 0, 2], [0, 0, 0]]), r"row 1: class 3 is 2; one of 0, 1 is expected"),
        ("labels", np.array([[1, 0, np.nan], [0, 0, 0]]), r"row 1: class 3 is nan"),
        ("labels_obs", np.array([[1, 0, -2], [0, 0, 0]]), r"row 1: class 3 is -2; one of -1, 0, 1"),
        ("labels_obs", np.array([[1, 0], [0, 0]]), r"has the shape \(2, 2\)"),
        ("images", np.array(["a.jpg"]), "has 1 names for the 2 rows"),
        ("images", np.array([1, 2]), "one name per picture is expected"),
        ("images", np.array(["a.jpg", "../b.jpg"]), r"row 2: '../b.jpg' is no path inside"),
        ("images", np.array(["a.jpg", "b.jpg"], dtype=object), "cannot be read as a NumPy array"),
    ],
)
def test_predecessor_that_is_broken(tmp_path: Path, name: str, array: np.ndarray, said: str) -> None:
    archives.predecessor(tmp_path)
    np.save(tmp_path / f"formatted_train_{name}.npy", array)
    with pytest.raises(DataError, match=said):
        read(PredecessorNpy(), tmp_path)


# ---- Hugging Face imagefolder


def test_hf_sides_with_metadata_of_their_own(tmp_path: Path) -> None:
    data = read(HuggingFaceImageFolder(), archives.hf(tmp_path))
    assert list(data.splits) == ["train", "val"]
    assert data.splits["train"].ids.tolist() == ["train/0001.png", "train/sub/0002.png"]
    assert data.splits["train"].paths is not None
    assert data.splits["train"].paths[1] == str(tmp_path / "train/sub/0002.png")
    assert data.splits["val"].ids.tolist() == ["validation/0003.png"]
    assert data.classes == ("cat", "cow", "dog")
    assert data.read_as.startswith(
        "read as Hugging Face imagefolder: path=file_name, tags=labels, separator |, 3 pictures (train 2, val 1)"
    )


def test_hf_one_metadata_file(tmp_path: Path) -> None:
    archives.write(tmp_path, {"metadata.csv": "file_name,text,label\na.png,hello,cat\nb.png,there,dog\n"})
    assert list(read(HuggingFaceImageFolder(), tmp_path).splits) == ["all"]
    archives.write(tmp_path, {"metadata.csv": "file_name,label\ntrain/a.png,cat\ntest/b.png,dog\n"})
    data = read(HuggingFaceImageFolder(), tmp_path)
    assert list(data.splits) == ["train", "test"]
    assert "2 pictures (train 1, test 1)" in data.read_as
    assert data.splits["test"].paths is not None
    assert data.splits["test"].paths.tolist() == [str(tmp_path / "test/b.png")]


def test_hf_that_is_broken(tmp_path: Path) -> None:
    archives.write(tmp_path, {"metadata.csv": "file_name,text\na.png,hello\n"})
    with pytest.raises(DataError, match=r"metadata.csv, row 2: no column of tags"):
        read(HuggingFaceImageFolder(), tmp_path)
    archives.write(tmp_path, {"metadata.csv": "file,label\na.png,hello\n"})
    with pytest.raises(DataError, match=r"no column 'file_name' .* did you mean 'file'"):
        read(HuggingFaceImageFolder(), tmp_path)


# ---- who is asked first


@pytest.mark.parametrize("name", ["coco", "voc", "cub", "nuswide", "openimages", "predecessor", "hf"])
def test_each_format_is_recognised_by_its_own_reader(tmp_path: Path, name: str) -> None:
    from onetag import catalog, loading

    path = getattr(archives, name)(tmp_path)
    readers = [(entry.name, entry.load()()) for entry in catalog.entries("readers")]
    asked = sorted(readers, key=lambda pair: pair[1].priority)
    first = next(each for each, reader in asked if reader.recognises(path))
    assert first == {"predecessor": "predecessor_npy", "hf": "hf_imagefolder"}.get(name, name)
    assert loading.load(path).splits
