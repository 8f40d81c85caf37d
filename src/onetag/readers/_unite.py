"""Tags of rows that are the same picture become one row's; contradictions are refused."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Entries = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int8]]
"""(rows, classes, values +1 / -1), one each per known tag."""


class ConflictError(Exception):
    """A class is positive in one record and negative in another of the same picture."""

    def __init__(self, one: int, other: int, code: int) -> None:
        super().__init__(one, other, code)
        self.records, self.code = (min(one, other), max(one, other)), code


def gathered(parts: list[Entries]) -> Entries:
    """Entries of many batches in one."""
    if not parts:
        return np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int8)
    rows, codes, values = zip(*parts, strict=True)
    return np.concatenate(rows), np.concatenate(codes), np.concatenate(values)


def united(entries: Entries, first: NDArray[np.int32] | None, num_classes: int) -> Entries:
    """Entries by row, then class, each once; those of a row that repeats an earlier one (`first`) at that earlier one."""
    written, classes, values = entries
    rows = written if first is None else first[written]
    if (rows[1:] > rows[:-1]).all():  # one tag per row
        return rows, classes, values
    cells = rows.astype(np.int64) * max(num_classes, 1) + classes
    if (cells[1:] > cells[:-1]).all():
        return rows, classes, values
    sort = np.argsort(cells, kind="stable")
    cells, values = cells[sort], values[sort]
    same = cells[1:] == cells[:-1]
    conflict = np.flatnonzero(same & (values[1:] != values[:-1]))
    if len(conflict):
        at = int(conflict[0])
        raise ConflictError(int(written[sort[at]]), int(written[sort[at + 1]]), int(classes[sort[at]]))
    keep = sort[np.concatenate([[True], ~same])]
    return rows[keep], classes[keep], entries[2][keep]
