"""The rows of a table, gathered batch by batch, and made a Split per side: repeated rows united, contradictions refused."""

from __future__ import annotations

from collections.abc import Mapping
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
from onetag.readers._source import Source
from onetag.readers._tags import RowError, Separator, Vocabulary, as_text, encode, is_list
from onetag.readers._text import column, joined
from onetag.readers._unite import ConflictError, Entries, gathered, united

if TYPE_CHECKING:
    import pyarrow as pa

_NO_SIDE = "no split; train, val or test is expected"


class Rows:
    """What one table says, before classes have their final order."""

    def __init__(
        self, source: Source, options: ReadOptions, complete: bool, vocabulary: Vocabulary, check: PathCheck | None
    ) -> None:
        self.source, self.options, self.complete = source, options, complete
        self.vocabulary, self.check = vocabulary, check
        self.separator = Separator(options.separator, vocabulary)
        self.columns: Columns | None = None
        self.num_rows = 0
        self.notes: list[str] = []
        self.is_list = False
        self._paths: list[pa.StringArray] = []
        self._groups: list[pa.StringArray] = []
        self._sides: list[NDArray[np.int8]] = []
        self._entries: dict[str, list[Entries]] = {"labels": [], "truth": []}
        self._known: dict[str, None] = {}
        self._classes = ClassColumns(options.zero == "negative" and not complete)

    # ---- gathering

    def gather(self) -> Rows:
        """Read everything. A DataError names the row."""
        import pyarrow as pa

        try:
            self._gather()
        except RowError as error:
            raise DataError(self.source.path, error.message, self.source.row(error.record)) from None
        except (pa.ArrowException, UnicodeError) as error:
            raise DataError(self.source.path, f"cannot be read ({error})") from error
        for other, record in self.separator.others.items():
            if other != ",":
                where = f"row {self.source.row(record)}"
                self.notes.append(f"{other!r} occurs within tags too ({where}); {self.separator.echo}")
        return self

    def _gather(self) -> None:
        names = self.source.names()
        if names is not None:
            self.columns = self._find(names)
        for size, batch in self.source.batches(self.columns.used if self.columns else None):
            if names is None and (self.columns is None or batch.keys() - self._known.keys()):
                self._known |= dict.fromkeys(batch)
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
            given, (record, other) = self.separator.given, wrong
            raise RowError(
                record, f"the separator {given!r} occurs nowhere, but {other!r} does: give --separator '{other}'"
            )

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
                signs = batch.get(columns.value) if columns.value is not None and role == "tags" else None
                self._add_tags(batch[name], sign, target, signs)
        for name in columns.classes:
            if name in batch:
                self._classes.add(name, batch[name], self.num_rows)
        if columns.split is not None:
            if self.num_rows and not self._sides:
                raise RowError(-self.num_rows, _NO_SIDE)
            self._sides.append(_sides(as_text(batch.get(columns.split, blank))))
        if columns.group is not None:
            groups = as_text(batch.get(columns.group, blank))
            missing = pc.equal(groups, "")
            # A picture without a group is a group of its own.
            alone = paths if paths is not None else pa.array([f"row {self.num_rows + i}" for i in range(size)])
            if self.num_rows and not self._groups:
                self._groups += self._paths[:-1] or [pa.array([f"row {i}" for i in range(self.num_rows)])]
            self._groups.append(pc.if_else(missing, alone, groups) if missing.true_count else groups)

    def _add_tags(self, column: pa.Array, sign: int, target: str, signs: pa.Array | None) -> None:
        self.is_list |= is_list(column.type)
        rows, codes = encode(column, self.separator, self.vocabulary, self.num_rows)
        values = np.full(len(rows), sign, np.int8)
        if signs is not None:
            values = _signs(as_text(signs))[rows]
            rows, codes, values = rows[values != 0], codes[values != 0], values[values != 0]
        self._entries[target].append((rows + self.num_rows, codes, values))

    # ---- making splits

    def splits(
        self,
        order: NDArray[np.int32],
        classes: tuple[str, ...],
        side: str,
        root: str | None,
        features: NDArray[np.floating] | None = None,
    ) -> dict[str, Split]:
        """Splits by side (`side`, unless a column says it), with the classes in their final order."""
        if features is not None and len(features) != self.num_rows:
            both = f"{self.num_rows:,} rows of labels for {len(features):,} rows of features"
            raise DataError(self.source.path, f"has {both}; one each is expected")
        sides = np.concatenate(self._sides) if self._sides else None
        first = _strings.first_rows(self._paths, sides) if self._paths else None
        if first is not None and features is not None:
            self._refuse_repeated(first)
        labels = self._table(self._united("labels", order, first, len(classes)), len(classes))
        truth = labels if self.complete else None
        if truth is None and self.columns is not None and self.columns.truth is not None:
            known = self._united("truth", order, first, len(classes))
            truth = table_of(*known, self.num_rows, len(classes), REST_NEGATIVE)
        groups = column(self._groups) if self._groups else None
        ids = column(self._paths) if self._paths else np.arange(1, self.num_rows + 1).astype(np.str_)
        paths = None
        if root is not None and self.check is not None:
            paths = joined(root, ids, self.check.met_absolute)
        whole = Split(ids, classes, labels, paths, features, truth, groups)
        keep = np.ones(self.num_rows, bool)
        if first is not None:
            keep = first == np.arange(self.num_rows)
            repeated = int((~keep).sum())
            verb = "repeats" if repeated == 1 else "repeat"
            self.notes.append(f"{counted(repeated, 'row')} {verb} a path; their tags were united")
        if sides is None:
            return {side: whole if first is None else whole.select(np.flatnonzero(keep))}
        at = {name: np.flatnonzero((sides == code) & keep) for code, name in enumerate(ORDER)}
        return {name: whole.select(index) for name, index in at.items() if len(index)}

    def _united(
        self, name: str, order: NDArray[np.int32], first: NDArray[np.int32] | None, num_classes: int
    ) -> Entries:
        rows, codes, values = gathered(self._entries.pop(name))
        try:
            return united((rows, order[codes] if len(codes) else codes, values), first, num_classes)
        except ConflictError as error:
            one, other = (self.source.row(record) for record in error.records)
            tag = self.vocabulary.names[int(np.flatnonzero(order == error.code)[0])]
            where = f"in rows {one} and {other}, which are the same picture" if one != other else "in the same row"
            message = f"the tag {tag!r} is given as positive and as negative {where}; remove one of them"
            raise DataError(self.source.path, message, other) from None

    def _refuse_repeated(self, first: NDArray[np.int32]) -> None:
        at = int((first != np.arange(len(first))).argmax())
        message = (
            f"the same path as in row {self.source.row(int(first[at]))}; each row of features is a sample of its own"
        )
        raise DataError(self.source.path, message, self.source.row(at))

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
        named = [
            (role, getattr(columns, role)) for role in ("path", "tags", "negatives", "truth", "value", "split", "group")
        ]
        parts = [f"{role}={name}" for role, name in named if name is not None]
        if columns.tags is None:
            zero = "negative" if self.complete or self.options.zero == "negative" else "unknown"
            return [*parts, f"one column per class, 0 = {zero}"]
        return [*parts, "lists of tags" if self.is_list else self.separator.echo]


def _sides(text: pa.StringArray) -> NDArray[np.int8]:
    """The place of each row's side in ORDER."""
    encoded = text.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    codes = np.array([ORDER.index(side_of(name) or "all") for name in names], np.int8)
    sides = np.asarray(codes[encoded.indices.to_numpy()] if names else codes, np.int8)
    wrong = sides == ORDER.index("all")
    if wrong.any():
        name = text[int(wrong.argmax())].as_py()[:40]
        unknown = f"the split {name!r} is none of train, val, test; {nearest(name.casefold(), SIDES)}"
        raise RowError(int(wrong.argmax()), unknown if name else _NO_SIDE)
    return sides


def _signs(text: pa.StringArray) -> NDArray[np.int8]:
    """+1, -1, or 0 where nothing is known, per row."""
    encoded = text.dictionary_encode()
    known = {"1": 1, "+1": 1, "-1": -1, "0": 0, "": 0}
    kinds = np.array([known.get(cell.strip(), 2) for cell in encoded.dictionary.to_pylist()], np.int8)
    signs = np.asarray(kinds[encoded.indices.to_numpy()] if len(kinds) else kinds, np.int8)
    if (signs == 2).any():
        at = int((signs == 2).argmax())
        raise RowError(at, f"the value {text[at].as_py()[:40]!r} is none of 1, 0, -1 or nothing")
    return signs
