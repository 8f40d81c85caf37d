"""Labels and their state: what annotators said (LabelTable), and what a run adds to it (LabelState, Proposal).

This is the only file that knows how label state is stored. Everybody else asks `rows`, `blocks`, `apply`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onetag.core.errors import OnetagError

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
        if not np.isin(self._values, (-1, 1)).all():
            raise ValueError("a known tag is +1 (positive) or -1 (negative); leave unknown ones out")
        if not np.isin(self._rest, (REST_UNKNOWN, REST_NEGATIVE)).all():
            raise ValueError("the rest of a row is 0 (unknown) or -1 (negative)")
        if self._weights is not None and not (np.isfinite(self._weights).all() and (self._weights >= 0).all()):
            raise ValueError("weights must be finite and not negative")
        rows = np.repeat(np.arange(self.num_rows, dtype=np.int64), np.diff(self._indptr))
        cells = rows * max(self._num_classes, 1) + self._classes
        if size and not (np.diff(cells) > 0).all():
            order = np.argsort(cells, kind="stable")
            cells = cells[order]
            if (np.diff(cells) == 0).any():
                cell = int(cells[:-1][np.diff(cells) == 0][0])
                raise ValueError(f"row {cell // self._num_classes}: class {cell % self._num_classes} is given twice")
            self._classes, self._values = self._classes[order], self._values[order]
            self._weights = None if self._weights is None else self._weights[order]

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

    __hash__ = None  # type: ignore[assignment]  # equal by content, and arrays are mutable

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


@dataclass(frozen=True)
class Proposal:
    """What a labeler suggests: pseudo-labels in [0, 1] for cells, with one weight each or one for all.

    `claims` says which way each one points, +1 or -1: a soft label of 0.6 may well be meant as a negative, where the model holds
    everything it does not know above 0.5. Without it, values of 0.5 and more point to +1.
    """

    rows: NDArray[np.int64]
    cols: NDArray[np.int32]
    values: NDArray[np.float32]
    weight: NDArray[np.float32] | float = 1.0
    claims: NDArray[np.int8] | None = None

    def __post_init__(self) -> None:
        if not len(self.rows) == len(self.cols) == len(self.values):
            raise ValueError("a proposal has as many rows as columns and values")
        if len(self.values) and not ((self.values >= 0) & (self.values <= 1)).all():
            raise ValueError("pseudo-labels lie in [0, 1]")
        weight = np.asarray(self.weight)
        if not (np.isfinite(weight) & (weight >= 0)).all():
            raise ValueError("weights of pseudo-labels must be finite and not negative")
        if self.claims is not None and not (len(self.claims) == len(self.rows) and np.isin(self.claims, (-1, 1)).all()):
            raise ValueError("claims are +1 or -1, one for each cell")

    def __len__(self) -> int:
        return len(self.rows)

    def directions(self) -> NDArray[np.int8]:
        return np.where(self.values >= 0.5, 1, -1).astype(np.int8) if self.claims is None else self.claims

    def weights(self) -> NDArray[np.float32]:
        return np.broadcast_to(np.asarray(self.weight, np.float32), self.values.shape).copy()


class LabelRows(NamedTuple):
    """Rows of the state, dense: `observed` +1/0/-1, `weight` of observed cells (None = 1), `pseudo` (NaN = none; None = nowhere)."""

    observed: NDArray[np.int8]
    weight: NDArray[np.float32] | None
    pseudo: NDArray[np.float32] | None
    pseudo_weight: NDArray[np.float32] | None


class LabelState:
    """Observed labels, fixed for a run, and the pseudo-labels that were added to them.

    Pseudo-labels live in their own arrays: a soft label of exactly 0 is a label, and an observed -1 never looks like one.
    """

    def __init__(self, observed: LabelTable, ids: Sequence[str] | None = None) -> None:
        self.observed = observed
        self._dense = observed.to_dense()
        self._weight = observed.dense_weights() if observed.is_weighted else None
        self._pseudo: NDArray[np.float32] | None = None
        self._pseudo_weight: NDArray[np.float32] | None = None
        self._added: NDArray[np.int16] | None = None
        self._claim: NDArray[np.int8] | None = None
        # Ties between equal scores are broken by sample id, so that they do not depend on the order of a file.
        self.tie_rank = (
            np.arange(observed.num_rows)
            if ids is None
            else np.argsort(np.argsort(np.asarray(ids), kind="stable"), kind="stable")
        )
        self.initial_unknown = observed.class_counts(0)

    @property
    def num_rows(self) -> int:
        return self.observed.num_rows

    @property
    def num_classes(self) -> int:
        return self.observed.num_classes

    @property
    def num_pseudo(self) -> int:
        return 0 if self._added is None else int((self._added > 0).sum())

    def rows(self, index: ArrayLike) -> LabelRows:
        at = np.asarray(index)
        if self._pseudo is None or self._pseudo_weight is None:
            return LabelRows(self._dense[at], None if self._weight is None else self._weight[at], None, None)
        return LabelRows(
            self._dense[at],
            None if self._weight is None else self._weight[at],
            self._pseudo[at],
            self._pseudo_weight[at],
        )

    def blocks(self, size: int = 65536) -> Iterator[tuple[slice, LabelRows]]:
        for start in range(0, self.num_rows, size):
            part = slice(start, min(start + size, self.num_rows))
            yield part, self.rows(np.arange(part.start, part.stop))

    def is_open(self, index: ArrayLike) -> NDArray[np.bool_]:
        """Cells that are unknown and carry no pseudo-label yet."""
        at = np.asarray(index)
        unknown = np.asarray(self._dense[at] == 0)
        return unknown if self._added is None else unknown & (self._added[at] == 0)

    def open_counts(self) -> NDArray[np.int64]:
        """Open cells per class."""
        counts = np.zeros(self.num_classes, np.int64)
        for part, _ in self.blocks():
            counts += self.is_open(np.arange(part.start, part.stop)).sum(axis=0)
        return counts

    def added_epoch(self, index: ArrayLike) -> NDArray[np.int16]:
        """The pseudo-label diary: in which epoch a cell was labelled (0 = not)."""
        at = np.asarray(index)
        return np.zeros((len(at), self.num_classes), np.int16) if self._added is None else self._added[at]

    def apply(self, proposal: Proposal, epoch: int) -> Proposal:
        """Write the proposal's cells and return what was written; cells an annotator has decided are refused."""
        if epoch < 1:
            raise ValueError("epochs are counted from 1 (0 in the diary means: no pseudo-label)")
        allowed = self._dense[proposal.rows, proposal.cols] == 0
        written = Proposal(
            proposal.rows[allowed], proposal.cols[allowed], proposal.values[allowed],
            proposal.weights()[allowed], proposal.directions()[allowed],
        )  # fmt: skip
        if not len(written):
            return written
        if self._pseudo is None or self._pseudo_weight is None or self._added is None or self._claim is None:
            shape = (self.num_rows, self.num_classes)
            self._pseudo = np.full(shape, np.nan, np.float32)
            self._pseudo_weight = np.zeros(shape, np.float32)
            self._added = np.zeros(shape, np.int16)
            self._claim = np.zeros(shape, np.int8)
        self._pseudo[written.rows, written.cols] = written.values
        self._pseudo_weight[written.rows, written.cols] = written.weight
        self._added[written.rows, written.cols] = epoch
        self._claim[written.rows, written.cols] = written.directions()
        return written

    def pseudo_entries(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
        """All pseudo-labels as (rows, classes, claims +1 / -1)."""
        if self._added is None or self._claim is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int8)
        rows, cols = np.nonzero(self._added)
        return rows, cols, self._claim[rows, cols]


def save_arrays(path: Path, parts: dict[str, NDArray[np.generic]]) -> None:
    """Write arrays beside the target and rename: a reader sees all or nothing, equal content is equal bytes."""
    from safetensors.numpy import save

    aside = path.with_name(path.name + ".tmp")
    aside.write_bytes(save({name: np.ascontiguousarray(part) for name, part in sorted(parts.items())}))
    aside.replace(path)


def load_arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return dict(load_file(path))
    except (SafetensorError, OSError) as error:
        raise OnetagError(f"{path}: cannot be read as saved arrays ({error})") from error
