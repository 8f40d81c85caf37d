"""NUS-WIDE: the official lists of pictures and of 81 concepts (Labels_<concept>_Train.txt); many pictures have no tag at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onetag.core.labels import REST_NEGATIVE, LabelTable
from onetag.core.reading import DataError, Reader, ReadOptions, is_complete
from onetag.core.split import Data, Split
from onetag.readers._lines import first_of, lines_of, needed
from onetag.readers._paths import refuse_outside
from onetag.readers._sides import echo, known_split

__all__ = ["NusWide"]

_CONCEPTS = ("Concepts81.txt", "ConceptsList/Concepts81.txt", "Concepts81/Concepts81.txt")
_LISTS = ("ImageList/{}Imagelist.txt", "{}Imagelist.txt")
_LABELS = ("TrainTestLabels", "Groundtruth/TrainTestLabels", "GroundTruth/TrainTestLabels")


class NusWide(Reader):
    """Pictures are in the order of the lists; those lie in Flickr/, as the archive of the pictures has it, or in images/."""

    priority = 20
    complete = True

    def recognises(self, path: Path) -> bool:
        return path.is_dir() and first_of(path, *_CONCEPTS) is not None

    def read(self, path: Path, options: ReadOptions) -> Data:
        if not path.is_dir():
            raise DataError(path, "is no folder; one with Concepts81.txt, ImageList and TrainTestLabels is expected")
        file = needed(path, *_CONCEPTS)
        concepts = tuple(line.strip() for line in lines_of(file) if line.strip())
        if not concepts or len(set(concepts)) < len(concepts):
            raise DataError(file, "names no concept, or one twice; one a line is expected")
        refuse_outside(file, concepts)
        complete = is_complete(options, self.complete)
        folder = options.images or first_of(path, "Flickr", "images") or path / "Flickr"
        splits: dict[str, Split] = {}
        for side, name in (("train", "Train"), ("test", "Test")):
            if first_of(path, *(pattern.format(name) for pattern in _LISTS)) is None and side == "test":
                continue
            listed = needed(path, *(pattern.format(name) for pattern in _LISTS))
            names = [line.strip().replace("\\", "/") for line in lines_of(listed)]
            if not names:
                raise DataError(listed, "lists no picture")
            refuse_outside(listed, names)
            dense = _labels(needed(path, *_LABELS), concepts, name, len(names), listed)
            table = LabelTable.from_dense(dense, REST_NEGATIVE)
            paths = np.array([str(folder / each) for each in names], dtype=np.str_)
            splits[side] = known_split(np.array(names, dtype=np.str_), concepts, table, complete, paths)
        return Data(splits, echo("NUS-WIDE", [f"concepts of {file.name}"], splits, complete), path, complete)


def _labels(folder: Path, concepts: tuple[str, ...], side: str, size: int, listed: Path) -> NDArray[np.int8]:
    """[pictures, concepts] of +1 / -1 from one file of 0/1 lines per concept."""
    dense = np.empty((size, len(concepts)), np.int8)
    for column, concept in enumerate(concepts):
        file = needed(folder, f"Labels_{concept}_{side}.txt")
        try:
            content = file.read_bytes()
        except OSError as error:
            raise DataError(file, f"cannot be read ({error.strerror})") from error
        signs = np.frombuffer(content.translate(None, b" \t\r\n"), np.uint8) - ord("0")
        if (signs > 1).any() or len(content.split()) != len(signs):
            row = next(
                (r for r, line in enumerate(content.split(b"\n"), 1) if line.strip() not in (b"0", b"1", b"")), None
            )
            raise DataError(file, "1 or 0 is expected in every row", row)
        if len(signs) != size:
            raise DataError(file, f"has {len(signs):,} rows for the {size:,} pictures of {listed.name}")
        dense[:, column] = np.where(signs == 1, 1, -1)
    return dense
