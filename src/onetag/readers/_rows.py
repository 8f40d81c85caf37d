"""The rows of a table, gathered batch by batch, and made a Split per side: repeated rows united, contradictions refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from onetag.core.errors import nearest
from onetag.core.labels import REST_NEGATIVE, REST_UNKNOWN, LabelTable
from onetag.core.reading import DataError, ReadOptions
from onetag.core.split import Split
from onetag.readers import _strings
from onetag.readers._columns import ClassColumns, Columns, find
from onetag.readers._paths import PathCheck
from onetag.readers._sides import ORDER, SIDES, counted, side_of, table_of
from onetag.readers._tags import RowError, Separator, Vocabulary, as_text, encode

if TYPE_CHECKING:
    import pyarrow as pa

Entries = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int8]]


class Source:
    """A table file. `names`: its columns, where they are known before reading; a record is counted from 0, a row as a person counts."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str] | None:
        raise NotImplementedError

    def batches(self, columns: Sequence[str] | None) -> Iterator[tuple[int, Mapping[str, pa.Array]]]:
        """(number of records, columns by name), in order."""
        raise NotImplementedError

    def row(self, record: int) -> int:
        return record + 1


class Rows:
    """What one table says, before classes have their final order."""

    def __init__(self, source: Source, options: ReadOptions, complete: bool, vocabulary: Vocabulary, check: PathCheck | None) -> None:
        self.source, self.options, self.complete, self.vocabulary, self.check = source, options, complete, vocabulary, check
        self.separator = Separator(options.separator, vocabulary)
        self.columns: Columns | None = None
        self.num_rows = 0
        self.notes: list[str] = []
        self.is_list = False
        self._paths: list[pa.StringArray] = []
        self._groups: list[pa.StringArray] = []
        self._sides: list[NDArray[np.int8]] = []
        self._entries: dict[str, list[Entries]] = {"labels": [], "truth": []}
        self._classes = ClassColumns(options.zero == "negative" and not complete)

    # ---- gathering

    def gather(self) -> Rows:
        """Read everything. A DataError names the row."""
        try:
            names = self.source.names()
            if names is not None:
                self.columns = self._find(names)
            for size, batch in self.source.batches(self.columns.used if self.columns else None):
                if names is None and (self.columns is None or set(batch) - set(self._known)):
                    self._known = dict.fromkeys([*(self._known if self.columns else ()), *batch])
                    self.columns = self._find(list(self._known))
                try:
                    self._add(size, batch)
                except RowError as error:
                    raise error.moved(self.num_rows) from None
                self.num_rows += size
            if not self.num_rows or self.columns is None:
                raise DataError(self.source.path, "has no rows; one row per picture is expected")
            if self.columns.tags is None:
                self._entries["labels"] += self._classes.finish(self.vocabulary, self.notes)
            wrong = self.separator.wrong()
            if wrong is not None:
                raise RowError(wrong[0], f"the separator {self.separator.given!r} occurs nowhere, but {wrong[1]!r} does: give --separator '{wrong[1]}'")
        except RowError as error:
            raise DataError(self.source.path, error.message, self.source.row(error.record)) from None
        for other in self.separator.others:
            if other != ",":
                self.notes.append(f"{other!r} occurs within tags too (row {self.source.row(self.separator.others[other])}); {self.separator.echo}")
        return self

    def _find(self, names: list[str]) -> Columns:
        try:
            return find(names, self.options, self.check is not None, self.vocabulary)
        except ValueError as error:
            raise DataError(self.source.path, str(error)) from None

    def _add(self, size: int, batch: Mapping[str, pa.Array]) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        columns = self.columns
        assert columns is not None
        blank = pa.nulls(size, pa.string())
        paths = None
        if columns.path is not None:
            column = batch.get(columns.path, blank)
            paths = self.check(column) if self.check is not None else as_text(column)
            self._paths.append(paths)
        for role, sign, target in (("tags", 1, "labels"), ("negatives", -1, "labels"), ("truth", 1, "truth")):
            name = getattr(columns, role)
            if name is not None and name in batch:
                self._add_tags(batch[name], sign, target, as_text(batch[columns.value]) if columns.value in batch and role == "tags" else None)
        for name in columns.classes:
            if name in batch:
                self._classes.add(name, batch[name], self.num_rows)
        if columns.split is not None:
            self._sides.append(_sides(as_text(batch.get(columns.split, blank))))
        if columns.group is not None:
            groups = as_text(batch.get(columns.group, blank))
            missing = pc.equal(groups, "")
            if missing.true_count:  # a picture without a group is a group of its own
                alone = paths if paths is not None else pa.array([f"row {self.num_rows + i}" for i in range(size)])
                groups = pc.if_else(missing, alone, groups)
            self._groups.append(groups)

    def _add_tags(self, column: pa.Array, sign: int, target: str, value: pa.StringArray | None) -> None:
        rows, codes = encode(column, self.separator, self.vocabulary, self.num_rows)
        values = np.full(len(rows), sign, np.int8)
        if value is not None:
            encoded = value.dictionary_encode()
            known = {"1": 1, "+1": 1, "-1": -1, "0": 0, "": 0}
            kinds = np.array([known.get(cell.strip(), 2) for cell in encoded.dictionary.to_pylist()], np.int8)
            signs = kinds[encoded.indices.to_numpy()]
            if (signs == 2).any():
                at = int((signs == 2).argmax())
                raise RowError(at, f"the value {value[at].as_py()[:40]!r} is none of 1, 0, -1 or nothing")
            values = signs[rows]
            rows, codes, values = rows[values != 0], codes[values != 0], values[values != 0]
        self._entries[target].append((rows + self.num_rows, codes, values))

    # ---- making splits

    def splits(self, order: NDArray[np.int32], classes: tuple[str, ...], side: str, root: str | None) -> dict[str, Split]:
        """Splits by side (`side`, unless a column says it), with the classes in their final order."""
        sides = np.concatenate(self._sides) if self._sides else None
        first = _strings.first_rows(self._paths, sides) if self._paths else None
        parts = {name: self._united(name, order, first, len(classes)) for name in ("labels", "truth") if name == "labels" or (self.columns and self.columns.truth)}
        labels = self._table(parts["labels"], len(classes))
        truth = labels if self.complete else None
        if truth is None and "truth" in parts:
            truth = table_of(*parts["truth"], self.num_rows, len(classes), REST_NEGATIVE)
        ids = _strings.to_numpy(self._paths) if self._paths else np.arange(self.num_rows).astype(np.str_)
        self._paths.clear()
        paths = _strings.joined(root, ids, self.check.met_absolute) if root is not None and self.check is not None else None
        whole = Split(ids, classes, labels, paths, None, truth, _strings.to_numpy(self._groups) if self._groups else None)
        keep = None if first is None else first == np.arange(self.num_rows)
        if keep is not None:
            self.notes.append(f"{counted(int((~keep).sum()), 'row')} repeat a path; their tags were united")
        if sides is None:
            return {side: whole if keep is None else whole.select(np.flatnonzero(keep))}
        at = {name: np.flatnonzero((sides == code) & (keep if keep is not None else True)) for code, name in enumerate(ORDER)}
        return {name: whole.select(index) for name, index in at.items() if len(index)}

    def _united(self, name: str, order: NDArray[np.int32], first: NDArray[np.int64] | None, num_classes: int) -> Entries:
        """Entries sorted by row and class, those of repeated rows at the first of them; the same one twice counts once."""
        parts = self._entries.pop(name)
        rows, codes, values = (np.concatenate([part[i] for part in parts]) if parts else np.zeros(0, np.int64) for i in range(3))
        classes = order[codes] if len(codes) else codes.astype(np.int32)
        written = rows
        if first is not None:
            rows = first[rows]
        cells = rows * max(num_classes, 1) + classes
        if not (cells[1:] > cells[:-1]).all():
            sort = np.argsort(cells, kind="stable")
            cells, values, rows, classes, written = cells[sort], values[sort], rows[sort], classes[sort], written[sort]
            same = cells[1:] == cells[:-1]
            conflict = np.flatnonzero(same & (values[1:] != values[:-1]))
            if len(conflict):
                self._refuse(int(written[conflict[0]]), int(written[conflict[0] + 1]), int(classes[conflict[0]]), order)
            keep = np.concatenate([[True], ~same])
            rows, classes, values = rows[keep], classes[keep], values[keep]
        return rows, classes.astype(np.int32), values.astype(np.int8)

    def _refuse(self, one: int, other: int, code: int, order: NDArray[np.int32]) -> None:
        tag = self.vocabulary.names[int(np.flatnonzero(order == code)[0])]
        one, other = sorted((self.source.row(one), self.source.row(other)))
        where = f"in rows {one} and {other}, which are the same picture" if one != other else "in the same row"
        raise DataError(self.source.path, f"the tag {tag!r} is given as positive and as negative {where}; remove one of them", other)

    def _table(self, entries: Entries, num_classes: int) -> LabelTable:
        rest = np.full(self.num_rows, REST_NEGATIVE if self.complete else REST_UNKNOWN, np.int8)
        if not self.complete and self.columns is not None and self.columns.tags is None and num_classes:
            # Rows whose 1s and 0s leave nothing open are completely labelled; their negatives need no entries.
            rest[np.bincount(entries[0], minlength=self.num_rows) == num_classes] = REST_NEGATIVE
        return table_of(*entries, self.num_rows, num_classes, rest)

    def echo(self) -> list[str]:
        """How the columns were understood."""
        columns = self.columns
        assert columns is not None
        named = [(role, getattr(columns, role)) for role in ("path", "tags", "negatives", "truth", "value", "split", "group")]
        parts = [f"{role}={name}" for role, name in named if name is not None]
        if columns.tags is None:
            zero = "negative" if self.complete or self.options.zero == "negative" else "unknown"
            return [*parts, f"one column per class, 0 = {zero}"]
        return [*parts, "lists of tags" if self.is_list else self.separator.echo]


def _sides(text: pa.StringArray) -> NDArray[np.int8]:
    encoded = text.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    codes = np.array([ORDER.index(side_of(name) or "all") for name in names], np.int8)
    sides = codes[encoded.indices.to_numpy()] if names else np.zeros(0, np.int8)
    wrong = sides == ORDER.index("all")
    if wrong.any():
        at = int(wrong.argmax())
        name = text[at].as_py()
        raise RowError(at, f"the split {name[:40]!r} is none of train, val, test; {nearest(name[:40].casefold(), SIDES)}" if name else "no split; train, val or test is expected")
    return np.asarray(sides, np.int8)
