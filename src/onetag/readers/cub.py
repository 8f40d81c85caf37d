"""CUB-200-2011: birds with 312 attributes each; annotations below a `certainty` are unknown where one asks for that."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onetag.core.errors import UsageError
from onetag.core.labels import REST_NEGATIVE, REST_UNKNOWN, LabelTable
from onetag.core.reading import DataError, Reader, ReadOptions, is_complete
from onetag.core.split import Data, Split
from onetag.readers._lines import first_of, needed, pairs_of
from onetag.readers._paths import refuse_outside
from onetag.readers._sides import echo, known_split

__all__ = ["Cub"]

_LABELS = "attributes/image_attribute_labels.txt"


class Cub(Reader):
    """Takes the folder CUB_200_2011, or the one that holds it. Pictures are in the order of images.txt, sides by train_test_split.txt."""

    priority = 20
    complete = True

    def recognises(self, path: Path) -> bool:
        return path.is_dir() and _root(path) is not None

    def read(self, path: Path, options: ReadOptions) -> Data:
        root = _root(path)
        if root is None:
            raise DataError(path, f"is not CUB-200-2011: a folder with images.txt and {_LABELS} is expected")
        if options.certainty is not None and options.certainty not in (1, 2, 3, 4):
            raise UsageError(
                f"certainty is {options.certainty}; 1 (not visible), 2 (guessing), 3 (probably) and 4 (definitely) exist"
            )
        pictures = pairs_of(needed(root, "images.txt"), "an id and a path")
        names = pairs_of(_attributes(root), "an id and the name of an attribute")
        sides = dict(pairs_of(needed(root, "train_test_split.txt"), "an id and 1 (train) or 0 (test)"))
        refuse_outside(root / "images.txt", (name for _, name in pictures))
        dense = _annotations(root / _LABELS, [i for i, _ in pictures], [i for i, _ in names], options.certainty or 1)
        complete = is_complete(options, self.complete)
        classes = tuple(name for _, name in names)
        if len(set(classes)) < len(classes):
            raise DataError(_attributes(root), "names an attribute twice")
        folder = options.images or root / "images"
        splits: dict[str, Split] = {}
        for side, sign in (("train", "1"), ("test", "0")):
            rows = [row for row, (number, _) in enumerate(pictures) if sides.get(number) == sign]
            if rows:
                ids = np.array([pictures[row][1] for row in rows], dtype=np.str_)
                paths = np.array([str(folder / pictures[row][1]) for row in rows], dtype=np.str_)
                splits[side] = known_split(ids, classes, _table(dense[rows]), complete, paths)
        if sum(len(split) for split in splits.values()) < len(pictures):
            lost = next(row for row, (number, _) in enumerate(pictures, 1) if sides.get(number) not in ("0", "1"))
            raise DataError(
                root / "images.txt", "this picture has no 1 (train) or 0 (test) in train_test_split.txt", lost
            )
        said = [f"certainty >= {options.certainty}" if options.certainty else "any certainty"]
        return Data(splits, echo("CUB-200-2011", said, splits, complete), path, complete)


def _root(path: Path) -> Path | None:
    return next(
        (r for r in (path, path / "CUB_200_2011") if (r / "images.txt").is_file() and (r / _LABELS).is_file()), None
    )


def _attributes(root: Path) -> Path:
    """The archive puts attributes.txt beside the folder CUB_200_2011."""
    found = first_of(root, "attributes/attributes.txt", "attributes.txt", "../attributes.txt")
    if found is None:
        raise DataError(root, "attributes.txt is missing, which lies beside the folder CUB_200_2011 in the archive")
    return found


def _table(dense: NDArray[np.int8]) -> LabelTable:
    return LabelTable.from_dense(dense, np.where((dense == 0).any(axis=1), REST_UNKNOWN, REST_NEGATIVE))


def _annotations(path: Path, pictures: list[str], attributes: list[str], certainty: int) -> NDArray[np.int8]:
    """[pictures, attributes] of +1 / -1, 0 where nothing certain enough is said."""
    try:
        # Some rows of the official file have a column too many at the end; the first four are sound.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an empty file is refused below
            table = np.loadtxt(path, dtype=np.int32, comments=None, usecols=(0, 1, 2, 3), ndmin=2, encoding="utf-8")
        if table.shape[1] < 4:
            raise ValueError("no rows")
        numbers = [np.array(part, dtype=np.int32) for part in (pictures, attributes)]
    except (ValueError, OverflowError) as error:
        raise DataError(path, f"cannot be read as rows of picture, attribute, present, certainty ({error})") from error
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror})") from error
    dense = np.zeros((len(pictures), len(attributes)), np.int8)
    places = []
    for column, known, what in ((0, numbers[0], "picture"), (1, numbers[1], "attribute")):
        order = np.argsort(known, kind="stable")
        at = np.minimum(np.searchsorted(known[order], table[:, column]), max(len(known) - 1, 0))
        wrong = known[order][at] != table[:, column] if len(known) else np.ones(len(table), bool)
        if wrong.any():
            row = int(wrong.argmax())
            raise DataError(path, f"the {what} {table[row, column]} is not in the list of {what}s", row + 1)
        places.append(order[at])
    wrong = (table[:, 2] < 0) | (table[:, 2] > 1)
    if wrong.any():
        raise DataError(
            path, f"present is {table[int(wrong.argmax()), 2]}; 1 or 0 is expected", int(wrong.argmax()) + 1
        )
    sure = table[:, 3] >= certainty
    dense[places[0][sure], places[1][sure]] = np.where(table[sure, 2] == 1, 1, -1)
    return dense
