"""All samples of all sides in one row, and how each of them is named to a person."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onetag.audit.findings import Item
from onetag.audit.rows import TableRows
from onetag.core.split import Data


class Samples:
    """Side after side, in the order of the data. `side` is each sample's place in `sides`."""

    def __init__(self, data: Data, rows: TableRows | None = None) -> None:
        self.sides = tuple(data.splits)
        self.split = data.only()
        sizes = [len(split) for split in data.splits.values()]
        self.side: NDArray[np.int64] = np.repeat(np.arange(len(sizes)), sizes)
        self.rows = rows
        self._ids: list[str] = self.split.ids.tolist()
        # Where features have no pictures, their names stand for them.
        self.files: list[str] = self._ids if self.split.paths is None else self.split.paths.tolist()

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def has_sides(self) -> bool:
        return len(self.sides) > 1

    def name(self, at: int) -> str:
        """The path as its source writes it; the whole one where the source names pictures by something else, such as a number."""
        name, file = self._ids[at], self.files[at]
        return name if file.endswith(name) else file

    def item(self, at: int, **more: Any) -> Item:
        """Where a sample stands: path, row and side as far as there are any; then `more`."""
        found: Item = {"path": self.name(at)}
        if self.rows is not None:
            found["row"] = int(self.rows.first[at])
            if len(self.rows.tables) > 1:
                found["table"] = self.rows.tables[int(self.rows.table[at])]
        if self.has_sides:
            found["side"] = self.sides[int(self.side[at])]
        return {**found, **more}
