"""`scenes`: drawn pictures whose complete truth is known, made on this machine the first time they are asked for."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from onetag.core.cache import cache_folder
from onetag.core.errors import OnetagError
from onetag.core.labels import REST_NEGATIVE, REST_UNKNOWN, LabelTable
from onetag.core.progress import Listener
from onetag.core.reading import Reader, ReadOptions, is_complete
from onetag.core.split import Data, Objects, Split
from onetag.readers import _scenes

__all__ = ["ScenesReader"]

SIZES = {"train": 1600, "val": 300, "test": 500}


class ScenesReader(Reader):
    """Known by name alone: `scenes`. The pictures lie in the cache folder as ordinary JPEGs, with their tags and boxes beside them."""

    priority = 99
    complete = True

    def __init__(
        self,
        sizes: dict[str, int] | None = None,
        seed: int = 0,
        mean_tags: float = _scenes.DEFAULT,
        listener: Listener | None = None,
    ) -> None:
        self._sizes = sizes or SIZES
        self._seed = seed
        self._mean_tags = mean_tags
        self._listener = listener or Listener()

    def recognises(self, path: Path) -> bool:
        return False

    def read(self, path: Path, options: ReadOptions) -> Data:
        complete = is_complete(options, self.complete)
        splits = {name: self._split(name, size, complete) for name, size in self._sizes.items()}
        sizes = ", ".join(f"{size:,} {name}" for name, size in self._sizes.items())
        rest = "negative" if complete else "unknown"
        return Data(
            splits, f"drawn scenes: {sizes} pictures, {len(_scenes.CLASSES)} classes, rest {rest}", None, complete
        )

    def _split(self, name: str, size: int, complete: bool) -> Split:
        folder = (
            cache_folder()
            / "scenes"
            / f"v{_scenes.VERSION}-seed{self._seed}-tags{self._mean_tags:g}"
            / f"{name}-{size}"
        )
        if not (folder / "scenes.json").exists():
            _draw_all(folder, self._seed, name, size, self._mean_tags, self._listener)
        told = json.loads((folder / "scenes.json").read_text(encoding="utf-8"))
        tags, boxes = told["tags"], [(row, *box) for row, part in enumerate(told["boxes"]) for box in part]
        corners = np.array(boxes, np.int64).reshape(-1, 6)
        sizes = np.full((len(corners), 2), _scenes.SIZE)
        objects = Objects.from_boxes(corners[:, 0], corners[:, 1], corners[:, 2:], sizes)
        ids = np.array([f"{name}/{index:05d}.jpg" for index in range(size)], dtype=np.str_)
        paths = np.array([str(folder / f"{index:05d}.jpg") for index in range(size)], dtype=np.str_)
        table = LabelTable.from_lists(tags, len(_scenes.CLASSES), rest=REST_NEGATIVE if complete else REST_UNKNOWN)
        return Split(ids, _scenes.CLASSES, table, paths, truth=table if complete else None, objects=objects)


def _draw_all(folder: Path, seed: int, name: str, size: int, mean_tags: float, listener: Listener) -> None:
    """Into a folder aside, renamed when complete; two processes may do it at once, the first one wins."""
    aside = folder.with_name(f"{folder.name}.{os.getpid()}.tmp")
    aside.mkdir(parents=True, exist_ok=True)
    tags: list[Sequence[int]] = []
    boxes: list[Sequence[Sequence[int]]] = []
    for index in range(size):
        scene = _scenes.draw(seed, name, index, mean_tags)
        scene.image.save(aside / f"{index:05d}.jpg", quality=90)
        tags.append(scene.tags)
        boxes.append(scene.boxes)
        if index % 50 == 49 or index == size - 1:
            listener.advance(f"drawing {name} pictures", index + 1, size)
    (aside / "scenes.json").write_text(
        json.dumps({"classes": _scenes.CLASSES, "tags": tags, "boxes": boxes}), encoding="utf-8"
    )
    try:
        aside.rename(folder)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        if not (folder / "scenes.json").exists():
            raise OnetagError(f"{folder}: the drawn pictures cannot be put there ({error})") from error
