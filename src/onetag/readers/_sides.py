"""What all readers share when they answer: names of sides, the sentence about what was read, the file of class names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onetag.core.labels import REST_NEGATIVE, REST_UNKNOWN, LabelTable
from onetag.core.reading import DataError
from onetag.core.split import Split

SIDES = {
    "train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val", "dev": "val",
    "test": "test", "testing": "test",
}  # fmt: skip
ORDER = ("train", "val", "test", "all")


def side_of(name: str) -> str | None:
    """The side a name stands for, in any case; None where it names none."""
    return SIDES.get(name.strip().casefold())


def class_names(path: Path) -> tuple[str, ...]:
    """The names of a `classes.txt`, one a line; empty lines are left out."""
    try:
        lines = path.read_bytes().decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise DataError(path, "is not UTF-8 text; save it as UTF-8, one class name a line") from error
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror})") from error
    first: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        name = line.strip()
        if name in first:
            raise DataError(
                path, f"class {name!r} is named in rows {first[name]} and {number}; keep one of them", number
            )
        if name:
            first[name] = number
    if not first:
        raise DataError(path, "holds no class name; write one a line, or remove the file")
    return tuple(first)


def table_of(
    rows: NDArray[np.integer],
    classes: NDArray[np.int32],
    values: NDArray[np.int8],
    num_rows: int,
    num_classes: int,
    rest: NDArray[np.int8] | int,
) -> LabelTable:
    """A table from entries sorted by row; negatives that the rest of their row says anyway are left out."""
    rest_rows = np.broadcast_to(np.asarray(rest, np.int8), (num_rows,))
    if (values == -1).any() and (rest_rows == REST_NEGATIVE).any():
        keep = (values == 1) | (rest_rows[rows] != REST_NEGATIVE)
        rows, classes, values = rows[keep], classes[keep], values[keep]
    if len(rows) == num_rows and (rows == np.arange(num_rows)).all():  # one tag each: most large tables
        indptr = np.arange(num_rows + 1, dtype=np.int64)
    else:
        indptr = np.zeros(num_rows + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=num_rows), out=indptr[1:])
    return LabelTable(indptr, classes, values, num_classes, rest_rows)


def known_split(
    ids: NDArray[np.str_], classes: tuple[str, ...], labels: LabelTable, complete: bool, paths: NDArray[np.str_] | None
) -> Split:
    """A split of annotations that say all there is (`labels`, rest negative); if they are not to be believed in what
    they leave out, its positives."""
    if complete:
        return Split(ids, classes, labels, paths, truth=labels)
    rows, codes, values, _ = labels.entries()
    positive = values == 1
    known = table_of(rows[positive], codes[positive], values[positive], len(ids), len(classes), REST_UNKNOWN)
    return Split(ids, classes, known, paths)


def counted(number: int, word: str, plural: str = "") -> str:
    """`1 picture`, `12,345 pictures`, `2 classes`."""
    return f"{number:,} {word if number == 1 else plural or word + ('es' if word.endswith('s') else 's')}"


def listed(names: Iterable[str], most: int = 5) -> str:
    """The first names of many."""
    every = list(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most:,} more" if len(every) > most else "")


def echo(kind: str, how: Iterable[str], splits: Mapping[str, Split], complete: bool, thing: str = "picture") -> str:
    """`read as CSV: path=file_name, tags=labels, separator |, 12,345 pictures, 40 classes, 1.00 positives per picture, rest unknown`."""
    total = sum(len(split) for split in splits.values())
    sides = (
        "" if set(splits) == {"all"} else f" ({', '.join(f'{name} {len(split):,}' for name, split in splits.items())})"
    )
    classes = len(next(iter(splits.values())).classes)
    each = {
        value: sum(_explicit(split.labels, value) for split in splits.values()) / max(total, 1) for value in (1, -1)
    }
    parts = [*how, counted(total, thing) + sides, counted(classes, "class"), f"{each[1]:.2f} positives per {thing}"]
    if each[-1]:
        parts.append(f"{each[-1]:.2f} negatives per {thing}")
    return f"read as {kind}: {', '.join([*parts, 'rest negative' if complete else 'rest unknown'])}"


def _explicit(table: LabelTable, value: int) -> int:
    return int((table.arrays()["values"] == value).sum())
