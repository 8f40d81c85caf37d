"""In which row of its table a sample stands. The tables are read once more, and rows are said only if all of them fit the samples."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onetag.core.split import Data

_DELIMITED, _PARQUET, _LINES = (".csv", ".tsv", ".tab"), (".parquet", ".pq"), (".jsonl", ".ndjson")
_KINDS = {"CSV": _DELIMITED, "Parquet": _PARQUET, "JSON Lines": _LINES}
_SIDES = {
    "train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val", "dev": "val",
    "test": "test", "testing": "test",
}  # fmt: skip


@dataclass(frozen=True)
class TableRows:
    """`first`: the row of each sample, as a person counts them in the file. `again`: samples whose path stands in further rows."""

    first: NDArray[np.int64]
    table: NDArray[np.int64]
    tables: tuple[str, ...]
    again: dict[int, list[int]]


def table_rows(data: Data) -> TableRows | None:
    """The rows of all samples; None where the data are no table, or one that is read in another way than here."""
    sides = list(data.splits)
    starts = np.cumsum([0, *(len(split) for split in data.splits.values())])
    places = [
        {name: int(start) + at for at, name in enumerate(split.ids.tolist())}
        for split, start in zip(data.splits.values(), starts, strict=False)
    ]
    first, table = np.zeros(int(starts[-1]), np.int64), np.zeros(int(starts[-1]), np.int64)
    again: dict[int, list[int]] = {}
    try:
        files = _files(data)
        for number, (file, side, prefix) in enumerate(files):
            for row, path, written in _records(file, data.read_as):
                name = prefix + path.replace("\\", "/")
                here = [side for side, known in zip(sides, places, strict=True) if name in known]
                if len(here) > 1:
                    here = [name for name in here if name == _SIDES.get(written.strip().casefold(), side)]
                if len(here) != 1:
                    return None
                at = places[sides.index(here[0])][name]
                if first[at]:
                    again.setdefault(at, []).append(row)
                else:
                    first[at], table[at] = row, number
    except (OSError, ValueError, TypeError, LookupError, csv.Error):
        return None
    names = tuple(f"{prefix}{file.name}" for file, _, prefix in files)
    return TableRows(first, table, names, again) if len(first) and first.all() else None


def _files(data: Data) -> list[tuple[Path, str, str]]:
    """The tables of the data: (file, its side, what stands before its paths)."""
    source, kind = data.source, data.read_as.removeprefix("read as ").partition(":")[0]
    if source is None:
        return []
    if kind == "Hugging Face imagefolder":
        sides = [
            (sub, _SIDES[sub.name.casefold()], f"{sub.name}/") for sub in sorted(source.iterdir()) if _is_side(sub)
        ]
        tables = [(_metadata(folder), side, prefix) for folder, side, prefix in ((source, "", ""), *sides)]
        found = [(file, side, prefix) for file, side, prefix in tables if file is not None]
        return found[:1] if found and not found[0][2] else found
    if kind not in _KINDS:
        return []
    if source.is_file():
        return [(source, "", "")]
    files = [file for file in source.iterdir() if file.suffix.casefold() in _KINDS[kind] and file.stem in _SIDES]
    return [(file, _SIDES[file.stem], "") for file in files]


def _is_side(folder: Path) -> bool:
    return folder.is_dir() and folder.name.casefold() in _SIDES


def _metadata(folder: Path) -> Path | None:
    suffixes = (*_DELIMITED, *_PARQUET, *_LINES)
    return next((file for suffix in suffixes if (file := folder / f"metadata{suffix}").is_file()), None)


def _records(file: Path, read_as: str) -> Iterator[tuple[int, str, str]]:
    """(row, path, side as it is written) of every record."""
    suffix = file.suffix.casefold()
    if suffix in _LINES:
        with file.open(encoding="utf-8-sig") as lines:
            for row, text in enumerate(lines, 1):
                if text.strip():
                    item = json.loads(text)
                    yield row, str(item[_path_column(list(item), read_as)]), str(item.get("split") or "")
    elif suffix in _PARQUET:
        import pyarrow.parquet as pq

        names = pq.read_schema(file).names
        path, split = _path_column(names, read_as), _named(names, "split")
        columns = pq.read_table(file, columns=[path, *([split] if split else [])])
        sides = columns.column(split).to_pylist() if split else [""] * len(columns)
        for row, (name, side) in enumerate(zip(columns.column(path).to_pylist(), sides, strict=True), 1):
            yield row, str(name), str(side)
    else:
        yield from _delimited(file, read_as)


def _delimited(file: Path, read_as: str) -> Iterator[tuple[int, str, str]]:
    """A row is what a person counts: a quoted line break makes none, an empty line does."""
    with file.open(encoding="utf-8-sig", newline="") as text:
        head = next((line for line in text if line.strip()), "")
        delimiter = max(",\t;|", key=lambda sign: len(next(csv.reader([head], delimiter=sign), [])))
        text.seek(0)
        path = split = -1
        for row, cells in enumerate(csv.reader(text, delimiter=delimiter), 1):
            if not cells or (path < 0 and not "".join(cells).strip()):
                continue
            if path < 0:
                names = [name.strip() for name in cells]
                path, side = names.index(_path_column(names, read_as)), _named(names, "split")
                split = names.index(side) if side else -1
            else:
                yield row, cells[path], cells[split] if split >= 0 else ""


def _path_column(names: list[str], read_as: str) -> str:
    """The column that the reader said it took."""
    return next(name for name in names if f"path={name}, " in read_as)


def _named(names: list[str], wanted: str) -> str:
    return next((name for name in names if name.strip().casefold() == wanted), "")
