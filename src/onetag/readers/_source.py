"""What a table file is to those who read it: names of columns, batches of rows, and which row of the file a record is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
_END = object()


class Source(ABC):
    """A table file. Records are counted from 0; a row is what a person counts in the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def names(self) -> list[str] | None:
        """Its columns; None where they are only known after everything was read."""

    @abstractmethod
    def batches(self, columns: Sequence[str] | None) -> Iterator[tuple[int, Mapping[str, pa.Array]]]:
        """(number of records, columns by name), in order."""

    def row(self, record: int) -> int:
        return record + 1


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items; the next one is made while one is looked at."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, items, _END)
        while (item := waiting.result()) is not _END:
            waiting = pool.submit(next, items, _END)
            yield cast("T", item)
