"""Which column of a table holds what: by name, by what the person says, and (one column per class) by its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from onetag.core.errors import nearest
from onetag.core.reading import ReadOptions
from onetag.readers._sides import listed
from onetag.readers._tags import RowError, Vocabulary, as_text

if TYPE_CHECKING:
    import pyarrow as pa

PATH = ("path", "file_name", "image", "filename", "filepath", "file_path", "image_path")
TAGS = ("tags", "labels", "label", "tag")
_VALUES = {"1": 1, "0": 0, "-1": -1, "true": 1, "false": 0, "": 2, "nan": 2, "1.0": 1, "0.0": 0, "-1.0": -1, "+1": 1}
_EMPTY, _OTHER = 2, 3
_TYPOS = 0.05  # a column with fewer other values than this is a class column with a mistake in it


@dataclass(frozen=True)
class Columns:
    """The columns by role; `classes` are those that may hold one class each."""

    path: str | None
    tags: str | None
    negatives: str | None
    truth: str | None
    value: str | None
    split: str | None
    group: str | None
    classes: tuple[str, ...]

    @property
    def used(self) -> tuple[str, ...]:
        named = (self.path, self.tags, self.negatives, self.truth, self.value, self.split, self.group)
        return (*(name for name in named if name is not None), *self.classes)


def find(names: Sequence[str], options: ReadOptions, needs_path: bool, vocabulary: Vocabulary) -> Columns:
    """Assign roles. A ValueError says what is missing and what would be right."""
    plain = {name.strip().casefold(): name for name in reversed(names)}

    def role(asked: str | None, valid: Sequence[str], option: str) -> str | None:
        if asked is None:
            return next((plain[name] for name in valid if name in plain), None)
        if asked not in names:
            raise ValueError(f"no column {asked!r} (--{option}-column); {nearest(asked, names)}")
        return asked

    path = role(options.path_column, PATH, "path")
    tags = role(options.tags_column, TAGS, "tags")
    if path is None and needs_path:
        wanted = "one named path, file_name or image is expected (or --path-column NAME)"
        raise ValueError(f"no column of paths: {wanted}; the columns are {listed(names, 8)}")
    others = {name: plain.get(name) for name in ("negatives", "truth", "split")}
    group = role(options.group_column, ("group",), "group")
    # `value` is the sign of a tag in the long form (path, tag, value), which `complete` writes.
    value = plain.get("value") if tags is not None and tags.strip().casefold() == "tag" else None
    taken = {path, tags, group, value, *others.values()}
    rest = [name for name in names if name not in taken] if tags is None else []
    if vocabulary.is_fixed:
        known = set(vocabulary.names)
        rest = [name for name in rest if name.strip() in known]
    classes = tuple(name for name in rest if not _is_index(name))
    if tags is None and not classes and names:
        raise ValueError(
            "no column of tags: one named tags, labels or label is expected (or --tags-column NAME), or one column per class that holds"
            f" 1, 0, -1 or nothing; the columns are {listed(names, 8)}"
        )
    return Columns(path, tags, others["negatives"], others["truth"], value, others["split"], group, classes)


def _is_index(name: str) -> bool:
    """Row numbers that programs add."""
    plain = name.strip().casefold()
    return plain in ("", "id", "index") or plain.startswith(("unnamed:", "__index_level_"))


class ClassColumns:
    """Columns of 1 / 0 / -1 / nothing, a batch at a time; a column with many other values turns out to be no class."""

    def __init__(self, zero_is_negative: bool) -> None:
        self._keeps_zero = zero_is_negative
        self._entries: dict[str, list[tuple[NDArray[np.int32], NDArray[np.int8]]]] = {}
        self._wrong: dict[str, tuple[int, str]] = {}
        self._counts: dict[str, NDArray[np.int64]] = {}

    def add(self, name: str, column: pa.Array, first: int) -> None:
        counts = self._counts.setdefault(name, np.zeros(4, np.int64))
        if counts[_OTHER] > 1000 and counts[_OTHER] > counts.sum() / 2:
            return
        try:
            encoded = as_text(column).dictionary_encode()
        except RowError:
            counts[_OTHER] += len(column)
            return
        cells = encoded.dictionary.to_pylist()
        kinds = np.array([_VALUES.get(cell.strip().casefold(), _OTHER) for cell in cells], np.int8)
        values = kinds[encoded.indices.to_numpy()] if cells else np.zeros(0, np.int8)
        counts += _tally(values)
        if name not in self._wrong and (values == _OTHER).any():
            at = int((values == _OTHER).argmax())
            self._wrong[name] = (first + at, cells[encoded.indices[at].as_py()])
        rows = np.flatnonzero((np.abs(values) == 1) | ((values == 0) & self._keeps_zero)).astype(np.int32)
        self._entries.setdefault(name, []).append((rows + first, np.where(values[rows] == 1, 1, -1).astype(np.int8)))

    def finish(
        self, vocabulary: Vocabulary, notes: list[str]
    ) -> list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int8]]]:
        """(rows, codes, values) of every column that is a class."""
        found, ignored, empty = [], [], []
        for name, counts in self._counts.items():
            if counts[_OTHER]:
                record, cell = self._wrong.get(name, (0, ""))
                if counts[_OTHER] <= max(1, _TYPOS * counts.sum()) and counts[:2].sum():
                    raise RowError(
                        record,
                        f"column {name!r} holds {cell[:40]!r}, which is none of 1, 0, -1 or nothing; correct it, or remove the column",
                    )
                ignored.append(name)
            elif not counts[:2].sum() and not vocabulary.is_fixed:
                empty.append(name)
            else:
                code = vocabulary.codes([name])
                for rows, values in self._entries[name]:
                    found.append((rows, np.repeat(code, len(rows)), values))
        if not found and not len(vocabulary):
            name, (record, cell) = next(iter(self._wrong.items()), ("", (0, "")))
            shown = f" (column {name!r} holds {cell[:40]!r})" if name else ""
            remedy = "name the tags' column tags, or give --tags-column NAME"
            raise RowError(record, f"no column of tags, and no column holds only 1, 0, -1 or nothing{shown}; {remedy}")
        if ignored:
            notes.append(f"columns that are no classes were ignored: {listed(ignored)}")
        if empty:
            notes.append(f"columns without any value were taken for no classes: {listed(empty)}")
        return found


def _tally(values: NDArray[np.int8]) -> NDArray[np.int64]:
    """How many are +-1, 0, empty, other."""
    minus, zero, plus, empty, other = np.bincount(values + 1, minlength=5)
    return np.array([minus + plus, zero, empty, other], np.int64)
