"""Which kind of table a file is, by its suffix."""

from __future__ import annotations

from pathlib import Path

from onetag.core.reading import DataError
from onetag.readers._columnar import Columnar
from onetag.readers._delimited import Delimited
from onetag.readers._json_lines import JsonLines
from onetag.readers._source import Source

TABLES: dict[str, type[Source]] = {
    ".csv": Delimited, ".tsv": Delimited, ".tab": Delimited, ".parquet": Columnar, ".pq": Columnar,
    ".jsonl": JsonLines, ".ndjson": JsonLines,
}  # fmt: skip


def source_of(path: Path) -> Source:
    kind = TABLES.get(path.suffix.casefold())
    if kind is None:
        raise DataError(path, f"is no table by its suffix; one of {', '.join(TABLES)} is expected")
    return kind(path)


def first_table(folder: Path, *stems: str) -> Path | None:
    """The first table of these names that lies in a folder."""
    return next((file for stem in stems for suffix in TABLES if (file := folder / f"{stem}{suffix}").is_file()), None)
