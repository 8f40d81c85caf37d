"""COCO instances JSON, or the folder of one: every annotation counts, iscrowd too; classes by category id, pictures by id as text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onetag.core.labels import REST_NEGATIVE
from onetag.core.reading import DataError, Reader, ReadOptions, is_complete
from onetag.core.split import Data, Objects, Split
from onetag.readers._paths import refuse_outside
from onetag.readers._sides import ORDER, echo, known_split, side_of, table_of

__all__ = ["Coco"]

_LARGE = ("segmentation", "area", "license", "coco_url", "flickr_url", "date_captured")


class Coco(Reader):
    """Samples are named by `str(image_id)`; only pictures with annotations count, as in the official lists. Pictures may be absent."""

    priority = 20
    complete = True

    def recognises(self, path: Path) -> bool:
        if path.is_dir():
            return bool(_files(path))
        return path.suffix.casefold() == ".json" and _looks_like_coco(path)

    def read(self, path: Path, options: ReadOptions) -> Data:
        files = _files(path) if path.is_dir() else [path]
        if not files:
            raise DataError(path, "holds no annotations/instances_*.json")
        complete = is_complete(options, self.complete)
        splits: dict[str, Split] = {}
        notes: list[str] = []
        for file in files:
            side = _side(file)
            if side in splits:
                names = " and ".join(other.name for other in files if _side(other) == side)
                raise DataError(
                    path,
                    f"holds several files of the side {side!r} ({names}); name the file that is meant, or keep one of them",
                )
            splits[side] = _read(file, options.images, complete, notes)
        classes = {split.classes for split in splits.values()}
        if len(classes) > 1:
            raise DataError(path, f"its files {', '.join(file.name for file in files)} have different categories")
        splits = {name: splits[name] for name in ORDER if name in splits}
        return Data(
            splits,
            echo("COCO instances", ["classes by category id"], splits, complete),
            path,
            complete,
            (),
            tuple(notes),
        )


def _files(folder: Path) -> list[Path]:
    inner = folder / "annotations"
    return sorted(inner.glob("instances_*.json")) or sorted(folder.glob("instances_*.json"))


def _looks_like_coco(path: Path) -> bool:
    """By its name, or by the keys that such a file has somewhere in its beginning or end."""
    if path.name.startswith("instances_"):
        return True
    try:
        with path.open("rb") as file:
            head = file.read(1 << 16)
            file.seek(max(0, path.stat().st_size - (1 << 16)))
            text = head + file.read()
    except OSError:
        return False
    return any(key in text for key in (b'"annotations"', b'"categories"', b'"category_id"'))


def _side(file: Path) -> str:
    """`instances_val2014.json` is val."""
    name = file.stem.removeprefix("instances_").rstrip("0123456789_-")
    return side_of(name) or "all"


def _slim(item: dict[str, Any]) -> dict[str, Any]:
    """Polygons are nine tenths of the file; they go before they add up in memory."""
    for key in _LARGE:
        item.pop(key, None)
    return item


def _read(path: Path, images: Path | None, complete: bool, notes: list[str]) -> Split:
    try:
        with path.open(encoding="utf-8-sig") as file:
            content = json.load(file, object_hook=_slim)
    except (ValueError, RecursionError) as error:
        raise DataError(path, f"is not JSON ({error}); a file such as instances_train2014.json is expected") from error
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror})") from error
    categories = _list(path, content, "categories", ("id", "name"))
    pictures = _list(path, content, "images", ("id", "file_name"))
    annotations = _list(path, content, "annotations", ("image_id", "category_id"))
    order = _category_order(path, categories)
    files: dict[str, str] = {}
    for at, item in enumerate(pictures):
        name = str(item["id"])
        if files.setdefault(name, str(item["file_name"])) != str(item["file_name"]):
            raise DataError(path, f"images[{at}]: the id {name} is given to two pictures; ids must differ")
    for at, item in enumerate(annotations):
        if str(item["image_id"]) not in files:
            raise DataError(
                path, f"annotations[{at}]: image_id {item['image_id']} is not among the {len(files):,} images"
            )
        if item["category_id"] not in order:
            raise DataError(
                path, f"annotations[{at}]: category_id {item['category_id']} is not among the {len(order)} categories"
            )
    ids = sorted({str(item["image_id"]) for item in annotations})
    if not ids:
        raise DataError(path, "has no annotations; only pictures with annotations are read")
    if len(ids) < len(files):
        notes.append(
            f"{len(files) - len(ids):,} images of {path.name} have no annotations and were left out, as in the official lists"
        )
    place = {name: row for row, name in enumerate(ids)}
    cells = np.unique(
        np.array([place[str(a["image_id"])] * len(order) + order[a["category_id"]] for a in annotations], np.int64)
    )
    rows, codes = cells // len(order), (cells % len(order)).astype(np.int32)
    table = table_of(rows, codes, np.ones(len(cells), np.int8), len(ids), len(order), REST_NEGATIVE)
    refuse_outside(path, (files[name] for name in ids), None)
    folder = images or _pictures(path)
    paths: NDArray[np.str_] = np.array([str(folder / files[name]) for name in ids], dtype=np.str_)
    names = {order[item["id"]]: str(item["name"]) for item in categories}
    classes = tuple(names[code] for code in range(len(order)))
    split = known_split(np.array(ids, dtype=np.str_), classes, table, complete, paths)
    return replace(split, objects=_objects(annotations, pictures, place, order))


def _objects(
    annotations: list[dict[str, Any]], pictures: list[dict[str, Any]], place: dict[str, int], order: dict[Any, int]
) -> Objects | None:
    """Where things are; none unless every annotation has a box and every picture a size."""
    sizes: dict[str, Any] = {str(item["id"]): (item.get("width"), item.get("height")) for item in pictures}
    boxes: list[tuple[float, ...]] = []
    spans: list[tuple[float, ...]] = []
    rows: list[int] = []
    for item in annotations:
        box, size = item.get("bbox"), sizes[str(item["image_id"])]
        if not isinstance(box, list) or len(box) != 4 or not all(_is_number(value) for value in (*box, *size)):
            return None
        boxes.append((box[0], box[1], box[0] + box[2], box[1] + box[3]))
        spans.append(size)
        rows.append(place[str(item["image_id"])])
    return Objects.from_boxes(rows, [order[item["category_id"]] for item in annotations], boxes, spans)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


def _list(path: Path, content: Any, key: str, needs: tuple[str, str]) -> list[dict[str, Any]]:
    """A list of objects with the keys it needs; ids are numbers or text."""
    found = content.get(key) if isinstance(content, dict) else None
    if not isinstance(found, list):
        raise DataError(path, f"has no list {key!r}; a COCO file holds images, annotations and categories")
    for at, item in enumerate(found):
        for need in needs:
            if not isinstance(item, dict) or not isinstance(item.get(need), str | int):
                raise DataError(path, f"{key}[{at}] has no {need!r} that is a number or text")
    return found


def _category_order(path: Path, categories: list[dict[str, Any]]) -> dict[Any, int]:
    """The place of each category: ascending id."""
    ids = [item["id"] for item in categories]
    names = [item["name"] for item in categories]
    for at in range(len(ids)):
        if ids[at] in ids[:at] or names[at] in names[:at]:
            raise DataError(path, f"categories[{at}]: the id {ids[at]!r} or the name {names[at]!r} is given twice")
    if not ids:
        raise DataError(path, "has no categories")
    if len({isinstance(i, str) for i in ids}) > 1:
        raise DataError(path, "mixes numbers and text as ids of categories")
    return {i: place for place, i in enumerate(sorted(ids))}


def _pictures(path: Path) -> Path:
    """Where the pictures of an annotation file usually lie, whether they are there or not."""
    name = path.stem.removeprefix("instances_")
    root = path.parent.parent if path.parent.name == "annotations" else path.parent
    tried = (root / name, root / "images" / name, root / "images")
    return next((folder for folder in tried if folder.is_dir()), root / name)
