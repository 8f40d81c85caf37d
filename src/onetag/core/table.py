"""LabelTable: which tags are known, per sample, stored sparsely."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

REST_UNKNOWN = 0
REST_NEGATIVE = -1


class LabelTable:
    """Known tags per sample, sparse (CSR): entries (class, +1 / -1, weight), and what the rest of each row is.

    `rest` says for each row whether the classes without an entry are unknown (0) or negative (-1: a completely labelled row).
    """

    __slots__ = ("_classes", "_indptr", "_num_classes", "_rest", "_values", "_weights")

    def __init__(
        self,
        indptr: ArrayLike,
        classes: ArrayLike,
        values: ArrayLike,
        num_classes: int,
        rest: ArrayLike | int = REST_UNKNOWN,
        weights: ArrayLike | None = None,
    ) -> None:
        self._indptr = np.ascontiguousarray(indptr, dtype=np.int64)
        self._classes = np.ascontiguousarray(classes, dtype=np.int32)
        signs, remainder = np.asarray(values), np.asarray(rest)
        if not ((signs == 1) | (signs == -1)).all():  # before they are made small: 257 as int8 would be 1
            raise ValueError("a known tag is +1 (positive) or -1 (negative); leave unknown ones out")
        if not ((remainder == REST_UNKNOWN) | (remainder == REST_NEGATIVE)).all():
            raise ValueError("the rest of a row is 0 (unknown) or -1 (negative)")
        self._values = np.ascontiguousarray(values, dtype=np.int8)
        self._num_classes = int(num_classes)
        rows = len(self._indptr) - 1
        self._rest = np.broadcast_to(np.asarray(rest, dtype=np.int8), (rows,)).copy()
        self._weights = None if weights is None else np.ascontiguousarray(weights, dtype=np.float32)
        self._check()

    def _check(self) -> None:
        size = len(self._classes)
        if (
            len(self._indptr) < 1
            or self._indptr[0] != 0
            or self._indptr[-1] != size
            or np.any(np.diff(self._indptr) < 0)
        ):
            raise ValueError(f"row pointers must rise from 0 to the number of entries ({size})")
        if len(self._values) != size or (self._weights is not None and len(self._weights) != size):
            raise ValueError("classes, values and weights must have one entry each per known tag")
        if size and (self._classes.min() < 0 or self._classes.max() >= self._num_classes):
            where = int(np.flatnonzero((self._classes < 0) | (self._classes >= self._num_classes))[0])
            row = int(np.searchsorted(self._indptr, where, side="right") - 1)
            raise ValueError(f"row {row}: class {self._classes[where]} is outside 0 .. {self._num_classes - 1}")
        if self._weights is not None and not (np.isfinite(self._weights).all() and (self._weights >= 0).all()):
            raise ValueError("weights must be finite and not negative")
        if not self._is_ascending():
            rows = np.repeat(np.arange(self.num_rows, dtype=np.int64), np.diff(self._indptr))
            cells = rows * max(self._num_classes, 1) + self._classes
            order = np.argsort(cells, kind="stable")
            cells = cells[order]
            if (np.diff(cells) == 0).any():
                cell = int(cells[:-1][np.diff(cells) == 0][0])
                raise ValueError(f"row {cell // self._num_classes}: class {cell % self._num_classes} is given twice")
            self._classes, self._values = self._classes[order], self._values[order]
            self._weights = None if self._weights is None else self._weights[order]

    def _is_ascending(self) -> bool:
        """Whether classes rise within every row, as they nearly always do; rows of one entry need no look at all."""
        if self.num_rows == 0 or int(np.diff(self._indptr).max()) <= 1:
            return True
        rises = self._classes[1:] > self._classes[:-1]
        starts = self._indptr[1:-1]
        rises[starts[(starts > 0) & (starts < len(self._classes))] - 1] = True  # from one row to the next anything goes
        return bool(rises.all())

    # ---- making one

    @classmethod
    def from_dense(
        cls, matrix: ArrayLike, rest: ArrayLike | int = REST_UNKNOWN, weights: ArrayLike | None = None
    ) -> LabelTable:
        """From [N, C] of +1 / 0 unknown / -1. Rows whose `rest` is negative need not repeat their negatives."""
        dense = np.asarray(matrix)
        if dense.ndim != 2:
            raise ValueError(f"a label matrix has two axes (samples, classes), this one has {dense.ndim}")
        wrong = ~np.isin(dense, (-1, 0, 1))
        if wrong.any():
            row, col = (int(i) for i in np.argwhere(wrong)[0])
            raise ValueError(
                f"row {row}, column {col}: {dense[row, col]!r} is not one of +1 (positive), 0 (unknown), -1 (negative)"
            )
        rest_rows = np.broadcast_to(np.asarray(rest, dtype=np.int8), (len(dense),))
        spread = None if weights is None else np.broadcast_to(np.asarray(weights), dense.shape)
        is_own = (
            rest_rows[:, None] == REST_UNKNOWN
            if spread is None
            else (rest_rows[:, None] == REST_UNKNOWN) | (spread != 1)
        )
        rows, cols = np.nonzero((dense == 1) | ((dense == -1) & is_own))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(dense)))])
        entry_weights = None if spread is None else spread[rows, cols]
        return cls(indptr, cols, dense[rows, cols], dense.shape[1], rest_rows, entry_weights)

    @classmethod
    def from_lists(
        cls,
        positives: Sequence[Iterable[int]],
        num_classes: int,
        negatives: Sequence[Iterable[int]] | None = None,
        rest: ArrayLike | int = REST_UNKNOWN,
    ) -> LabelTable:
        """From class indices per row."""
        classes: list[int] = []
        values: list[int] = []
        indptr = [0]
        for row, tags in enumerate(positives):
            entries = dict.fromkeys(tags, 1)
            for tag in negatives[row] if negatives is not None else ():
                if entries.get(tag) == 1:
                    raise ValueError(f"row {row}: class {tag} is given as positive and as negative")
                entries[tag] = -1
            classes.extend(entries)
            values.extend(entries.values())
            indptr.append(len(classes))
        return cls(indptr, classes, values, num_classes, rest)

    @classmethod
    def concat(cls, tables: Sequence[LabelTable]) -> LabelTable:
        """One table under the other; all must have the same classes."""
        sizes = {table.num_classes for table in tables}
        if len(sizes) != 1:
            raise ValueError(f"tables with different numbers of classes: {sorted(sizes)}")
        offsets = np.cumsum([0, *(len(table._classes) for table in tables)])
        indptr = np.concatenate([[0], *(t._indptr[1:] + o for t, o in zip(tables, offsets, strict=False))])
        weighted = any(table._weights is not None for table in tables)
        return cls(
            indptr,
            np.concatenate([t._classes for t in tables]),
            np.concatenate([t._values for t in tables]),
            sizes.pop(),
            np.concatenate([t._rest for t in tables]),
            np.concatenate([t._entry_weights() for t in tables]) if weighted else None,
        )

    # ---- asking one

    @property
    def num_rows(self) -> int:
        return len(self._indptr) - 1

    @property
    def num_classes(self) -> int:
        return self._num_classes

    @property
    def rest(self) -> NDArray[np.int8]:
        return self._rest

    @property
    def is_weighted(self) -> bool:
        return self._weights is not None

    def __len__(self) -> int:
        return self.num_rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelTable) and self.digest() == other.digest()

    def _entry_weights(self) -> NDArray[np.float32]:
        return np.ones(len(self._classes), np.float32) if self._weights is None else self._weights

    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int8], NDArray[np.float32]]:
        """All known entries as (rows, classes, values, weights), by row, then class."""
        rows = np.repeat(np.arange(self.num_rows, dtype=np.int64), np.diff(self._indptr))
        return rows, self._classes, self._values, self._entry_weights()

    def positives(self, row: int) -> NDArray[np.int32]:
        """The positive classes of a row, ascending."""
        part = slice(self._indptr[row], self._indptr[row + 1])
        return np.asarray(self._classes[part][self._values[part] == 1])

    def negatives(self, row: int) -> NDArray[np.int32]:
        """The explicitly negative classes of a row, ascending (not those of a negative rest)."""
        part = slice(self._indptr[row], self._indptr[row + 1])
        return np.asarray(self._classes[part][self._values[part] == -1])

    def to_dense(self) -> NDArray[np.int8]:
        """[N, C] of +1 / 0 / -1."""
        dense = np.repeat(self._rest[:, None], self._num_classes, axis=1)
        rows, classes, values, _ = self.entries()
        dense[rows, classes] = values
        return dense

    def dense_weights(self) -> NDArray[np.float32]:
        """[N, C] of weights; 1 wherever nobody said otherwise."""
        dense = np.ones((self.num_rows, self._num_classes), np.float32)
        rows, classes, _, weights = self.entries()
        dense[rows, classes] = weights
        return dense

    def select(self, index: ArrayLike) -> LabelTable:
        """The rows of `index` (numbers or a mask), in its order."""
        at = np.asarray(index)
        rows = np.arange(self.num_rows)[at if at.size else at.astype(np.int64)]
        starts, lengths = self._indptr[rows], np.diff(self._indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        picks = np.repeat(starts - indptr[:-1], lengths) + np.arange(indptr[-1])
        weights = None if self._weights is None else self._weights[picks]
        return LabelTable(
            indptr, self._classes[picks], self._values[picks], self._num_classes, self._rest[rows], weights
        )

    def rename_classes(self, order: Sequence[int], num_classes: int) -> LabelTable:
        """Class `c` becomes `order[c]`; entries of classes that become -1 are left out."""
        rows, classes, values, weights = self.entries()
        renamed = np.asarray(order, dtype=np.int32)[classes] if len(classes) else classes
        keep = renamed >= 0
        counts = np.bincount(rows[keep], minlength=self.num_rows)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        kept_weights = weights[keep] if self._weights is not None else None
        return LabelTable(indptr, renamed[keep], values[keep], num_classes, self._rest, kept_weights)

    def class_counts(self, value: int) -> NDArray[np.int64]:
        """How many rows have each class positive (1), negative (-1, rest included) or unknown (0)."""
        positive = np.bincount(self._classes[self._values == 1], minlength=self._num_classes)
        if value == 1:
            return positive
        explicit = np.bincount(self._classes[self._values == -1], minlength=self._num_classes)
        complete = self._rest == REST_NEGATIVE
        rows, classes, _, _ = self.entries()
        in_complete = np.bincount(classes[complete[rows]], minlength=self._num_classes)
        negative = explicit + int(complete.sum()) - in_complete
        return negative if value == -1 else self.num_rows - positive - negative

    def positives_per_row(self) -> NDArray[np.int64]:
        rows, _, values, _ = self.entries()
        return np.bincount(rows[values == 1], minlength=self.num_rows)

    @property
    def is_complete(self) -> bool:
        """No cell is unknown."""
        return self.num_rows > 0 and int(self.class_counts(0).sum()) == 0

    def digest(self) -> str:
        """A hash of the content."""
        content = hashlib.blake2b(digest_size=16)
        content.update(np.array([self.num_rows, self._num_classes], np.int64).tobytes())
        for part in (self._indptr, self._classes, self._values, self._rest, self._entry_weights()):
            content.update(part.tobytes())
        return content.hexdigest()

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Plain arrays, to be saved; `from_arrays` reads them back."""
        parts: dict[str, NDArray[np.generic]] = {
            "indptr": self._indptr, "classes": self._classes, "values": self._values, "rest": self._rest,
            "num_classes": np.array([self._num_classes], np.int64),
        }  # fmt: skip
        if self._weights is not None:
            parts["weights"] = self._weights
        return parts

    @classmethod
    def from_arrays(cls, parts: dict[str, NDArray[np.generic]]) -> LabelTable:
        size = int(np.asarray(parts["num_classes"])[0])
        return cls(parts["indptr"], parts["classes"], parts["values"], size, parts["rest"], parts.get("weights"))
