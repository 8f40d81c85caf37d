"""Pascal VOC devkit: the official lists of the classification task (ImageSets/Main/<class>_<side>.txt), or the XML annotations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onetag.core.errors import UsageError, nearest
from onetag.core.labels import REST_NEGATIVE, REST_UNKNOWN, LabelTable
from onetag.core.reading import DataError, Reader, ReadOptions, is_complete
from onetag.core.split import Data, Split
from onetag.readers._lines import lines_of
from onetag.readers._paths import refuse_outside
from onetag.readers._sides import ORDER, echo, known_split
from onetag.readers._voc_xml import boxes_of, tree_of

__all__ = ["Voc"]

CLASSES = (
    "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog",
    "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor",
)  # fmt: skip
_DIFFICULT = {"unknown": 0, "positive": 1, "negative": -1}


class Voc(Reader):
    """Takes VOCdevkit, VOCdevkit/VOC2012 or one of its like; pictures are sorted by id.

    A class whose objects in a picture are all marked difficult is what `difficult` says: negative unless told otherwise, as in
    the literature.
    """

    priority = 20
    complete = True

    def recognises(self, path: Path) -> bool:
        return path.is_dir() and bool(_years(path))

    def read(self, path: Path, options: ReadOptions) -> Data:
        years = _years(path) if path.is_dir() else []
        if len(years) != 1:
            what = (
                "several years: " + ", ".join(y.name for y in years) + "; name one"
                if years
                else "no ImageSets/Main or Annotations"
            )
            raise DataError(path, f"holds {what}; a folder such as VOCdevkit/VOC2012 is expected")
        if options.difficult is not None and options.difficult not in _DIFFICULT:
            raise UsageError(f"difficult is {options.difficult!r}; {nearest(options.difficult, _DIFFICULT)}")
        root, value = years[0], _DIFFICULT[options.difficult or "negative"]
        found, how = _from_lists(root, value), "official lists"
        if not found:
            found, how = _from_xml(root, value), "XML annotations"
        if not found:
            raise DataError(root, "has neither lists such as ImageSets/Main/cat_train.txt nor Annotations/*.xml")
        complete = is_complete(options, self.complete)
        folder = options.images or root / "JPEGImages"
        splits: dict[str, Split] = {}
        for side, (ids, classes, dense) in found.items():
            refuse_outside(root, ids, None)
            paths = np.array([str(folder / f"{name}.jpg") for name in ids], dtype=np.str_)
            split = known_split(np.array(ids, dtype=np.str_), classes, _table(dense), complete, paths)
            splits[side] = replace(split, objects=boxes_of(root / "Annotations", ids, classes))
        said = [how, f"difficult = {options.difficult or 'negative'}"]
        return Data(splits, echo("Pascal VOC", said, splits, complete), path, complete)


Side = tuple[list[str], tuple[str, ...], NDArray[np.int8]]


def _years(path: Path) -> list[Path]:
    def is_year(folder: Path) -> bool:
        return (folder / "ImageSets" / "Main").is_dir() or (
            (folder / "Annotations").is_dir() and (folder / "JPEGImages").is_dir()
        )

    if is_year(path):
        return [path]
    inner = path / "VOCdevkit" if (path / "VOCdevkit").is_dir() else path
    return sorted(folder for folder in inner.glob("VOC*") if is_year(folder))


def _table(dense: NDArray[np.int8]) -> LabelTable:
    """Completely known rows leave their negatives to the rest."""
    return LabelTable.from_dense(dense, np.where((dense == 0).any(axis=1), REST_UNKNOWN, REST_NEGATIVE))


def _from_lists(root: Path, difficult: int) -> dict[str, Side]:
    """Lines such as `2008_000008  1`: 1 positive, -1 negative, 0 difficult."""
    found: dict[str, Side] = {}
    for side in ORDER[:3]:
        files = {
            file.stem.removesuffix(f"_{side}"): file
            for file in sorted((root / "ImageSets" / "Main").glob(f"*_{side}.txt"))
        }
        if not files:
            continue
        columns = {name: _list(file) for name, file in files.items()}
        classes = tuple(sorted(columns))
        ids = sorted(columns[classes[0]])
        for name in classes:
            odd = columns[name].keys() ^ columns[classes[0]].keys()
            if odd:
                raise DataError(
                    files[name],
                    f"does not list the same pictures as {files[classes[0]].name}; {min(odd)!r} is in one of them only",
                )
        dense = np.array([[columns[name][picture] for name in classes] for picture in ids], np.int8).reshape(
            len(ids), -1
        )
        if ids:
            found[side] = ids, classes, np.where(dense == 0, np.int8(difficult), dense)
    if len({side[1] for side in found.values()}) > 1:
        raise DataError(root / "ImageSets" / "Main", "has lists of different classes for different sides")
    return found


def _list(file: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for row, line in enumerate(lines_of(file), 1):
        parts = line.split()
        if len(parts) != 2 or parts[1] not in ("1", "0", "-1"):
            raise DataError(file, f"{line[:60]!r} is not a picture and 1, 0 or -1", row)
        if found.setdefault(parts[0], int(parts[1])) != int(parts[1]):
            raise DataError(file, f"{parts[0]!r} is listed twice, as {found[parts[0]]} and as {parts[1]}", row)
    return found


def _from_xml(root: Path, difficult: int) -> dict[str, Side]:
    """Pictures by ImageSets/Main/{train,val,test}.txt; all annotations as one side where there are no such lists."""
    lists = {side: root / "ImageSets" / "Main" / f"{side}.txt" for side in ORDER[:3]}
    named = {
        side: sorted({line.split()[0] for line in lines_of(file) if line.strip()})
        for side, file in lists.items()
        if file.is_file()
    }
    folder = root / "Annotations"
    if not any(named.values()):
        named = {"all": sorted(file.stem for file in folder.glob("*.xml"))}
    for side, names in named.items():
        refuse_outside(lists.get(side, folder), names, None)
    read = {side: [_objects(folder / f"{name}.xml") for name in names] for side, names in named.items() if names}
    met = {name for side in read.values() for objects in side for name in objects}
    classes = CLASSES if met <= set(CLASSES) else tuple(sorted(met))
    if not met:
        return {}
    place = {name: code for code, name in enumerate(classes)}
    found: dict[str, Side] = {}
    for side, objects in read.items():
        dense = np.full((len(objects), len(classes)), -1, np.int8)
        for row, mine in enumerate(objects):
            for name, is_difficult in mine.items():
                dense[row, place[name]] = difficult if is_difficult else 1
        found[side] = named[side], classes, dense
    return found


def _objects(file: Path) -> dict[str, bool]:
    """The classes of a picture, and whether all objects of the class are difficult."""
    found: dict[str, bool] = {}
    for item in tree_of(file).findall("object"):
        name = (item.findtext("name") or "").strip()
        marked = (item.findtext("difficult") or "0").strip()
        if not name or marked not in ("0", "1"):
            raise DataError(file, "an object without a name, or with `difficult` that is neither 0 nor 1")
        found[name] = found.get(name, True) and marked == "1"
    return found
