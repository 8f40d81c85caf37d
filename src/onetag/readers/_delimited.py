"""Text tables: the delimiter is what the header is written with, rows stream through pyarrow, and a mistake is found again by its row."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from onetag.core.reading import PICTURE_SUFFIXES, DataError
from onetag.readers._columns import PATH, TAGS
from onetag.readers._source import Source, ahead

if TYPE_CHECKING:
    import pyarrow as pa

_DELIMITERS = (",", "\t", ";", "|")
# Bytes per batch: what is made of a batch should stay in the cache, and a table of many columns should have many rows in it. The larger
# ones are for lines that do not fit.
_BLOCKS = (1 << 20, 1 << 22, 1 << 26, (1 << 31) - 1)
_MANY = 20  # columns
_HEADER = 1 << 26
_KNOWN = frozenset((*PATH, *TAGS))


class Delimited(Source):
    """A CSV or TSV file, whatever its name says."""

    @cached_property
    def _header(self) -> tuple[int, str, list[str]]:
        """(lines up to the header and with it, delimiter, names)."""
        try:
            with self.path.open("rb") as file:
                start = file.read(1 << 16)
            if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
                raise DataError(self.path, "is encoded in UTF-16; save it as UTF-8 (in Excel: CSV UTF-8)")
            if b"\0" in start:
                raise DataError(self.path, "is binary data, not a text table; a CSV file is expected")
            with self.path.open(encoding="utf-8-sig", newline=None) as text:
                for number in range(1, 1_000_000):
                    line = text.readline(_HEADER)
                    if not line:
                        break
                    if line.strip():
                        return number, *self._names(line.rstrip("\n"), number)
        except UnicodeDecodeError:
            raise self._not_text() from None
        except OSError as error:
            raise DataError(self.path, f"cannot be read ({error.strerror})") from error
        raise DataError(self.path, "is empty; a first row with the names of the columns (path,tags) is expected", 1)

    def _names(self, line: str, number: int) -> tuple[str, list[str]]:
        if line.count('"') % 2:
            raise DataError(self.path, "a quote is opened and not closed in the row of column names", number)
        try:
            tried = {d: [name.strip() for name in next(csv.reader([line], delimiter=d))] for d in _DELIMITERS}
        except (csv.Error, StopIteration) as error:
            raise DataError(self.path, f"the row of column names cannot be read ({error})", number) from error
        known = {d: sum(name.casefold() in _KNOWN for name in names) for d, names in tried.items()}
        delimiter = max(_DELIMITERS, key=lambda d: (known[d], len(tried[d])))
        names = tried[delimiter]
        if not known[delimiter] and any(Path(name).suffix.casefold() in PICTURE_SUFFIXES for name in names):
            raise DataError(
                self.path,
                f"the names of the columns are missing: this row is a picture already; begin with a row such as path{delimiter}tags",
                number,
            )
        twice = next((name for at, name in enumerate(names) if name and name in names[:at]), None)
        if twice is not None:
            places = [str(at) for at, name in enumerate(names, 1) if name == twice]
            raise DataError(
                self.path,
                f"the name {twice!r} stands over the columns {', '.join(places)}; give each its own name",
                number,
            )
        return delimiter, names

    def names(self) -> list[str]:
        return self._header[2]

    def batches(self, columns: Sequence[str] | None) -> Iterator[tuple[int, Mapping[str, pa.Array]]]:
        import pyarrow as pa

        _, _, names = self._header
        wanted = names if columns is None else list(columns)
        done = 0
        for block in _BLOCKS if len(wanted) < _MANY else _BLOCKS[1:]:
            seen = 0
            try:
                for batch in ahead(self._open(wanted, block)):
                    # After a line that did not fit, what was handed out already is passed over.
                    fresh = batch.slice(max(done - seen, 0)) if seen < done else batch
                    seen += len(batch)
                    if len(fresh):
                        done += len(fresh)
                        yield len(fresh), dict(zip(wanted, fresh.columns, strict=True))
                return
            except pa.ArrowInvalid as error:
                if "straddling" not in str(error) or block == _BLOCKS[-1]:
                    raise self._explain(str(error)) from error
            except (pa.ArrowException, OSError) as error:
                raise DataError(self.path, f"cannot be read ({error})") from error

    def _open(self, wanted: list[str], block: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.csv as arrow

        lines, delimiter, names = self._header
        # Columns are called by number here: their names may be empty, and a name of ours is stripped.
        numbers = [str(at) for at in range(len(names))]
        asked = [str(names.index(name)) for name in wanted]
        try:
            reader = arrow.open_csv(
                self.path,
                arrow.ReadOptions(block_size=block, skip_rows=lines, column_names=numbers),
                arrow.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                arrow.ConvertOptions(
                    column_types=dict.fromkeys(asked, pa.string()),
                    include_columns=asked,
                    strings_can_be_null=False,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as error:
            if "Empty CSV file" in str(error):
                return
            raise
        yield from reader

    # ---- finding a mistake again; slow, line by line, and only then

    def _records(self) -> Iterator[tuple[int, str]]:
        """(row, text) of every record below the header, in the way people count: a quoted line break makes no row, an empty line does."""
        lines, _, _ = self._header
        held: list[str] = []
        quotes = row = 0
        with self.path.open(encoding="utf-8-sig", errors="surrogateescape", newline=None) as text:
            for number, line in enumerate(text, 1):
                held.append(line)
                quotes += line.count('"')
                if quotes % 2 == 0:
                    row += 1
                    if number > lines and "".join(held).strip("\n"):
                        yield row, "".join(held).rstrip("\n")
                    held, quotes = [], 0
            if held:
                yield row + 1, "".join(held)

    def row(self, record: int) -> int:
        rows = (row for row, _ in self._records())
        return next(islice(rows, record, None), self._header[0])

    def _explain(self, said: str) -> DataError:
        """The sentence for what pyarrow refused."""
        _, delimiter, names = self._header
        for row, text in self._records():
            if any("\udc80" <= letter <= "\udcff" for letter in text):
                return DataError(self.path, "is not UTF-8; save the table as UTF-8 (in Excel: CSV UTF-8)", row)
            if text.count('"') % 2:
                return DataError(self.path, f"a quote is opened and never closed: {text[:60]!r}", row)
            cells = re.sub(r'"(?:[^"]|"")*"', "", text).count(delimiter) + 1
            if cells != len(names):
                shown = {"\t": "tab"}.get(delimiter, delimiter)
                hint = (
                    f"; quote a cell that contains {shown}, or separate its tags by another character, such as |"
                    if cells > len(names)
                    else ""
                )
                return DataError(
                    self.path,
                    f"{cells} cells, where the row of column names has {len(names)} (separated by {shown}){hint}",
                    row,
                )
        return DataError(self.path, f"cannot be read as a table ({said})")

    def _not_text(self) -> DataError:
        with self.path.open("rb") as file:
            for row, line in enumerate(file, 1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError:
                    return DataError(self.path, "is not UTF-8; save the table as UTF-8 (in Excel: CSV UTF-8)", row)
        return DataError(self.path, "is not UTF-8; save the table as UTF-8 (in Excel: CSV UTF-8)")
